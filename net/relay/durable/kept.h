/* kept.h - recordings of rooms that have ended, for the relay's host and for `keylock verify`:
 *
 *     DIR/new/20240506-070809-ROOMID.klr          of a room whose game began then (UTC), with END
 *     DIR/new/20240506-070809-ROOMID-broken.klr   it broke off before: it is good up to there
 *     DIR/new/20240506-070809-ROOMID-reported.klr a player has reported something (KL_COMMAND_REPORT)
 * A name may end with both: ROOMID-broken-reported.klr.
 *
 * A thread keeps the bounds of DIR/new and DIR/kept together: at the start, within a minute after a recording
 * has come, and once an hour. Recordings that are too old go; above the bytes the oldest go. One whose name
 * ends with `-reported.klr` never becomes too old, and goes after all others. Other files are left alone.
 *
 * The same thread deletes a match's recording if one of its players wants that: it reads the file, which
 * would hold up the rooms. DIR/forget/ROOMID then tells `keylock verify --watch`, which makes that folder.
 *
 * And it gives tokens of challenges, and takes their runs (net/PROTOCOL.md §9, Challenges). A recording
 * DIR/challenges/NAME.klr is a challenge: its beginning is what is played. DIR/challenges/given has an empty
 * file for each token that is still good, and of which no run has been taken.
 *
 * And it copies recordings of matches that go on for questions to that verifier (net/record/tie.h), which
 * makes the folders for them. Whoever can write there can give answers, and that alone: an answer is bounded,
 * and believed only by the rules of net/relay/heal/heal_deed.c. */
#ifndef KL_KEPT_H
#define KL_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/engine/msg.h"
#include "net/record/tie.h"
#include "net/relay/durable/store.h"
#include "net/session/keys.h"

struct kl_kept_recordings;

struct kl_kept_limits {
    uint64_t all_bytes;
    unsigned days;
};

/* Makes DIR and DIR/new if they are missing. -1, with one line in err. */
int kl_kept_open(struct kl_kept_recordings **out, const char *dir, struct kl_kept_limits limits, char *err,
                 size_t err_len);
void kl_kept_close(struct kl_kept_recordings *a); /* NULL: nothing */

/* The folder of new recordings, DIR/new. */
const char *kl_kept_new(const struct kl_kept_recordings *a);
/* A recording's name there. */
#define KL_KEPT_NAME 80
void kl_kept_name(char out[KL_KEPT_NAME], const char *room_id, uint64_t epoch_s, bool ended, bool reported);
/* A recording has come. */
void kl_kept_grew(struct kl_kept_recordings *a);

/* --- players' wishes --- */

enum kl_kept_fate {
    KL_KEPT_DELETED,
    KL_KEPT_NONE,     /* there is no recording of that room */
    KL_KEPT_ANOTHERS, /* there is, but nobody with this seat key has signed it */
    KL_KEPT_REPORTED, /* it stays for the host */
    KL_KEPT_STAYS     /* it cannot be read or removed; the log says why */
};
#define KL_CHALLENGE_BYTES    (8u << 20)   /* a run's file at most, */
#define KL_CHALLENGE_UNPACKED (64u << 20)  /* and its blocks */
#define KL_CHALLENGE_START    (256u << 10) /* a challenge's start data at most */
#define KL_CHALLENGE_GOOD_S   86400
#define KL_CHALLENGE_GIVEN    4096 /* tokens at once */

/* A token that is wanted, or a run that is handed in. */
struct kl_kept_challenge {
    struct kl_relay_key key; /* of the relay */
    struct kl_wanted wanted; /* name "": it is a run */
    struct kl_run run;
    uint8_t *bytes; /* from malloc: the run's file; then the token's */
    size_t len;
    enum kl_refuse code; /* of the answer; 0: the token is in bytes */
    char why[KL_TEXT_MAX];
};
void kl_kept_challenge_free(struct kl_kept_challenge *c); /* NULL is allowed */

struct kl_kept_wish {
    uint64_t number; /* the caller's own */
    /* From malloc; NULL: a recording is to be deleted. The thread's until kl_kept_next() gives it back. */
    struct kl_kept_challenge *challenge;
    uint8_t room_id[KL_ROOM_ID_BYTES], seat_key[KL_SEAT_KEY_BYTES];
    enum kl_kept_fate fate;
};
/* False: too many wait. */
bool kl_kept_wish(struct kl_kept_recordings *a, const struct kl_kept_wish *w);
/* The next wish that has its fate. False: none has. */
bool kl_kept_next(struct kl_kept_recordings *a, struct kl_kept_wish *out);

#define KL_KEPT_FORGET "forget"

/* kept_challenge.c: the thread's work for one token or run. */
void kl_kept_challenge(const char *dir, struct kl_kept_challenge *c, uint64_t now_s);

/* --- questions to the verifier --- */

enum kl_kept_ask {
    KL_KEPT_UNASKED,  /* the thread has not come to it yet */
    KL_KEPT_ASKED,    /* the recording lies there, and no answer yet */
    KL_KEPT_ANSWERED, /* found */
    KL_KEPT_CANNOT    /* why; nobody watches the folder, for example */
};
struct kl_kept_question {
    bool open, dropped; /* dropped: its files go with the thread's next turn */
    enum kl_kept_ask state;
    struct kl_tie_question is;
    const struct kl_store *store;
    uint64_t bytes;
    char why[KL_TIE_WHY];
};
/* Asks about the first `bytes` bytes of that room's recording in the store, which is borrowed until `a` is
 * closed. An older question of the room is dropped. False: it is too long, or KL_TIE_OPEN are open. */
bool kl_kept_ask(struct kl_kept_recordings *a, const struct kl_tie_question *q, const struct kl_store *store,
                 uint64_t bytes);
/* Looks for the answer, a small file. CANNOT also of a question that is not open. */
enum kl_kept_ask kl_kept_answer(struct kl_kept_recordings *a, const struct kl_tie_question *q,
                                struct kl_klr_hash *found, char why[KL_TIE_WHY]);
/* The room needs no answer. */
void kl_kept_ask_no_more(struct kl_kept_recordings *a, const uint8_t room[KL_STORE_ID]);

/* Removes the files of all questions: an earlier relay's. */
void kl_kept_ask_clear(const char *dir);

/* The place of the room's id in a recording's name. */
#define KL_KEPT_ROOM_AT 16

/* The thread's work for the bounds, once. */
void kl_kept_tidy(const char *dir, struct kl_kept_limits limits, uint64_t wall_us);

#endif
