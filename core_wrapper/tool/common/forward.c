#include "core_wrapper/tool/common/forward.h"

#include <stdlib.h>
#include <string.h>

#include "core_wrapper/tool/common/tool.h"
#include "net/platform/environment.h"
#include "net/platform/help_line.h"

#define COLUMN 23

static bool handed_on(const struct kl_config_row *row, unsigned by) {
    return row->key && row->by & by && !row->itself;
}

void kl_forward_longs(unsigned by, const struct option *own, struct option out[KLT_FORWARD_LONGS]) {
    size_t n = 0;
    for (; own->name; own++)
        out[n++] = *own;
    for (size_t i = 0; i < kl_config_row_count; i++) {
        const struct kl_config_row *row = &kl_config_rows[i];
        if (!handed_on(row, by)) continue;
        out[n++] = (struct option){row->flag, row->value ? required_argument : no_argument, NULL,
                                   KLT_FORWARD + (int)i};
    }
    out[n] = (struct option){NULL, 0, NULL, 0};
}

static void take(struct kl_forward *f, size_t i, char *arg) {
    const struct kl_config_row *row = &kl_config_rows[i];
    char err[2 * KL_CONFIG_TEXT_MAX];
    const char *text = !row->value ? "on" : row->kind == KL_KIND_PASSWORD ? tool_take_password(arg) : arg;
    f->value[i] = text;
    if (kl_config_set(&f->config, row->key, text, err, sizeof err) == 0) return;
    const char *why = strstr(err, ": ");
    tool_usage("--%s: %s", row->flag, why ? why + 2 : err);
}

int kl_forward_take(struct kl_forward *f, int option, char *arg) {
    if (option < KLT_FORWARD || option >= KLT_FORWARD + (int)kl_config_row_count) return 0;
    take(f, (size_t)(option - KLT_FORWARD), arg);
    return 1;
}

void kl_forward_set(struct kl_forward *f, const char *key, char *arg) {
    take(f, (size_t)(kl_config_row(key) - kl_config_rows), arg);
}

const char *kl_forward_value(const struct kl_forward *f, const char *key) {
    return f->value[kl_config_row(key) - kl_config_rows];
}

void kl_forward_export(const struct kl_forward *f) {
    for (size_t i = 0; i < kl_config_row_count; i++)
        if (f->value[i]) kl_environment_set(kl_config_rows[i].variable, f->value[i]);
}

static void write_line(const struct kl_config_row *row, FILE *out) {
    char flag[64], help[KL_CONFIG_TEXT_MAX], shown[KL_CONFIG_TEXT_MAX], text[3 * KL_CONFIG_TEXT_MAX];
    snprintf(flag, sizeof flag, "--%s%s%s", row->flag, row->value ? " " : "", row->value ? row->value : "");
    kl_config_help(row, help);
    kl_config_shown(row, shown);
    if (row->value && *shown && strcmp(shown, "none") != 0)
        snprintf(text, sizeof text, "%s (default%s %s)", help, strchr(shown, ' ') ? ":" : "", shown);
    else
        snprintf(text, sizeof text, "%s", help);
    kl_help_line(out, flag, COLUMN, text);
}

void kl_forward_help(unsigned by, FILE *out) {
    for (size_t i = 0; i < kl_config_row_count; i++)
        if (kl_config_rows[i].by & by) write_line(&kl_config_rows[i], out);
}
