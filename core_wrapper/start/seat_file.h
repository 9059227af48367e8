/* seat_file.h - the file from which a killed client gets its seat back: the seat's key and its newest token.
 * net/PROTOCOL.md §9.
 *
 * DIR/ID-N holds them, mode 0600. ID stands for relay, room, player and game; N counts the processes of this
 * user with the same ID. The process holds DIR/ID-N.lock (flock) while it lives, so that two processes never
 * share a seat. A process that starts after one was killed takes the lowest seat without a lock. */
#ifndef KLW_SEAT_FILE_H
#define KLW_SEAT_FILE_H

#include <stdbool.h>

#include "net/engine/msg.h"
#include "net/platform/file.h"
#include "net/session/seat.h"

#define KL_SEAT_FILES   64 /* processes of one user that play the same */
#define KL_SEAT_FILE_ID 16

struct kl_seat_file {
    char dir[KL_FILE_PATH], name[64];
    struct kl_file lock; /* closed: the seat is not open */
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
/* The seat is somebody else's, or none's: a new key, and nothing on disk. */
void kl_seat_file_renew(struct kl_seat_file *f);
/* Writes key and token. May be called in another thread than the rest, not at the same time. */
int kl_seat_file_keep(struct kl_seat_file *f, const uint8_t token[KL_SEAT_TOKEN], char *err, size_t err_len);
/* Closes the seat file: keeps it for a later process, or (forget) deletes it. Harmless if not open. */
void kl_seat_file_close(struct kl_seat_file *f, bool forget);

#endif
