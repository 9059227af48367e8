#include "core_wrapper/tool/common/forward.h"

#include <stdlib.h>
#include <string.h>

#include "core_wrapper/tool/common/tool.h"
#include "net/platform/environment.h"

#define COLUMN 23

static bool handed_on(const struct kl_row *row, unsigned by) {
    return row->key && row->by & by && strcmp(row->key, "core") != 0;
}

void kl_forward_longs(unsigned by, const struct option *own, struct option out[KLT_FORWARD_LONGS]) {
    size_t n = 0;
    for (; own->name; own++)
        out[n++] = *own;
    for (size_t i = 0; kl_row_is(&kl_config_rows[i]); i++) {
        const struct kl_row *row = &kl_config_rows[i];
        if (!handed_on(row, by)) continue;
        out[n++] = (struct option){row->name, row->value ? required_argument : no_argument, NULL,
                                   KLT_FORWARD + (int)i};
    }
    out[n] = (struct option){NULL, 0, NULL, 0};
}

static void take(struct kl_forward *f, size_t i, char *arg) {
    const struct kl_row *row = &kl_config_rows[i];
    char why[KL_ROW_TEXT];
    const char *text = !row->value ? "on" : row->secret ? tool_take_password(arg) : arg;
    f->value[i] = text;
    if (!kl_row_set(row, &f->config, text, why)) tool_usage("--%s: %s", row->name, why);
}

int kl_forward_take(struct kl_forward *f, int option, char *arg) {
    if (option < KLT_FORWARD) return 0;
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
    for (size_t i = 0; kl_row_is(&kl_config_rows[i]); i++)
        if (f->value[i]) kl_environment_set(kl_config_rows[i].variable, f->value[i]);
}

void kl_forward_help(unsigned by, FILE *out) {
    kl_rows_help(kl_config_rows, by, NULL, COLUMN, false, out);
}
