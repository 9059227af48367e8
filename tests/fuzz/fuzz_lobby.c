/* Words of authenticated clients to the relay's rooms, in any order: messages, input datagrams, lost
 * links, speech, returns with a good signature. Records: extra = peer (3 bits), what (3 bits). */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/steps.h"

#include <string.h>

#include "net/engine/lock_wire.h"
#include "net/relay/lobby/lobby_parts.h"
#include "tests/lib/lobby_net.h"

#define CLIENTS 8

static uint8_t token[CLIENTS][KL_TOKEN_BYTES], share[CLIENTS][KL_SHARE_BYTES]; /* the newest */
static char room_of_tokens[KL_NAME_MAX];
static uint8_t door_secret[KL_DOOR_SECRET];

static void hear(unsigned to, const struct kl_msg *m) {
    if (m->kind == KL_MSG_DOOR) memcpy(share[to], m->door.share, KL_SHARE_BYTES);
    if (m->kind == KL_MSG_WELCOME) memcpy(token[to], m->welcome.token, KL_TOKEN_BYTES);
    inbox[to].pending = inbox[to].count % 5;
}
static size_t bulk_room(unsigned to) {
    return inbox[to].count % 3 ? 4000 : 0; /* now and then it has to wait */
}
static void hear_update(unsigned to, const uint8_t *body, size_t len) {
    struct kl_update u;
    (void)to;
    MUST(kl_update_open(&u, body, len) == KL_OK);
}

static void hear_voice(unsigned to, const uint8_t *body, size_t len) {
    struct kl_voice v;
    MUST(kl_voice_read(&v, true, body, len) == KL_OK);
    MUST(lobby->client[to].hear.said.mask >> v.client & 1);
}

static void begin(void) {
    const struct kl_lobby_limits limits = {
        .peers = CLIENTS, .rooms = 3, .seats = 4, .watchers = 2, .history_kib = 192};
    static const uint8_t secret[32] = {1};
    memset(token, 0, sizeof token);
    memset(share, 0, sizeof share);
    memset(door_secret, 0, sizeof door_secret);
    open_newborn(&limits, 1000000);
    on_message = hear;
    on_update = hear_update;
    on_voice = hear_voice;
    on_bulk_room = bulk_room;
    for (unsigned i = 0; i < CLIENTS; i++)
        inbox[i].hung_up = true;
    kl_lobby_set_secret(lobby, secret);
}

static void open_peer(unsigned i) {
    if (!inbox[i].hung_up) return;
    address_of_peers = i % 2 ? "192.0.2.1:5" : "192.0.2.2:6";
    connect_peer(i);
}

static void say_return(unsigned i, const struct record *r) {
    static struct kl_msg m;
    static uint8_t buf[KL_MSG_MAX];
    unsigned whose = r->len > 0 ? r->bytes[0] % CLIENTS : i;
    m = a_return(whose, i, room_of_tokens, token[whose]);
    kl_facts_add(&m.back.facts, "content", "x");
    m.back.fresh = r->len > 1 && r->bytes[1] & 1;
    if (!m.back.fresh && r->len > 3) m.back.have = r->bytes[2] | (uint32_t)r->bytes[3] << 8;
    if (!m.back.fresh && r->len > 4) m.back.intervals = r->bytes[4];
    int len = kl_msg_encode(&m, buf, sizeof buf);
    if (len > 0) kl_lobby_message(lobby, i, buf, (size_t)len, now_us);
}

/* Proves the room's password, the last that was set. */
static void prove(unsigned i, struct kl_prove *p) {
    struct kl_door run;
    struct kl_door_macs macs = {0};
    if (p->what == KL_PROVE_SET) {
        memcpy(door_secret, p->share, sizeof door_secret);
        return;
    }
    kl_door_begin(&run, KL_DOOR_CLIENT, door_secret, inbox[i].binding);
    memcpy(p->share, run.share, sizeof p->share);
    if (kl_door_finish(&run, share[i], &macs) == KL_OK) memcpy(p->mac, macs.own, sizeof p->mac);
}

/* Bytes that nobody guesses are put right: a HELLO gets this peer's key, so that its returns are good; a
 * password is the right one. False where the bytes go as they are. */
static bool mend(unsigned i, const struct record *r, struct kl_msg *m) {
    if (kl_msg_decode(m, r->bytes, r->len) != KL_OK) return false;
    switch (m->kind) {
    case KL_MSG_HELLO:
        memcpy(m->hello.seat_key, seat_key(i)->pub, sizeof m->hello.seat_key);
        memcpy(room_of_tokens, m->hello.room, sizeof room_of_tokens);
        return true;
    case KL_MSG_PROVE:
        if (r->extra >> 6) return false;
        prove(i, &m->prove);
        return true;
    default: return false;
    }
}

static void say_mended(unsigned i, const struct record *r) {
    static struct kl_msg m;
    if (mend(i, r, &m))
        speak(i, &m);
    else
        kl_lobby_message(lobby, i, r->bytes, r->len, now_us);
}

static void lose_peer(unsigned i) {
    bool was_open = !inbox[i].hung_up;
    inbox[i].hung_up = true;
    if (was_open) kl_lobby_lost(lobby, i, now_us);
}

/* The rooms' past is counted right. */
static void count_blocks(void) {
    uint64_t bytes = 0, counted = 0;
    for (unsigned i = 0; i < lobby->limits.rooms; i++) {
        if (!lobby->room[i]) continue;
        const struct kl_lobby_past *p = &lobby->room[i]->past;
        for (const struct kl_history_block *b = p->history.oldest; b; b = b->next)
            bytes += kl_lobby_past_block_bytes(b);
        for (const struct kl_history_block *b = p->history.spare; b; b = b->next)
            bytes += kl_lobby_past_block_bytes(b);
        counted += p->bytes;
    }
    MUST(bytes == counted && bytes == lobby->history_bytes);
}

static void step(const struct record *r) {
    unsigned i = r->extra & 7, what = r->extra >> 3 & 7;
    switch (what) {
    case LOBBY_RETURN:
        if (!inbox[i].hung_up) say_return(i, r);
        break;
    case LOBBY_DATAGRAM:
        if (!inbox[i].hung_up && r->extra & LOBBY_AS_IT_IS)
            say_voice(i, r->bytes, r->len);
        else if (!inbox[i].hung_up)
            say_datagram(i, r->bytes, r->len);
        break;
    case LOBBY_OPEN: open_peer(i); break;
    case LOBBY_LOSE: lose_peer(i); break;
    case LOBBY_PASS: now_us += r->len ? r->bytes[0] * UINT64_C(40000) : 4000; break;
    default: open_peer(i); say_mended(i, r);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct record r;
    begin();
    for (unsigned n = 0; n < 200 && next_record(&data, &size, &r); n++) {
        step(&r);
        run();
        MUST(kl_lobby_rooms(lobby) <= 3 && kl_lobby_members(lobby) <= 3 * KL_MAX_CLIENTS);
        count_blocks();
        struct kl_lobby_stats t = kl_lobby_stats(lobby);
        MUST(t.history_bytes <= 3 * 2 * 192 * 1024 && t.start_bytes <= 3 * 3072 * 1024);
    }
    kl_lobby_shut_down(lobby, now_us);
    MUST(kl_lobby_rooms(lobby) == 0 && kl_lobby_members(lobby) == 0);
    MUST(lobby->watchers == 0);
    MUST(lobby->start_bytes == 0 && lobby->history_bytes == 0);
    kl_lobby_destroy(lobby);
    return 0;
}
