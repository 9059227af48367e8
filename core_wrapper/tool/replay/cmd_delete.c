/* `keylock delete`: a player's wish that a relay delete the recording of a match. net/PROTOCOL.md §9. */
#include "core_wrapper/record/recording.h"
#include "core_wrapper/start/seat_file.h"
#include "core_wrapper/tool/common/tool.h"
#include "core_wrapper/tool/headless/headless.h"
#include "core_wrapper/tool/play/errand.h"
#include "core_wrapper/words/config.h"
#include "core_wrapper/words/config_table.h"
#include "net/engine/plain.h"
#include "net/platform/address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

/* clang-format off: a line here is a line there */
const char cmd_delete_help[] =
    "Usage: keylock delete FILE | ROOM-ID [--relay HOST[:PORT] | --relay LINK]\n"
    "       keylock delete --list\n"
    "\n"
    "Has a relay delete the recording that it keeps of a match of yours: with the players' names and inputs, "
    "and what\n"
    "its verifier has written down of it. FILE: a recording of that match. ROOM-ID: of its room, 32 digits.\n"
    "\n"
    "You may if your machine has played in the match, as this user, in the last 400 days: the key of your "
    "seat is the proof,\n"
    "in the folder seats of your state. Each player of a match may. A match that was reported stays, and so "
    "do all if the\n"
    "relay's host wants that.\n"
    "\n"
    "@0\n"
    "\n"
    "Exit status:\n"
    "  0  it is deleted\n"
    "  1  it is not: no key of yours, or the relay refuses\n"
    "  2  wrong usage; the file cannot be read, or is no recording\n"
    "  4  the relay was not reached\n"
    "  6  standard output cannot be written\n";
/* clang-format on */

#define KEYS 16 /* of one user in one room */

struct wish {
    uint8_t room[KL_SEAT_ROOM];
    struct kl_config where;               /* the relay */
    char named[KL_FINGERPRINT_CHARS + 1]; /* its fingerprint, as the recording says; "": it does not */
    struct kl_seat_file key[KEYS];
    unsigned keys;
    bool lists;
};

/* --- keys --- */

static bool take_key(void *ctx, const struct kl_seat_file *f) {
    struct wish *w = ctx;
    char hex[2 * KL_SEAT_ROOM + 1];
    sodium_bin2hex(hex, sizeof(hex), f->room, sizeof(f->room));
    if (w->lists) {
        char where[KL_SEAT_WHERE];
        snprintf(where, sizeof(where), "%s", f->where);
        printf("%s  %s\n", hex, kl_plain(where));
    } else if (w->keys < KEYS && !memcmp(f->room, w->room, sizeof(f->room))) {
        w->key[w->keys++] = *f;
    }
    return true;
}

static int find_keys(struct wish *w) {
    char dir[KL_FILE_PATH], err[512];
    if (kl_state_folder("seats", dir, err, sizeof(err)) != 0 ||
        kl_seat_file_each(dir, take_key, w, err, sizeof(err)) != 0)
        return tool_fail(KLT_FAILED, "delete", "%s", err);
    if (w->lists || w->keys) return KLT_OK;
    return tool_fail(KLT_FAILED, "delete",
                     "no key of a seat of that match in %s: it was not played by this user, or is too old",
                     dir);
}

/* --- the relay --- */

static int delete_match(struct wish *w) {
    char why[KL_TEXT_MAX] = "";
    struct kl_msg say = {.kind = KL_MSG_DELETE};
    uint8_t answer = 0;
    memcpy(say.wish.room_id, w->room, sizeof(say.wish.room_id));
    if (*w->named) snprintf(w->where.fingerprint, sizeof(w->where.fingerprint), "%s", w->named);
    for (unsigned i = w->keys; i-- > 0 && answer != KL_REFUSE_DELETED;) {
        answer = kl_errand(&(struct kl_errand){.where = &w->where, .key = &w->key[i].key, .say = &say}, why);
        if (answer == KL_REFUSE_DELETED) {
            /* A key whose seat was given up has no other use. */
            const struct kl_seat_file *f = &w->key[i];
            char path[KL_FILE_PATH];
            if (kl_seat_file_is_kept(f) && kl_file_join(path, sizeof(path), f->dir, f->name, NULL, 0) == 0)
                (void)kl_file_remove(path, NULL, 0);
        }
    }
    if (answer == KL_REFUSE_DELETED)
        return printf("deleted by %s\n", kl_host_port(w->where.host, w->where.port).text) < 0 ? KLT_OUTPUT
                                                                                              : tool_show("");
    return tool_fail(answer ? KLT_FAILED : KLT_ROOM, "delete", "%s", kl_plain(why));
}

/* --- the command line --- */

static bool take_relay(const struct kl_row *row, void *where, const char *text, char why[KL_ROW_TEXT]) {
    (void)row;
    return kl_row_set(kl_config_row(strstr(text, "://") ? "link" : "relay"), where, text, why);
}

#define KL_ROWS_OF struct wish
static const struct kl_row rows[] = {
    {.name = "relay",
     .value = "HOST[:PORT]",
     .take = take_relay,
     KL_ROW_FIELD(where),
     .help = "the relay (default: the one where you played)"},
    KL_ROW_SWITCH("list", lists,
                  "lists the rooms of the matches whose recordings you may have deleted, the newest last"),
    {.name = NULL},
};

/* The room's id and the relay's fingerprint, as the file says. */
static int read_file(struct wish *w, char *path) {
    static struct kl_recording rec; /* large */
    char err[KLT_ERR];
    int got = kl_recording_read(&rec, tool_path(path), err, sizeof(err));
    if (got == 1) snprintf(err, sizeof(err), "%.400s: expected a recording or the 32 digits of a room", path);
    if (got == 0 && sodium_is_zero(rec.head.room_id, sizeof(rec.head.room_id))) {
        snprintf(err, sizeof(err), "%.400s: it was played in no room", path);
        got = -1;
    }
    if (got == 0) memcpy(w->room, rec.head.room_id, sizeof(w->room));
    if (got == 0 && !sodium_is_zero(rec.head.relay_key, sizeof(rec.head.relay_key)))
        kl_fingerprint(rec.head.relay_key, w->named);
    kl_recording_free(&rec);
    return got == 0 ? KLT_OK : tool_fail(KLT_USAGE, "delete", "%s", err);
}

static bool is_id(struct wish *w, const char *text) {
    size_t len;
    return strlen(text) == 2 * sizeof(w->room) &&
           sodium_hex2bin(w->room, sizeof(w->room), text, strlen(text), NULL, &len, NULL) == 0 &&
           len == sizeof(w->room);
}

int cmd_delete(int argc, char **argv) {
    static const struct kl_table tables[] = {{.rows = rows}, {.rows = NULL}};
    static struct wish wish; /* large */
    struct wish *w = &wish;
    char place[KL_SEAT_WHERE], why[KL_ROW_TEXT];
    tool_parse(argc, argv, false, tables, w);
    if (argc - optind != !w->lists)
        return tool_usage("expected %s, got %d",
                          w->lists ? "no recording with --list" : "one recording or room", argc - optind);
    if (sodium_init() < 0) return tool_fail(KLT_FAILED, "delete", "libsodium does not start");
    int code = w->lists || is_id(w, argv[optind]) ? KLT_OK : read_file(w, argv[optind]);
    if (code == KLT_OK) code = find_keys(w);
    if (code != KLT_OK || w->lists) return code == KLT_OK ? tool_show("") : code;
    if (!*w->where.host) {
        snprintf(place, sizeof(place), "%s", w->key[w->keys - 1].where);
        place[strcspn(place, " ")] = 0;
        if (!*place) return tool_usage("expected --relay HOST[:PORT]: it is not known where you played");
        if (!take_relay(NULL, &w->where, place, why)) return tool_usage("%s", why);
    }
    code = delete_match(w);
    sodium_memzero(w, sizeof(*w));
    return code;
}
