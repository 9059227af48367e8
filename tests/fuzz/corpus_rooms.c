/* corpus_rooms.c - make_corpus: what clients say in the relay's rooms, in the order that fuzz_lobby.c wants.
 */
#include <stdio.h>
#include <string.h>

#include "tests/fuzz/corpus.h"
#include "tests/fuzz/steps.h"
#include "net/engine/msg.h"
#include "net/engine/command.h"
#include "net/engine/frames.h"

/* Two clients make a room and play; one is lost and comes back: steps.h and fuzz_lobby.c say what extra is.
 */
static void say(struct list *l, unsigned peer, const struct kl_msg *m) {
    static uint8_t buf[KL_MSG_MAX];
    int len = kl_msg_encode(m, buf, sizeof buf);
    if (len > 0) add(l, (uint8_t)(peer | LOBBY_MESSAGE << 3), buf, (size_t)len);
}

static void begin_rooms(struct list *l, uint8_t door) {
    static struct kl_msg m;
    for (unsigned i = 0; i < 2; i++) {
        m = (struct kl_msg){.kind = KL_MSG_HELLO,
                            .hello = {.version = KL_PROTOCOL_VERSION,
                                      .name = "ann",
                                      .room = "arcade",
                                      .seats_wanted = 1,
                                      .door = door,
                                      .params = {.policy = KL_POLICY_BOUNDED,
                                                 .subframes = true,
                                                 .clocked = true,
                                                 .players = 2,
                                                 .wait_budget_ms = 250,
                                                 .fps_uhz = 60000000}}};
        kl_facts_add(&m.hello.facts, "content", "x");
        say(l, i, &m);
        if (door & KL_DOOR_PASSWORD)
            say(l, i, &(struct kl_msg){.kind = KL_MSG_PROVE, .prove.what = i ? KL_PROVE : KL_PROVE_SET});
    }
}

static void start_game(struct list *l) {
    say(l, 0, &(struct kl_msg){.kind = KL_MSG_DATA, .data = {.total = 4, .len = 4, .bytes = "save"}});
    for (unsigned i = 0; i < 2; i++)
        say(l, i, &(struct kl_msg){.kind = KL_MSG_READY});
    add(l, LOBBY_PASS << 3, (const uint8_t *)"\x05", 1);
}

/* A newcomer in the game, with a seat or to watch. */
static void come_late(struct list *l, unsigned peer, const char *name, bool plays) {
    static struct kl_msg m;
    m = (struct kl_msg){.kind = KL_MSG_HELLO,
                        .hello = {.version = KL_PROTOCOL_VERSION,
                                  .room = "arcade",
                                  .seats_wanted = plays,
                                  .params = {.players = 1, .fps_uhz = 60000000}}};
    snprintf(m.hello.name, sizeof m.hello.name, "%s", name);
    kl_facts_add(&m.hello.facts, "content", "x");
    say(l, peer, &m);
}

/* One goes, and another comes into the game in his place. */
static void join_late(struct list *l) {
    begin_rooms(l, KL_DOOR_LET_GO);
    start_game(l);
    say(l, 1, &(struct kl_msg){.kind = KL_MSG_BYE});
    add(l, LOBBY_PASS << 3, (const uint8_t *)"\xff", 1);
    come_late(l, 2, "carl", true);
    say(l, 2, &(struct kl_msg){.kind = KL_MSG_READY});
    add(l, LOBBY_PASS << 3, (const uint8_t *)"\xff", 1);
}

/* Somebody watches from outside the game, talks, and takes the seat of who goes. */
static void watch(struct list *l) {
    static const uint8_t ctrl[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0}; /* nothing acknowledged yet */
    say(l, 0, &(struct kl_msg){.kind = KL_MSG_DATA, .data = {.total = 4, .len = 4, .bytes = "save"}});
    come_late(l, 3, "dora", false);
    for (unsigned i = 0; i < 2; i++)
        say(l, i, &(struct kl_msg){.kind = KL_MSG_READY});
    add(l, LOBBY_PASS << 3, (const uint8_t *)"\xff", 1);
    say(l, 3, &(struct kl_msg){.kind = KL_MSG_READY});
    add(l, LOBBY_PASS << 3, (const uint8_t *)"\x20", 1);
    add(l, (uint8_t)(LOBBY_DATAGRAM << 3 | 3), ctrl, sizeof ctrl);
    for (unsigned i = 0; i < 2; i++)
        say(l, i, &(struct kl_msg){.kind = KL_MSG_HEAR, .hear = {.on = true, .mask = 3}});
    add(l, LOBBY_AS_IT_IS | LOBBY_DATAGRAM << 3, (const uint8_t *)"\0\1\0talk", 7);
    say(l, 0, &(struct kl_msg){.kind = KL_MSG_COMMAND, .order = {KL_COMMAND_DELAY, 2, {1, 0}}});
    say(l, 3, &(struct kl_msg){.kind = KL_MSG_HASH, .hash = {.frame = 3, .has = KL_HASH_RAM, .ram = 9}});
    say(l, 0, &(struct kl_msg){.kind = KL_MSG_HASH, .hash = {.frame = 3, .has = KL_HASH_RAM, .ram = 8}});
    say(l, 3, &(struct kl_msg){.kind = KL_MSG_COMMAND, .order = {KL_COMMAND_CHAT, 2, "hi"}});
    add(l, LOBBY_PASS << 3, (const uint8_t *)"\xff", 1);
    say(l, 1, &(struct kl_msg){.kind = KL_MSG_BYE});
    add(l, LOBBY_PASS << 3, (const uint8_t *)"\xff", 1);
    say(l, 3, &(struct kl_msg){.kind = KL_MSG_COMMAND, .order = {KL_COMMAND_SEAT, 1, {1}}});
    add(l, LOBBY_PASS << 3, (const uint8_t *)"\x20", 1);
}

void corpus_rooms(void) {
    static struct list l;
    l.len = 0;
    begin_rooms(&l, 0);
    watch(&l);
    save("fuzz_lobby", "watch", l.bytes, l.len);
    l.len = 0;
    join_late(&l);
    save("fuzz_lobby", "late", l.bytes, l.len);
    l.len = 0;
    begin_rooms(&l, KL_DOOR_PASSWORD);
    save("fuzz_lobby", "door", l.bytes, l.len);
    l.len = 0;
    begin_rooms(&l, 0);
    start_game(&l);
    say(&l, 0, &(struct kl_msg){.kind = KL_MSG_COMMAND, .order = {6, 1, {1}}});
    say(&l, 1, &(struct kl_msg){.kind = KL_MSG_COMMAND, .order = {KL_COMMAND_FREE, 0, {0}}});
    add(&l, 1 | LOBBY_LOSE << 3, (const uint8_t *)"", 0);
    add(&l, LOBBY_PASS << 3, (const uint8_t *)"\xff", 1);
    add(&l, 2 | LOBBY_OPEN << 3, (const uint8_t *)"", 0);
    add(&l, 2 | LOBBY_RETURN << 3, (const uint8_t *)"\x01\x00\x03\x00\x00", 5);
    add(&l, LOBBY_PASS << 3, (const uint8_t *)"\x20", 1);
    add(&l, 3 | LOBBY_OPEN << 3, (const uint8_t *)"", 0);
    add(&l, 3 | LOBBY_RETURN << 3, (const uint8_t *)"\x01\x01", 2);
    say(&l, 3, &(struct kl_msg){.kind = KL_MSG_READY});
    add(&l, LOBBY_PASS << 3, (const uint8_t *)"\x20", 1);
    save("fuzz_lobby", "return", l.bytes, l.len);
}
