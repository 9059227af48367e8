#include "core_wrapper/tool/common/report.h"
#include "core_wrapper/tool/common/tool.h"
#include "core_wrapper/tool/desync/machine.h"
#include "core_wrapper/tool/play/play_replay.h"
#include "core_wrapper/tool/replay/replay_export.h"
#include "net/engine/plain.h"
#include "net/platform/process.h"
#include "net/platform/file.h"
#include "net/session/keys.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <sodium.h>

/* clang-format off: a line here is a line there */
const char cmd_replay_help[] =
    "Usage: keylock replay FILE [OPTIONS] [-- RETROARCH ARGUMENTS]\n"
    "       keylock replay FILE --info | --json | --text\n"
    "       keylock replay FILE --export-inputs FILE | --export-fm2 FILE | --export-replay FILE\n"
    "\n"
    "Starts this machine's RetroArch on a recording of a match (record = DIR, keylock run --record, a "
    "relay's). Or says\n"
    "what it holds, and whether all of its blocks are whole; or writes its inputs for another program.\n"
    "\n"
    "On the first pad, or the keys that RetroArch has for it: Start pauses and goes on; Left and Right seek, "
    "and while\n"
    "they are held move along a bar; L and R step; A shows the players' buttons. RetroArch's own pause and "
    "fast-forward\n"
    "work, too.\n"
    "\n"
    "@0\n"
    "\n"
    "Exit status:\n"
    "  0  whole\n"
    "  1  torn or damaged; the block or packed frame and its byte are named, and all before it is good\n"
    "  2  wrong usage; the file cannot be read, or is no recording\n"
    "  5  RetroArch, the wrapper, core or content is missing, or another\n"
    "  6  standard output, or the file to write, cannot be written\n"
    "  else RetroArch's own\n";
/* clang-format on */

enum { REPLAY_DAMAGED = 1 };

enum job { JOB_PLAY, JOB_INFO, JOB_JSON, JOB_TEXT, JOB_INPUTS, JOB_FM2, JOB_REPLAY };
struct replay {
    struct kl_recording rec;
    const char *path, *to, *core, *content, *system_dir, *retroarch, *wrapper;
    bool trust;
    uint64_t seat, players;
    const char *room, *relay;
    enum job job;
};

/* --- its contents --- */

/* 0: not known. */
static uint64_t duration_s(const struct kl_recording *r) {
    uint32_t fps_uhz = r->room.has_params ? r->room.params.fps_uhz : 0;
    return fps_uhz ? (r->frames - r->first) * UINT64_C(1000000) / fps_uhz : 0;
}

static void tell_seal(const struct kl_recording *r) {
    char fingerprint[KL_FINGERPRINT_CHARS + 1];
    const char *why = kl_recording_sealed(r);
    kl_fingerprint(r->head.relay_key, fingerprint);
    if (*why)
        printf("sealed   no: %s\n", why);
    else
        printf("sealed   up to frame %" PRIu32 ", by the relay %s\n", r->seal.end - 1, fingerprint);
}

#define ROOM_ID (2 * KL_DIGEST_ROOM_ID + 1)

/* "": no room. */
static const char *room_id(const struct kl_recording *r, char out[ROOM_ID]) {
    bool none = sodium_is_zero(r->head.room_id, sizeof(r->head.room_id));
    return none ? "" : sodium_bin2hex(out, ROOM_ID, r->head.room_id, sizeof(r->head.room_id));
}

static void tell_players(struct kl_recording *r) {
    for (unsigned i = 0; i < r->room.members; i++) {
        struct kl_klr_member *m = &r->room.member[i];
        printf("player   %s", kl_plain(m->name));
        for (KL_EACH(s, m->seats))
            printf("%s%u", m->seats & ((1u << s) - 1) ? ", " : ", seat ", s + 1);
        putchar('\n');
    }
}

static int tell(struct replay *p) {
    struct kl_recording *r = &p->rec;
    char digest[2 * KL_DIGEST + 1], room[ROOM_ID], begun[KL_START_WORDS];
    uint64_t s = duration_s(r);
    printf("core     %s\ncontent  %s\n", r->core, r->content);
    if (*r->room.name) printf("room     %s\n", r->room.name);
    if (*room_id(r, room)) printf("id       %s\n", room);
    if (*r->room.match) printf("match    %s\n", kl_plain(r->room.match));
    kl_start_state_words(&r->begun, begun);
    if (r->begun.bytes) printf("begun    with a state: %s, its maker says\n", begun);
    if (r->head.flags & KL_KLR_HAS_EPOCH) printf("epoch    %" PRIu64 "\n", r->head.epoch_s);
    tell_players(r);
    if (r->frames)
        printf("frames   %" PRIu32 " to %" PRIu32 "\n", r->first, r->frames - 1);
    else
        printf("frames   none\n");
    if (s) printf("duration %" PRIu64 ":%02u min\n", s / 60, (unsigned)(s % 60));
    printf("inputs   %u changes\nhashes   %u\n", r->inputs, r->hashes);
    if (r->digest.end)
        printf("digest   %s after frame %" PRIu32 "\n",
               sodium_bin2hex(digest, sizeof(digest), r->digest.digest, KL_DIGEST), r->digest.end - 1);
    tell_seal(r);
    if (r->packed)
        printf("bytes    %zu, packed %zu in %u frames of zstd\n", r->len, r->packed, r->packed_frames);
    else
        printf("bytes    %zu, not packed\n", r->len);
    printf("blocks   %u%s\n", r->blocks, r->ended ? "" : ", without an end: the run broke off");
    if (r->ended) printf("end      %s\n", kl_plain(r->end));
    if (*r->damage) printf("damage   %s\n", r->damage);
    return tool_show("");
}

static void add_text(json_object *j, const char *key, const char *text) {
    json_object_object_add(j, key, *text ? json_object_new_string(text) : NULL);
}

static void add_number(json_object *j, const char *key, bool known, uint64_t n) {
    json_object_object_add(j, key, known ? json_object_new_int64((int64_t)n) : NULL);
}

/* The seat key by which the client signed its hashes, as the file says; "": it signed none. */
static const char *key_of(const struct kl_recording *r, unsigned client,
                          char out[2 * KL_SEAT_KEY_BYTES + 1]) {
    out[0] = 0;
    for (unsigned i = 0; i < r->signs; i++)
        if (r->sign[i].client == client)
            sodium_bin2hex(out, 2 * KL_SEAT_KEY_BYTES + 1, r->sign[i].seat_pub, KL_SEAT_KEY_BYTES);
    return out;
}

static json_object *players_of(const struct kl_recording *r) {
    json_object *list = json_object_new_array();
    for (unsigned i = 0; i < r->room.members; i++) {
        const struct kl_klr_member *m = &r->room.member[i];
        json_object *one = json_object_new_object(), *seats = json_object_new_array();
        char key[2 * KL_SEAT_KEY_BYTES + 1];
        json_object_object_add(one, "name", json_object_new_string(m->name));
        for (int s = 0; s < KL_MAX_SEATS; s++)
            if (m->seats >> s & 1) json_object_array_add(seats, json_object_new_int(s + 1));
        json_object_object_add(one, "seats", seats);
        add_text(one, "key", key_of(r, m->client, key));
        json_object_array_add(list, one);
    }
    return list;
}

static int tell_json(const struct replay *p) {
    const struct kl_recording *r = &p->rec;
    json_object *j = json_object_new_object();
    const char *unsealed = kl_recording_sealed(r);
    char digest[2 * KL_DIGEST + 1], fingerprint[KL_FINGERPRINT_CHARS + 1] = "", room[ROOM_ID],
                                                                       begun[KL_START_WORDS];
    if (!sodium_is_zero(r->head.relay_key, sizeof(r->head.relay_key)))
        kl_fingerprint(r->head.relay_key, fingerprint);
    sodium_bin2hex(digest, sizeof(digest), r->digest.digest, KL_DIGEST);
    add_text(j, "file", p->path);
    add_text(j, "core", r->core);
    add_text(j, "content", r->content);
    add_text(j, "room", r->room.name);
    add_text(j, "room_id", room_id(r, room));
    add_text(j, "match", r->room.match);
    add_number(j, "epoch", r->head.flags & KL_KLR_HAS_EPOCH, r->head.epoch_s);
    json_object_object_add(j, "players", players_of(r));
    kl_start_state_words(&r->begun, begun);
    add_text(j, "begun", r->begun.bytes ? begun : "");
    add_number(j, "first", r->frames, r->first);
    add_number(j, "frames", true, r->frames);
    add_number(j, "seconds", duration_s(r), duration_s(r));
    add_number(j, "inputs", true, r->inputs);
    add_number(j, "hashes", true, r->hashes);
    add_text(j, "digest", r->digest.end ? digest : "");
    add_number(j, "digest_end", r->digest.end, r->digest.end);
    add_text(j, "relay", fingerprint);
    add_number(j, "sealed", !*unsealed, r->seal.end);
    add_text(j, "unsealed", unsealed);
    add_number(j, "bytes", true, r->len);
    add_number(j, "packed", r->packed, r->packed);
    add_number(j, "blocks", true, r->blocks);
    json_object_object_add(j, "ended", json_object_new_boolean(r->ended));
    add_text(j, "end", r->end);
    add_text(j, "damage", r->damage);
    return kl_report_put(stdout, j);
}

/* --- as another program's file --- */

static int find_run(const struct replay *p, char core[KL_FILE_PATH], char content[KL_FILE_PATH]) {
    char err[KLT_ERR];
    int found = p->core ? tool_find_core(p->core, core, KL_FILE_PATH, err, sizeof(err))
                        : kl_recorded_core(&p->rec, core, err, sizeof(err));
    if (found != 0 || !kl_recorded_core_is(&p->rec, core, err, sizeof(err)))
        return tool_fail(KLT_LOAD, "replay", "%s", err);
    if (!kl_recorded_content(&p->rec, &p->content, p->content ? 1 : 0, content))
        return tool_fail(KLT_LOAD, "replay", "content missing: %s is not where --content names",
                         p->rec.content);
    return KLT_OK;
}

static int export(struct replay *p) {
    static char core[KL_FILE_PATH], content[KL_FILE_PATH];
    struct kl_machine_setup setup = {
        .core = core, .recording = p->path, .system_dir = p->system_dir, .asks = true};
    char left[KLT_EXPORT_LEFT] = "", err[KLT_ERR] = "";
    if (p->rec.first)
        return tool_fail(KLT_USAGE, "replay",
                         "it begins with the room's state of frame %" PRIu32 ", not at power-on",
                         p->rec.first);
    if (p->rec.begun.bytes)
        return tool_fail(KLT_USAGE, "replay", "it begins with a state of another match, not at power-on");
    if (p->job == JOB_REPLAY && find_run(p, core, content) != KLT_OK) return KLT_LOAD;
    setup.content = *content ? content : NULL;
    FILE *out = kl_file_stream(p->to, "wb");
    int result = out ? 0 : -1;
    if (!out) snprintf(err, sizeof(err), "%s", strerror(errno));
    if (out && p->job == JOB_INPUTS) result = kl_export_inputs(&p->rec, out, left);
    if (out && p->job == JOB_FM2) result = kl_export_fm2(&p->rec, out, left);
    if (out && p->job == JOB_REPLAY) result = kl_export_replay(&p->rec, &setup, out, left, err, sizeof(err));
    if (out && fclose(out) != 0) result = -1;
    if (result != 0)
        return tool_fail(KLT_OUTPUT, "replay", "%s: %s", p->to, *err ? err : "cannot write all of it");
    if (*left) fprintf(stderr, "keylock replay: not in %s: %s\n", p->to, left + 2);
    return KLT_OK;
}

/* --- in RetroArch --- */

static int play(struct replay *p, int count, char **given) {
    static char core[KL_FILE_PATH], content[KL_FILE_PATH], path[KL_FILE_PATH];
    if (find_run(p, core, content) != KLT_OK) return KLT_LOAD;
    if (!*content)
        return tool_fail(KLT_LOAD, "replay", "this core ran without content: keylock verify runs it again");
    if (!kl_file_real(p->path, path, sizeof(path)))
        return tool_fail(KLT_USAGE, "replay", "%s: %s", p->path, strerror(errno));
    if (p->trust) kl_environment_set("KEYLOCK_TRUST", "on");
    if (p->seat) tool_export_number("KEYLOCK_TAKE_OVER", p->seat);
    if (p->room) tool_export_number("KEYLOCK_PLAYERS", p->players ? p->players : 2);
    kl_recording_free(&p->rec);
    return kl_play_replay(&(struct kl_play_replay){.recording = path,
                                                   .core = core,
                                                   .content = content,
                                                   .retroarch = p->retroarch,
                                                   .relay = p->relay,
                                                   .room = p->room,
                                                   .wrapper = p->wrapper},
                          count, given);
}

/* --- the command --- */

static bool take_job(const struct kl_row *row, void *replay, const char *to, char why[KL_ROW_TEXT]) {
    struct replay *p = replay;
    if (p->job)
        snprintf(why, KL_ROW_TEXT, "expected one of --info, --json, --text and --export-..., got two");
    if (p->job) return false;
    p->job = (enum job)row->min;
    p->to = row->value ? tool_path((char *)to) : NULL;
    return true;
}

#define KL_ROWS_OF struct replay

static const struct kl_row rows[] = {
    KL_ROW_PATH("core", "NAME_OR_PATH", core, "the core (default: by the name in the recording)"),
    KL_ROW_PATH("content", "DIR", content,
                "a folder, or a file, that has the content: found by its checksum, whatever its name"),
    KL_ROW_NUMBER("take-over", "N", seat, 1, KL_MAX_SEATS,
                  "player 1 to 8: with Y you play on in that seat, alone"),
    KL_ROW_STRING(
        "room", "NAME", room,
        "with --take-over: with Y a room of that name begins there. Those who come are asked whether "
        "they agree to its state"),
    KL_ROW_STRING("relay", "HOST[:PORT]", relay, "with --room: the relay (default: keylock.cfg's)"),
    KL_ROW_NUMBER("players", "N", players, 1, KL_MAX_SEATS,
                  "with --room: seats that are filled before it begins, 1 to 8 (default 2)"),
    KL_ROW_SWITCH(
        "trust", trust,
        "loads the saves of the match's host that are in the recording, and a state with which it begins"),
    KL_ROW_PATH("retroarch", "FILE", retroarch, "the RetroArch to start"),
    KL_ROW_PATH("wrapper", "FILE", wrapper, "keylock_libretro.so"),
    {.name = "info", .take = take_job, .min = JOB_INFO, .help = "players, frames, inputs, hashes, seal, end"},
    {.name = "json", .take = take_job, .min = JOB_JSON, .help = "the same as a JSON object"},
    {.name = "text",
     .take = take_job,
     .min = JOB_TEXT,
     .help = "all of it as lines of text: options, inputs, hashes, commands"},
    {.name = "export-inputs",
     .value = "FILE",
     .take = take_job,
     .min = JOB_INPUTS,
     .help = "the pads, for keylock run as its input"},
    {.name = "export-fm2",
     .value = "FILE",
     .take = take_job,
     .min = JOB_FM2,
     .help = "   the pads of two players, as FCEUX has them; nothing verifies that it plays the same"},
    {.name = "export-replay",
     .value = "FILE",
     .take = take_job,
     .min = JOB_REPLAY,
     .help = "a .replay of version 1, for retroarch -P (RetroArch 1.15 and later); the recording is run here "
             "first, to learn which inputs the core asks for"},
    KL_ROW_PATH("system", "DIR", system_dir,
                "for --export-replay: the core's system folder (default: an empty one)"),
    {.name = NULL},
};

static int do_job(struct replay *p) {
    int code = 0;
    switch (p->job) {
    case JOB_JSON: code = tell_json(p); break;
    case JOB_TEXT: code = kl_recording_text(&p->rec, stdout); break;
    case JOB_INPUTS:
    case JOB_FM2:
    case JOB_REPLAY: return export(p);
    default: code = tell(p); break;
    }
    return code == 0 ? KLT_OK : tool_fail(KLT_OUTPUT, "replay", "cannot write standard output");
}

int cmd_replay(int argc, char **argv) {
    static const struct kl_table tables[] = {{.rows = rows}, {.rows = NULL}};
    static struct replay state; /* large, and zero */
    struct replay *p = &state;
    char err[KLT_ERR];
    tool_parse(argc, argv, false, tables, p);
    bool dashes = optind > 0 && strcmp(argv[optind - 1], "--") == 0;
    int names = argc - optind;
    if (names < 1 || (names > 1 && (p->job || !dashes)))
        return tool_usage("expected one recording, got %d names", names);
    if ((p->room && !p->seat) || ((p->relay || p->players) && !p->room))
        return tool_usage("expected --relay and --players with --room, and --room with --take-over");
    p->path = tool_path(argv[optind]);
    int read = kl_recording_read(&p->rec, p->path, err, sizeof(err));
    if (read < 0) return tool_fail(KLT_USAGE, "replay", "%s", err);
    if (read > 0)
        return tool_fail(KLT_USAGE, "replay", "%s: expected a recording, it begins otherwise", p->path);
    if (p->job == JOB_PLAY) return play(p, names - 1, argv + optind + 1);
    int code = do_job(p);
    if (code == KLT_OK && *p->rec.damage) code = REPLAY_DAMAGED;
    kl_recording_free(&p->rec);
    return code;
}
