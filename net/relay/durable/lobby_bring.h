/* lobby_bring.h - rooms made again from clients' parts. net/PROTOCOL.md §7, Bringing a room back. Only inside
 * net/relay. */
#ifndef KL_LOBBY_BRING_H
#define KL_LOBBY_BRING_H

#include "net/relay/room/lobby_room.h"

/* True: this RETURN is answered later, when a client has brought the room, or this one has shown its ticket.
 * r: the room of that name, or NULL. */
bool kl_lobby_bring_wait(struct kl_lobby *l, unsigned peer, const struct kl_lobby_room *r,
                         const struct kl_return *back, uint64_t now_us);
void kl_lobby_bring_message(struct kl_lobby *l, unsigned peer, const struct kl_bring *m, uint64_t now_us);
void kl_lobby_bring_leave(struct kl_lobby *l, struct kl_lobby_client *c);
void kl_lobby_bring_run(struct kl_lobby *l, uint64_t now_us);
uint64_t kl_lobby_bring_due_us(const struct kl_lobby *l);

#endif
