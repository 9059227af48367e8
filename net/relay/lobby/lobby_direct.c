/* Players that send their samples straight to each other as well: they learn each other's addresses and keys
 * from the relay, if both have said that they may. net/ROOMS.md §7, Straight datagrams. */
#include <string.h>

#include <sodium.h>

#include "net/platform/address.h"
#include "net/relay/lobby/lobby_parts.h"

#define PEERS_UNDER_WAY 64 /* no PEERS is sent to a client with so many messages under way */

static struct kl_lobby_client *client_of(const struct kl_lobby_room *r, unsigned member) {
    return &r->lobby->client[r->member[member]->v.peer];
}

void kl_lobby_direct_said(struct kl_lobby_room *r, unsigned member) {
    client_of(r, member)->direct = !(r->door.flags & KL_DOOR_QUICK);
}

/* An IPv6 address means nothing to a client that the relay sees by IPv4: its datagrams would leave from an
 * address that nobody was told of. */
static bool read_address(const char *own, const char *other, struct kl_peer *to) {
    struct kl_address a, b;
    if (!kl_address_parse_place(own, &a) || !kl_address_parse_place(other, &b)) return false;
    if (kl_address_is_v4(&a) != kl_address_is_v4(&b)) return false;
    memcpy(to->host, b.host, sizeof to->host);
    to->port = b.port;
    return to->port > 0;
}

/* Bindings are secrets of their sessions, so each pair of sessions has other keys. */
static void derive_key(uint8_t out[32], const struct kl_lobby *l, unsigned from_peer, unsigned to_peer) {
    static const uint8_t label[] = "keylock straight";
    crypto_generichash_state h;
    crypto_generichash_init(&h, l->secret, sizeof l->secret, 32);
    crypto_generichash_update(&h, label, sizeof label);
    crypto_generichash_update(&h, l->net.binding(l->net.ctx, from_peer), 32);
    crypto_generichash_update(&h, l->net.binding(l->net.ctx, to_peer), 32);
    crypto_generichash_final(&h, out, 32);
}

static struct kl_msg peers_of(const struct kl_lobby_room *r, unsigned member) {
    const struct kl_lobby *l = r->lobby;
    struct kl_msg m = {.kind = KL_MSG_PEERS};
    unsigned own = r->member[member]->v.peer;
    for (KL_MEMBERS(i, r, kl_lobby_reaches)) {
        unsigned other = r->member[i]->v.peer;
        struct kl_peer *p = &m.peers.peer[m.peers.count];
        if (i == member || !l->client[other].direct) continue;
        if (!read_address(l->client[own].address, l->client[other].address, p)) continue;
        p->seats = r->member[i]->seats;
        p->session = l->net.session(l->net.ctx, other);
        derive_key(p->out, l, own, other);
        derive_key(p->in, l, other, own);
        m.peers.count++;
    }
    return m;
}

void kl_lobby_direct_chores(struct kl_lobby_room *r) {
    for (KL_MEMBERS(i, r, kl_lobby_reaches)) {
        struct kl_lobby_client *c = client_of(r, i);
        uint8_t hash[sizeof c->peers], bytes[KL_MSG_MAX];
        if (!c->direct || kl_lobby_is_behind(r, r->member[i]->v.peer, PEERS_UNDER_WAY)) continue;
        struct kl_msg m = peers_of(r, i);
        int len = kl_msg_encode(&m, bytes, sizeof bytes);
        crypto_generichash(hash, sizeof hash, bytes, (size_t)len, NULL, 0);
        if (memcmp(hash, c->peers, sizeof hash) != 0) kl_lobby_send(r->lobby, r->member[i]->v.peer, &m);
        memcpy(c->peers, hash, sizeof hash);
        sodium_memzero(&m, sizeof m);
        sodium_memzero(bytes, sizeof bytes);
    }
}
