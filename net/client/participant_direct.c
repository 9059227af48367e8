/* Samples straight from player to player, as hints for guesses. net/ROOMS.md §7, Straight datagrams.
 *
 * The relay names the others' addresses and keys. Both ends send at once and go on, so that each router lets
 * the other's datagrams in. If that fails nothing comes, and the relay's hints are all there is. */
#include <string.h>

#include "net/client/participant_parts.h"

#define HEARD_US   2000000 /* without a datagram for so long a player is not heard any more */
#define ALIVE_US   500000  /* between two datagrams to one that is heard */
#define PUNCH_US   200000  /* to one that is not, for PUNCHES_US; later each SELDOM_US */
#define PUNCHES_US 10000000
#define SELDOM_US  5000000
#define TRIES_MOST 500 /* datagrams in a second that are opened: eight times what one sends */

bool kl_participant_next_direct(struct kl_participant *s, struct kl_msg *m) {
    const struct kl_participant_status *st = &s->status;
    bool member = s->joined && st->welcome.client != KL_WATCHER && st->roster.count > 0;
    if (!s->direct.allowed || st->welcome.params.economy || s->direct.said || !member ||
        !kl_participant_consents(st, s->hello.consent))
        return false;
    *m = (struct kl_msg){.kind = KL_MSG_DIRECT};
    return s->direct.said = true;
}

static bool is_same(const struct kl_peer *a, const struct kl_peer *b) {
    return a->session == b->session && memcmp(a->out, b->out, sizeof a->out) == 0 &&
           memcmp(a->in, b->in, sizeof a->in) == 0;
}

/* A player that is named again keeps its counters: the keys are the same. */
void kl_participant_take_peers(struct kl_participant *s, const struct kl_peers *peers, uint64_t now_us) {
    struct kl_participant_direct *d = &s->direct;
    struct kl_participant_peer was[KL_PEERS_MAX];
    unsigned count = d->count;
    if (!d->said) return;
    memcpy(was, d->peer, sizeof was);
    for (d->count = 0; d->count < peers->count; d->count++) {
        const struct kl_peer *is = &peers->peer[d->count];
        struct kl_participant_peer *p = &d->peer[d->count];
        unsigned k = 0;
        while (k < count && !is_same(&was[k].is, is))
            k++;
        if (k < count)
            *p = was[k];
        else {
            struct kl_session_keys keys = {.cipher = KL_CIPHER_CHACHA20,
                                           .session = s->status.welcome.session};
            memset(p, 0, sizeof *p);
            p->since_us = now_us;
            kl_sealer_init(&p->sealer, &keys, is->out);
            keys.session = is->session;
            kl_opener_init(&p->opener, &keys, is->in);
        }
        p->is = *is;
    }
    sodium_memzero(was, sizeof was);
}

void kl_participant_direct_forget(struct kl_participant *s) {
    sodium_memzero(s->direct.peer, sizeof s->direct.peer);
    s->direct.count = 0;
    s->direct.said = false;
}

unsigned kl_participant_direct_heard(const struct kl_participant *s) {
    unsigned heard = 0;
    for (unsigned i = 0; i < s->direct.count; i++) {
        const struct kl_participant_peer *p = &s->direct.peer[i];
        heard += p->heard_us && p->sent_us < p->heard_us + HEARD_US;
    }
    return heard;
}

/* --- datagrams --- */

static bool is_at(const struct kl_participant_peer *p, const uint8_t host[KL_PEER_HOST], uint16_t port) {
    return p->is.port == port && memcmp(p->is.host, host, sizeof p->is.host) == 0;
}

bool kl_participant_knows(const struct kl_participant *s, const uint8_t host[KL_PEER_HOST], uint16_t port) {
    for (unsigned i = 0; i < s->direct.count; i++)
        if (is_at(&s->direct.peer[i], host, port)) return true;
    return false;
}

static bool may_try(struct kl_participant_peer *p, uint64_t now_us) {
    if (now_us >= p->second_us + 1000000) {
        p->second_us = now_us;
        p->tries = 0;
    }
    return p->tries++ < TRIES_MOST;
}

void kl_participant_direct_in(struct kl_participant *s, const uint8_t host[KL_PEER_HOST], uint16_t port,
                              uint8_t *bytes, size_t len, uint64_t now_us) {
    struct kl_opened o;
    struct kl_direct d;
    uint32_t session = kl_seal_session(bytes, len);
    struct kl_participant_peer *p = s->direct.peer, *end = p + s->direct.count;
    while (p < end && !(p->is.session == session && is_at(p, host, port)))
        p++;
    if (p == end || bytes[1] != KL_SEAL_DIRECT || len > KL_PARTICIPANT_DIRECT_BYTES || !may_try(p, now_us))
        return;
    if (kl_open(&p->opener, bytes, len, &o) != 0 || kl_direct_read(&d, p->is.seats, o.body, o.len) != 0)
        return;
    p->heard_us = now_us;
    p->guesses = d.guesses;
    s->status.direct_datagrams += d.count > 0;
    kl_client_direct(&s->lock, p->is.seats, &d);
}

static bool is_due(const struct kl_participant_peer *p, const struct kl_direct *d, uint64_t now_us) {
    bool heard = p->heard_us && now_us < p->heard_us + HEARD_US;
    if (heard && p->guesses && d->count > 0 && p->sent != d->first + d->count) return true;
    uint64_t every_us = heard ? ALIVE_US : now_us < p->since_us + PUNCHES_US ? PUNCH_US : SELDOM_US;
    return !p->sent_us || now_us >= p->sent_us + every_us;
}

size_t kl_participant_direct_out(struct kl_participant *s, uint64_t now_us, uint8_t host[KL_PEER_HOST],
                                 uint16_t *port, uint8_t out[KL_PARTICIPANT_DIRECT_BYTES]) {
    struct kl_direct d;
    if (s->direct.count == 0 || s->said_bye || kl_participant_is_over(s)) return 0;
    kl_client_direct_out(&s->lock, &d);
    for (unsigned i = 0; i < s->direct.count; i++) {
        struct kl_participant_peer *p = &s->direct.peer[i];
        if (!is_due(p, &d, now_us)) continue;
        if (!p->guesses) d.count = 0;
        p->sent_us = now_us;
        p->sent = d.first + d.count;
        memcpy(host, p->is.host, sizeof p->is.host);
        *port = p->is.port;
        size_t len = kl_direct_write(&d, s->lock.seats, out + KL_SEAL_HEADER);
        return kl_seal(&p->sealer, KL_SEAL_DIRECT, out + KL_SEAL_HEADER, len, out);
    }
    return 0;
}
