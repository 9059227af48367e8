#include "core_wrapper/tool/common/report.h"
#include "core_wrapper/tool/common/tool.h"
#include "core_wrapper/tool/desync/verify.h"
#include "core_wrapper/world/world.h"
#include "net/engine/plain.h"
#include "net/platform/clock.h"
#include "net/platform/file.h"
#include "net/platform/process.h"
#include "net/platform/thread.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off: a line here is a line there */
const char cmd_verify_help[] =
    "Usage: keylock verify [OPTIONS] FILE...\n"
    "       keylock verify --watch DIR --database FILE [OPTIONS]\n"
    "       keylock verify --database FILE --list matches|players|reports|verdicts [--json]\n"
    "\n"
    "Runs recordings again (keylock run --record, KEYLOCK_RECORD, a relay's), each in a process of its own "
    "at full "
    "speed, and\n"
    "holds the runs against the hashes that the recordings say. One line a file says what was found.\n"
    "\n"
    "@0\n"
    "@1\n"
    "@2\n"
    "\n"
    "A recording that begins with a room's state is verified from there, if one of the same match that "
    "begins with\n"
    "frame 0 is among the files. One of a room that was begun with a frame of another recording (keylock "
    "replay --room)\n"
    "has that state itself, and is verified from there on: the line says so. On another system than the "
    "recording's machine, states do not count.\n"
    "\n"
    "Beside a relay, on Linux:\n"
    "@3\n"
    "\n"
    "Exit status, the highest of all files:\n"
    "  0  verified: all hashes are those of the run here; with --tie: decided; with --watch: it was stopped, "
    "or has no file left\n"
    "  1  parted: a hash is not, and two runs here are equal. The line has its frame, whose it is, and which "
    "part "
    "differs;\n"
    "     with --watch or --list: a file, a folder or the database cannot be used\n"
    "  2  wrong usage; cannot be told: core, content, an option or the rules are missing or others; it has "
    "no hash; "
    "the core\n"
    "     parts from itself\n"
    "  3  damaged: the line has the block; all before it is verified\n"
    "  4  not sealed by the relay that --relay names: nothing was run\n"
    "  6  standard output cannot be written\n";
/* clang-format on */

#define JOBS_MAX 64
#define LOOK_US  250000  /* between looks at the progress, on a terminal */
#define QUIET_US 5000000 /* between lines of progress elsewhere */

struct job {
    struct kl_thread thread;
    bool runs;
    struct kl_verify *now; /* under the mutex; NULL: between two files */
};
struct verify {
    struct kl_verify_wish wish;
    uint64_t jobs;
    bool json;
    struct kl_watch_wish beside;
    const char *list;
    const char *passed[4 * KLT_VERIFY_PLACES + 8]; /* options of the watcher's children */
    unsigned passes;
    struct kl_mutex mutex; /* of all below */
    struct kl_cond news;
    unsigned next, done; /* of the files */
    int worst;
    uint64_t all_bytes, done_bytes;
    struct job job[JOBS_MAX];
};

static uint64_t bytes_of(const char *path) {
    uint64_t bytes = 0, ignored;
    return kl_file_stamp(path, &bytes, &ignored) ? bytes : 0;
}

/* --- a file's line --- */

/* "; signed by ada (all hashes up to frame 3599)", and those whose signature is false. */
static void tell_signers(const struct kl_recording *r, char *out, size_t len) {
    size_t at = 0;
    const struct kl_klr_sign *s;
    *out = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS && at < len; i++) {
        enum kl_signed is = kl_recording_signed(r, i, &s);
        if (is == KL_SIGNED_FALSE)
            at += (size_t)snprintf(out + at, len - at, "; the signature of %s is false", r->name[i]);
        else if (is != KL_SIGNED_NOT)
            at += (size_t)snprintf(out + at, len - at, "; %s signed %s of frame %" PRIu32, r->name[i],
                                   is == KL_SIGNED_ALL ? "all hashes up to that" : "the hash", s->sign.label);
    }
}

static void tell_text(const struct kl_verify *v) {
    char line[8192], frames[512] = "", notes[512] = "", seal[160] = "", begun[KL_START_WORDS],
                     signers[KL_MAX_CLIENTS * 96];
    if (v->hashes)
        snprintf(frames, sizeof(frames), "%sframes %" PRIu32 " to %" PRIu32 ", %u hashes (%s)",
                 v->code == KLT_VERIFIED ? ": " : "; equal before: ", v->from,
                 v->code == KLT_VERIFIED || v->code == KLT_DAMAGED ? v->rec.whole - 1 : v->agreed, v->hashes,
                 kl_verify_parts(v->parts));
    if (v->found.clients) {
        /* "after frame 599 the run here has the hash of ada" */
        size_t at = (size_t)snprintf(frames, sizeof(frames),
                                     ": after frame %" PRIu32 " the run here has the hash of", v->tie);
        for (unsigned i = 0; i < KL_MAX_CLIENTS && at < sizeof(frames); i++)
            if (v->found.clients >> i & 1)
                at += (size_t)snprintf(frames + at, sizeof(frames) - at, " %s",
                                       *v->rec.name[i] ? v->rec.name[i] : "?");
    }
    if (!*v->unsealed)
        snprintf(seal, sizeof(seal), "; sealed by %s up to frame %" PRIu32, v->sealer, v->rec.seal.end - 1);
    else if (v->code != KLT_UNSEALED)
        snprintf(seal, sizeof(seal), "; not sealed: %s", v->unsealed);
    kl_start_state_words(&v->rec.begun, begun);
    if (v->rec.begun.bytes)
        snprintf(notes, sizeof(notes), "; begun with a state, not at power-on: %s, its maker says", begun);
    if (*v->base) snprintf(notes, sizeof(notes), "; begun with a state of the run of %.300s", v->base);
    tell_signers(&v->rec, signers, sizeof(signers));
    snprintf(
        line, sizeof(line), "%s: %s%s%s%s%s%s%s%s%s%s%s%s", v->path, kl_verify_word(v->code, v->wish->tie),
        *v->why ? ": " : "", v->why, frames, notes, *v->note ? "; " : "", v->note,
        v->rec.ended || *v->rec.damage || v->wish->tie || v->code != KLT_VERIFIED ? ""
                                                                                  : "; it broke off there",
        seal, signers, *v->state ? "; the state here: " : "", v->state);
    puts(kl_plain(line));
}

/* --- the files --- */

static void clear_progress(void) {
    if (kl_process_has_terminal()) fputs("\r\x1b[K", stderr);
}

/* With the mutex. */
static void told(struct verify *c, const struct kl_verify *v) {
    clear_progress();
    if (c->json)
        (void)kl_report_put(stdout, kl_verify_json(v));
    else
        tell_text(v);
    if (fflush(stdout) != 0 || ferror(stdout)) c->worst = KLT_OUTPUT;
    if ((int)v->code > c->worst) c->worst = (int)v->code;
    c->done_bytes += bytes_of(v->path);
    c->done++;
    kl_cond_wake(&c->news);
}

static void work(void *arg) {
    struct verify *c = arg;
    struct job *mine = NULL;
    kl_mutex_lock(&c->mutex);
    for (unsigned i = 0; i < c->jobs && !mine; i++)
        if (!c->job[i].runs) mine = &c->job[i];
    mine->runs = true;
    while (c->next < c->wish.files && !kl_process_stopped()) {
        struct kl_verify *v = calloc(1, sizeof(*v));
        if (!v) break;
        v->wish = &c->wish;
        v->path = c->wish.file[c->next++];
        mine->now = v;
        kl_mutex_unlock(&c->mutex);
        kl_verify_run(v);
        kl_mutex_lock(&c->mutex);
        mine->now = NULL;
        told(c, v);
        kl_verify_free(v);
        free(v);
    }
    kl_mutex_unlock(&c->mutex);
}

/* Files of equal length take equally long. With the mutex. */
static void show_progress(const struct verify *c, uint64_t begun_us) {
    double done = (double)c->done_bytes, spent_s = (double)(kl_now_us() - begun_us) / 1e6;
    bool terminal = kl_process_has_terminal();
    for (unsigned i = 0; i < c->jobs; i++) {
        const struct kl_verify *v = c->job[i].now;
        uint32_t frames = v ? atomic_load(&v->frames) : 0;
        if (frames) done += (double)bytes_of(v->path) * atomic_load(&v->done) / frames;
    }
    fprintf(stderr, "%s%u of %u files, %.0f %%", terminal ? "\r" : "keylock verify: ", c->done, c->wish.files,
            c->all_bytes ? 100 * done / (double)c->all_bytes : 0);
    if (done > 0) fprintf(stderr, ", %.0f s left", spent_s * ((double)c->all_bytes - done) / done);
    fputs(terminal ? "\x1b[K" : "\n", stderr);
}

static void watch(struct verify *c) {
    uint64_t begun_us = kl_now_us(), every_us = kl_process_has_terminal() ? LOOK_US : QUIET_US,
             next_us = begun_us + every_us;
    kl_mutex_lock(&c->mutex);
    while (c->done < c->wish.files && !kl_process_stopped()) {
        uint64_t now_us = kl_now_us();
        (void)kl_cond_wait_until(&c->news, &c->mutex,
                                 now_us + LOOK_US < next_us ? now_us + LOOK_US : next_us);
        if (kl_now_us() < next_us || c->done == c->wish.files) continue;
        show_progress(c, begun_us);
        next_us += every_us;
    }
    clear_progress();
    kl_mutex_unlock(&c->mutex);
}

static int verify(struct verify *c) {
    unsigned started = 0;
    c->wish.jobs = c->jobs;
    if (c->jobs > c->wish.files) c->jobs = c->wish.files;
    for (unsigned i = 0; i < c->wish.files; i++)
        c->all_bytes += bytes_of(c->wish.file[i]);
    while (started < c->jobs && kl_thread_start(&c->job[started].thread, "keylock-verify", work, c) == 0)
        started++;
    if (started) watch(c);
    for (unsigned i = 0; i < started; i++)
        kl_thread_join(&c->job[i].thread);
    if (c->done < c->wish.files)
        return tool_fail(KLT_CANNOT, "verify", kl_process_stopped() ? "interrupted" : "out of memory");
    return c->worst;
}

static bool take_relay(const struct kl_row *row, void *field, const char *text, char why[KL_ROW_TEXT]) {
    (void)row;
    *(const char **)field = text;
    if (kl_fingerprint_valid(text)) return true;
    snprintf(why, KL_ROW_TEXT, "expected the 32 characters of a fingerprint, got %.400s", text);
    return false;
}

static bool take_list(const struct kl_row *row, void *field, const char *text, char why[KL_ROW_TEXT]) {
    (void)row, (void)why;
    *(const char **)field = text;
    return kl_database_lists(text);
}

#define KL_ROWS_OF struct verify

/* Also of the watcher's children. */
static const struct kl_row run_rows[] = {
    {.name = "core",
     .value = "NAME_OR_PATH",
     .kind = KL_KIND_LIST,
     KL_ROW_FIELD(wish.core),
     .max = KLT_VERIFY_PLACES,
     .count = offsetof(struct verify, wish.cores),
     .help = "the core; more than once: the one that fits (default: by the name in the recording)"},
    {.name = "content",
     .value = "DIR",
     .kind = KL_KIND_LIST,
     KL_ROW_FIELD(wish.content),
     .max = KLT_VERIFY_PLACES,
     .count = offsetof(struct verify, wish.contents),
     .help = "a folder, or a file, that has the content: found by its checksum, whatever its name; may be "
             "given more than once"},
    KL_ROW_PATH("system", "DIR", wish.system_dir, "the core's system folder (default: an empty one)"),
    KL_ROW_PATH("states", "DIR", wish.states,
                "at a parting, keeps the state of the run here in DIR/RECORDING, for keylock blame"),
    {.name = "relay",
     .value = "FINGERPRINT",
     .take = take_relay,
     KL_ROW_FIELD(wish.relay),
     .help = "the relay that must have sealed them; the fingerprint is behind the # of its links"},
    {.name = NULL},
};
static const struct kl_row rows[] = {
    KL_ROW_NUMBER("jobs", "N", jobs, 1, JOBS_MAX,
                  "files at once (default 1); of one file with --pieces, pieces", .letter = 'j',
                  .shown = "none", .standard = "1"),
    KL_ROW_PATH("pieces", "DIR", wish.pieces,
                "keeps states of the run in DIR; with those of an earlier run of the file, its pieces run at "
                "once, if the last state of each is the first of the next"),
    KL_ROW_SWITCH("json", json, "prints a JSON object for each file instead of text"),
    {.name = NULL},
};
static const struct kl_row tie_rows[] = {
    KL_ROW_SWITCH(
        "tie", wish.tie,
        "runs up to the first frame on which the players of a relay's recording differ, and says who of "
        "them is right"),
    KL_ROW_NUMBER("label", "N", wish.label, 0, UINT32_MAX - 1,
                  "with --tie: the frame whose hashes are judged",
                  .said = offsetof(struct verify, wish.labelled)),
    {.name = NULL},
};
static const struct kl_row beside_rows[] = {
    KL_ROW_PATH("watch", "DIR", beside.dir,
                "takes the recordings that are moved into DIR/new, those with a player's report first, and "
                "moves them to DIR/kept; goes on until it is stopped. Decides the ties that the relay asks "
                "about in DIR/ask, in DIR/verdicts"),
    KL_ROW_PATH("database", "FILE", beside.database, "what was found, in SQLite; with --watch it is made"),
    KL_ROW_NUMBER("share", "P", beside.share, 0, 100,
                  "percent of the files without a report that are run, by chance", .standard = "100"),
    {.name = "keep",
     .value = "WHICH",
     .kind = KL_KIND_SWITCH,
     KL_ROW_FIELD(beside.keep_parted),
     .words = "all parted",
     .want = "all or parted",
     .shown = "none",
     .help = "all, or parted: those that are reported, or not verified (default all)"},
    KL_ROW_NUMBER("days", "N", beside.days, 0, 36500,
                  "days after which a file without a report is removed and forgotten; 0: never",
                  .standard = "30"),
    KL_ROW_STRING("on-verdict", "COMMAND", beside.on_verdict,
                  "a shell's command that gets each verdict as JSON on its input"),
    KL_ROW_SWITCH("once", beside.once, "ends when DIR/new has no file left"),
    {.name = "list",
     .value = "WHAT",
     .take = take_list,
     KL_ROW_FIELD(list),
     .want = "matches, players, reports or verdicts",
     .help = "prints the newest 50: matches, players, reports or verdicts"},
    {.name = NULL},
};
static const struct kl_row child_rows[] = {KL_ROW_SWITCH("look", wish.look, NULL), {.name = NULL}};

/* The order of the tables is that of --help. */
static void parse(struct verify *c, bool child, int argc, char **argv) {
    static const struct kl_table tables[] = {
        {.rows = run_rows}, {.rows = rows}, {.rows = tie_rows}, {.rows = beside_rows}, {.rows = NULL}};
    static const struct kl_table childs[] = {
        {.rows = run_rows}, {.rows = tie_rows}, {.rows = child_rows}, {.rows = NULL}};
    tool_parse(argc, argv, false, child ? childs : tables, c);
    for (unsigned i = 0; i < c->wish.cores; i++)
        (void)tool_path((char *)c->wish.core[i]);
    for (unsigned i = 0; i < c->wish.contents; i++)
        (void)tool_path((char *)c->wish.content[i]);
}

/* To the watcher's children. */
static void pass(struct verify *c, const char *option, const char *value) {
    if (!value) return;
    c->passed[c->passes++] = option;
    c->passed[c->passes++] = value;
}

static int list(struct verify *c) {
    char err[KLT_ERR];
    struct kl_database *d = kl_database_open(c->beside.database, false, err, sizeof(err));
    int result = d ? kl_database_list(d, c->list, c->json, stdout, err, sizeof(err)) : -1;
    kl_database_close(d);
    if (result == -2) return tool_fail(KLT_OUTPUT, "verify", "cannot write standard output");
    return result == 0 ? KLT_OK : tool_fail(KLT_FAILED, "verify", "%s", err);
}

static int watch_folder(struct verify *c) {
    for (unsigned i = 0; i < c->wish.cores; i++)
        pass(c, "--core", c->wish.core[i]);
    for (unsigned i = 0; i < c->wish.contents; i++)
        pass(c, "--content", c->wish.content[i]);
    pass(c, "--system", c->wish.system_dir);
    pass(c, "--states", c->wish.states);
    pass(c, "--relay", c->wish.relay);
    c->beside.json = c->json;
    c->beside.options = c->passed;
    kl_process_catch_stop();
    return kl_watch(&c->beside);
}

int cmd_verify(int argc, char **argv) {
    static struct verify state; /* large, and zero */
    struct verify *c = &state;
    parse(c, false, argc, argv);
    bool beside = c->beside.dir || c->list;
    if (beside && strcmp(kl_world_system, "Linux") != 0)
        return tool_fail(KLT_FAILED, "verify", "--watch and --list work on Linux alone, not on %s",
                         kl_world_system);
    if (c->wish.labelled && !c->wish.tie) return tool_usage("--label: expected --tie with it");
    if (c->wish.tie && (beside || c->wish.relay || c->wish.pieces))
        return tool_usage("--tie: expected no --watch, --list, --relay or --pieces with it");
    if (beside && !c->beside.database) return tool_usage("expected --database FILE, got none");
    if (beside && optind < argc) return tool_usage("expected no recording here, got %s", argv[optind]);
    if (c->list) return list(c);
    if (c->beside.dir) return watch_folder(c);
    if (optind == argc) return tool_usage("expected recordings, got none");
    c->wish.file = argv + optind;
    c->wish.files = (unsigned)(argc - optind);
    for (unsigned i = 0; i < c->wish.files; i++)
        (void)tool_path(c->wish.file[i]);
    kl_process_catch_stop();
    return verify(c);
}

/* Of the watcher: one file, and the object goes to the parent. */
int cmd_verify_child(int argc, char **argv) {
    static struct verify state;
    static struct kl_verify one;
    struct verify *c = &state;
    parse(c, true, argc, argv);
    if (optind != argc - 1) return tool_usage("expected one recording, got %d", argc - optind);
    c->wish.file = argv + optind;
    c->wish.files = 1;
    c->wish.child = true;
    one.wish = &c->wish;
    one.path = argv[optind];
    kl_process_ignore_stop();
    kl_verify_run(&one);
    json_object *j = kl_verify_json(&one);
    const char *text = json_object_to_json_string_ext(j, JSON_C_TO_STRING_PLAIN);
    bool told = kl_process_tell(&(struct kl_process_part){text, strlen(text)}, 1);
    json_object_put(j);
    kl_verify_free(&one);
    return told ? KLT_OK : KLT_FAILED;
}
