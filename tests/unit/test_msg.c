/* Reliable messages there and back, and identity facts. Values out of range: tests/conformance/decode.py.
 * net/PROTOCOL.md §7. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "net/engine/wire.h"
#include "net/engine/msg.h"
#include "tests/lib/any_message.h"

static const struct kl_params params = {.policy = KL_POLICY_STRICT,
                                        .subframes = true,
                                        .clocked = true,
                                        .players = 2,
                                        .spacing_fixed = 0,
                                        .wait_budget_ms = 250,
                                        .hash_every = 60,
                                        .fps_uhz = 60098800};

static void fill(uint8_t *out, size_t len, uint8_t seed) {
    for (size_t i = 0; i < len; i++)
        out[i] = (uint8_t)(seed + i * 3);
}

static bool takes_what_there_is(const struct kl_msg *m) {
    return m->kind == KL_MSG_DATA || m->kind == KL_MSG_COMMAND || m->kind == KL_MSG_GIVE ||
           m->kind == KL_MSG_SNAPSHOT;
}

/* Encodes, decodes, encodes again; every cut and every extra byte must be rejected (pieces of something
 * longer take what there is). */
static void there_and_back(const struct kl_msg *m, struct kl_msg *got) {
    uint8_t b[KL_MSG_MAX], again[KL_MSG_MAX + 1];
    int len = kl_msg_encode(m, b, sizeof b);
    assert_true(len > 0);
    assert_int_equal(kl_msg_decode(got, b, (size_t)len), 0);
    assert_int_equal(kl_msg_encode(got, again, sizeof again), len);
    assert_memory_equal(b, again, (size_t)len);
    for (int cap = 0; cap < len; cap++)
        assert_int_equal(kl_msg_encode(m, again, (size_t)cap), KL_E_SPACE);
    if (takes_what_there_is(m)) return;
    struct kl_msg bad;
    for (int cut = 0; cut < len; cut++)
        assert_int_equal(kl_msg_decode(&bad, b, (size_t)cut), KL_E_MALFORMED);
    memcpy(again, b, (size_t)len);
    again[len] = 0;
    assert_int_equal(kl_msg_decode(&bad, again, (size_t)len + 1), KL_E_MALFORMED);
}

static struct kl_msg a_hello(void) {
    struct kl_msg m = {.kind = KL_MSG_HELLO};
    m.hello.version = KL_PROTOCOL_VERSION;
    strcpy(m.hello.name, "Zo\xc3\xab");
    strcpy(m.hello.room, "arcade");
    m.hello.seats_wanted = 2;
    m.hello.params = params;
    m.hello.door = KL_DOOR_UNLISTED | KL_DOOR_PASSWORD;
    m.hello.seat_time_s = 300;
    strcpy(m.hello.match, "cup-9:R2/m1.#3_a");
    fill(m.hello.seat_key, KL_SEAT_KEY_BYTES, 9);
    kl_facts_add(&m.hello.facts, "core", "nestopia 1.52");
    kl_facts_add(&m.hello.facts, "content", "xxh3 0123 (24592 bytes, croom.nes)");
    return m;
}

TEST(the_longest_hello_fits) {
    struct kl_msg m = a_hello(), got;
    char key[KL_FACT_KEY_MAX], value[KL_FACT_VAL_MAX];
    memset(key, 'k', sizeof key);
    memset(value, 'v', sizeof value);
    key[sizeof key - 1] = value[sizeof value - 1] = 0;
    m.hello.facts.count = 0;
    wide_name(m.hello.name, KL_NAME_CHARS), wide_name(m.hello.room, KL_NAME_CHARS);
    for (unsigned i = 0; i < KL_FACTS_MAX; i++)
        assert_int_equal(kl_facts_add(&m.hello.facts, key, value), 0);
    assert_int_equal(kl_facts_add(&m.hello.facts, key, value), KL_E_FULL);
    there_and_back(&m, &got);
}

/* Characters count, not bytes: 23 of four bytes each are a name, and 24 of one byte are none. */
TEST(names_are_counted_in_characters) {
    struct kl_msg m = a_hello(), got;
    uint8_t b[KL_MSG_MAX];
    wide_name(m.hello.name, KL_NAME_CHARS);
    there_and_back(&m, &got);
    assert_string_equal(got.hello.name, m.hello.name);
    strcpy(m.hello.name, "abcdefghijklmnopqrstuvwx");
    int len = kl_msg_encode(&m, b, sizeof b);
    assert_true(len > 0);
    assert_int_equal(kl_msg_decode(&got, b, (size_t)len), KL_E_MALFORMED);
    m.hello.name[KL_NAME_CHARS] = 0;
    there_and_back(&m, &got);
    strcpy(m.hello.room, "abcdefghijklmnopqrstuvwx");
    len = kl_msg_encode(&m, b, sizeof b);
    assert_int_equal(kl_msg_decode(&got, b, (size_t)len), KL_E_MALFORMED);
}

/* A count beyond the array is a fault of ours: nothing is written, and nothing behind the array is read. */
TEST(a_list_that_is_too_long_is_not_written) {
    uint8_t b[KL_MSG_MAX];
    struct kl_msg m = {.kind = KL_MSG_ROSTER, .roster.count = KL_MAX_CLIENTS + 1};
    assert_int_equal(kl_msg_encode(&m, b, sizeof b), KL_E_SPACE);
    m = (struct kl_msg){.kind = KL_MSG_COMMAND, .order.len = KL_COMMAND_BYTES + 1};
    assert_int_equal(kl_msg_encode(&m, b, sizeof b), KL_E_SPACE);
    m = (struct kl_msg){.kind = KL_MSG_READY, .ready.facts.count = KL_FACTS_MAX + 1};
    assert_int_equal(kl_msg_encode(&m, b, sizeof b), KL_E_SPACE);
}

/* A file name may hold anything; the room must still be found, and the difference named. */
TEST(messages_that_no_reader_takes_are_not_written) {
    struct kl_msg m = a_hello(), got;
    strcpy(m.hello.room, "a\tb\xff\xc3");
    strcpy(m.hello.facts.fact[0].value, "\xe2\x82\n\xc3\xa9");
    uint8_t b[KL_MSG_MAX];
    int len = kl_msg_encode(&m, b, sizeof b);
    assert_int_equal(kl_msg_decode(&got, b, (size_t)len), 0);
    assert_string_equal(got.hello.room, "a?b??");
    assert_string_equal(got.hello.facts.fact[0].value, "???\xc3\xa9");
}

TEST(every_kind) {
    static struct kl_msg m, got;
    struct rng rng = {7};
    for (unsigned kind = 0; kind <= KL_MSG_LAST; kind++)
        for (unsigned n = 0; n < 8 && any_message(&m, (uint8_t)kind, &rng); n++)
            there_and_back(&m, &got);
}

TEST(facts_that_differ) {
    struct kl_facts room = {0}, you = {0};
    char out[200];
    assert_int_equal(kl_facts_differ(&room, &you, out, sizeof out), 0);
    assert_string_equal(out, "");
    kl_facts_add(&room, "core", "nestopia 1.52");
    kl_facts_add(&room, "content", "xxh3 01 (kof99)");
    kl_facts_add(&you, "content", "xxh3 01 (the same under another name)");
    kl_facts_add(&you, "core", "nestopia 1.52");
    assert_int_equal(kl_facts_differ(&room, &you, out, sizeof out), 0);
    kl_facts_add(&room, "bios", "a");
    kl_facts_add(&you, "region", "b");
    assert_int_equal(kl_facts_differ(&room, &you, out, sizeof out), 2);
    assert_string_equal(out,
                        "bios differs: room has a, you have none; region differs: room has none, you have b");
    strcpy(you.fact[1].value, "nestopia 1.53");
    assert_int_equal(kl_facts_differ(&room, &you, out, sizeof out), 3);
    assert_ptr_not_equal(strstr(out, "core differs: room has nestopia 1.52, you have nestopia 1.53"), NULL);
    strcpy(you.fact[1].value, "nestopia"); /* a prefix is not the same */
    assert_int_equal(kl_facts_differ(&room, &you, out, sizeof out), 3);
    for (size_t cap = 1; cap < sizeof out; cap++) { /* cut where the caller's buffer ends */
        memset(out, 0x55, sizeof out);
        assert_int_equal(kl_facts_differ(&room, &you, out, cap), 3);
        assert_true(strlen(out) < cap);
        assert_int_equal(out[cap], 0x55);
    }
}

static unsigned members_differ(const char *theirs, const char *yours, char *out, size_t cap) {
    struct kl_facts room = {0}, you = {0};
    kl_facts_add(&room, "members 1", theirs);
    kl_facts_add(&you, "members 1", yours);
    return kl_facts_differ(&room, &you, out, cap);
}

TEST(members_are_compared_by_their_bytes) {
    static const struct {
        const char *room, *you, *text;
    } cases[] = {
        /* order, names and members that nobody reads do not matter */
        {"a=11111111.aaaaaaaa b=22222222.bbbbbbbb", "y=22222222.bbbbbbbb z=11111111.aaaaaaaa", ""},
        {"a=11111111.aaaaaaaa spare-33333333.cccccccc", "a=11111111.aaaaaaaa", ""},
        /* of a 7z nobody knows which were read: all must be there */
        {"a=11111111.aaaaaaaa spare-33333333.cccccccc", "a?11111111.aaaaaaaa spare?33333333.cccccccc", ""},
        {"a=11111111.aaaaaaaa", "a?11111111.aaaaaaaa spare?33333333.cccccccc",
         "spare differs: room has none, you have crc 33333333"},
        {"a=11111111.aaaaaaaa", "a=44444444.aaaaaaaa",
         "a differs: room has crc 11111111, you have crc 44444444"},
        {"a=11111111.aaaaaaaa", "a?44444444.aaaaaaaa",
         "a differs: room has crc 11111111, you have crc 44444444"},
        /* it is there, and was not read */
        {"a=11111111.aaaaaaaa", "a-11111111.aaaaaaaa", "a differs: room has crc 11111111, you have none"},
        /* a checksum that was made to be the same */
        {"a=11111111.aaaaaaaa", "a=11111111.dddddddd",
         "a differs: room has crc 11111111.aaaaaaaa, you have crc 11111111.dddddddd"},
        {"a=11111111.aaaaaaaa b=22222222.bbbbbbbb", "a=11111111.aaaaaaaa",
         "b differs: room has crc 22222222, you have none"},
        /* no lists: plain values */
        {"nonsense", "nonsense", ""},
        {"nonsense", "a=11111111.aaaaaaaa",
         "members 1 differs: room has nonsense, you have none; a differs: room has none, you have crc "
         "11111111"},
        {"a-11111111.aaaaaaaa", "nonsense", "members 1 differs: room has none, you have nonsense"},
    };
    char out[300];
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned count = members_differ(cases[i].room, cases[i].you, out, sizeof out);
        assert_string_equal(out, cases[i].text);
        assert_int_equal(count > 0, *cases[i].text != 0);
        assert_int_equal(members_differ(cases[i].you, cases[i].room, out, sizeof out) > 0, count > 0);
    }
}

TEST(long_facts_are_cut_between_characters) {
    struct kl_facts f = {0};
    char value[400] = "";
    for (unsigned i = 0; i < 90; i++)
        strcat(value, "\xe2\x82\xac");
    assert_int_equal(kl_facts_add(&f, value, value), 0);
    assert_int_equal(strlen(f.fact[0].key), 45);    /* 15 whole characters */
    assert_int_equal(strlen(f.fact[0].value), 159); /* 53 */
}
