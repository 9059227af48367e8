/* What authenticated clients may say to the relay's rooms, in any order: messages, input datagrams, lost
 * links, returns with a good signature. Records: extra = peer (3 bits), what (3 bits). */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/quick.h"

#include <string.h>

#include "net/engine/lock_wire.h"
#include "net/engine/msg.h"
#include "net/relay/lobby/lobby.h"
#include "net/relay/lobby/lobby_parts.h"
#include "net/session/seat.h"

#define PEERS 8

enum { MESSAGE, MESSAGE_TOO, MESSAGE_AS_WELL, RETURN, DATAGRAM, OPEN, LOSE, PASS };

static struct kl_lobby *lobby;
static struct peer {
    bool hung_up;
    uint8_t binding[32], token[KL_TOKEN_BYTES], share[KL_SHARE_BYTES];
    unsigned sent;
} peer[PEERS];
static char room_of_tokens[KL_NAME_MAX];
static uint8_t door_secret[KL_DOOR_SECRET];
static struct kl_piece ticket; /* the newest that was given out */
static struct kl_mark mark;    /* the same */

static int net_send(void *ctx, unsigned to, const uint8_t *bytes, size_t len) {
    static struct kl_msg m;
    (void)ctx;
    MUST(!peer[to].hung_up);
    MUST(kl_msg_decode(&m, bytes, len) == KL_OK); /* what the relay says is well-formed, whatever it heard */
    if (m.kind == KL_MSG_TICKET) ticket = m.piece;
    if (m.kind == KL_MSG_DOOR) memcpy(peer[to].share, m.door.share, KL_SHARE_BYTES);
    if (m.kind == KL_MSG_WELCOME) memcpy(peer[to].token, m.welcome.token, KL_TOKEN_BYTES);
    peer[to].sent++;
    return 0;
}
static size_t net_bulk_room(void *ctx, unsigned to) {
    (void)ctx;
    MUST(!peer[to].hung_up);
    return peer[to].sent % 3 ? 4000 : 0; /* now and then it has to wait */
}
static unsigned net_pending(void *ctx, unsigned to) {
    (void)ctx;
    return peer[to].sent % 5;
}
static void net_datagram(void *ctx, unsigned to, const uint8_t *body, size_t len) {
    struct kl_update u;
    (void)ctx;
    MUST(!peer[to].hung_up);
    MUST(kl_update_open(&u, body, len) == KL_OK);
    if (!u.has_mark) return;
    mark.end = u.first + u.count;
    memcpy(mark.mark, u.mark, sizeof mark.mark);
}
static void net_hang_up(void *ctx, unsigned to) {
    (void)ctx;
    MUST(!peer[to].hung_up);
    peer[to].hung_up = true;
}
static uint32_t net_session(void *ctx, unsigned of) {
    (void)ctx;
    return 1 + of;
}
static const uint8_t *net_binding(void *ctx, unsigned of) {
    (void)ctx;
    return peer[of].binding;
}

static void begin(void) {
    const struct kl_lobby_limits limits = {
        .peers = PEERS, .rooms = 3, .seats = 4, .watchers = 2, .history_kib = 192};
    const struct kl_lobby_net net = {.send = net_send,
                                     .bulk_room = net_bulk_room,
                                     .send_bulk = net_send,
                                     .pending = net_pending,
                                     .datagram = net_datagram,
                                     .hang_up = net_hang_up,
                                     .session = net_session,
                                     .binding = net_binding};
    static const uint8_t secret[32] = {1};
    kl_log_set_level(getenv("KL_FUZZ_LOG") ? KL_LOG_DEBUG : KL_LOG_ERROR);
    memset(peer, 0, sizeof peer);
    memset(door_secret, 0, sizeof door_secret);
    ticket.len = 0;
    mark.end = 0;
    for (unsigned i = 0; i < PEERS; i++)
        peer[i].hung_up = true;
    lobby = kl_lobby_create(&limits, &net);
    MUST(lobby);
    kl_lobby_set_secret(lobby, secret);
}

static void open_peer(unsigned i, uint64_t now_us) {
    if (!peer[i].hung_up) return;
    peer[i].hung_up = false;
    peer[i].binding[0]++;
    kl_lobby_opened(lobby, i, i % 2 ? "192.0.2.1:5" : "192.0.2.2:6", now_us);
}

/* The seat of peer `whose`: the key is its own where HELLO said so (key_of). */
static void key_of(unsigned whose, struct kl_seat_key *k) {
    uint8_t seed[KL_SEAT_SEED] = {(uint8_t)whose};
    kl_seat_from_seed(k, seed);
}

static void say_return(unsigned i, const struct record *r, uint64_t now_us) {
    static struct kl_msg m;
    static uint8_t buf[KL_MSG_MAX];
    struct kl_seat_key k;
    unsigned whose = r->len > 0 ? r->bytes[0] % PEERS : i;
    m = (struct kl_msg){.kind = KL_MSG_RETURN, .back.consent = KL_CONSENT_ROOM};
    key_of(whose, &k);
    memcpy(m.back.room, room_of_tokens, sizeof m.back.room);
    memcpy(m.back.token, peer[whose].token, KL_TOKEN_BYTES);
    memcpy(m.back.seat_key, k.pub, sizeof k.pub);
    kl_seat_sign(&k, peer[i].binding, m.back.token, m.back.signature);
    kl_facts_add(&m.back.facts, "content", "x");
    m.back.fresh = r->len > 1 && r->bytes[1] & 1;
    m.back.can_bring = r->len > 1 && r->bytes[1] & 2;
    if (!m.back.fresh && r->len > 3) m.back.have = r->bytes[2] | (uint32_t)r->bytes[3] << 8;
    if (!m.back.fresh && r->len > 4) m.back.tags = r->bytes[4];
    int len = kl_msg_encode(&m, buf, sizeof buf);
    if (len > 0) kl_lobby_message(lobby, i, buf, (size_t)len, now_us);
}

/* Good ones: nobody guesses them. */
static bool is_secret(uint8_t what) {
    return (what == KL_BRING_TICKET && ticket.len) || (what == KL_BRING_MARK && mark.end);
}

/* Who knows the room's password, the last that was set. */
static void prove(unsigned i, struct kl_prove *p) {
    struct kl_door run;
    struct kl_door_macs macs = {0};
    if (p->what == KL_PROVE_SET) {
        memcpy(door_secret, p->share, sizeof door_secret);
        return;
    }
    kl_door_begin(&run, KL_DOOR_CLIENT, door_secret, peer[i].binding);
    memcpy(p->share, run.share, sizeof p->share);
    if (kl_door_finish(&run, peer[i].share, &macs) == KL_OK) memcpy(p->mac, macs.own, sizeof p->mac);
}

/* What nobody guesses is put right: a HELLO gets this peer's key, so that its returns are good; a ticket is
 * one that the relay gave; a password is the right one. False where the bytes go as they are. */
static bool mend(unsigned i, const struct record *r, struct kl_msg *m) {
    struct kl_seat_key k;
    if (kl_msg_decode(m, r->bytes, r->len) != KL_OK) return false;
    switch (m->kind) {
    case KL_MSG_HELLO:
        key_of(i, &k);
        memcpy(m->hello.seat_key, k.pub, sizeof k.pub);
        memcpy(room_of_tokens, m->hello.room, sizeof room_of_tokens);
        return true;
    case KL_MSG_BRING:
        if (!is_secret(m->bring.what) || r->extra >> 6) return false;
        if (m->bring.what == KL_BRING_TICKET)
            m->bring.piece = ticket;
        else
            m->bring.mark = mark;
        return true;
    case KL_MSG_PROVE:
        if (r->extra >> 6) return false;
        prove(i, &m->prove);
        return true;
    default: return false;
    }
}

static void say(unsigned i, const struct record *r, uint64_t now_us) {
    static struct kl_msg m;
    static uint8_t buf[KL_MSG_MAX];
    if (!mend(i, r, &m)) {
        kl_lobby_message(lobby, i, r->bytes, r->len, now_us);
        return;
    }
    int len = kl_msg_encode(&m, buf, sizeof buf);
    MUST(len > 0);
    kl_lobby_message(lobby, i, buf, (size_t)len, now_us);
}

static void lose(unsigned i, uint64_t now_us) {
    bool was_open = !peer[i].hung_up;
    peer[i].hung_up = true;
    if (was_open) kl_lobby_lost(lobby, i, now_us);
}

/* What rooms hold of the past is what is counted of it. */
static void count_blocks(void) {
    uint64_t bytes = 0, counted = 0;
    for (unsigned i = 0; i < lobby->limits.rooms; i++) {
        if (!lobby->room[i]) continue;
        const struct kl_lobby_past *p = &lobby->room[i]->past;
        for (const struct kl_history_block *b = p->history.oldest; b; b = b->next)
            bytes += KL_HISTORY_BLOCK;
        for (const struct kl_history_block *b = p->history.spare; b; b = b->next)
            bytes += KL_HISTORY_BLOCK;
        counted += p->bytes;
    }
    MUST(bytes == counted && bytes == lobby->history_bytes);
}

static uint64_t step(const struct record *r, uint64_t now_us) {
    unsigned i = r->extra & 7, what = r->extra >> 3 & 7;
    switch (what) {
    case RETURN:
        if (!peer[i].hung_up) say_return(i, r, now_us);
        break;
    case DATAGRAM:
        if (!peer[i].hung_up) kl_lobby_datagram(lobby, i, r->bytes, r->len, now_us);
        break;
    case OPEN: open_peer(i, now_us); break;
    case LOSE: lose(i, now_us); break;
    case PASS: return now_us + (r->len ? r->bytes[0] * UINT64_C(40000) : 4000);
    default: open_peer(i, now_us); say(i, r, now_us);
    }
    return now_us;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct record r;
    uint64_t now_us = 1000000;
    begin();
    for (unsigned n = 0; n < 200 && next_record(&data, &size, &r); n++) {
        now_us = step(&r, now_us);
        kl_lobby_run(lobby, now_us);
        MUST(kl_lobby_rooms(lobby) <= 3 && kl_lobby_members(lobby) <= 3 * KL_MAX_CLIENTS);
        count_blocks();
        struct kl_lobby_stats t = kl_lobby_stats(lobby);
        MUST(t.history_bytes <= 3 * 2 * 192 * 1024 && t.start_bytes <= 3 * 3072 * 1024);
    }
    kl_lobby_shut_down(lobby, now_us);
    MUST(kl_lobby_rooms(lobby) == 0 && kl_lobby_members(lobby) == 0 && lobby->bringing == 0);
    MUST(lobby->watchers == 0);
    MUST(lobby->start_bytes == 0 && lobby->history_bytes == 0);
    kl_lobby_destroy(lobby);
    return 0;
}
