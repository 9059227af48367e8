/* corpus_hub.c - the seed corpus of fuzz_hub: what comes to the relay's port. Part of make_corpus. */
#include "tests/fuzz/corpus.h"

#include <string.h>

#include "net/engine/msg.h"
#include "net/session/seal.h"
#include "net/transport/strangers.h"
#include "tests/fuzz/steps.h"

static struct list l;
static const uint8_t ctrl[40] = {KL_SEAL_CTRL, 1}, one[1] = {1}, wait[1] = {10}, long_wait[1] = {255};
static uint8_t much[3000];

static void keep(const char *name) {
    save("fuzz_hub", name, l.bytes, l.len);
}

static void talk(void) {
    static const uint8_t ping[] = {0x85, 0xff, 0, 9};
    static const uint8_t piece[] = {0x88, 0, 0, 3, 0, 3,  0, 4, 0, 0, 0, 3, 0, 0,
                                    0,    1, 0, 0, 0, 12, 0, 0, 0, 4, 1, 2, 3, 4};
    add(&l, HUB_CONNECT, NULL, 0);
    add(&l, HUB_SAY, ctrl, 20);
    add(&l, HUB_SAY | 1 << 4, much, 2000);
    add(&l, HUB_SEALED, ctrl, sizeof ctrl);
    add(&l, HUB_RELAY_SAYS, ctrl, 20);
    add(&l, HUB_RELAY_BULK, much, sizeof much);
    add(&l, HUB_PASS, wait, 1);
    add(&l, HUB_AS_ENET, ping, sizeof ping);
    add(&l, HUB_AS_ENET, piece, sizeof piece);
    add(&l, HUB_OLD, one, 1);
    add(&l, HUB_SEALED, ctrl, sizeof ctrl);
}

static void move(void) {
    add(&l, HUB_PATH, one, 1);
    for (unsigned i = 0; i < 3; i++) {
        add(&l, HUB_SEALED | HUB_FROM_AWAY, ctrl, sizeof ctrl);
        add(&l, HUB_RELAY_DATAGRAM, ctrl, sizeof ctrl);
        add(&l, HUB_PASS, wait, 1);
    }
    add(&l, HUB_SAY, ctrl, 20);
}

static void leave(void) {
    static const uint8_t bye[] = {0x83, 0xff, 0, 9, 0, 0, 0, 1};
    add(&l, HUB_PATH, NULL, 0);
    add(&l, HUB_SEALED, ctrl, sizeof ctrl);
    add(&l, HUB_RELAY_DATAGRAM, much, 900);
    add(&l, HUB_AS_ENET, bye, sizeof bye);
    add(&l, HUB_PASS, long_wait, 1);
    add(&l, HUB_HANG_UP, NULL, 0);
    add(&l, HUB_PASS, long_wait, 1);
}

static void ask(void) {
    struct kl_question q = {.kind = KL_STRANGER_LIST, .version = KL_PROTOCOL_VERSION, .echo = "12345678"};
    uint8_t asked[KL_LIST_BYTES];
    add(&l, HUB_RAW, asked, kl_question_write(&q, asked));
    q.kind = KL_STRANGER_PING;
    add(&l, HUB_RAW, asked, kl_question_write(&q, asked));
    add(&l, HUB_PASS, long_wait, 1);
}

static void flood(void) {
    add(&l, HUB_CONNECT, NULL, 0);
    add(&l, HUB_FLOOD, (const uint8_t *)"\x96", 1);
    add(&l, HUB_PASS, wait, 1);
    add(&l, HUB_SEALED, ctrl, sizeof ctrl);
}

/* Two CONNECTs in one datagram, the first in another session's name; then one alone. */
static void connect_in_anothers_name(void) {
    enum { CONNECT_BYTES = 48, MTU_AT = 10, CHANNELS_AT = 19, CONNECT_ID_AT = 40 }; /* of ENet's CONNECT */
    static uint8_t connects[2 * CONNECT_BYTES] = {0x82, 0xff, 0, 1};
    connects[MTU_AT] = connects[MTU_AT + 1] = 4;
    connects[CHANNELS_AT] = 2;
    connects[CONNECT_ID_AT] = 1;
    memcpy(connects + CONNECT_BYTES, connects, CONNECT_BYTES);
    add(&l, HUB_AS_ENET, connects, sizeof connects);
    add(&l, HUB_AS_ENET, connects, CONNECT_BYTES);
    add(&l, HUB_AS_ENET, connects, CONNECT_BYTES);
    add(&l, HUB_PASS, wait, 1);
    add(&l, HUB_CONNECT, NULL, 0);
}

void corpus_hub(void) {
    l.len = 0;
    talk();
    keep("talk");
    move();
    keep("move");
    leave();
    keep("leave");
    l.len = 0;
    ask();
    keep("stranger");
    l.len = 0;
    flood();
    keep("flood");
    l.len = 0;
    connect_in_anothers_name();
    keep("connects");
}
