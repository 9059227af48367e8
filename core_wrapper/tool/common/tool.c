#include "core_wrapper/tool/common/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/abi/wrapper_api.h"
#include "core_wrapper/core/core.h"
#include "net/engine/engine.h"
#include "net/engine/plain.h"
#include "net/platform/buffer.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/platform/library.h"
#include "net/platform/process.h"

#define WRAPPER "keylock_libretro" KL_LIBRARY_ENDING

int tool_fail(int code, const char *command, const char *format, ...) {
    char line[8192]; /* some of it may be a relay's word, or another player's name */
    fflush(stdout);
    KL_FORMAT(line, sizeof line, format);
    fprintf(stderr, "keylock %s: %s\n", command, kl_plain(line));
    return code;
}

/* --- the command line --- */

#define COLUMN 23 /* of an option's help */

static const struct kl_tool_command *command; /* the one that runs */

int tool_run(const struct kl_tool_command *c, int argc, char **argv) {
    command = c;
    return c->run(argc, argv);
}

int tool_show(const char *text) {
    return fputs(text, stdout) < 0 || fflush(stdout) != 0 ? KLT_OUTPUT : KLT_OK;
}

static int show_help(const struct kl_table *tables) {
    size_t len;
    for (const char *line = command->help; *line; line += len) {
        len = strcspn(line, "\n") + 1;
        const struct kl_table *t = *line == '@' ? &tables[line[1] - '0'] : NULL;
        if (t && t->show)
            t->show(COLUMN);
        else if (t)
            kl_rows_help(t->rows, t->by, NULL, COLUMN, false, stdout);
        else
            fwrite(line, 1, len, stdout);
    }
    return tool_show("");
}

int tool_show_version(void) {
    return printf("keylock %s, protocol %d\n", KL_VERSION, KL_PROTOCOL_VERSION) < 0 || fflush(stdout) != 0
               ? KLT_OUTPUT
               : KLT_OK;
}

int tool_usage(const char *format, ...) {
    char line[4096];
    const char *name = command ? command->name : NULL;
    KL_FORMAT(line, sizeof line, format);
    fflush(stdout);
    fprintf(stderr, "keylock%s%s: %s; see keylock%s%s --help\n", name ? " " : "", name ? name : "",
            kl_plain(line), name ? " " : "", name ? name : "");
    exit(KLT_USAGE);
}

void tool_parse(int argc, char **argv, bool in_order, const struct kl_table *tables, void *base) {
    char err[KL_ROW_TEXT];
    for (const struct kl_table *t = tables; t->rows; t++)
        if (!t->given) kl_rows_standard(t->rows, (char *)base + t->fields);
    switch (kl_tables_parse(tables, base, argc, argv, in_order, "a known option", err)) {
    case KL_LINE_HELP: exit(show_help(tables));
    case KL_LINE_VERSION: exit(tool_show_version());
    case KL_LINE_BAD: tool_usage("%s", err);
    case KL_LINE_DONE: break;
    }
}

/* --- places --- */

char *tool_path(char *arg) {
    kl_file_use_slashes(arg);
    return arg;
}

int tool_own_dir(char *out, size_t cap) {
    if (kl_process_own_path(out, cap) != 0) return -1;
    *strrchr(out, '/') = '\0';
    return 0;
}

int tool_find_wrapper(char *out, size_t cap, char *err, size_t err_len) {
    static const char *const below[] = {
        "",
        "/../lib/libretro",
        "/../lib/keylock",
        "/../lib",
#if defined(__x86_64__)
        "/../lib/x86_64-linux-gnu/libretro",
#elif defined(__aarch64__)
        "/../lib/aarch64-linux-gnu/libretro",
#endif
    };
    char own[2048];
    size_t used = 0;
    if (tool_own_dir(own, sizeof(own)) != 0) snprintf(own, sizeof(own), ".");
    used += (size_t)snprintf(err, err_len, "no " WRAPPER ": looked in ");
    for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
        int len = snprintf(out, cap, "%s%s/" WRAPPER, own, below[i]);
        if (len > 0 && (size_t)len < cap && kl_file_readable(out)) return 0;
        if (used < err_len)
            used += (size_t)snprintf(err + used, err_len - used, "%s%s%s", i ? ", " : "", own, below[i]);
    }
    return -1;
}

int tool_find_core(const char *name, char *out, size_t cap, char *err, size_t err_len) {
    char own[2048];
    const char *dirs[] = {tool_own_dir(own, sizeof(own)) == 0 ? own : NULL, NULL};
    return kl_core_find(name, dirs, out, cap, err, err_len);
}

void tool_export_number(const char *name, uint64_t value) {
    char text[32];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    kl_environment_set(name, text);
}

void tool_export_usual(const char *name, const char *value) {
    if (!kl_environment_get(name)) kl_environment_set(name, value);
}

#define FILES 50000

bool kl_walk_file(struct kl_walk *w, const char *path) {
    return w->files++ < FILES && w->look(w->ctx, path);
}

static bool is_new(struct kl_walk *w, const char *real) {
    for (unsigned i = 0; i < w->folders; i++)
        if (!strcmp(w->folder[i], real)) return false;
    if (w->folders == KLT_WALK_FOLDERS || !(w->folder[w->folders] = strdup(real))) return false;
    w->folders++;
    return true;
}

bool kl_walk_folder(struct kl_walk *w, const char *folder, unsigned deep) {
    char real[KL_FILE_PATH], path[KL_FILE_PATH];
    struct kl_dir_list list;
    bool found = false;
    if (!*folder || !kl_file_real(folder, real, sizeof real) || !is_new(w, real)) return false;
    if (kl_dir_list(&list, real, "", NULL, 0) != 0) return false;
    for (unsigned i = 0; i < list.count && !found && w->files < FILES; i++) {
        if (list.name[i][0] == '.' || kl_file_join(path, sizeof path, real, list.name[i], NULL, 0) != 0)
            continue;
        if (kl_file_kind_here(path) == KL_FILE_IS_DIR)
            found = deep && kl_walk_folder(w, path, deep - 1);
        else
            found = kl_walk_file(w, path);
    }
    kl_dir_list_free(&list);
    return found;
}

void kl_walk_free(struct kl_walk *w) {
    for (unsigned i = 0; i < w->folders; i++)
        free(w->folder[i]);
    w->folders = 0;
}

bool kl_forward_check(const struct kl_row *row, void *field, const char *value, char why[KL_ROW_TEXT]) {
    static struct kl_config scratch;
    *(const char **)field = value;
    return kl_row_set(kl_config_row(row->name), &scratch, value, why);
}

void kl_forward_set(struct kl_forward *f, const char *key, const char *value) {
    const struct kl_row *row = kl_config_row(key);
    char why[KL_ROW_TEXT];
    f->value[row - kl_config_rows] = value;
    if (!kl_row_set(row, &f->config, value, why)) tool_usage("--%s: %s", row->name, why);
}

const char *kl_forward_value(const struct kl_forward *f, const char *key) {
    return f->value[kl_config_row(key) - kl_config_rows];
}

void kl_forward_export(const struct kl_forward *f) {
    for (size_t i = 0; kl_row_is(&kl_config_rows[i]); i++)
        if (f->value[i] && kl_config_rows[i].variable)
            kl_environment_set(kl_config_rows[i].variable, f->value[i]);
}

/* --- a core's own description --- */

#define ANSWER_MS 20000 /* a core of many machines has some tables to build */

struct answer {
    bool good;
    char err[512];
    struct kl_card card;
};

static void ask(struct answer *a, const char *path) {
    static struct kl_core core;
    struct retro_system_info info = {0};
    struct kl_card *c = &a->card;
    if (kl_core_open(&core, path, a->err, sizeof a->err) != 0) return;
    c->ours = kl_library_find(core.handle, KLW_API_SYMBOL) != NULL;
    if (!c->ours) core.get_system_info(&info);
    snprintf(c->name, sizeof c->name, "%.*s", kl_core_text_len(info.library_name, 120),
             info.library_name ? info.library_name : "");
    snprintf(c->version, sizeof c->version, "%.*s", kl_core_text_len(info.library_version, 120),
             info.library_version ? info.library_version : "");
    snprintf(c->extensions, sizeof c->extensions, "%s", info.valid_extensions ? info.valid_extensions : "");
    c->full_path = info.need_fullpath;
    a->good = c->ours || *c->name;
    if (!a->good) snprintf(a->err, sizeof a->err, "%.300s does not say its name", path);
}

/* Called by kl_card_read() alone: the core's path. */
int cmd_card(int argc, char **argv) {
    static struct answer a;
    struct kl_process_part part = {&a, sizeof a};
    if (argc != 2) return tool_fail(KLT_USAGE, "card", "only keylock install may start this");
    ask(&a, argv[1]);
    _Exit(kl_process_tell(&part, 1) ? KLT_OK : KLT_FAILED); /* the core's destructors do not run */
}

int kl_card_read(struct kl_card *card, const char *core, char *err, size_t err_len) {
    const char *arguments[] = {"keylock", "card", core, NULL};
    struct kl_process_setup setup = {.arguments = arguments};
    struct kl_process p;
    void *bytes;
    size_t len;
    memset(card, 0, sizeof *card);
    if (kl_process_start(&p, &setup, err, err_len) != 0) return -1;
    enum kl_process_result result = kl_process_answer(&p, sizeof(struct answer), ANSWER_MS, &bytes, &len);
    kl_process_end(&p, 0, NULL);
    if (result == KL_PROCESS_LATE)
        snprintf(err, err_len, "%s: no answer within %d s of being loaded", core, ANSWER_MS / 1000);
    else if (result != KL_PROCESS_OK)
        snprintf(err, err_len, "%s crashed while it was loaded", core);
    else if (len != sizeof(struct answer))
        snprintf(err, err_len, "%s: what was asked came back in pieces", core);
    else {
        const struct answer *a = bytes;
        *card = a->card;
        if (!a->good) snprintf(err, err_len, "%s", a->err);
        result = a->good ? KL_PROCESS_OK : KL_PROCESS_ENDED;
    }
    free(bytes);
    return result == KL_PROCESS_OK && len == sizeof(struct answer) ? 0 : -1;
}
