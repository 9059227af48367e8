/* test_lobby_hostile.c - whatever an accepted member says, in every state of a room: the others stay, the
 * host stays host, the door stays as it is. PROTOCOL.md §7. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_net.h"

#include "net/engine/command.h"
#include "net/engine/lock_relay.h"

enum { OPEN, ASKED, LOADING, HALF_READY, PLAYING, STATES };

/* Client 0 is host, client 1 the hostile one, client 2 looks at the roster. */
static void get_to(int at) {
    open_lobby(&limits_for_tests);
    hello(0, "room", 1, at == OPEN ? 4 : 3, "x");
    hello(1, "room", 1, 3, "x");
    hello(2, "room", 1, 3, "x");
    if (at >= LOADING) give(0, "save");
    if (at >= HALF_READY) ready(0, "a");
    if (at >= PLAYING) ready(1, "a"), ready(2, "a");
}

static void expect_harmless(int at, const uint8_t *bytes, size_t len) {
    bool good = !inbox[0].hung_up && !inbox[2].hung_up && kl_lobby_rooms(lobby) == 1;
    const struct kl_member *host = member_of(2, 0);
    good = good && host && host->host && host->state != KL_MEMBER_AWAY && host->state != KL_MEMBER_GONE &&
           member_of(2, 2) && heard(2, KL_MSG_ROSTER)->roster.doors == 0;
    good = good && (at >= LOADING || !heard(0, KL_MSG_PREPARE)); /* his saves are nobody else's */
    struct kl_lobby_stats s = kl_lobby_stats(lobby);
    good = good && s.start_bytes <= 4 && s.history_bytes <= 65536;
    if (!good) print_error("state %d, kind %u, %zu bytes: the others feel it\n", at, len ? bytes[0] : 0, len);
    assert_true(good);
}

static void try_bytes(int at, const uint8_t *bytes, size_t len) {
    get_to(at);
    for (unsigned i = 0; i < 3 && !inbox[1].hung_up; i++) {
        kl_lobby_message(lobby, 1, bytes, len, now_us);
        run();
    }
    pass(300000);
    expect_harmless(at, bytes, len);
    kl_lobby_destroy(lobby);
}

static void try_message(const struct kl_msg *m) {
    static uint8_t bytes[KL_MSG_MAX];
    int len = kl_msg_encode(m, bytes, sizeof bytes);
    assert_true(len > 0);
    for (int at = 0; at < STATES; at++)
        try_bytes(at, bytes, (size_t)len);
}

TEST(orders) {
    static const uint8_t data[] = {0, 1, 2, 15, 16, 255};
    for (unsigned kind = 0; kind < 24; kind++) {
        struct kl_msg m = {.kind = KL_MSG_COMMAND, .order.kind = (uint8_t)kind};
        if (kind == KL_COMMAND_PAUSE) continue; /* everybody's */
        try_message(&m);
        for (unsigned i = 0; i < sizeof data; i++) {
            m.order.len = i % 2 ? KL_COMMAND_BYTES : 1;
            memset(m.order.data, data[i], sizeof m.order.data);
            try_message(&m);
        }
    }
}

TEST(messages) {
    static struct kl_msg m;
    const uint32_t some[] = {0, 4, UINT32_MAX};
    for (unsigned i = 0; i < 3; i++) {
        m = (struct kl_msg){.kind = KL_MSG_DATA, .data = {.offset = 0, .total = some[i]}};
        if (some[i]) m.data.len = 4;
        try_message(&m);
        m = (struct kl_msg){.kind = KL_MSG_HASH, .hash = {.frame = some[i], .has = i > 0, .ram = 7}};
        try_message(&m);
    }
    m = (struct kl_msg){.kind = KL_MSG_READY};
    try_message(&m);
    kl_facts_add(&m.ready.facts, "system", "another");
    try_message(&m);
    m = a_hello(1, "room", 1, 2, "x");
    try_message(&m);
    m = (struct kl_msg){.kind = KL_MSG_PROVE, .prove.what = KL_PROVE_SET};
    try_message(&m);
    m = (struct kl_msg){.kind = KL_MSG_BYE};
    try_message(&m);
    const uint8_t token[KL_TOKEN_BYTES] = {1};
    m = a_return(0, 1, "room", token); /* somebody else's seat, from within */
    try_message(&m);
}

TEST(bytes_of_every_kind) {
    uint8_t bytes[64] = {0};
    for (unsigned kind = 0; kind < 256; kind += kind < 32 ? 1 : 37)
        for (size_t len = 1; len <= sizeof bytes; len += 21)
            for (int at = 0; at < STATES; at++) {
                bytes[0] = (uint8_t)kind;
                memset(bytes + 1, len % 2 ? 0xff : 0, sizeof bytes - 1);
                try_bytes(at, bytes, len);
            }
}

/* A stranger who has heard of the seat's token but has not its key, or the key and not the token. */
TEST(half_a_proof_is_none) {
    get_to(PLAYING);
    uint8_t token[KL_TOKEN_BYTES];
    memcpy(token, heard(0, KL_MSG_WELCOME)->welcome.token, sizeof token);
    connect_peer(11);
    struct kl_msg m = a_return(5, 11, "room", token); /* signed with his own key */
    memcpy(m.back.seat_key, a_return(0, 11, "room", token).back.seat_key, sizeof m.back.seat_key);
    say(11, &m);
    expect_refusal(11, KL_REFUSE_SEAT, "no seat");
    connect_peer(12);
    m = a_return(0, 11, "room", token); /* signed for another session */
    say(12, &m);
    expect_refusal(12, KL_REFUSE_SEAT, "no seat");
    connect_peer(13);
    token[3] ^= 1;
    m = a_return(0, 13, "room", token);
    say(13, &m);
    expect_refusal(13, KL_REFUSE_SEAT, "no seat");
    assert_false(inbox[0].hung_up);
    kl_lobby_destroy(lobby);
}
