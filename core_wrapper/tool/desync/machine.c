#include "core_wrapper/tool/desync/machine.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/start/identity.h"
#include "core_wrapper/tool/common/tool.h"
#include "core_wrapper/world/archive.h"
#include "net/platform/dir.h"

/* --- machines --- */

/* The parent's side of a machine. */

#define ARGS      (2 * KLT_MACHINE_OPTIONS + 64)
#define ANSWER_MS (1000 * KLT_ANSWER_S)
#define END_MS    20000 /* for a core that is unloaded, or whose crash is written down */

/* A core that crashes leaves its folders behind. */
static void remove_scratch(struct kl_machine *m) {
    kl_dir_remove_tree(m->scratch);
    m->scratch[0] = 0;
}

/* --- the process --- */

struct args {
    const char *at[ARGS];
    char text[16][32];
    unsigned count, texts;
};

static void give(struct args *a, const char *option, const char *value) {
    if (!value || a->count + 3 > ARGS) return;
    a->at[a->count++] = option;
    a->at[a->count++] = value;
}

__attribute__((format(__printf__, 3, 4))) static void give_text(struct args *a, const char *option,
                                                                const char *format, ...) {
    va_list list;
    char *text = a->text[a->texts++ % 16];
    va_start(list, format);
    vsnprintf(text, sizeof(a->text[0]), format, list);
    va_end(list);
    give(a, option, text);
}

static void list_args(struct args *a, const struct kl_machine_setup *s) {
    a->at[a->count++] = "keylock";
    a->at[a->count++] = "machine";
    give(a, "--core", s->core);
    give(a, "--content", s->content);
    give(a, "--system", s->system_dir);
    give(a, "--save", s->save_dir);
    give(a, "--input", s->input);
    give(a, "--recording", s->recording);
    give(a, "--corrupt", s->corrupt);
    give(a, "--clock", s->host_clock ? "host" : NULL);
    if (s->verifies) a->at[a->count++] = "--verifies";
    if (s->asks) a->at[a->count++] = "--asks";
    if (s->moved) a->at[a->count++] = "--moved";
    if (s->measures) give_text(a, "--measures", "%" PRIu64, s->measures);
    if (s->has_epoch) give_text(a, "--epoch", "%" PRIu64, s->epoch_s);
    if (s->ports) give_text(a, "--seats", "%" PRIu64, s->ports);
    for (KL_EACH(p, s->devices.set))
        give_text(a, "--device", "%u:%" PRIu32, p, s->devices.id[p]);
    for (unsigned i = 0; i < s->option_count; i++)
        give(a, "--option", s->option[i]);
    a->at[a->count] = NULL;
}

static void log_name(const char *scratch, char out[300]) {
    snprintf(out, 300, "%s/log", scratch);
}

/* The words that a core prints are shown only if it ends. */
static int spawn(struct kl_machine *m, const struct args *a, bool same_addresses, char *err, size_t err_len) {
    char log[300], folder[300];
    const char *environment[] = {folder, NULL};
    struct kl_process_setup setup = {
        .arguments = a->at, .environment = environment, .log = log, .same_addresses = same_addresses};
    log_name(m->scratch, log);
    snprintf(folder, sizeof(folder), "TMPDIR=%s", m->scratch);
    return kl_process_start(&m->process, &setup, err, err_len);
}

/* --- asking --- */

static void read_last_words(struct kl_machine *m) {
    char name[300], line[300];
    log_name(m->scratch, name);
    FILE *f = kl_file_stream(name, "r");
    while (f && fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\r\n")] = 0;
        if (*line) memcpy(m->said, line, sizeof(line));
    }
    if (f) fclose(f);
}

/* There is no answer, and none will come: ends the process and says why. Returns -1. */
static int gone(struct kl_machine *m, enum kl_process_result why, const char *doing, char *err,
                size_t err_len) {
    const char *core = m->info.name[0] ? m->info.name : "the core";
    const struct kl_process_end *how = &m->end;
    m->gone = true;
    m->no_answer = why;
    kl_process_end(&m->process, why == KL_PROCESS_ENDED ? END_MS : 0, &m->end);
    if (why == KL_PROCESS_STOPPED) {
        snprintf(err, err_len, "interrupted");
        return -1;
    }
    if (why == KL_PROCESS_LATE)
        snprintf(err, err_len, "%s gave no answer within %d s %s", core, ANSWER_MS / 1000, doing);
    else if (why != KL_PROCESS_ENDED)
        snprintf(err, err_len, "%s gave no answer of ours %s", core, doing);
    else if (how->crashed)
        snprintf(err, err_len, "%s crashed %s: %s", core, doing, how->why);
    else
        snprintf(err, err_len, "%s ended its process %s (exit status %d)", core, doing, how->code);
    read_last_words(m);
    size_t used = strlen(err);
    if (*m->said && used < err_len) snprintf(err + used, err_len - used, " (it said: %s)", m->said);
    return -1;
}

/* A reply, its bytes in *bytes (heap, ended by NUL). Text of a status that is not 0 goes to err. */
static int receive(struct kl_machine *m, const char *doing, struct kl_machine_reply *r, uint8_t **bytes,
                   size_t *len, char *err, size_t err_len) {
    void *all;
    *bytes = NULL;
    *len = 0;
    enum kl_process_result result = kl_process_answer(&m->process, KLT_MACHINE_MAX, ANSWER_MS, &all, len);
    if (result == KL_PROCESS_OK && *len < sizeof(*r)) result = KL_PROCESS_GARBAGE;
    if (result != KL_PROCESS_OK) {
        free(all);
        return gone(m, result, doing, err, err_len);
    }
    memcpy(r, all, sizeof(*r));
    *len -= sizeof(*r);
    memmove(all, (uint8_t *)all + sizeof(*r), *len + 1);
    m->frame = r->frame;
    if (r->status == 0) return *bytes = all, 0;
    snprintf(err, err_len, "%s", (const char *)all);
    free(all);
    return r->status;
}

static int ask(struct kl_machine *m, const struct kl_machine_request *q, const void *data, size_t data_len,
               const char *doing, struct kl_machine_reply *r, uint8_t **bytes, size_t *len, char *err,
               size_t err_len) {
    struct kl_process_part part[] = {{q, sizeof(*q)}, {data, data_len}};
    *bytes = NULL;
    enum kl_process_result result = kl_process_send(&m->process, part, 2, ANSWER_MS);
    if (result != KL_PROCESS_OK) return gone(m, result, doing, err, err_len);
    return receive(m, doing, r, bytes, len, err, err_len);
}

/* An answer of out_len bytes. */
static int ask_for(struct kl_machine *m, const struct kl_machine_request *q, const void *data,
                   size_t data_len, const char *doing, void *out, size_t out_len, char *err, size_t err_len) {
    struct kl_machine_reply r;
    uint8_t *bytes;
    size_t len;
    int result = ask(m, q, data, data_len, doing, &r, &bytes, &len, err, err_len);
    if (result == 0 && out && len == out_len) memcpy(out, bytes, len);
    free(bytes);
    return result;
}

/* --- the interface --- */

int kl_machine_start(struct kl_machine *m, const struct kl_machine_setup *setup, char *err, size_t err_len) {
    struct args *args = calloc(1, sizeof(*args));
    struct kl_machine_reply r;
    uint8_t *bytes = NULL;
    size_t len;
    memset(m, 0, sizeof(*m));
    if (!args) {
        snprintf(err, err_len, "out of memory");
        return -1;
    }
    m->process.channel = -1;
    if (kl_dir_make_temporary(m->scratch, sizeof(m->scratch), "keylock-machine", err, err_len) != 0) {
        free(args);
        return -1;
    }
    list_args(args, setup);
    int result = spawn(m, args, setup->same_addresses, err, err_len);
    free(args);
    if (result != 0) return remove_scratch(m), -1;
    result = receive(m, "while it was loaded", &r, &bytes, &len, err, err_len);
    if (result == 0 && len == sizeof(m->info)) memcpy(&m->info, bytes, sizeof(m->info));
    free(bytes);
    if (result == 0) return 0;
    kl_machine_stop(m);
    return -1;
}

void kl_machine_stop(struct kl_machine *m) {
    if (!m->gone) kl_process_end(&m->process, kl_process_stopped() ? 0 : END_MS, &m->end);
    remove_scratch(m);
}

int kl_machine_run(struct kl_machine *m, uint32_t n, const uint8_t *what, struct kl_hashline *out, char *err,
                   size_t err_len) {
    struct kl_machine_request q = {.op = KLT_OP_RUN, .frame = n};
    char doing[64];
    snprintf(doing, sizeof(doing), "in frames %" PRIu32 " to %" PRIu32, m->frame, m->frame + n - 1);
    return ask_for(m, &q, what, n, doing, out, n * sizeof(*out), err, err_len);
}

int kl_machine_load(struct kl_machine *m, const struct kl_statefile *s, uint32_t next, char *err,
                    size_t err_len) {
    const struct kl_origin *o = &s->origin;
    struct kl_machine_request q = {.op = KLT_OP_LOAD,
                                   .frame = o->has_frame ? o->frame + 1 : next,
                                   .has_world = o->has_world,
                                   .epoch_s = o->epoch_s,
                                   .chance = o->chance};
    return ask_for(m, &q, s->bytes, s->len, "while it loaded the state", NULL, 0, err, err_len);
}

/* The bytes of the regions follow their heads, one region after the other. */
static bool unpack(struct kl_dump *d, uint8_t *bytes, uint64_t len) {
    uint32_t count;
    uint64_t at = sizeof(count);
    if (len < at) return false;
    memcpy(&count, bytes, sizeof(count));
    if (count > KLT_REGIONS + 1 || len - at < count * sizeof(d->at[0])) return false;
    memcpy(d->at, bytes + at, count * sizeof(d->at[0]));
    at += count * sizeof(d->at[0]);
    for (uint32_t i = 0; i < count; i++) {
        if (d->at[i].len > len - at) return false;
        d->at[i].ptr = bytes + at;
        at += d->at[i].len;
    }
    d->count = count;
    d->bytes = bytes;
    return true;
}

int kl_machine_look(struct kl_machine *m, struct kl_dump *d, char *err, size_t err_len) {
    struct kl_machine_request q = {.op = KLT_OP_LOOK};
    struct kl_machine_reply r;
    uint8_t *bytes;
    size_t len;
    memset(d, 0, sizeof(*d));
    int result = ask(m, &q, NULL, 0, "while it gave its state", &r, &bytes, &len, err, err_len);
    if (result == 0 && !unpack(d, bytes, len)) {
        snprintf(err, err_len, "a machine's answer is cut short");
        result = -1;
    }
    if (result != 0) free(bytes);
    return result;
}

int kl_machine_save(struct kl_machine *m, struct kl_statefile *s, char *err, size_t err_len) {
    struct kl_machine_request q = {.op = KLT_OP_SAVE};
    struct kl_machine_reply r;
    uint8_t *bytes;
    size_t len;
    memset(s, 0, sizeof(*s));
    int result = ask(m, &q, NULL, 0, "while it gave its state", &r, &bytes, &len, err, err_len);
    if (result != 0) return result;
    s->bytes = bytes;
    s->len = len;
    s->origin = (struct kl_origin){.has_frame = r.frame > 0,
                                   .frame = r.frame - 1,
                                   .has_world = true,
                                   .epoch_s = m->info.epoch_s,
                                   .chance = r.chance};
    snprintf(s->origin.core, sizeof(s->origin.core), "%.80s %.40s", m->info.name, m->info.version);
    memcpy(s->origin.content, m->info.content, sizeof(s->origin.content));
    return 0;
}

int kl_machine_options(struct kl_machine *m, char **list, char *err, size_t err_len) {
    struct kl_machine_request q = {.op = KLT_OP_OPTIONS};
    struct kl_machine_reply r;
    uint8_t *bytes;
    size_t len;
    int result = ask(m, &q, NULL, 0, "while it gave its options", &r, &bytes, &len, err, err_len);
    *list = (char *)bytes;
    return result;
}

int kl_machine_asked(struct kl_machine *m, struct kl_asked *out, char *err, size_t err_len) {
    struct kl_machine_request q = {.op = KLT_OP_ASKED};
    return ask_for(m, &q, NULL, 0, "while it gave its questions", out, sizeof(*out), err, err_len);
}

int kl_machine_check(struct kl_machine *m, uint32_t n, struct kl_measure_check *out, uint8_t **state,
                     char *err, size_t err_len) {
    struct kl_machine_request q = {.op = KLT_OP_CHECK, .frame = n, .with_state = state != NULL};
    struct kl_machine_reply r;
    uint8_t *bytes;
    size_t len;
    int result = ask(m, &q, NULL, 0, "while it was measured", &r, &bytes, &len, err, err_len);
    if (result == 0 && len >= sizeof(*out)) memcpy(out, bytes, sizeof(*out));
    if (result == 0 && state && len == sizeof(*out) + out->state_bytes) {
        memmove(bytes, bytes + sizeof(*out), out->state_bytes);
        *state = bytes;
        return 0;
    }
    free(bytes);
    return result;
}

int kl_machine_figures(struct kl_machine *m, struct kl_measure_figures *out, char *err, size_t err_len) {
    struct kl_machine_request q = {.op = KLT_OP_FIGURES};
    return ask_for(m, &q, NULL, 0, "while it gave its figures", out, sizeof(*out), err, err_len);
}

/* --- the core and content of a recording --- */

/* --- the core --- */

/* "nestopia" of "Nestopia 1.51.1": the name's words, as files of cores are named, less and less of them. */
int kl_recorded_core(const struct kl_recording *r, char out[KL_FILE_PATH], char *err, size_t err_len) {
    char name[KL_FACT_VAL_MAX] = "";
    size_t used = 0;
    for (const char *c = r->core; *c && used + 1 < sizeof(name); c++)
        if (isalnum((unsigned char)*c))
            name[used++] = (char)tolower((unsigned char)*c);
        else if (used && name[used - 1] != '_')
            name[used++] = '_';
    name[used] = 0;
    for (char *end = name + used; end; end = strrchr(name, '_')) {
        char other[KL_FACT_VAL_MAX + 8];
        *end = 0;
        if (*name && tool_find_core(name, out, KL_FILE_PATH, err, err_len) == 0) return 0;
        snprintf(other, sizeof(other), "mednafen%s", name + strcspn(name, "_"));
        if (!strncmp(name, "beetle_", 7) && tool_find_core(other, out, KL_FILE_PATH, err, err_len) == 0)
            return 0;
    }
    snprintf(err, err_len, "core missing: none is found by the name %s; --core names it", r->core);
    return -1;
}

bool kl_recorded_core_is(const struct kl_recording *r, const char *core, char *err, size_t err_len) {
    struct kl_card card;
    struct kl_facts room = {0}, here = {0};
    if (kl_card_read(&card, core, err, err_len) != 0) return false;
    struct retro_system_info info = {.library_name = card.name, .library_version = card.version};
    kl_facts_add(&room, "core", r->core);
    if (strstr(r->core, ", any version"))
        kl_identity_any_version(&here, &info);
    else
        kl_identity_core(&here, &info);
    return !kl_facts_differ(&room, &here, err, err_len);
}

/* --- the content --- */

struct look {
    const char *wanted;
    uint64_t bytes; /* 0: not said */
    char *out;
};

static bool is_wanted(void *ctx, const char *path) {
    const struct look *l = ctx;
    char value[KL_FACT_VAL_MAX];
    uint64_t bytes, ignored;
    size_t len = kl_fact_length(l->wanted);
    if (!kl_file_stamp(path, &bytes, &ignored) || (l->bytes && bytes != l->bytes)) return false;
    if (kl_archive_is(path) != !strncmp(l->wanted, "set ", 4)) return false;
    if (kl_identity_hash_file(path, value, sizeof(value)) != 0) return false;
    if (kl_fact_length(value) != len || memcmp(value, l->wanted, len) != 0) return false;
    snprintf(l->out, KL_FILE_PATH, "%s", path);
    return true;
}

bool kl_recorded_content(const struct kl_recording *r, const char *const *places, unsigned count,
                         char out[KL_FILE_PATH]) {
    const char *wanted = r->content, *note = strstr(wanted, " (");
    struct look look = {.wanted = wanted, .out = out};
    struct kl_walk walk = {.look = is_wanted, .ctx = &look};
    bool found = !strcmp(wanted, "none");
    out[0] = 0;
    if (!strncmp(wanted, "xxh3 ", 5) && note) look.bytes = strtoull(note + 2, NULL, 10);
    for (unsigned i = 0; i < count && !found; i++)
        found = kl_dir_exists(places[i]) ? kl_walk_folder(&walk, places[i], KLT_WALK_DEEP)
                                         : kl_walk_file(&walk, places[i]);
    kl_walk_free(&walk);
    return found;
}
