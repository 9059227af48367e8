/* seat_file.h - the file from which a killed client gets its seat back: the seat's key, its newest token, and
 * the relays that may have the room. net/PROTOCOL.md §9.
 *
 * DIR/ID-N holds them, mode 0600. ID stands for relay, room, player and game; N counts the processes of this
 * user with the same ID. The process holds DIR/ID-N.lock (flock) while it lives, so that two processes never
 * share a seat. A process that starts after one was killed takes the lowest seat without a lock.
 *
 * The key has signed the match's recording, and `keylock delete` needs it. So if the relay keeps that, the
 * file gets another name as the seat is given up: DIR/kept-SECONDS-KEY. Of these the newest KL_SEAT_KEPT
 * stay, for KL_SEAT_KEPT_DAYS. */
#ifndef KLW_SEAT_FILE_H
#define KLW_SEAT_FILE_H

#include <stdbool.h>

#include "net/engine/msg.h"
#include "net/platform/file.h"
#include "net/session/seat.h"

#define KL_SEAT_FILES     64 /* processes of one user that play the same */
#define KL_SEAT_FILE_ID   16
#define KL_SEAT_KEPT      512
#define KL_SEAT_KEPT_DAYS 400
#define KL_SEAT_ROOM      16  /* bytes of a room's id */
#define KL_SEAT_WHERE     384 /* of a text, NUL included */
#define KL_SEAT_RELAYS    KL_TEXT_MAX

struct kl_seat_file {
    char dir[KL_FILE_PATH], name[64];
    char where[KL_SEAT_WHERE]; /* "HOST:PORT ROOM", for people; of the caller, behind kl_seat_file_open() */
    char relays
        [KL_SEAT_RELAYS]; /* those that may have the room, by kl_link_config's keep(); the caller's, too */
    uint8_t room[KL_SEAT_ROOM]; /* its id; zero: not known */
    struct kl_file lock;        /* closed: the seat is not open */
    struct kl_seat_key key;
    bool left; /* a process has left this seat behind: token is its newest */
    uint8_t token[KL_SEAT_TOKEN];
};

/* $XDG_STATE_HOME/keylock, else ~/.local/state/keylock, with /sub behind it unless sub is NULL. Makes no
 * folder. Returns 0, or -1 if neither is set or out is too small. */
int kl_state_folder(const char *sub, char out[KL_FILE_PATH], char *err, size_t err_len);

/* The seat's ID, from the relay and hello's room, player's name and facts. */
void kl_seat_file_id(uint8_t id[KL_SEAT_FILE_ID], const char *host, uint16_t port,
                     const struct kl_hello *hello);

/* Takes the lowest seat that a dead process left, else the lowest that is free, with a new key. Makes dir.
 * 0, or -1 with a line in err; then f->lock is closed, and f->key a key all the same. */
int kl_seat_file_open(struct kl_seat_file *f, const char *dir, const uint8_t id[KL_SEAT_FILE_ID], char *err,
                      size_t err_len);
/* The seat is somebody else's, or none's: its key is kept, if it had one in a room, and there is a new one.
 */
void kl_seat_file_renew(struct kl_seat_file *f);
/* Writes key and token, in this room, and relays. May be called in another thread than the rest, not at the
 * same time. */
int kl_seat_file_keep(struct kl_seat_file *f, const uint8_t token[KL_SEAT_TOKEN],
                      const uint8_t room[KL_SEAT_ROOM], char *err, size_t err_len);
/* The seat is given up, but its key is kept. Before kl_seat_file_close(); harmless if not open. */
void kl_seat_file_retire(struct kl_seat_file *f);
/* Closes the seat file: keeps it for a later process, or (forget) deletes it. Harmless if not open. */
void kl_seat_file_close(struct kl_seat_file *f, bool forget);

/* True if its seat was given up. */
bool kl_seat_file_is_kept(const struct kl_seat_file *f);
/* Calls each() for every key of the folder, until it gives false: of seats left and of those given up. Fields
 * of its argument but dir, name, key, token, room, where and relays are zero. -1 with a line in err. */
int kl_seat_file_each(const char *dir, bool (*each)(void *ctx, const struct kl_seat_file *f), void *ctx,
                      char *err, size_t err_len);

#endif
