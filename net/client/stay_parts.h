/* stay_parts.h - what the files of a stay share. Only inside net/client, and for its tests. */
#ifndef KL_STAY_PARTS_H
#define KL_STAY_PARTS_H

#include "net/client/stay.h"

/* A wrapper that waits has something to look at. */
static inline void kl_stay_happened(struct kl_stay *s) {
    s->events++;
}
/* It is over; format has one %s, which takes the relay's name and port. */
void kl_stay_end_with(struct kl_stay *s, const char *format);

/* --- stay_return.c --- */

/* This REFUSE is no end for a watcher who tries to come back. */
bool kl_stay_refused_for_now(struct kl_stay *s, const struct kl_text *t);
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
/* Nothing is known any more; we begin at this keyframe, of that interval (0, 0: anew). */
void kl_stay_past_forget(struct kl_stay *s, uint32_t keyframe, uint32_t interval);
void kl_stay_take_tags(struct kl_stay *s, const struct kl_tags *t);
/* The newest whose intervals we have whole; NULL where there is none. */
const struct kl_stay_tags *kl_stay_newest_tag(const struct kl_stay *s);

/* --- stay_bring.c --- */

/* Everything is here from frame 0 on. */
bool kl_stay_can_bring(const struct kl_stay *s);
void kl_stay_take_ticket(struct kl_stay *s, const struct kl_piece *p);
void kl_stay_take_want(struct kl_stay *s, const struct kl_want *w);
bool kl_stay_next_brought(struct kl_stay *s, struct kl_msg *m);

/* --- stay_door.c --- */

void kl_stay_door_begin(struct kl_stay *s, bool has_password);
/* Acts on DOOR and PROVED, and looks at WELCOME; true where the message is done with. */
bool kl_stay_door_take(struct kl_stay *s, const struct kl_msg *m);
bool kl_stay_next_proof(struct kl_stay *s, struct kl_msg *m);

/* --- stay_snapshot.c --- */

void kl_stay_take_ask(struct kl_stay *s, const struct kl_ask *ask);
void kl_stay_take_offer(struct kl_stay *s, const struct kl_offer *o, uint64_t now_us);
void kl_stay_take_shot(struct kl_stay *s, const struct kl_shot_piece *p);
/* Nothing of an older session's counts. */
void kl_stay_shot_forget(struct kl_stay *s);
/* The one that comes, if any, is for a game that is over. */
void kl_stay_shot_drop(struct kl_stay *s);
/* The next piece of what is given, as soon as the uplink may take it. */
bool kl_stay_next_given(struct kl_stay *s, uint64_t now_us, struct kl_msg *m);

/* --- stay_inbox.c --- */

/* We play from this snapshot on, once it is loaded. */
void kl_stay_begin_at(struct kl_stay *s, const struct kl_offer *o, uint64_t now_us);

/* --- stay_say.c --- */

/* HEALED, STATE, hashes, in this order. may_hash: HASH, too. */
bool kl_stay_next_word(struct kl_stay *s, bool may_hash, struct kl_msg *m);

#endif
