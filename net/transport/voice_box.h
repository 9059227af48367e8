/* voice_box.h - packets of speech between a link's thread and the voice thread.
 *
 * The box has a mutex and memory of its own, and counts its holders: the link and the voice may end in any
 * order. The link's mutex is never taken here. In a room with a password the box seals packets from end to
 * end (net/session/voice_key.h): in the voice thread, so that the link's thread has no part in it. */
#ifndef KL_VOICE_BOX_H
#define KL_VOICE_BOX_H

#include "net/client/voice.h"

struct kl_voice_box;

/* One holder: the caller. NULL: no memory or no descriptor. */
struct kl_voice_box *kl_voice_box_new(void);
/* One more holder. Returns the box; NULL for NULL. */
struct kl_voice_box *kl_voice_box_hold(struct kl_voice_box *b);
/* One holder less; the last one frees it. NULL is allowed. */
void kl_voice_box_drop(struct kl_voice_box *b);

/* --- the voice thread: one thread alone calls these --- */

/* on: this client takes part: others may hear it, and it asks to hear the clients of the mask. Its own bit
 * means nothing. Not on, as a new box is: nothing comes, and nothing is sent. Takes effect within
 * a second. */
void kl_voice_box_hear(struct kl_voice_box *b, bool on, uint16_t mask);
/* The present state. In a room with a password the first call makes the key: 0.1 to 2 s, 64 MB. Other
 * calls return within microseconds. Call it ten times a second or so: keys of others come by it, too. */
void kl_voice_box_news(struct kl_voice_box *b, struct kl_voice_news *out);
/* Gives a packet to the link's thread and wakes it. v->len: at most KL_VOICE_BYTES. v->client and
 * KL_VOICE_SHUT are the box's business. False, and nothing is sent: nobody hears it, by the last news; or
 * the payload is too long. If the link is stuck the oldest packets are dropped. */
bool kl_voice_box_say(struct kl_voice_box *b, const struct kl_voice *v);
/* The oldest packet that has arrived, opened: of a wanted client, its bytes are the speaker's own. False:
 * none waits. Of 64 that wait the oldest is dropped. A speaker is a stranger: its bytes may be anything, its
 * numbers may jump, and packets come late, twice, or not. *arrived_us: the time of kl_voice_box_put(). */
bool kl_voice_box_next(struct kl_voice_box *b, struct kl_voice *out, uint64_t *arrived_us);

/* --- the link: its thread alone calls these --- */

/* A new link; password: of its room, "": none. */
void kl_voice_box_begin(struct kl_voice_box *b, const char *password);
/* Readable (net/platform/wait.h) once the voice thread has something for the link; kl_wake_clear() it. */
int kl_voice_box_wake(const struct kl_voice_box *b);
/* The voice thread's wish, and this box's random bytes. */
void kl_voice_box_wish(struct kl_voice_box *b, struct kl_hear *out);
/* The oldest packet to send; false: none waits. */
bool kl_voice_box_take(struct kl_voice_box *b, struct kl_voice *out);
/* A packet of the relay has come. */
void kl_voice_box_put(struct kl_voice_box *b, const struct kl_voice *v, uint64_t now_us);
/* The link's state. */
void kl_voice_box_tell(struct kl_voice_box *b, const struct kl_voice_told *told);

#endif
