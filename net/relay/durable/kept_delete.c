/* A player's wish that the recording of a match be deleted. */
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/record/klr.h"
#include "net/record/klr_body.h"
#include "net/relay/durable/kept.h"
#include "net/relay/log/relay_log.h"
#include "net/session/proof.h"

#define ROOM_CHARS (2 * KL_ROOM_ID_BYTES)

static bool is_of(const char *name, const char *room) {
    return kl_kept_is_name(name) && strlen(name) > KL_KEPT_ROOM_AT + ROOM_CHARS &&
           memcmp(name + KL_KEPT_ROOM_AT, room, ROOM_CHARS) == 0;
}

/* Does the file hold hashes that this key has signed in that room? What stands in it is no more than a word:
 * the host may have laid it there. */
static enum kl_kept_fate look(const char *path, const struct kl_kept_wish *w) {
    const void *bytes;
    size_t len;
    struct kl_klr_cursor c;
    struct kl_klr_sign s;
    if (kl_file_map(path, &bytes, &len) != 0)
        return kl_file_kind_here(path) == KL_FILE_IS_NONE ? KL_KEPT_NONE : KL_KEPT_STAYS;
    enum kl_kept_fate fate = kl_klr_open(&c, bytes, len) ? KL_KEPT_ANOTHERS : KL_KEPT_STAYS;
    c.checked = len; /* it is not damage that is looked for */
    while (fate == KL_KEPT_ANOTHERS && kl_klr_next(&c) == KL_KLR_BLOCK) {
        struct kl_reader r;
        if (c.type != KL_KLR_SIGN) continue;
        kl_reader_init(&r, c.body, c.body_len);
        kl_klr_read_sign(&r, &s);
        if (!r.failed && memcmp(s.seat_pub, w->seat_key, sizeof s.seat_pub) == 0 &&
            kl_sign_is_good(&s.sign, w->room_id, w->seat_key))
            fate = KL_KEPT_DELETED;
    }
    kl_file_unmap(bytes, len);
    return fate;
}

static enum kl_kept_fate delete_file(const char *path, const struct kl_kept_wish *w) {
    char err[KL_FILE_PATH + 64] = "it is no recording that this relay reads";
    enum kl_kept_fate fate = look(path, w);
    if (fate == KL_KEPT_DELETED) {
        int gone = kl_file_remove(path, err, sizeof err);
        fate = gone == 0 ? KL_KEPT_DELETED : gone < 0 ? KL_KEPT_STAYS : KL_KEPT_NONE;
    }
    if (fate == KL_KEPT_DELETED)
        kl_log(KL_LOG_INFO, "recording_deleted", "file=%s by=\"one of its players\"", path);
    if (fate == KL_KEPT_STAYS) kl_log(KL_LOG_ERROR, "recording_stays", "file=%s reason=\"%s\"", path, err);
    return fate;
}

/* Of DIR/FOLDER. One that is not this player's makes the worse fate. */
static enum kl_kept_fate delete_in(const char *dir, const char *folder, const char *room,
                                   const struct kl_kept_wish *w) {
    enum kl_kept_fate fate = KL_KEPT_NONE;
    struct kl_dir_list list;
    char in[KL_FILE_PATH], path[KL_FILE_PATH], err[KL_FILE_PATH + 64];
    if (kl_file_join(in, sizeof in, dir, folder, err, sizeof err) != 0 ||
        kl_dir_list(&list, in, ".klr", err, sizeof err) != 0)
        return KL_KEPT_NONE;
    for (unsigned i = 0; i < list.count; i++) {
        const char *name = list.name[i];
        if (!is_of(name, room) || kl_file_join(path, sizeof path, in, name, err, sizeof err) != 0) continue;
        fate = kl_kept_is_reported(name) ? KL_KEPT_REPORTED : delete_file(path, w);
    }
    kl_dir_list_free(&list);
    return fate;
}

enum kl_kept_fate kl_kept_delete(const char *dir, const struct kl_kept_wish *w) {
    char room[ROOM_CHARS + 1];
    sodium_bin2hex(room, sizeof room, w->room_id, sizeof w->room_id);
    enum kl_kept_fate fate = delete_in(dir, "new", room, w); /* a verifier moves files from here to there */
    if (fate == KL_KEPT_NONE) fate = delete_in(dir, "kept", room, w);
    if (fate == KL_KEPT_DELETED) {
        /* For the verifier, if one has made that folder. */
        char in[KL_FILE_PATH], path[KL_FILE_PATH], err[KL_FILE_PATH + 64];
        if (kl_file_join(in, sizeof in, dir, KL_KEPT_FORGET, err, sizeof err) == 0 && kl_dir_exists(in) &&
            kl_file_join(path, sizeof path, in, room, err, sizeof err) == 0 &&
            kl_file_write_whole(path, "", 0, KL_FILE_PRIVATE, err, sizeof err) < 0)
            kl_log(KL_LOG_ERROR, "verifier_untold", "reason=\"%s\"", err);
    }
    return fate;
}
