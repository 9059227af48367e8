/* `keylock play --challenge`: a challenge is played alone, and its run handed in. net/PROTOCOL.md §9.
 *
 * In the state's folder challenges: ROOMID.klr, a run that is not handed in yet; ROOMID.token until it is.
 * The seat file of that room has the key that signs it, and the relay's address; it is locked while
 * the challenge is played. */
#include "core_wrapper/record/recording.h"
#include "core_wrapper/start/seat_file.h"
#include "core_wrapper/tool/common/tool.h"
#include "core_wrapper/tool/desync/machine.h"
#include "core_wrapper/tool/headless/headless.h"
#include "core_wrapper/tool/play/errand.h"
#include "core_wrapper/tool/play/play_replay.h"
#include "core_wrapper/words/config.h"
#include "core_wrapper/words/config_table.h"
#include "net/engine/plain.h"
#include "net/platform/address.h"
#include "net/platform/clock.h"
#include "net/platform/dir.h"
#include "net/platform/process.h"
#include "net/platform/file.h"
#include "net/record/klr.h"
#include "net/record/klr_body.h"
#include "net/session/proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

/* clang-format off: a line here is a line there */
const char cmd_challenge_help[] =
    "Usage: keylock play --challenge HOST[:PORT]/NAME --content DIR_OR_FILE [OPTIONS] [-- RETROARCH "
    "ARGUMENTS]\n"
    "       keylock play --challenge -\n"
    "\n"
    "Plays a challenge of a relay, alone: core, content, options, clock and chance come from the relay at "
    "the "
    "beginning, and\n"
    "no link is needed while you play. Every input is recorded. When the game is closed, the recording is "
    "handed in, and the\n"
    "relay's host runs it again before it counts. Without a link it waits: each later call hands in what "
    "waits, and `-' does\n"
    "nothing else. A relay takes it once, within a day, and not before as much time has passed as its frames "
    "take.\n"
    "If RetroArch crashes, the frames until then are handed in. If that was within its first second, or "
    "content or core is\n"
    "missing, the token waits half a day.\n"
    "\n"
    "@0\n"
    "\n"
    "Exit status:\n"
    "  0  all runs are handed in\n"
    "  1  the relay refuses the run or the challenge, and why\n"
    "  2  wrong usage\n"
    "  4  the relay was not reached; a run waits to be handed in\n"
    "  5  RetroArch, the wrapper, core or content is missing, or another\n"
    "  6  the state's folder cannot be written\n"
    "  else RetroArch's own\n";
/* clang-format on */

#define RUN_BYTES_MAX (8u << 20) /* that a relay takes */
#define SECOND_US     UINT64_C(1000000)
#define DAY_S         86400
#define TOKEN_S       (DAY_S / 2) /* a token that was not played is good for so long here */
#define WAIT_S        60          /* for a run that is too early */

struct challenge {
    const char *relay, *core, *content, *name, *retroarch, *wrapper;
    struct kl_config where;
    struct kl_wanted wanted;
    bool trust;
    char dir[KL_FILE_PATH], seats[KL_FILE_PATH]; /* of the state */
    char run[KL_FILE_PATH], token[KL_FILE_PATH];
    struct kl_seat_file seat; /* of the token, open while it is played */
    uint64_t given_us;        /* or later */
    struct kl_recording rec;  /* the token, or a run */
};

static int open_state(struct challenge *c) {
    char err[KLT_ERR];
    if (kl_state_folder("challenges", c->dir, err, sizeof(err)) == 0 &&
        kl_state_folder("seats", c->seats, err, sizeof(err)) == 0 &&
        kl_dir_make(c->dir, true, err, sizeof(err)) == 0)
        return KLT_OK;
    return tool_fail(KLT_OUTPUT, "play", "%s", err);
}

/* DIR/ROOMID.ENDING */
static bool name_in(char out[KL_FILE_PATH], const char *dir, const uint8_t room_id[KL_ROOM_ID_BYTES],
                    const char *ending) {
    char hex[2 * KL_ROOM_ID_BYTES + 1], name[sizeof(hex) + 16];
    sodium_bin2hex(hex, sizeof(hex), room_id, KL_ROOM_ID_BYTES);
    snprintf(name, sizeof(name), "%s.%s", hex, ending);
    return kl_file_join(out, KL_FILE_PATH, dir, name, NULL, 0) == 0;
}

/* --- handing in --- */

/* Signs the run's hashes, in their order. */
static bool make_run(const struct kl_recording *r, const struct kl_seat_key *key, struct kl_run *run) {
    for (unsigned i = 0; i < r->hashes; i++)
        kl_sign_add(&run->sign, &(struct kl_hash){.frame = r->hash[i].label,
                                                  .has = r->hash[i].has,
                                                  .ram = r->hash[i].ram,
                                                  .state = r->hash[i].state,
                                                  .picture = r->hash[i].picture});
    memcpy(run->room_id, r->head.room_id, sizeof(run->room_id));
    memcpy(run->seat_key, key->pub, sizeof(run->seat_key));
    if (run->sign.count) kl_sign_make(&run->sign, run->room_id, key);
    return run->sign.count;
}

/* RetroArch has crashed, or the machine: puts END behind the last frames that are in the file. */
static int end_run(const struct challenge *c, const char *path, char *err, size_t err_len) {
    const struct kl_recording *r = &c->rec;
    struct kl_klr_end end = {.frames = r->frames, .why = "it broke off"};
    struct kl_klr_cursor at;
    struct kl_klr_place p = {0};
    uint8_t small[KL_KLR_SMALL];
    if (kl_klr_open(&at, r->bytes, r->len))
        while (kl_klr_next(&at) == KL_KLR_BLOCK)
            if (at.type == KL_KLR_PIECES) p = at.place;
    uint8_t *bytes = p.at ? malloc(p.at + sizeof(small) + KL_KLR_AROUND) : NULL;
    if (!bytes) {
        snprintf(err, err_len, "it broke off before a frame of it was written");
        return -1;
    }
    memcpy(bytes, r->bytes, p.at);
    struct kl_writer body = kl_writer(small, sizeof(small));
    kl_klr_write_end(&body, &end);
    size_t len = (size_t)(body.at - small), begin = p.at;
    struct kl_klr_around a = kl_klr_around(&p, KL_KLR_END, small, (uint32_t)len);
    memcpy(bytes + begin, a.before, sizeof(a.before));
    memcpy(bytes + begin + sizeof(a.before), small, len);
    memcpy(bytes + begin + sizeof(a.before) + len, a.check, sizeof(a.check));
    int result = kl_file_write_whole(path, bytes, p.at, KL_FILE_PRIVATE, err, err_len);
    free(bytes);
    return result;
}

/* Nothing was played: the token is as good as before. */
static int keep_token(int code) {
    (void)tool_fail(code, "play", "the challenge's token waits: the next call plays it");
    return code;
}

/* The wrapper holds a lock while it plays (match/challenge.c), also without the `keylock play` that has
 * started it. */
static bool is_played_now(const char *path) {
    struct kl_file lock;
    char name[KL_FILE_PATH + 8];
    snprintf(name, sizeof(name), "%s" KL_RECORDING_LOCK, path);
    if (kl_file_lock(&lock, name, false, NULL, 0) != 0) return true;
    kl_file_unlock(&lock, name);
    return false;
}

/* The relay's answer; 0: there was none. Its address stands in the seat file. */
static uint8_t say_run(struct challenge *c, const struct kl_seat_file *seat, const void *bytes, size_t len,
                       char why[KL_TEXT_MAX]) {
    static struct kl_config where;
    struct kl_msg say = {.kind = KL_MSG_RUN};
    char relay[KL_SEAT_WHERE], err[KLT_ERR];
    snprintf(relay, sizeof(relay), "%s", seat->where);
    relay[strcspn(relay, " ")] = 0;
    where = (struct kl_config){0};
    if (kl_config_set(&where, "relay", relay, err, sizeof(err)) != 0) {
        snprintf(why, KL_TEXT_MAX, "it is not known which relay it is of");
        return KL_REFUSE_SEAT;
    }
    kl_fingerprint(c->rec.head.relay_key, where.fingerprint);
    if (!make_run(&c->rec, &seat->key, &say.run)) {
        snprintf(why, KL_TEXT_MAX, "it has no hashes: it was too short");
        return KL_REFUSE_SEAT;
    }
    return kl_errand(
        &(struct kl_errand){.where = &where, .key = &seat->key, .say = &say, .run = bytes, .run_len = len},
        why);
}

/* A run that broke off is closed and read anew. 0, or -1 with a line in err. */
static int read_closed(struct challenge *c, const char *path, char *err, size_t err_len) {
    if (c->rec.ended) return 0;
    if (end_run(c, path, err, err_len) != 0) return -1;
    kl_recording_free(&c->rec);
    return kl_recording_read(&c->rec, path, err, err_len);
}

/* Nothing of it waits any more. */
static void settle(const struct challenge *c, const char *path) {
    char token[KL_FILE_PATH];
    /* A run that is settled is one of the player's recordings. */
    char dir[KL_FILE_PATH], to[KL_FILE_PATH], err[KLT_ERR];
    if (kl_state_folder("recordings", dir, err, sizeof(err)) != 0 ||
        kl_dir_make(dir, true, err, sizeof(err)) != 0 || !name_in(to, dir, c->rec.head.room_id, "klr") ||
        !kl_file_rename(path, to))
        (void)tool_fail(0, "play", "%s stays: it cannot be moved to your recordings", path);
    if (name_in(token, c->dir, c->rec.head.room_id, "token")) (void)kl_file_remove(token, NULL, 0);
}

static int hand_in(struct challenge *c, const char *path) {
    char err[KLT_ERR], why[KL_TEXT_MAX] = "no key of it is in your state's folder seats";
    struct kl_seat_file seat = {.lock.handle = -1};
    void *bytes = NULL;
    size_t len;
    uint8_t answer = KL_REFUSE_SEAT;
    int read = kl_recording_read(&c->rec, path, err, sizeof(err));
    if (read != 0)
        return tool_fail(KLT_FAILED, "play", "%s cannot be handed in: %s", path,
                         read < 0 ? err : "it is no recording");
    bool mine = kl_seat_file_open(&seat, c->seats, c->rec.head.room_id, err, sizeof(err)) == 0 && seat.left;
    bool late = kl_wall_us() / SECOND_US > c->rec.head.epoch_s + DAY_S;
    if ((!mine && !c->rec.ended && !late) || is_played_now(path)) {
        kl_seat_file_close(&seat, !mine);
        return tool_fail(KLT_FAILED, "play", "%s: it is played now", path);
    }
    if (mine && !c->rec.hashes && !*c->rec.damage) { /* it ended within its first second */
        kl_seat_file_close(&seat, false);
        bool gone = kl_file_remove(path, err, sizeof(err)) == 0;
        return gone ? keep_token(KLT_FAILED) : tool_fail(KLT_OUTPUT, "play", "%s", err);
    }
    if (mine) {
        read = read_closed(c, path, err, sizeof(err));
        if (read == 0) read = kl_file_read(path, RUN_BYTES_MAX, 0, &bytes, &len, err, sizeof(err));
        if (read == 0)
            answer = say_run(c, &seat, bytes, len, why);
        else
            snprintf(why, sizeof(why), "%.180s", err);
        free(bytes);
    }
    bool settled = answer != 0 && answer != KL_REFUSE_LIMIT;
    if (settled) settle(c, path);
    if (settled && mine) kl_seat_file_retire(&seat);
    kl_seat_file_close(&seat, settled || !mine);
    if (answer == KL_REFUSE_TAKEN) return printf("handed in: %s\n", kl_plain(why)) < 0 ? KLT_OUTPUT : KLT_OK;
    return tool_fail(answer ? KLT_FAILED : KLT_ROOM, "play", "%s: %s%s",
                     answer ? "not taken" : "not handed in", kl_plain(why),
                     settled ? ". It stays in your folder of recordings"
                             : ". It waits: keylock play --challenge -");
}

/* All that waits. The worst result. */
static int hand_in_all(struct challenge *c) {
    struct kl_dir_list list;
    char path[KL_FILE_PATH], err[KLT_ERR];
    int worst = KLT_OK;
    if (kl_dir_list(&list, c->dir, ".klr", err, sizeof(err)) != 0)
        return tool_fail(KLT_OUTPUT, "play", "%s", err);
    for (unsigned i = 0; i < list.count; i++) {
        if (kl_file_join(path, sizeof(path), c->dir, list.name[i], err, sizeof(err)) != 0) continue;
        int code = hand_in(c, path);
        kl_recording_free(&c->rec);
        if (code > worst) worst = code;
    }
    kl_dir_list_free(&list);
    return worst;
}

/* --- the token --- */

/* Of the seat file. */
static void write_where(const struct challenge *c, char out[KL_SEAT_WHERE]) {
    snprintf(out, KL_SEAT_WHERE, "%s challenge", kl_host_port(c->where.host, c->where.port).text);
}

/* The paths of c->rec. */
static bool name_files(struct challenge *c) {
    return name_in(c->run, c->dir, c->rec.head.room_id, "klr") &&
           name_in(c->token, c->dir, c->rec.head.room_id, "token");
}

/* c->rec is a token of that challenge, for that player, which nobody plays now or has played. */
static bool token_waits(struct challenge *c) {
    char where[KL_SEAT_WHERE], err[KLT_ERR];
    const struct kl_klr_room *room = &c->rec.room;
    write_where(c, where);
    return !*c->rec.damage && kl_wall_us() / SECOND_US < c->rec.head.epoch_s + TOKEN_S &&
           !strcmp(room->name, c->wanted.name) && !strcmp(room->member[0].name, c->wanted.player) &&
           name_files(c) && kl_file_kind(c->run) == KL_FILE_IS_NONE &&
           kl_seat_file_open(&c->seat, c->seats, c->rec.head.room_id, err, sizeof(err)) == 0 &&
           c->seat.left && !strcmp(c->seat.where, where);
}

/* One that was got before: something was missing to play it. The wait for its time begins now. */
static bool find_token(struct challenge *c) {
    struct kl_dir_list list;
    char path[KL_FILE_PATH], err[KLT_ERR];
    bool found = false;
    if (kl_dir_list(&list, c->dir, ".token", err, sizeof(err)) != 0) return false;
    for (unsigned i = 0; i < list.count && !found; i++) {
        if (kl_file_join(path, sizeof(path), c->dir, list.name[i], err, sizeof(err)) != 0) continue;
        found = kl_recording_read(&c->rec, path, err, sizeof(err)) == 0 && token_waits(c);
        if (found) break;
        if (c->rec.head.epoch_s && kl_wall_us() / SECOND_US > c->rec.head.epoch_s + DAY_S)
            (void)kl_file_remove(path, err, sizeof(err));
        kl_seat_file_close(&c->seat, false);
        kl_recording_free(&c->rec);
    }
    kl_dir_list_free(&list);
    c->given_us = kl_now_us();
    return found;
}

static int write_token(struct challenge *c, const uint8_t *bytes, size_t len, const struct kl_seat_key *key) {
    char err[KLT_ERR];
    const uint8_t *room_id = c->rec.head.room_id, none[KL_SEAT_TOKEN] = {0};
    int result = kl_seat_file_open(&c->seat, c->seats, room_id, err, sizeof(err));
    c->seat.key = *key;
    write_where(c, c->seat.where);
    if (result == 0) result = kl_seat_file_keep(&c->seat, none, room_id, err, sizeof(err));
    if (result == 0 && !name_files(c))
        result = -1, snprintf(err, sizeof(err), "%.900s: too long a name", c->dir);
    if (result == 0) result = kl_file_write_whole(c->token, bytes, len, KL_FILE_PRIVATE, err, sizeof(err));
    return result == 0 ? KLT_OK : tool_fail(KLT_OUTPUT, "play", "%s", err);
}

static int fetch(struct challenge *c) {
    struct kl_seat_key key;
    struct kl_msg say = {.kind = KL_MSG_CHALLENGE, .wanted = c->wanted};
    char why[KL_TEXT_MAX] = "", err[KLT_ERR];
    kl_seat_make(&key);
    struct kl_errand e = {.where = &c->where, .key = &key, .say = &say};
    uint8_t answer = kl_errand(&e, why);
    if (!e.token)
        return tool_fail(answer ? KLT_FAILED : KLT_ROOM, "play", "no challenge %s: %s", c->wanted.name,
                         kl_plain(why));
    c->given_us = kl_now_us();
    uint8_t *bytes = e.token; /* the recording gets e.token */
    bytes = malloc(e.token_len);
    if (bytes) memcpy(bytes, e.token, e.token_len);
    int code =
        bytes && kl_recording_parse(&c->rec, e.token, e.token_len, "the challenge", err, sizeof(err)) == 0 &&
                !*c->rec.damage
            ? write_token(c, bytes, e.token_len, &key)
            : tool_fail(KLT_FAILED, "play", "the relay's token cannot be read");
    free(bytes);
    sodium_memzero(&key, sizeof(key));
    return code;
}

/* --- the game --- */

static int find_run(struct challenge *c, char core[KL_FILE_PATH], char content[KL_FILE_PATH]) {
    char err[KLT_ERR];
    int found = c->core ? tool_find_core(c->core, core, KL_FILE_PATH, err, sizeof(err))
                        : kl_recorded_core(&c->rec, core, err, sizeof(err));
    if (found != 0 || !kl_recorded_core_is(&c->rec, core, err, sizeof(err)))
        return tool_fail(KLT_LOAD, "play", "%s", err);
    if (!kl_recorded_content(&c->rec, &c->content, 1, content) || !*content)
        return tool_fail(KLT_LOAD, "play", "content missing: %s is not where --content names",
                         c->rec.content);
    return KLT_OK;
}

static int play(struct challenge *c, int count, char **given) {
    static char core[KL_FILE_PATH], content[KL_FILE_PATH];
    char err[KLT_ERR];
    int code = find_run(c, core, content);
    if (code != KLT_OK) return keep_token(code);
    if (c->trust) kl_environment_set("KEYLOCK_TRUST", "on");
    code = kl_play_replay(&(struct kl_play_replay){.recording = c->token,
                                                   .core = core,
                                                   .content = content,
                                                   .retroarch = c->retroarch,
                                                   .wrapper = c->wrapper,
                                                   .run = c->run},
                          count, given);
    if (kl_file_kind(c->run) == KL_FILE_IS_NONE)
        return keep_token(code ? code : tool_fail(KLT_FAILED, "play", "nothing was played"));
    kl_recording_free(&c->rec);
    if (kl_recording_read(&c->rec, c->run, err, sizeof(err)) == 0) {
        /* A frontend may run a little faster than the core wants. */
        uint32_t fps_uhz = c->rec.room.has_params ? c->rec.room.params.fps_uhz : 0;
        uint64_t takes_us = fps_uhz ? c->rec.frames * SECOND_US * SECOND_US / fps_uhz + SECOND_US : 0;
        uint64_t until_us = c->given_us + takes_us, now_us = kl_now_us();
        if (until_us > now_us && until_us <= now_us + WAIT_S * SECOND_US)
            while (!kl_sleep_until(until_us)) {
            }
    }
    kl_recording_free(&c->rec);
    kl_seat_file_close(&c->seat, false);
    int handed = hand_in(c, c->run);
    return handed ? handed : code;
}

/* --- the command line --- */

static bool take_challenge(const struct kl_row *row, void *challenge, const char *text,
                           char why[KL_ROW_TEXT]) {
    struct challenge *c = challenge;
    char *slash = strrchr(text, '/');
    (void)row;
    if (!strcmp(text, "-")) return true;
    if (!slash || !slash[1] || slash == text || strlen(slash + 1) > KL_NAME_CHARS) return false;
    snprintf(c->wanted.name, sizeof(c->wanted.name), "%s", slash + 1);
    *slash = 0;
    c->relay = text;
    return kl_row_set(kl_config_row("relay"), &c->where, text, why);
}

#define KL_ROWS_OF struct challenge

static const struct kl_row rows[] = {
    {.name = "challenge",
     .value = "RELAY/NAME",
     .take = take_challenge,
     .want = "HOST[:PORT]/NAME, NAME of at most 23 characters"},
    KL_ROW_PATH("content", "DIR", content,
                "a folder, or a file, that has the content: found by its checksum, whatever its name"),
    KL_ROW_PATH("core", "NAME_OR_PATH", core, "the core (default: by the name in the challenge)"),
    KL_ROW_STRING("name", "NAME", name, "your name (default: KEYLOCK_NAME, else your user's)"),
    KL_ROW_SWITCH("trust", trust, "loads the save data that the challenge begins with"),
    KL_ROW_PATH("retroarch", "FILE", retroarch, "the RetroArch to start"),
    KL_ROW_PATH("wrapper", "FILE", wrapper, "keylock_libretro.so"),
    {.name = NULL},
};

static void name_player(struct challenge *c) {
    const char *user = kl_environment_get("USER"), *set = kl_environment_get("KEYLOCK_NAME");
    const char *name = c->name ? c->name : set && *set ? set : user && *user ? user : "player";
    char err[2048];
    if (kl_config_set(&c->where, "name", name, err, sizeof(err)) != 0) (void)tool_usage("%s", err);
    snprintf(c->wanted.player, sizeof(c->wanted.player), "%s", c->where.name);
}

int cmd_challenge(int argc, char **argv) {
    static const struct kl_table tables[] = {{.rows = rows}, {.rows = NULL}};
    static struct challenge state; /* large, and zero */
    struct challenge *c = &state;
    tool_parse(argc, argv, false, tables, c);
    bool dashes = optind > 0 && strcmp(argv[optind - 1], "--") == 0;
    if (optind < argc && !dashes)
        return tool_usage("expected RetroArch's arguments behind --, got \"%s\"", argv[optind]);
    if (c->relay && !c->content) return tool_usage("expected --content DIR_OR_FILE, got none");
    if (sodium_init() < 0) return tool_fail(KLT_FAILED, "play", "libsodium does not start");
    if (c->relay) name_player(c);
    int code = open_state(c);
    if (code != KLT_OK) return code;
    int waited = hand_in_all(c);
    if (!c->relay) return waited;
    c->seat.lock.handle = -1;
    code = find_token(c) ? KLT_OK : fetch(c);
    if (code == KLT_OK) code = play(c, argc - optind, argv + optind);
    kl_seat_file_close(&c->seat, false);
    kl_recording_free(&c->rec);
    return code;
}
