/* Reliable messages, identity facts. net/PROTOCOL.md §7. */
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

static struct kl_past a_piece(void) {
    static struct kl_frame ring[KL_WINDOW_FRAMES];
    struct kl_past p = {0};
    uint32_t count;
    for (uint32_t n = 0; n < 90; n++) {
        ring[n] = (struct kl_frame){.number = n, .keyframe = n / 6 * 6, .spacing = 6, .active = 3};
        ring[n].in[1].joypad = (uint16_t)(n / 3);
    }
    struct kl_frames_from from = {.ring = ring, .places = KL_WINDOW_FRAMES};
    p.len = (uint16_t)kl_piece_write(&from, 7, 60, p.bytes, sizeof p.bytes, &count);
    assert_int_equal(count, 60);
    return p;
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

TEST(hello) {
    struct kl_msg m = a_hello(), got;
    there_and_back(&m, &got);
    assert_string_equal(got.hello.name, "Zo\xc3\xab");
    assert_string_equal(got.hello.room, "arcade");
    assert_int_equal(got.hello.facts.count, 2);
    assert_int_equal(got.hello.door, KL_DOOR_UNLISTED | KL_DOOR_PASSWORD);
    assert_int_equal(got.hello.seat_time_s, 300);
    assert_string_equal(got.hello.match, "cup-9:R2/m1.#3_a");
    assert_memory_equal(got.hello.seat_key, m.hello.seat_key, KL_SEAT_KEY_BYTES);
    assert_string_equal(got.hello.facts.fact[1].key, "content");
    assert_int_equal(got.hello.params.fps_uhz, 60098800);
    assert_true(got.hello.params.subframes && got.hello.params.clocked);
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

TEST(no_such_kind) {
    uint8_t b[KL_MSG_MAX] = {0};
    struct kl_msg got;
    for (unsigned kind = 0; kind < 256; kind++) {
        bool is = kl_msg_form((uint8_t)kind);
        int len = kl_msg_encode(&(struct kl_msg){.kind = (uint8_t)kind}, b, sizeof b);
        assert_true(is ? len > 0 : len == KL_E_MALFORMED);
        if (is) continue;
        for (size_t more = 0; more < 64; more++)
            assert_int_equal(kl_msg_decode(&got, (b[0] = (uint8_t)kind, b), 1 + more), KL_E_MALFORMED);
    }
}

/* A number is refused above its most and below its least, wherever it stands. */
TEST(numbers_are_bounded_by_their_tables) {
    struct kl_msg m, got;
    uint8_t b[KL_MSG_MAX];
    unsigned tried = 0;
    for (unsigned kind = 0; kind <= KL_MSG_LAST; kind++) {
        const struct kl_msg_form *form = kl_msg_form((uint8_t)kind);
        for (const struct kl_field *f = form ? form->table : NULL; f && f->type; f++) {
            assert_in_range(form->place + f->place + f->size, 1, sizeof m);
            if (f->type != KL_FIELD_NUMBER || f->size > 4 || f->max >> 8 * f->size) continue;
            for (unsigned above = 0; above < 2; above++) {
                uint64_t v = above ? f->max + 1 : f->min - 1;
                if (above ? v >> 8 * f->size : !f->min) continue;
                m = (struct kl_msg){.kind = (uint8_t)kind};
                if (kind == KL_MSG_HELLO) m.hello = a_hello().hello;
                uint8_t *at = (uint8_t *)&m + form->place + f->place;
                if (f->size == 1) *at = (uint8_t)v;
                if (f->size == 2) memcpy(at, &(uint16_t){(uint16_t)v}, 2);
                if (f->size == 4) memcpy(at, &(uint32_t){(uint32_t)v}, 4);
                int len = kl_msg_encode(&m, b, sizeof b);
                assert_true(len > 0);
                assert_int_equal(kl_msg_decode(&got, b, (size_t)len), KL_E_MALFORMED);
                tried++;
            }
        }
    }
    assert_true(tried > 20);
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

TEST(hello_out_of_range) {
    struct kl_msg m, got;
    uint8_t b[KL_MSG_MAX];
#define REJECTED(change)                                                                                     \
    do {                                                                                                     \
        m = a_hello();                                                                                       \
        change;                                                                                              \
        int len = kl_msg_encode(&m, b, sizeof b);                                                            \
        assert_int_equal(kl_msg_decode(&got, b, (size_t)len), KL_E_MALFORMED);                               \
    } while (0)
    REJECTED(m.hello.room[0] = 0);
    REJECTED(m.hello.name[0] = 0);
    REJECTED(strcpy(m.hello.match, "round 2"));
    REJECTED(strcpy(m.hello.match, "$(reboot)"));
    REJECTED(strcpy(m.hello.match, "--"));
    REJECTED(strcpy(m.hello.match, "\xc3\xa9"));
    REJECTED(m.hello.seats_wanted = KL_MAX_SEATS + 1);
    REJECTED(m.hello.door = KL_DOOR_LOCKED);
    REJECTED(m.hello.params.policy = 3);
    REJECTED(m.hello.params.players = 0);
    REJECTED(m.hello.params.players = KL_MAX_SEATS + 1);
    REJECTED(m.hello.params.spacing_fixed = KL_SPACING_MAX + 1);
    REJECTED(m.hello.params.fps_uhz = 999999);
    REJECTED(m.hello.params.fps_uhz = 1000000001);
#undef REJECTED
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

TEST(another_version_is_told_apart) {
    struct kl_msg got;
    static const uint8_t other[] = {KL_MSG_HELLO, KL_PROTOCOL_VERSION + 1, 0, 0xff, 0xff, 0xff};
    assert_int_equal(kl_msg_decode(&got, other, 3), KL_E_VERSION);
    assert_int_equal(kl_msg_decode(&got, other, sizeof other), KL_E_VERSION);
    assert_int_equal(got.hello.version, KL_PROTOCOL_VERSION + 1);
    assert_int_equal(kl_msg_decode(&got, other, 2), KL_E_MALFORMED);
}

TEST(data) {
    struct kl_msg m = {.kind = KL_MSG_DATA, .data = {.offset = 5, .total = 1005, .len = KL_CHUNK_MAX}}, got;
    memset(m.data.bytes, 0xab, sizeof m.data.bytes);
    there_and_back(&m, &got);
    assert_int_equal(got.data.len, KL_CHUNK_MAX);
    uint8_t b[KL_MSG_MAX];
    m.data.total = 1004; /* one byte past the end */
    int len = kl_msg_encode(&m, b, sizeof b);
    assert_int_equal(kl_msg_decode(&got, b, (size_t)len), KL_E_MALFORMED);
    m.data = (struct kl_data){.offset = UINT32_MAX, .total = UINT32_MAX, .len = 1};
    len = kl_msg_encode(&m, b, sizeof b);
    assert_int_equal(kl_msg_decode(&got, b, (size_t)len), KL_E_MALFORMED);
    m.data = (struct kl_data){.offset = 2, .total = 1, .len = 0};
    len = kl_msg_encode(&m, b, sizeof b);
    assert_int_equal(kl_msg_decode(&got, b, (size_t)len), KL_E_MALFORMED);
    m.data = (struct kl_data){.offset = 0, .total = 5000, .len = KL_CHUNK_MAX};
    len = kl_msg_encode(&m, b, sizeof b);
    b[len] = 0; /* a piece of 1,001 bytes */
    assert_int_equal(kl_msg_decode(&got, b, (size_t)len + 1), KL_E_MALFORMED);
    m.data = (struct kl_data){0}; /* nothing to hand over is said by one empty piece */
    there_and_back(&m, &got);
}

TEST(every_kind) {
    static struct kl_msg m, got;
    struct rng rng = {7};
    for (unsigned kind = 0; kind <= KL_MSG_LAST; kind++)
        for (unsigned n = 0; n < 8 && any_message(&m, (uint8_t)kind, &rng); n++)
            there_and_back(&m, &got);
}

static struct kl_msg a_return(void) {
    struct kl_msg m = {.kind = KL_MSG_RETURN, .back = {.room = "arcade", .have = 5, .intervals = 6}};
    fill(m.back.token, KL_TOKEN_BYTES, 1);
    fill(m.back.seat_key, KL_SEAT_KEY_BYTES, 2);
    fill(m.back.signature, KL_SIGNATURE_BYTES, 3);
    fill(m.back.digest, KL_DIGEST_BYTES, 4);
    fill(m.back.open, KL_DIGEST_BYTES, 5);
    kl_facts_add(&m.back.facts, "core", "nestopia 1.52");
    return m;
}

TEST(coming_back) {
    struct kl_msg m = a_return(), got;
    uint8_t b[KL_MSG_MAX];
    there_and_back(&m, &got);
    assert_memory_equal(got.back.signature, m.back.signature, KL_SIGNATURE_BYTES);
    assert_memory_equal(got.back.digest, m.back.digest, KL_DIGEST_BYTES);
    assert_memory_equal(got.back.open, m.back.open, KL_DIGEST_BYTES);
    assert_true(!got.back.fresh && got.back.have == 5 && got.back.intervals == 6);
    m.back.fresh = true; /* a client with nothing has no frames */
    int len = kl_msg_encode(&m, b, sizeof b);
    assert_int_equal(kl_msg_decode(&got, b, (size_t)len), KL_E_MALFORMED);
    m.back.have = m.back.intervals = 0;
    there_and_back(&m, &got);
    m.back.room[0] = 0;
    len = kl_msg_encode(&m, b, sizeof b);
    assert_int_equal(kl_msg_decode(&got, b, (size_t)len), KL_E_MALFORMED);
}

TEST(doors) {
    struct kl_msg door = {.kind = KL_MSG_DOOR, .door.what = KL_PROVE_SET}, got;
    fill(door.door.salt, KL_SALT_BYTES, 4);
    there_and_back(&door, &got);
    assert_memory_equal(got.door.salt, door.door.salt, KL_SALT_BYTES);
    struct kl_msg prove = {.kind = KL_MSG_PROVE};
    fill(prove.prove.share, KL_SHARE_BYTES, 5);
    fill(prove.prove.mac, KL_MAC_BYTES, 6);
    there_and_back(&prove, &got);
    assert_memory_equal(got.prove.mac, prove.prove.mac, KL_MAC_BYTES);
    there_and_back(&(struct kl_msg){.kind = KL_MSG_PROVED, .proved.mac = {1, 2, 3}}, &got);
    uint8_t b[KL_MSG_MAX];
    door.door.what = 2;
    int len = kl_msg_encode(&door, b, sizeof b);
    assert_int_equal(kl_msg_decode(&got, b, (size_t)len), KL_E_MALFORMED);
}

static void rejected(const struct kl_msg *m) {
    static struct kl_msg got;
    static uint8_t b[KL_MSG_MAX];
    int len = kl_msg_encode(m, b, sizeof b);
    assert_true(len > 0);
    assert_int_equal(kl_msg_decode(&got, b, (size_t)len), KL_E_MALFORMED);
}

TEST(bulk) {
    static struct kl_msg m, got;
    m = (struct kl_msg){.kind = KL_MSG_HISTORY, .past = a_piece()};
    there_and_back(&m, &got);
    assert_memory_equal(got.past.bytes, m.past.bytes, m.past.len);
    m.past.bytes[4] = 65; /* frames */
    rejected(&m);
    m.past = a_piece();
    m.past.len--;
    rejected(&m);
    m.past.len = 0;
    rejected(&m);
}

TEST(seats) {
    static struct kl_msg m, got;
    m = (struct kl_msg){.kind = KL_MSG_SEAT, .seat = {15, 0x84}};
    there_and_back(&m, &got);
    assert_true(got.seat.client == 15 && got.seat.seats == 0x84);
    m.seat.client = KL_MAX_CLIENTS;
    rejected(&m);
}

TEST(fields_out_of_range_are_rejected) {
    struct kl_msg got;
    assert_int_equal(kl_msg_decode(&got, (const uint8_t *)"", 0), KL_E_MALFORMED);
    assert_int_equal(kl_msg_decode(&got, (const uint8_t *)"\x04\0\0\0\0\x08", 6),
                     KL_E_MALFORMED); /* hash of what? */
    assert_int_equal(kl_msg_decode(&got, (const uint8_t *)"\x12\x09\x02\x00\x00", 5),
                     KL_E_MALFORMED); /* nine seats filled */
    assert_int_equal(kl_msg_decode(&got, (const uint8_t *)"\x12\x02\x02\x00\x01\x10\0\0\0\0", 10),
                     KL_E_MALFORMED); /* client 16 */
    assert_int_equal(kl_msg_decode(&got, (const uint8_t *)"\x15\0\0\0\0\0\0\0\0\x03\0\0\0", 13),
                     KL_E_MALFORMED);
    assert_int_equal(kl_msg_decode(&got, (const uint8_t *)"\x15\0\0\0\0\0\0\0\0\0\x02\0\0", 13),
                     KL_E_MALFORMED);
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
