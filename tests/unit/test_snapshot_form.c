/* A snapshot as bytes, and its files. core_wrapper/match/snapshot_form.h */
#include "tests/unit/unit.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/core/snapshot_pack.h"
#include "core_wrapper/match/snapshot_form.h"
#include "net/engine/msg.h"

#define STATE 70000

/* One option with two values, and one value that waits. */
static const uint8_t list[] = "\1\12core_speed\0022x\2\0022x\0021x\1\13core_region";

static const struct kl_snapshot_head head = {.frame = 600,
                                             .chance = UINT64_MAX - 5,
                                             .time = {.base_ns = 1234567890123, .base_frame = 600},
                                             .plays = {1, 0, 2, 3, 4, 5, 6, 7},
                                             .policy = KL_POLICY_BOUNDED,
                                             .wait_budget_ms = 250,
                                             .spacing_fixed = 30,
                                             .mask = {.state_bytes = STATE, .count = 1, .range = {{4, 7}}}};
static const struct kl_outside outside = {.base_width = 320,
                                          .base_height = 240,
                                          .max_width = 640,
                                          .max_height = 480,
                                          .aspect_e6 = 1333333,
                                          .fps_uhz = 59185600,
                                          .rate_mhz = 44100000,
                                          .format = RETRO_PIXEL_FORMAT_RGB565,
                                          .rotation = 3,
                                          .supports = KL_SUPPORT_NO_GAME,
                                          .quirks = 64,
                                          .platform = "x86-64 Linux",
                                          .device = {0, 258},
                                          .subsystem = 1,
                                          .disk = 1,
                                          .disks = 3,
                                          .ejected = true,
                                          .tray = {true, 660, 1},
                                          .held = {[0] = {{[12] = 2}}, [7] = {{[42] = 0x80}}},
                                          .only_count = 2,
                                          .only = {{"SET_KEYBOARD_CALLBACK", 7}, {"SET_MEMORY_MAPS", 9}},
                                          .updated = true,
                                          .options = list,
                                          .options_len = sizeof list}; /* with the empty value's length */

static uint8_t *make(size_t *len) {
    uint8_t *state, *bytes = kl_snapshot_begin(&head, &outside, NULL, STATE, &state, len);
    assert_non_null(bytes);
    for (size_t i = 0; i < STATE; i++) {
        assert_int_equal(state[i], 0); /* bytes that a core does not write are the same everywhere */
        state[i] = (uint8_t)(i / 7);
    }
    return bytes;
}

TEST(there_and_back) {
    static struct kl_snapshot_view v;
    char what[256];
    size_t len;
    uint8_t *bytes = make(&len);
    assert_int_equal(kl_snapshot_open(&v, bytes, len), 0);
    assert_memory_equal(v.head.plays, head.plays, sizeof head.plays);
    assert_true(v.head.frame == 600 && v.head.chance == head.chance && v.head.policy == head.policy &&
                v.head.wait_budget_ms == 250 && v.head.spacing_fixed == 30 &&
                !memcmp(&v.head.mask, &head.mask, sizeof head.mask) &&
                v.head.time.base_ns == head.time.base_ns && v.head.time.base_frame == 600);
    assert_int_equal(v.head.time.fps_uhz, 59185600); /* the machine's: there is one rate */
    assert_false(kl_outside_differs(&v.outside, &outside, what, sizeof what));
    assert_int_equal(v.state_len, STATE);
    assert_int_equal(v.state[STATE - 1], (uint8_t)((STATE - 1) / 7));
    free(bytes);
}

static void expect_bad(uint8_t *bytes, size_t len, size_t at, uint8_t byte) {
    struct kl_snapshot_view v;
    uint8_t was = bytes[at];
    bytes[at] = byte;
    assert_int_equal(kl_snapshot_open(&v, bytes, len), KL_E_MALFORMED);
    bytes[at] = was;
}

TEST(impossible_heads_are_refused) {
    struct kl_snapshot_view v;
    size_t len;
    uint8_t *bytes = make(&len);
    for (size_t cut = 0; cut < len; cut += cut < 200 ? 1 : 997) {
        uint8_t *exact = malloc(cut ? cut : 1); /* for the sanitizer's eyes */
        memcpy(exact, bytes, cut);
        assert_int_equal(kl_snapshot_open(&v, exact, cut), KL_E_MALFORMED);
        free(exact);
    }
    expect_bad(bytes, len, 0, 'x');
    expect_bad(bytes, len, 23, 0x80); /* a clock before frame 0 */
    expect_bad(bytes, len, 26, 1);    /* a piece based on a frame to come */
    expect_bad(bytes, len, 28, 8);    /* a seat that there is not */
    expect_bad(bytes, len, 36, 3);    /* a policy */
    expect_bad(bytes, len, 45, 0);    /* a range of no bytes */
    expect_bad(bytes, len, 47, 0xff); /* wider than 8192 */
    expect_bad(bytes, len, 61, 0xff); /* a rate above all */
    expect_bad(bytes, len, 65, 0xff); /* a sample rate above all */
    expect_bad(bytes, len, 66, 3);    /* a pixel format */
    expect_bad(bytes, len, 67, 4);    /* a rotation */
    free(bytes);
}

TEST(packing) {
    uint8_t hash[32];
    size_t len, packed_len;
    uint8_t *bytes = make(&len);
    uint8_t *packed = kl_snapshot_pack(bytes, len, &packed_len);
    assert_non_null(packed);
    assert_true(packed_len < len / 2);
    crypto_generichash(hash, sizeof hash, bytes, len, NULL, 0);
    uint8_t *back = kl_snapshot_unpack(packed, packed_len, (uint32_t)len, hash);
    assert_non_null(back);
    assert_memory_equal(back, bytes, len);
    free(back);
    assert_null(kl_snapshot_unpack(packed, packed_len, (uint32_t)len - 1, hash));
    assert_null(kl_snapshot_unpack(packed, packed_len, (uint32_t)len + 1, hash));
    assert_null(kl_snapshot_unpack(packed, packed_len, KL_SNAPSHOT_MAX + 1, hash));
    assert_null(kl_snapshot_unpack(packed, packed_len - 1, (uint32_t)len, hash));
    hash[0] ^= 1;
    assert_null(kl_snapshot_unpack(packed, packed_len, (uint32_t)len, hash));
    free(packed);
    free(bytes);
}

TEST(too_large) {
    uint8_t *state;
    size_t len;
    assert_null(kl_snapshot_begin(&head, &outside, NULL, KL_SNAPSHOT_MAX, &state, &len));
}

/* A file and a removed one; open are the first, one that the core only reads, the first again. */
static struct kl_fileset *make_files(void) {
    struct kl_fileset *k = kl_fileset_make(2);
    assert_non_null(k);
    k->files = 2;
    strcpy(k->file[0].name, "save/card.mcr");
    k->file[0].date_ns = 77;
    k->file[0].blob = kl_blob_make("memory", 6);
    strcpy(k->file[1].name, "system/a/b.dat");
    k->places = 3;
    k->place[0] = (struct kl_fileset_place){1, 0, 6};
    k->place[1] = (struct kl_fileset_place){2, KL_FILESET_FILES, 1};
    k->place[2] = (struct kl_fileset_place){3, 0, 2};
    return k;
}

static size_t write_all(const struct kl_fileset *k, uint8_t *out, size_t cap) {
    struct kl_writer w;
    assert_true(kl_files_bound(k) <= cap);
    kl_writer_init(&w, out, kl_files_bound(k));
    kl_files_write(&w, k);
    assert_false(w.failed);
    return (size_t)(w.at - out);
}

static bool reads(const uint8_t *bytes, size_t len) {
    struct kl_reader r;
    kl_reader_init(&r, bytes, len);
    kl_files_read(&r);
    return !r.failed && kl_reader_left(&r) == 0;
}

TEST(files_there_and_back) {
    static uint8_t bytes[4096];
    struct kl_fileset *k = make_files(), *again;
    struct kl_reader r;
    size_t len = write_all(k, bytes, sizeof bytes);
    assert_true(reads(bytes, len));
    kl_reader_init(&r, bytes, len);
    assert_true(kl_files_make(r, &again));
    assert_null(kl_fileset_differs(k, again));
    assert_int_equal(again->files, 2);
    assert_int_equal(again->file[0].date_ns, 77);
    assert_null(again->file[1].blob);
    assert_int_equal(again->places, 2);
    assert_true(again->place[1].file == 0 && again->place[1].offset == 2);
    kl_fileset_free(k);
    kl_fileset_free(again);
}

TEST(nothing_is_two_bytes) {
    static uint8_t bytes[64];
    struct kl_fileset *k = (void *)1;
    struct kl_reader r;
    assert_int_equal(write_all(NULL, bytes, sizeof bytes), 2);
    kl_reader_init(&r, bytes, 2);
    assert_true(kl_files_make(r, &k));
    assert_null(k);
}

TEST(malformed_files_are_refused) {
    static uint8_t bytes[4096];
    struct kl_fileset *k = make_files();
    size_t len = write_all(k, bytes, sizeof bytes);
    for (size_t cut = 0; cut < len; cut++) {
        uint8_t *exact = malloc(cut ? cut : 1); /* for the sanitizer's eyes */
        memcpy(exact, bytes, cut);
        assert_false(reads(exact, cut));
        free(exact);
    }
    static const char *const names[] = {"/save/card.mc", "save/../etcet", "save//card.mc", "save/card\1mcr"};
    for (unsigned i = 0; i < 4; i++) {
        memcpy(bytes + 2, names[i], 13);
        assert_false(reads(bytes, len));
    }
    memcpy(bytes + 2, "tystem/zz.mcr", 13); /* not in order */
    assert_false(reads(bytes, len));
    memcpy(bytes + 2, "save/card.mcr", 13);
    bytes[15] = 2; /* kept */
    assert_false(reads(bytes, len));
    bytes[15] = 1;
    bytes[len - 10] = 2; /* an open file of none */
    assert_false(reads(bytes, len));
    kl_fileset_free(k);
}

/* A file of this machine alone, and a path that another system cannot have. */
TEST(names_for_all_machines) {
    static uint8_t bytes[4096];
    struct kl_fileset *k = make_files(), *again;
    struct kl_reader r;
    assert_null(kl_files_kept_back(NULL));
    assert_null(kl_files_kept_back(k));
    k->file[1].local = true;
    assert_string_equal(kl_files_kept_back(k), "system/a/b.dat");
    k->file[1].local = false;
    strcpy(k->file[0].name, "save/com1.mcr");
    assert_string_equal(kl_files_kept_back(k), "save/com1.mcr");
    kl_reader_init(&r, bytes, write_all(k, bytes, sizeof bytes));
    assert_false(kl_files_make(r, &again));
    assert_null(again);
    kl_fileset_free(k);
}

int main(void) {
    return sodium_init() < 0 ? 1 : run_all_tests(NULL, NULL);
}
