/* stay_parts.h - shared by the files of a stay. Only inside net/client, and for its tests. */
#ifndef KL_STAY_PARTS_H
#define KL_STAY_PARTS_H

#include "net/client/stay.h"

/* Wakes a wrapper that waits. */
static inline void kl_stay_happened(struct kl_stay *s) {
    s->events++;
}
/* Ends the stay; format has one %s, for the relay's name and port. */
void kl_stay_end_with(struct kl_stay *s, const char *format);

/* --- stay_return.c --- */

/* True if a watcher that tries to come back may try again after this REFUSE. */
bool kl_stay_refused_for_now(struct kl_stay *s, const struct kl_text *t);
/* Silence of the relay, and a new handshake is begun beside the session; commands wait. */
#define KL_STAY_PROBE_US 1000000
/* Silence, deadlines, the greeting. */
void kl_stay_return_turn(struct kl_stay *s, uint64_t now_us);
bool kl_stay_is_returning(const struct kl_stay *s);
/* HELLO or RETURN, once after the connection. */
bool kl_stay_next_entry(struct kl_stay *s, struct kl_msg *m);
void kl_stay_take_welcome(struct kl_stay *s, const struct kl_welcome *w);
/* WELCOME in a new session of the same seat. */
void kl_stay_returned(struct kl_stay *s, const struct kl_welcome *w, uint64_t now_us);
/* A frame has been taken. */
void kl_stay_past_keep(struct kl_stay *s, const struct kl_frame *f);
/* Forgets all frames; we begin behind these intervals (all zero: anew). */
void kl_stay_past_forget(struct kl_stay *s, const struct kl_digest *before);
/* Forgets the frames from this marked keyframe on. NULL: its digest is not known, and nothing has changed. */
const struct kl_digest *kl_stay_past_cut(struct kl_stay *s, uint32_t keyframe);

/* --- stay_door.c --- */

void kl_stay_door_begin(struct kl_stay *s, bool has_password);
/* Acts on DOOR and PROVED, and looks at WELCOME; true if the message needs no further handling. */
bool kl_stay_door_take(struct kl_stay *s, const struct kl_msg *m);
bool kl_stay_next_proof(struct kl_stay *s, struct kl_msg *m);

/* --- stay_snapshot.c --- */

void kl_stay_take_ask(struct kl_stay *s, const struct kl_ask *ask);
void kl_stay_take_offer(struct kl_stay *s, const struct kl_offer *o, uint64_t now_us);
void kl_stay_take_snapshot(struct kl_stay *s, const struct kl_snapshot_piece *p);
void kl_stay_take_rewind(struct kl_stay *s, const struct kl_rewind *m, uint64_t now_us);
/* Forgets the older session's snapshots, asked and coming. */
void kl_stay_snapshot_forget(struct kl_stay *s);
/* Drops the snapshot that comes, if any: its game is over. */
void kl_stay_snapshot_drop(struct kl_stay *s);
/* The next piece of the snapshot that we give, as soon as the uplink may take it. */
bool kl_stay_next_given(struct kl_stay *s, uint64_t now_us, struct kl_msg *m);

/* --- stay_direct.c --- */

/* DIRECT, once in a session. */
bool kl_stay_next_direct(struct kl_stay *s, struct kl_msg *m);
void kl_stay_take_peers(struct kl_stay *s, const struct kl_peers *peers, uint64_t now_us);
/* The session is over. */
void kl_stay_direct_forget(struct kl_stay *s);
unsigned kl_stay_direct_heard(const struct kl_stay *s);

/* --- stay_inbox.c --- */

/* We play from this snapshot on once it is loaded. */
void kl_stay_begin_at(struct kl_stay *s, const struct kl_offer *o, uint64_t now_us);

/* --- stay_say.c --- */

/* HEALED, STATE, hashes, in this order. may_hash: HASH, too. */
bool kl_stay_next_word(struct kl_stay *s, bool may_hash, struct kl_msg *m);

#endif
