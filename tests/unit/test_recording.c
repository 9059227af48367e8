/* Recordings: written ones are read again, and have the bytes of the golden file; one that is torn or
 * damaged is good up to there (more of it: tests/conformance/recording.py). KL_GOLDEN=1 writes the golden
 * files anew.
 * runs: working, check, 2 s */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <unistd.h>

#include "core_wrapper/record/recording.h"
#include "net/engine/command.h"
#include "net/platform/file.h"
#include "net/record/klr_pack.h"
#include "net/record/pieces.h"
#include "net/session/digest.h"
#include "net/session/proof.h"

#define GOLDEN "tests/conformance/golden/"

static char path[] = "/tmp/keylock-test-XXXXXX", err[1024];
static uint8_t *whole; /* of the file that write_match() has written, unpacked */
static size_t whole_len;
static uint8_t *packed; /* of the golden file: two minutes and a half */
static size_t packed_len;

static void read_as_it_is(const char *from, void **bytes, size_t *len) {
    if (kl_file_read(from, 1 << 24, 0, bytes, len, err, sizeof err) != 0) fail_msg("%s", err);
}

/* Unpacked. */
static void read_whole(const char *from, void **bytes, size_t *len) {
    struct kl_klr_unpacked u;
    read_as_it_is(from, bytes, len);
    if (!kl_klr_is_packed(*bytes, *len)) return;
    assert_int_equal(kl_klr_unpack(&u, *bytes, *len, from, err, sizeof err), 0);
    assert_string_equal(u.damage, "");
    free(*bytes);
    *bytes = u.bytes;
    *len = u.len;
}

/* --- a match with something of everything --- */

static void write_head(struct kl_recorder *w) {
    static struct kl_klr_room room;
    static struct kl_start start;
    static uint8_t bytes[4096], sram[600];
    struct kl_klr_head head = {KL_KLR_VERSION, KL_KLR_RULES, KL_KLR_BY_CLIENT | KL_KLR_HAS_EPOCH, {7}, {0},
                               946684800};
    for (unsigned i = 0; i < sizeof sram; i++)
        sram[i] = (uint8_t)(i * 7);
    room = (struct kl_klr_room){.name = "lounge",
                                .has_params = true,
                                .params = {.players = 2, .lead_max = 12, .fps_uhz = 60000000, .desync = 1},
                                .members = 2,
                                .member = {{0, 1, "Ann"}, {15, 2, "Bob"}}};
    kl_facts_add(&room.facts, "core", "Probe core 1");
    kl_facts_add(&room.facts, "content", "xxh3 0123456789abcdef (3 bytes, x)");
    start = (struct kl_start){.option_count = 2,
                              .device_count = 1,
                              .memory_count = 1,
                              .option = {{"speed", "slow"}, {"colour", "grey"}},
                              .device = {{3, 257}},
                              .memory = {{0, sram, sizeof sram}}};
    int len = kl_start_encode(&start, bytes, sizeof bytes);
    assert_true(len > 0);
    kl_recorder_head(w, 15, &head, &room, bytes, (size_t)len);
    kl_recorder_event(w, &(struct kl_klr_event){.kind = KL_KLR_OPTION, .text = "speed=fast"});
}

static struct kl_commands commands_at(uint32_t frame) {
    struct kl_commands c = {.keyframe = frame};
    if (frame == 8) {
        c.count = 2;
        c.at[0] = (struct kl_command){KL_RELAY_CLIENT, KL_COMMAND_SNAPSHOT, 0, {0}};
        c.at[1] = (struct kl_command){1, KL_COMMAND_RESET, 0, {0}};
    }
    return c;
}

static struct kl_frame frame_at(uint32_t n) {
    return (struct kl_frame){n, n - n % 4, 4, (uint8_t)(n % 4 ? 0 : KL_FRAME_KEY), 3, {{0}}};
}

static void write_match(void) {
    struct kl_recorder w;
    assert_int_equal(kl_recorder_open(&w, path), 0);
    write_head(&w);
    for (uint32_t n = 0; n < 150; n++) {
        struct kl_frame f = frame_at(n);
        struct kl_commands c = commands_at(n);
        f.in[0].joypad = (uint16_t)(n / 10 % 3 == 1 ? 0x0101 : 0);
        f.in[1].joypad = (uint16_t)(n / 7 % 2 ? 0x0010 : 0);
        if (n == 70) f.in[1].stick[0] = -500;
        if (n && n % 60 == 0) {
            kl_recorder_hash(&w, &(struct klw_hash){n - 1, true, false, n * 0x123456789aull, 0});
            kl_recorder_hash(&w, &(struct klw_hash){n - 1, true, true, n * 0x123456789aull, n * 0xabcdefull});
            f.flags |= KL_FRAME_HASH;
        }
        if (c.count) {
            f.flags |= KL_FRAME_COMMANDS;
            kl_recorder_commands(&w, &c);
            kl_recorder_event(&w, &(struct kl_klr_event){.kind = KL_KLR_SERIALIZED, .frame = n, .yes = true});
        }
        if (n == 90)
            kl_recorder_event(&w, &(struct kl_klr_event){.kind = KL_KLR_FLIP, .frame = n, .offset = 512});
        kl_recorder_frame(&w, &f);
    }
    kl_recorder_event(
        &w, &(struct kl_klr_event){.kind = KL_KLR_ALIEN, .frame = 120, .text = "a state\nwas loaded"});
    assert_int_equal(kl_recorder_close(&w), 0);
    assert_int_equal(kl_recorder_close(&w), 0); /* again: nothing */
}

static void record(struct kl_recorder *w, uint32_t from, uint32_t to, uint16_t pad) {
    for (uint32_t n = from; n < to; n++) {
        struct kl_frame f = frame_at(n);
        f.in[0].joypad = (uint16_t)(n / 8 % 2 ? pad : 0);
        if (n && n % 20 == 0) kl_recorder_hash(w, &(struct klw_hash){n - 1, true, false, n + pad, 0});
        kl_recorder_frame(w, &f);
    }
}

/* The relay lost the newest frames, and the match went on from before. */
static void write_cut(void) {
    struct kl_recorder w;
    assert_int_equal(kl_recorder_open(&w, path), 0);
    write_head(&w);
    record(&w, 0, 100, 0x0001);
    record(&w, 60, 90, 0x0080);
    assert_int_equal(kl_recorder_close(&w), 0);
}

/* Frames of more than two minutes. */
static void write_long(void) {
    struct kl_recorder w;
    assert_int_equal(kl_recorder_open(&w, path), 0);
    write_head(&w);
    for (uint32_t n = 0; n < 9000; n++) {
        struct kl_frame f = frame_at(n);
        f.in[n / 900 % 2].joypad = (uint16_t)(n / 300 % 3 * 0x0010);
        if (n && n % 600 == 0) kl_recorder_hash(&w, &(struct klw_hash){n - 1, true, true, n, ~(uint64_t)n});
        kl_recorder_frame(&w, &f);
    }
    assert_int_equal(kl_recorder_close(&w), 0);
}

static int set_up(void **state) {
    (void)state;
    int fd = mkstemp(path);
    if (fd < 0 || close(fd) != 0) return -1;
    write_match();
    read_whole(path, (void **)&whole, &whole_len);
    if (!getenv("KL_GOLDEN")) read_as_it_is(GOLDEN "packed.klr", (void **)&packed, &packed_len);
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    free(whole);
    free(packed);
    return unlink(path);
}

/* --- reading --- */

/* Of a copy of these bytes. */
static int parse(struct kl_recording *r, const uint8_t *bytes, size_t len) {
    uint8_t *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, len);
    return kl_recording_parse(r, copy, len, "x", err, sizeof err);
}

TEST(written_values_are_read_back) {
    static struct kl_recording r;
    assert_int_equal(kl_recording_read(&r, path, err, sizeof err), 0);
    assert_string_equal(r.damage, "");
    assert_true(r.ended);
    assert_string_equal(r.core, "Probe core 1");
    assert_int_equal(r.options, 2);
    assert_string_equal(r.option[0], "speed=fast"); /* this machine's, in the place of the room's */
    assert_string_equal(r.option[1], "colour=grey");
    assert_int_equal(r.head.epoch_s, 946684800);
    assert_int_equal(r.device_set, 1 << 3);
    assert_int_equal(r.device[3], 257);
    assert_int_equal(r.memories, 1);
    assert_int_equal(r.memory[0].len, 600);
    assert_int_equal(r.memory[0].bytes[599], (uint8_t)(599 * 7));
    assert_int_equal(r.hashes, 2); /* of one frame the later line counts */
    assert_true(r.hash[0].label == 59 && r.hash[0].has & KL_HASH_STATE);
    assert_int_equal(r.deeds, 4);
    assert_string_equal(r.deed[0].text, "snapshot load");
    assert_string_equal(r.deed[1].text, "reset");
    assert_true(r.deed[2].kind == KL_DEED_FLIP && r.deed[2].frame == 90);
    assert_string_equal(r.deed[3].text, "a state was loaded");
    assert_int_equal(r.frames, 150); /* the interval under way is there */
    assert_int_equal(r.digest.end, 148);
    assert_int_equal(kl_recording_at(&r, 15)[0].joypad, 0x0101);
    assert_int_equal(kl_recording_at(&r, 70)[1].stick[0], -500);
    assert_int_equal(kl_recording_at(&r, 71)[1].stick[0], 0);
    assert_int_equal(kl_recording_at(&r, 5)[0].joypad, 0); /* back again */
    kl_recording_free(&r);
}

/* The bytes are those that other machines and later versions read. */
static void compare_golden(const char *file, const void *is, size_t is_len) {
    void *golden;
    size_t len;
    if (getenv("KL_GOLDEN")) assert_int_equal(kl_file_write_whole(file, is, is_len, 0, err, sizeof err), 0);
    read_whole(file, &golden, &len);
    assert_int_equal(len, is_len);
    assert_memory_equal(golden, is, len);
    free(golden);
}

TEST(its_bytes_are_the_golden_files) {
    compare_golden(GOLDEN "match.klr", whole, whole_len);
}

/* Versions of zstd pack differently; all unpack each other's. */
TEST(a_closed_one_is_packed) {
    static struct kl_recording r;
    void *is, *golden, *file;
    size_t is_len, golden_len, file_len;
    write_long();
    read_as_it_is(path, &file, &file_len);
    assert_true(kl_klr_is_packed(file, file_len));
    if (getenv("KL_GOLDEN"))
        assert_int_equal(kl_file_write_whole(GOLDEN "packed.klr", file, file_len, 0, err, sizeof err), 0);
    read_whole(path, &is, &is_len);
    read_whole(GOLDEN "packed.klr", &golden, &golden_len);
    assert_int_equal(golden_len, is_len);
    assert_memory_equal(golden, is, is_len);
    assert_int_equal(kl_recording_read(&r, path, err, sizeof err), 0);
    assert_true(!*r.damage && r.ended && r.frames == 9000);
    assert_true(r.packed == file_len && r.len == is_len && r.packed_frames == 3);
    kl_recording_free(&r);
    free(is);
    free(golden);
    free(file);
    write_match();
}

TEST(frames_that_the_relay_lost_no_longer_count) {
    static struct kl_recording r;
    void *bytes;
    size_t len;
    write_cut();
    read_whole(path, &bytes, &len);
    compare_golden(GOLDEN "cut.klr", bytes, len);
    assert_int_equal(kl_recording_parse(&r, bytes, len, "x", err, sizeof err), 0);
    assert_string_equal(r.damage, "");
    assert_int_equal(r.frames, 90);
    assert_int_equal(kl_recording_at(&r, 58)[0].joypad, 0x0001);
    assert_int_equal(kl_recording_at(&r, 62)[0].joypad, 0x0080);
    assert_int_equal(r.hashes, 4);
    assert_true(r.hash[2].label == 59 && r.hash[2].ram == 60 + 0x80);
    assert_true(r.hash[3].label == 79 && r.hash[3].ram == 80 + 0x80);
    kl_recording_free(&r);
}

/* --- damage --- */

/* Blocks that end at or below this byte. */
static unsigned blocks_below(uint64_t at) {
    struct kl_klr_cursor c;
    unsigned n = 0;
    assert_true(kl_klr_open(&c, whole, whole_len));
    while (kl_klr_next(&c) == KL_KLR_BLOCK && c.place.at <= at)
        n++;
    return n;
}

TEST(torn_at_any_byte_it_is_good_up_to_its_last_block) {
    static struct kl_recording r;
    for (size_t len = 0; len < whole_len; len++) {
        int result = parse(&r, whole, len);
        assert_int_equal(result, len < KL_KLR_MAGIC);
        assert_int_equal(r.blocks, blocks_below(len));
        assert_false(r.ended);
        kl_recording_free(&r);
    }
}

/* The checks are right: somebody has written it so. Nobody shall run what is not there. */
TEST(frames_that_the_bytes_do_not_hold_are_damage) {
    static const struct {
        uint32_t begin, jump;
        const char *damage;
    } claim[] = {{0, 4000000000, "(PIECES): frame 50 is due, it has frame 4000000000"},
                 {0, 51, "(PIECES): frame 50 is due, it has frame 51"},
                 {8, 0, "(PIECES): frame 0 is due, it has frame 8"}};
    for (unsigned i = 0; i < sizeof claim / sizeof *claim; i++) {
        static struct kl_recording r;
        struct kl_recorder w;
        assert_int_equal(kl_recorder_open(&w, path), 0);
        write_head(&w);
        record(&w, claim[i].begin, 50, 1);
        if (claim[i].jump) record(&w, claim[i].jump, claim[i].jump + 20, 1);
        assert_int_equal(kl_recorder_close(&w), 0);
        assert_int_equal(kl_recording_read(&r, path, err, sizeof err), 0);
        assert_non_null(strstr(r.damage, claim[i].damage));
        assert_int_equal(r.frames, claim[i].begin ? 0 : 50);
        kl_recording_free(&r);
    }
}

TEST(a_snapshot_may_leave_frames_out) {
    static struct kl_recording r;
    struct kl_recorder w;
    assert_int_equal(kl_recorder_open(&w, path), 0);
    write_head(&w);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t frame = i ? 4000000000 : 8;
        kl_recorder_snapshot(&w, &(struct kl_klr_snapshot){.frame = frame, .before = {.end = frame}});
        record(&w, frame, frame + 42, 1);
    }
    assert_int_equal(kl_recorder_close(&w), 0);
    assert_int_equal(kl_recording_read(&r, path, err, sizeof err), 0);
    assert_string_equal(r.damage, "");
    assert_true(r.first == 8 && r.whole == 50 && r.frames == 4000000042);
    kl_recording_free(&r);
}

/* --- packed --- */

/* Packed frames that end at or below this byte. */
static unsigned packed_below(size_t at) {
    unsigned n = 0;
    for (size_t end = 0; end < packed_len; n++) {
        struct kl_reader r = kl_reader(packed + end + 16, 4);
        end += 24 + kl_read_u32(&r);
        if (end > at) break;
    }
    return n;
}

/* It is good up to that packed frame. Every eleventh bit, and so each bit of a byte: all of them take a
 * quarter of a minute. */
TEST(any_changed_bit_of_a_packed_one_is_found_and_named) {
    static struct kl_recording r;
    for (size_t bit = 64; bit < 8 * packed_len; bit += 11) {
        unsigned frame = packed_below(bit / 8);
        char named[80];
        packed[bit / 8] ^= (uint8_t)(1 << bit % 8);
        int result = parse(&r, packed, packed_len);
        packed[bit / 8] ^= (uint8_t)(1 << bit % 8);
        snprintf(named, sizeof named, "in the packed frame %u, minute %u of the match, at byte ", frame + 1,
                 frame + 1);
        if (result != 0 || r.packed_frames != frame || r.frames != frame * KL_KLR_MINUTE_FRAMES || r.ended ||
            strncmp(r.damage, named, strlen(named)) != 0)
            fail_msg("bit %zu: expected \"%s\", got \"%s\", %u frames", bit, named, r.damage, r.frames);
        kl_recording_free(&r);
    }
}

/* --- chat --- */

static struct kl_command command_of(uint8_t kind, const char *text) {
    struct kl_command c = {.client = 1, .kind = kind, .len = (uint8_t)strlen(text)};
    memcpy(c.data, text, c.len);
    return c;
}

/* Twelve frames, with two lines of chat: with a save, and alone. said: they were given to the room. */
static void gather(struct kl_pieces *p, bool said, bool chat) {
    static const uint8_t room[KL_DIGEST_ROOM_ID] = {7};
    const struct kl_command save = command_of(KL_COMMAND_SAVE, ""),
                            hello = command_of(KL_COMMAND_CHAT, "hello"),
                            bye = command_of(KL_COMMAND_CHAT, "goodbye");
    kl_pieces_init(p, room, &(struct kl_digest){0}, chat);
    for (uint32_t n = 0; n < 12; n++) {
        struct kl_frame f = frame_at(n);
        struct kl_commands set = {.keyframe = n};
        if (n == 4 && said) set.at[set.count++] = hello;
        if (n == 4) set.at[set.count++] = save;
        if (n == 8 && said) set.at[set.count++] = bye;
        if (set.count) f.flags |= KL_FRAME_COMMANDS;
        assert_true(kl_pieces_add(p, &f, set.count ? &set : NULL));
    }
}

static bool holds(const uint8_t *bytes, size_t len, const char *word) {
    for (size_t i = 0; i + strlen(word) <= len; i++)
        if (memcmp(bytes + i, word, strlen(word)) == 0) return true;
    return false;
}

TEST(without_chat_it_is_whole_and_has_the_same_digest) {
    static struct kl_pieces with, without, silent;
    gather(&with, true, true);
    gather(&without, true, false);
    gather(&silent, false, true);
    size_t len = kl_pieces_take(&with, true), bare = kl_pieces_take(&without, true);
    assert_true(holds(with.body, len, "hello"));
    assert_true(holds(with.body, len, "goodbye"));
    assert_int_equal(bare, kl_pieces_take(&silent, true));
    assert_memory_equal(without.body, silent.body, bare);
    assert_int_equal(with.chain.intervals, 3);
    assert_memory_equal(&with.chain, &silent.chain, sizeof with.chain);
    assert_memory_equal(&without.chain, &silent.chain, sizeof with.chain);
}

/* --- seals --- */

static struct kl_relay_key relay;

/* A match of 100 frames, of which the first 96 are sealed, in the room whose first byte of its id is `room`.
 * cut: frames from there on are played otherwise, once they were. */
static void write_sealed(uint8_t room, uint16_t pad, uint32_t cut, bool own_digest) {
    static struct kl_klr_room described;
    static const uint8_t seed[KL_RELAY_SEED] = {5};
    static struct kl_pieces p;
    struct kl_klr_head head = {KL_KLR_VERSION, KL_KLR_RULES, KL_KLR_BY_CLIENT, {7}, {0}, 946684800};
    struct kl_proof_match of = {.room_id = {room}, .epoch_s = head.epoch_s};
    struct kl_recorder w;
    kl_relay_key_from_seed(&relay, seed);
    memcpy(head.relay_key, relay.exchange.pub, sizeof head.relay_key);
    described = (struct kl_klr_room){.name = "lounge"};
    kl_facts_add(&described.facts, "core", "Probe core 1");
    kl_identity(&described.facts, of.identity);
    kl_proof_start("", 0, of.start);
    assert_int_equal(kl_recorder_open(&w, path), 0);
    kl_recorder_head(&w, 0, &head, &described, NULL, 0);
    kl_pieces_init(&p, head.room_id, &(struct kl_digest){0}, true);
    for (uint32_t n = 0; n < 100; n++) {
        struct kl_frame f = frame_at(n);
        f.in[0].joypad = (uint16_t)(n / 8 % 2 ? (own_digest ? pad : 1) : 0);
        if (n < 96) assert_true(kl_pieces_add(&p, &f, NULL));
        f.in[0].joypad = (uint16_t)(n / 8 % 2 ? pad : 0);
        kl_recorder_frame(&w, &f);
    }
    struct kl_proof seal = {.intervals = p.chain.intervals, .end = p.chain.end};
    memcpy(seal.digest, p.chain.digest, sizeof seal.digest);
    kl_proof_sign(&seal, &of, &relay);
    kl_recorder_seal(&w, &seal);
    if (cut) record(&w, cut, cut + 20, pad);
    assert_int_equal(kl_recorder_close(&w), 0);
}

static void expect_sealed(uint32_t end, const char *why) {
    static struct kl_recording r;
    assert_int_equal(kl_recording_read(&r, path, err, sizeof err), 0);
    assert_string_equal(r.damage, "");
    assert_int_equal(r.seal.end, end);
    assert_string_equal(kl_recording_sealed(&r), why);
    kl_recording_free(&r);
}

TEST(a_sealed_recording_is_known_as_such) {
    write_sealed(7, 1, 0, true);
    expect_sealed(96, "");
    write_sealed(7, 1, 96, true); /* a cut behind what is sealed */
    expect_sealed(96, "");
    write_sealed(7, 1, 92, true);
    expect_sealed(0, "it has no seal");
    write_match();
    expect_sealed(0, "it has no seal");
}

/* All checks of the file are right: somebody has written it anew. */
TEST(a_changed_match_is_not_the_sealed_one) {
    write_sealed(7, 2, 0, false);
    expect_sealed(96, "its frames are not the sealed ones");
    write_sealed(8, 1, 0, true);
    expect_sealed(96, "the seal's signature is not of this match, its frames and hashes");
    write_match();
}

/* --- blocks whose checks are right: they were written so --- */

static void put_block(struct kl_klr_place *p, uint8_t type, const void *body, size_t len, uint8_t *file) {
    uint64_t at = p->at;
    struct kl_klr_around a = kl_klr_around(p, type, body, (uint32_t)len);
    memcpy(file + at, a.before, sizeof a.before);
    memcpy(file + at + sizeof a.before, body, len);
    memcpy(file + at + sizeof a.before + len, a.check, sizeof a.check);
}

TEST(a_malformed_body_is_named) {
    static const struct {
        uint8_t type;
        const char *body;
        size_t len;
    } bad[] = {
        {KL_KLR_HEAD, "", 0},
        {KL_KLR_ROOM, "\1", 1},
        {KL_KLR_START, "KLS1", 4},
        {KL_KLR_PIECES, "\5\0abc", 5},
        {KL_KLR_DIGEST, "1234567890", 10},
        {KL_KLR_HASH, "\0\0\0\0\1\0\10", 7},
        {KL_KLR_EVENT, "\3\0\0\0\0\3abc", 9},
        {KL_KLR_END, "\0\0\0\0\0\0", 6},
        {KL_KLR_SEAL, "1234567890", 10},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        static struct kl_recording r;
        static uint8_t bytes[4096];
        struct kl_klr_cursor c;
        assert_true(kl_klr_open(&c, whole, whole_len));
        for (unsigned k = 0; k < 3; k++)
            assert_int_equal(kl_klr_next(&c), KL_KLR_BLOCK);
        memcpy(bytes, whole, c.place.at);
        put_block(&c.place, bad[i].type, bad[i].body, bad[i].len, bytes);
        assert_int_equal(parse(&r, bytes, c.place.at), 0);
        if (r.blocks != 3 || !strstr(r.damage, "malformed")) fail_msg("taken: type %u", bad[i].type);
        kl_recording_free(&r);
    }
}

TEST(what_is_new_is_passed_over_and_a_later_version_refused) {
    static struct kl_recording r;
    uint8_t bytes[256];
    for (uint8_t version = 1; version < 3; version++) {
        struct kl_klr_place p = kl_klr_begin();
        uint8_t head[60] = {version, 1};
        memcpy(bytes, kl_klr_magic, KL_KLR_MAGIC);
        put_block(&p, KL_KLR_HEAD, head, sizeof head, bytes);
        put_block(&p, 99, head, 5, bytes);
        put_block(&p, KL_KLR_SIGN + 1, head, 5, bytes);
        int result = parse(&r, bytes, p.at);
        if (version == 1) assert_true(result == 0 && !*r.damage && r.blocks == 3);
        if (version == 2) assert_true(result == -1 && strstr(err, "version 1 or less, got version 2"));
        kl_recording_free(&r);
    }
}

int main(void) {
    return run_all_tests(set_up, tear_down);
}
