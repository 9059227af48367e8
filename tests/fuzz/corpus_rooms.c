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

static void show(struct list *l, unsigned peer, bool falsely, uint32_t end) {
    static struct kl_msg m;
    m = (struct kl_msg){.kind = KL_MSG_BRING, .bring = {.what = KL_BRING_TICKET, .piece = {0, 1, 1, "t"}}};
    say(l, peer, &m);
    m.bring = (struct kl_bring){.what = KL_BRING_MARK, .mark.end = end};
    say(l, peer | (falsely ? LOBBY_AS_IT_IS : 0), &m);
    m.bring = (struct kl_bring){.what = KL_BRING_END};
    say(l, peer, &m);
    add(l, LOBBY_PASS << 3, (const uint8_t *)"\x20", 1); /* then it is asked for the rest */
    add(l, LOBBY_PASS << 3, (const uint8_t *)"\x01", 1);
}

/* The eight neutral frames of the game above. */
static void bring_room(struct list *l, unsigned peer) {
    static struct kl_msg m;
    static struct kl_frame ring[8];
    uint32_t count;
    show(l, peer, false, 8);
    m = (struct kl_msg){.kind = KL_MSG_BRING};
    m.bring = (struct kl_bring){.what = KL_BRING_START, .piece = {0, 4, 4, "save"}};
    say(l, peer, &m);
    for (uint32_t n = 0; n < 8; n++)
        ring[n] = (struct kl_frame){.number = n, .spacing = 8, .active = 3, .flags = n ? 0 : KL_FRAME_KEY};
    struct kl_frames_from from = {.ring = ring, .places = 8};
    m.bring = (struct kl_bring){.what = KL_BRING_HISTORY};
    m.bring.past.len =
        (uint16_t)kl_piece_write(&from, 0, 8, m.bring.past.bytes, sizeof m.bring.past.bytes, &count);
    say(l, peer, &m);
    m.bring = (struct kl_bring){.what = KL_BRING_END};
    say(l, peer, &m);
}

/* More frames than were ever played, on trial, and that is all: they go again. */
static void bring_in_vain(struct list *l, unsigned peer) {
    static struct kl_msg m;
    static struct kl_frame ring[256];
    uint32_t count;
    show(l, peer, true, 250);
    for (uint32_t n = 0; n < 256; n++)
        ring[n] = (struct kl_frame){
            .number = n, .keyframe = n / 8 * 8, .spacing = 8, .active = 3, .flags = n % 8 ? 0 : KL_FRAME_KEY};
    struct kl_frames_from from = {.ring = ring, .places = 256};
    for (uint32_t n = 8; n < 200; n += count) {
        m = (struct kl_msg){.kind = KL_MSG_BRING, .bring.what = KL_BRING_HISTORY};
        m.bring.past.len = (uint16_t)kl_piece_write(&from, n, 200 - n, m.bring.past.bytes,
                                                    sizeof m.bring.past.bytes, &count);
        say(l, peer, &m);
    }
    m = (struct kl_msg){.kind = KL_MSG_BRING, .bring.what = KL_BRING_END};
    say(l, peer, &m);
}

/* All are away for so long that the room is forgotten; one brings it back, another one lies. */
static void forget_and_bring(struct list *l) {
    begin_rooms(l, 0);
    start_game(l);
    for (unsigned i = 0; i < 2; i++)
        add(l, (uint8_t)(i | LOBBY_LOSE << 3), (const uint8_t *)"", 0);
    for (unsigned i = 0; i < 7; i++)
        add(l, LOBBY_PASS << 3, (const uint8_t *)"\xff", 1);
    add(l, 4 | LOBBY_OPEN << 3, (const uint8_t *)"", 0);
    add(l, 4 | LOBBY_RETURN << 3, (const uint8_t *)"\x00\x02\x08\x00\x01", 5);
    bring_room(l, 4);
    add(l, 5 | LOBBY_OPEN << 3, (const uint8_t *)"", 0);
    add(l, 5 | LOBBY_RETURN << 3, (const uint8_t *)"\x01\x02\xfa\x00\x01", 5);
    bring_in_vain(l, 5);
    add(l, LOBBY_PASS << 3, (const uint8_t *)"\xff", 1);
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
    say(l, 0, &(struct kl_msg){.kind = KL_MSG_COMMAND, .order = {KL_COMMAND_DELAY, 2, {1, 0}}});
    say(l, 3, &(struct kl_msg){.kind = KL_MSG_HASH, .hash = {.frame = 3, .has_ram = true, .ram = 9}});
    say(l, 0, &(struct kl_msg){.kind = KL_MSG_HASH, .hash = {.frame = 3, .has_ram = true, .ram = 8}});
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
    say(&l, 0, &(struct kl_msg){.kind = KL_MSG_COMMAND, .order = {8, 1, {1}}});
    say(&l, 0, &(struct kl_msg){.kind = KL_MSG_BYE});
    add(&l, 4 | LOBBY_OPEN << 3, (const uint8_t *)"", 0);
    add(&l, 4 | LOBBY_RETURN << 3, (const uint8_t *)"\x01\x02\x20\x00\x01", 5);
    bring_room(&l, 4);
    add(&l, LOBBY_PASS << 3, (const uint8_t *)"\x60", 1);
    add(&l, LOBBY_PASS << 3, (const uint8_t *)"\x01", 1);
    save("fuzz_lobby", "bring", l.bytes, l.len);
    l.len = 0;
    forget_and_bring(&l);
    save("fuzz_lobby", "vain", l.bytes, l.len);
}
