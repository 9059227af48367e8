/* lobby_command.h - commands of a room's members and of the relay's operator (console.h). docs/design.md §4,
 * net/PROTOCOL.md §5. Only inside net/relay.
 *
 * kl_lobby_play_command(), declared in lobby_parts.h, belongs here too. */
#ifndef KL_LOBBY_COMMAND_H
#define KL_LOBBY_COMMAND_H

#include "net/relay/lobby/lobby_parts.h"

/* The rooms by place, 0..limits.rooms-1: NULL for a free place. */
const struct kl_lobby_room *kl_lobby_room_at(const struct kl_lobby *l, unsigned i);
/* NULL: there is none of that name. */
struct kl_lobby_room *kl_lobby_room_named(struct kl_lobby *l, const char *name);

/* Results: KL_OK; KL_E_STATE if the room does not play yet or the order has no meaning there; KL_E_FULL,
 * KL_E_SPACE. Call kl_lobby_run() afterwards. */
int kl_lobby_order_say(struct kl_lobby_room *r, const char *text,
                       uint64_t now_us); /* before the game: a notice */
int kl_lobby_order_pause(struct kl_lobby_room *r, bool pause, uint64_t now_us); /* KL_OK if nothing changes */
int kl_lobby_order_policy(struct kl_lobby_room *r, uint8_t policy, uint16_t budget_ms); /* 0: unchanged */
/* Kinds reset to swap; LOAD without data. */
int kl_lobby_order_command(struct kl_lobby_room *r, const struct kl_order *o);
/* KL_E_MALFORMED above KL_WATCH_DELAY_MAX_S. */
int kl_lobby_order_delay(struct kl_lobby_room *r, unsigned seconds);
int kl_lobby_order_lock(struct kl_lobby_room *r, bool locked);
/* who: a player's number, or the name of a member or of watchers (kl_name_find()). KL_E_STATE with one line
 * in err if nobody or more than one fits; for KL_ORDER_HOST also if that one watches or is away, or the host
 * is sending the start data. */
enum kl_lobby_order { KL_ORDER_KICK, KL_ORDER_BAN, KL_ORDER_HOST };
int kl_lobby_order_member(struct kl_lobby_room *r, enum kl_lobby_order order, const char *who, char *err,
                          size_t err_len, uint64_t now_us);

#endif
