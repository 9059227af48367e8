/* msg_parts.h - parts of the reliable messages, written and read: those that several messages share, and
 * those that the relay also keeps in its own records (facts, params). net/PROTOCOL.md §7. Errors: by the
 * writer's or reader's `failed`. */
#ifndef KL_MSG_PARTS_H
#define KL_MSG_PARTS_H

#include "net/engine/msg.h"
#include "net/engine/wire.h"

uint8_t kl_read_count(struct kl_reader *r, unsigned max); /* a u8 that must not pass max */
bool kl_read_bool(struct kl_reader *r);
void kl_read_into(struct kl_reader *r, uint8_t *out, size_t len);

void kl_write_facts(struct kl_writer *w, const struct kl_facts *f);
void kl_read_facts(struct kl_reader *r, struct kl_facts *f);
void kl_write_params(struct kl_writer *w, const struct kl_params *p);
void kl_read_params(struct kl_reader *r, struct kl_params *p);

void kl_write_piece(struct kl_writer *w, const struct kl_piece *p);
void kl_read_ticket(struct kl_reader *r, struct kl_piece *p);
void kl_read_past(struct kl_reader *r, struct kl_past *p);
void kl_write_tags(struct kl_writer *w, const struct kl_tags *t);
void kl_read_tags(struct kl_reader *r, struct kl_tags *t);
void kl_write_state(struct kl_writer *w, const struct kl_state_said *s);
void kl_read_state(struct kl_reader *r, struct kl_state_said *s);
void kl_write_shot(struct kl_writer *w, const struct kl_shot_piece *p);
void kl_read_shot(struct kl_reader *r, struct kl_shot_piece *p);
void kl_write_give(struct kl_writer *w, const struct kl_shot_piece *p);
void kl_read_give(struct kl_reader *r, struct kl_shot_piece *p);
void kl_write_ask(struct kl_writer *w, const struct kl_ask *a);
void kl_read_ask(struct kl_reader *r, struct kl_ask *a);
void kl_write_offer(struct kl_writer *w, const struct kl_offer *o);
void kl_read_offer(struct kl_reader *r, struct kl_offer *o);
void kl_write_healed(struct kl_writer *w, const struct kl_healed *h);
void kl_read_healed(struct kl_reader *r, struct kl_healed *h);
void kl_write_bring(struct kl_writer *w, const struct kl_bring *b);
void kl_read_bring(struct kl_reader *r, struct kl_bring *b);

/* msg_seat.c: coming in, coming back */
void kl_write_hello(struct kl_writer *w, const struct kl_hello *h);
int kl_read_hello(struct kl_reader *r, struct kl_hello *h); /* KL_OK, KL_E_VERSION */
void kl_write_welcome(struct kl_writer *w, const struct kl_welcome *m);
void kl_read_welcome(struct kl_reader *r, struct kl_welcome *m);
void kl_write_door(struct kl_writer *w, const struct kl_door_msg *d);
void kl_read_door(struct kl_reader *r, struct kl_door_msg *d);
void kl_write_prove(struct kl_writer *w, const struct kl_prove *p);
void kl_read_prove(struct kl_reader *r, struct kl_prove *p);
void kl_write_return(struct kl_writer *w, const struct kl_return *b);
void kl_read_return(struct kl_reader *r, struct kl_return *b);

#endif
