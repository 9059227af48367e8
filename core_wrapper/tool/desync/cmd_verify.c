#include "core_wrapper/tool/common/report.h"
#include "core_wrapper/tool/common/tool.h"
#include "core_wrapper/tool/desync/verify.h"
#include "net/engine/plain.h"
#include "net/platform/clock.h"
#include "net/platform/file.h"
#include "net/platform/process.h"
#include "net/platform/thread.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

/* clang-format off: a line here is a line there */
const char cmd_verify_help[] =
    "Usage: keylock verify [OPTIONS] FILE...\n"
    "\n"
    "Runs recordings again (keylock run --record, KEYLOCK_RECORD, a relay's), each in a process of its own "
    "at full "
    "speed, and\n"
    "holds the runs against the hashes that the recordings say. One line a file says what was found.\n"
    "\n"
    "  --core NAME_OR_PATH  the core; more than once: the one that fits (default: by the name in the "
    "recording)\n"
    "  --content DIR        a folder, or a file, that has the content: found by its checksum, whatever its "
    "name; may be\n"
    "                       given more than once\n"
    "  --system DIR         the core's system folder (default: an empty one)\n"
    "  --states DIR         at a parting, keeps the state of the run here in DIR/RECORDING, for keylock "
    "blame\n"
    "  --relay FINGERPRINT  the relay that must have sealed them; the fingerprint is behind the # of its "
    "links\n"
    "  --jobs N, -j N       files at once (default 1)\n"
    "  --json               prints a JSON object for each file instead of text\n"
    "\n"
    "A recording that begins with a room's state is verified from there, if one of the same match that "
    "begins with\n"
    "frame 0 is among the files. On another system than the recording's machine, states do not count.\n"
    "\n"
    "Exit status, the highest of all files:\n"
    "  0  verified: all hashes are those of the run here\n"
    "  1  parted: a hash is not, and two runs here are equal. The line has its frame, whose it is, and which "
    "part "
    "differs\n"
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

static const char *const words[] = {"verified", "parted", "cannot be told", "damaged",
                                    "not sealed by that relay"};

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
    char line[8192], frames[128] = "", notes[512] = "", seal[160] = "", signers[KL_MAX_CLIENTS * 96];
    if (v->hashes)
        snprintf(frames, sizeof(frames), "%sframes %" PRIu32 " to %" PRIu32 ", %u hashes (%s)",
                 v->code == KLT_VERIFIED ? ": " : "; equal before: ", v->from,
                 v->code == KLT_VERIFIED || v->code == KLT_DAMAGED ? v->rec.frames - 1 : v->agreed, v->hashes,
                 kl_verify_parts(v->parts));
    if (!*v->unsealed)
        snprintf(seal, sizeof(seal), "; sealed by %s up to frame %" PRIu32, v->sealer, v->rec.seal.end - 1);
    else if (v->code != KLT_UNSEALED)
        snprintf(seal, sizeof(seal), "; not sealed: %s", v->unsealed);
    if (*v->base) snprintf(notes, sizeof(notes), "; begun with a state of the run of %.300s", v->base);
    tell_signers(&v->rec, signers, sizeof(signers));
    snprintf(line, sizeof(line), "%s: %s%s%s%s%s%s%s%s%s%s%s%s", v->path, words[v->code], *v->why ? ": " : "",
             v->why, frames, notes, *v->note ? "; " : "", v->note,
             v->rec.ended || *v->rec.damage || v->code != KLT_VERIFIED ? "" : "; it broke off there", seal,
             signers, *v->state ? "; the state here: " : "", v->state);
    puts(kl_plain(line));
}

static json_object *list_of(unsigned parts) {
    static const char *const name[] = {"ram", "state", "picture"};
    json_object *list = json_object_new_array();
    for (unsigned i = 0; i < 3; i++)
        if (parts >> i & 1) json_object_array_add(list, json_object_new_string(name[i]));
    return list;
}

static void add_text(json_object *j, const char *key, const char *text) {
    json_object_object_add(j, key, *text ? json_object_new_string(text) : NULL);
}

static void add_frame(json_object *j, const char *key, uint32_t frame) {
    json_object_object_add(j, key, frame != UINT32_MAX ? json_object_new_int64(frame) : NULL);
}

static json_object *signers(const struct kl_recording *r) {
    static const char *const word[] = {
        [KL_SIGNED_FALSE] = "false", [KL_SIGNED_ONE] = "one", [KL_SIGNED_ALL] = "all"};
    json_object *list = json_object_new_array();
    char key[2 * KL_SEAT_KEY_BYTES + 1];
    const struct kl_klr_sign *s;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        enum kl_signed is = kl_recording_signed(r, i, &s);
        if (is == KL_SIGNED_NOT) continue;
        json_object *one = json_object_new_object();
        add_text(one, "name", r->name[i]);
        add_text(one, "key", sodium_bin2hex(key, sizeof(key), s->seat_pub, sizeof(s->seat_pub)));
        add_text(one, "hashes", word[is]);
        add_frame(one, "label", s->sign.label);
        json_object_array_add(list, one);
    }
    return list;
}

static int tell_json(const struct kl_verify *v) {
    json_object *j = json_object_new_object(), *who = json_object_new_array();
    bool whole = v->code == KLT_VERIFIED || v->code == KLT_DAMAGED;
    add_text(j, "file", v->path);
    add_text(j, "verdict", words[v->code]);
    json_object_object_add(j, "exit", json_object_new_int(v->code));
    add_text(j, "why", v->why);
    add_frame(j, "from", v->from);
    add_frame(j, "agreed", v->agreed);
    add_frame(j, "frames", whole ? v->rec.frames : UINT32_MAX);
    json_object_object_add(j, "hashes", json_object_new_int64(v->hashes));
    json_object_object_add(j, "parts", list_of(v->parts));
    json_object_object_add(j, "ended", json_object_new_boolean(v->rec.ended));
    add_text(j, "base", v->base);
    add_text(j, "note", v->note);
    add_text(j, "sealed_by", *v->unsealed ? "" : v->sealer);
    add_frame(j, "sealed", *v->unsealed ? UINT32_MAX : v->rec.seal.end);
    add_text(j, "unsealed", v->unsealed);
    json_object_object_add(j, "signed", signers(&v->rec));
    add_frame(j, "label", v->code == KLT_PARTED ? v->label : UINT32_MAX);
    json_object_object_add(j, "differs", list_of(v->code == KLT_PARTED ? v->differs : 0));
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        if (v->code == KLT_PARTED && v->clients >> i & 1)
            json_object_array_add(who, json_object_new_string(v->rec.name[i]));
    json_object_object_add(j, "clients", who);
    add_frame(j, "planted", v->planted);
    add_text(j, "state", v->state);
    return kl_report_put(stdout, j);
}

/* --- the files --- */

static void clear_progress(void) {
    if (kl_process_has_terminal()) fputs("\r\x1b[K", stderr);
}

/* With the mutex. */
static void told(struct verify *c, const struct kl_verify *v) {
    clear_progress();
    if (c->json)
        (void)tell_json(v);
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

static int take_place(const char *option, const char **list, unsigned *count, char *value) {
    if (*count == KLT_VERIFY_PLACES)
        return tool_usage("--%s: expected at most %d of them, got one more", option, KLT_VERIFY_PLACES);
    list[(*count)++] = tool_path(value);
    return 0;
}

static int take(struct verify *c, int o) {
    switch (o) {
    case 'c': return take_place("core", c->wish.core, &c->wish.cores, optarg);
    case 'f': return take_place("content", c->wish.content, &c->wish.contents, optarg);
    case 's': c->wish.system_dir = tool_path(optarg); return 0;
    case 'T': c->wish.states = tool_path(optarg); return 0;
    case 'r':
        c->wish.relay = optarg;
        return kl_fingerprint_valid(optarg)
                   ? 0
                   : tool_usage("--relay: expected the 32 characters of a fingerprint, got %s", optarg);
    case 'j': return tool_number("jobs", optarg, 1, JOBS_MAX, &c->jobs);
    default: c->json = true; return 0;
    }
}

int cmd_verify(int argc, char **argv) {
    static const struct option longs[] = {
        {"core", required_argument, NULL, 'c'},   {"content", required_argument, NULL, 'f'},
        {"system", required_argument, NULL, 's'}, {"states", required_argument, NULL, 'T'},
        {"relay", required_argument, NULL, 'r'},  {"jobs", required_argument, NULL, 'j'},
        {"json", no_argument, NULL, 'J'},         {NULL, 0, NULL, 0}};
    static struct verify state; /* large, and zero */
    struct verify *c = &state;
    c->jobs = 1;
    for (int o; (o = tool_next(argc, argv, "j:", longs)) != -1;)
        (void)take(c, o);
    if (optind == argc) return tool_usage("expected recordings, got none");
    c->wish.file = argv + optind;
    c->wish.files = (unsigned)(argc - optind);
    for (unsigned i = 0; i < c->wish.files; i++)
        (void)tool_path(c->wish.file[i]);
    kl_process_catch_stop();
    return verify(c);
}
