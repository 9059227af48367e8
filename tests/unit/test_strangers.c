#include <stdio.h>

#include "tests/unit/unit.h"

#include "net/engine/engine.h"
#include "net/transport/strangers.h"

static uint8_t bytes[KL_LIST_BYTES];
static struct kl_rooms rooms;
static unsigned places; /* rooms there are; those of an odd number are unlisted */

static bool next_line(void *ctx, unsigned *from, struct kl_room_line *out) {
    (void)ctx;
    while (*from < places && *from % 2)
        ++*from;
    if (*from >= places) return false;
    *out = (struct kl_room_line){.players = 2,
                                 .filled = 1,
                                 .open = 1,
                                 .watchers = 300,
                                 .waiting = 16,
                                 .lead_max = 30,
                                 .password = *from % 4 == 0,
                                 .quick = true,
                                 .recorded = true,
                                 .economy = *from % 3 == 0,
                                 .rtt_ms = (uint16_t)*from,
                                 .identity = {7}};
    snprintf(out->name, sizeof out->name, "room %u", *from);
    snprintf(out->content, sizeof out->content, "%063u", *from);
    snprintf(out->core, sizeof out->core, "core %u", *from);
    ++*from;
    return true;
}

static void every_cut_is_malformed(int (*read)(const uint8_t *, size_t), size_t len) {
    for (size_t cut = 0; cut < len; cut++)
        assert_int_equal(read(bytes, cut), KL_E_MALFORMED);
    assert_int_equal(read(bytes, len), KL_OK);
}

static int read_rooms(const uint8_t *b, size_t len) {
    return kl_rooms_read(&rooms, b, len);
}

/* All public rooms come, each once, in as many answers as it takes; none longer than the question. */
TEST(all_rooms_once) {
    for (places = 0; places < 70; places++) {
        struct kl_question q = {.kind = KL_STRANGER_LIST};
        unsigned expected = 0;
        do {
            size_t len = kl_rooms_write(&q, next_line, NULL, bytes);
            assert_in_range(len, 13, KL_LIST_BYTES);
            every_cut_is_malformed(read_rooms, len);
            for (unsigned i = 0; i < rooms.count; i++, expected += 2) {
                char name[24];
                snprintf(name, sizeof name, "room %u", expected);
                assert_string_equal(rooms.line[i].name, name);
                assert_int_equal(rooms.line[i].password, expected % 4 == 0);
                assert_int_equal(rooms.line[i].watchers, 300);
                assert_int_equal(rooms.line[i].waiting, 16);
                assert_true(rooms.line[i].quick && rooms.line[i].recorded &&
                            rooms.line[i].economy == (rooms.line[i].rtt_ms % 3 == 0) &&
                            rooms.line[i].rtt_ms == expected);
                assert_int_equal(strncmp(rooms.line[i].core, "core ", 5), 0);
                assert_int_equal(rooms.line[i].identity[0], 7);
            }
            assert_true(rooms.count > 0 || rooms.next == KL_ROOMS_END);
            q.from = rooms.next;
        } while (rooms.next != KL_ROOMS_END);
        assert_int_equal(expected, (places + 1) / 2 * 2);
    }
}
