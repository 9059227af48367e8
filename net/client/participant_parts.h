/* participant_parts.h - shared by the files of a participant. Only inside net/client, and for its tests. */
#ifndef KL_PARTICIPANT_PARTS_H
#define KL_PARTICIPANT_PARTS_H

#include "net/client/participant.h"

/* Wakes a wrapper that waits. */
static inline void kl_participant_happened(struct kl_participant *s) {
    s->events++;
}
/* Ends the participation; format has one %s, for the relay's name and port. */
void kl_participant_end_with(struct kl_participant *s, const char *format);

/* --- participant_return.c --- */

/* True if a watcher that tries to come back may try again after this REFUSE. */
bool kl_participant_refused_for_now(struct kl_participant *s, const struct kl_text *t);
/* Silence of the relay, and a new handshake is begun beside the session; commands wait. */
#define KL_PARTICIPANT_PROBE_US 700000
/* Silence, deadlines, the greeting. */
void kl_participant_return_turn(struct kl_participant *s, uint64_t now_us);
bool kl_participant_is_returning(const struct kl_participant *s);
/* The room is at another relay: RETURN goes there. */
void kl_participant_look_for_relay(struct kl_participant *s, uint64_t now_us);
/* HELLO or RETURN, once after the connection. */
bool kl_participant_next_entry(struct kl_participant *s, struct kl_msg *m);
void kl_participant_take_welcome(struct kl_participant *s, const struct kl_welcome *w);
/* WELCOME in a new session of the same seat. */
void kl_participant_returned(struct kl_participant *s, const struct kl_welcome *w, uint64_t now_us);
/* A frame has been taken. */
void kl_participant_past_keep(struct kl_participant *s, const struct kl_frame *f);
/* Forgets all frames; we begin behind these intervals (all zero: anew). */
void kl_participant_past_forget(struct kl_participant *s, const struct kl_digest *before);
/* Forgets the frames from this marked keyframe on. NULL: its digest is not known, and nothing has changed. */
const struct kl_digest *kl_participant_past_cut(struct kl_participant *s, uint32_t keyframe);

/* --- participant_door.c --- */

void kl_participant_door_begin(struct kl_participant *s, bool has_password);
/* Acts on DOOR and PROVED, and looks at WELCOME; true if the message needs no further handling. */
bool kl_participant_door_take(struct kl_participant *s, const struct kl_msg *m);
bool kl_participant_next_proof(struct kl_participant *s, struct kl_msg *m);

/* --- participant_snapshot.c --- */

void kl_participant_take_ask(struct kl_participant *s, const struct kl_ask *ask);
void kl_participant_take_offer(struct kl_participant *s, const struct kl_offer *o, uint64_t now_us);
void kl_participant_take_snapshot(struct kl_participant *s, const struct kl_snapshot_piece *p);
void kl_participant_take_rewind(struct kl_participant *s, const struct kl_rewind *m, uint64_t now_us);
/* Forgets the older session's snapshots, asked and coming. */
void kl_participant_snapshot_forget(struct kl_participant *s);
/* Drops the snapshot that comes, if any: its game is over. */
void kl_participant_snapshot_drop(struct kl_participant *s);
/* The next piece of the snapshot that we give, as soon as the uplink may take it. */
bool kl_participant_next_given(struct kl_participant *s, uint64_t now_us, struct kl_msg *m);

/* --- participant_direct.c --- */

/* DIRECT, once in a session. */
bool kl_participant_next_direct(struct kl_participant *s, struct kl_msg *m);
void kl_participant_take_peers(struct kl_participant *s, const struct kl_peers *peers, uint64_t now_us);
/* The session is over. */
void kl_participant_direct_forget(struct kl_participant *s);
unsigned kl_participant_direct_heard(const struct kl_participant *s);

/* --- participant_inbox.c --- */

/* We play from this snapshot on once it is loaded. */
void kl_participant_begin_at(struct kl_participant *s, const struct kl_offer *o, uint64_t now_us);

/* --- participant_say.c --- */

/* HEAR, if the wish is another than the session's newest HEAR. */
bool kl_participant_next_hear(struct kl_participant *s, struct kl_msg *m);
void kl_participant_take_voices(struct kl_participant *s, const struct kl_voices *v);
/* The session is over. */
void kl_participant_voice_forget(struct kl_participant *s);

/* HEALED, STATE, hashes, in this order. may_hash: HASH, too. */
bool kl_participant_next_word(struct kl_participant *s, bool may_hash, struct kl_msg *m);

#endif
