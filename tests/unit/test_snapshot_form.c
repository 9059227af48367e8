/* A snapshot packed, and its files. Its bytes: tests/conformance. core_wrapper/match/snapshot_form.h */
#include "tests/unit/unit.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/core/snapshot_pack.h"
#include "core_wrapper/match/snapshot_form.h"
#include "net/engine/msg.h"

#define STATE 70000

static const struct kl_snapshot_head head = {.frame = 600};
static const struct kl_outside outside = {.platform = "x86-64 Linux"};

static uint8_t *make(size_t *len) {
    uint8_t *state, *bytes = kl_snapshot_begin(&head, &outside, NULL, STATE, &state, len);
    assert_non_null(bytes);
    for (size_t i = 0; i < STATE; i++) {
        assert_int_equal(state[i], 0); /* bytes that a core does not write are the same everywhere */
        state[i] = (uint8_t)(i / 7);
    }
    return bytes;
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
    assert_true(kl_files_bound(k) <= cap);
    struct kl_writer w = kl_writer(out, kl_files_bound(k));
    kl_files_write(&w, k);
    assert_false(w.failed);
    return (size_t)(w.at - out);
}

static bool reads(const uint8_t *bytes, size_t len) {
    struct kl_reader r = kl_reader(bytes, len);
    kl_files_read(&r);
    return !r.failed && kl_reader_left(&r) == 0;
}

TEST(files_there_and_back) {
    static uint8_t bytes[4096];
    struct kl_fileset *k = make_files(), *again;
    size_t len = write_all(k, bytes, sizeof bytes);
    assert_true(reads(bytes, len));
    struct kl_reader r = kl_reader(bytes, len);
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
    assert_int_equal(write_all(NULL, bytes, sizeof bytes), 2);
    struct kl_reader r = kl_reader(bytes, 2);
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
    assert_null(kl_files_kept_back(NULL));
    assert_null(kl_files_kept_back(k));
    k->file[1].local = true;
    assert_string_equal(kl_files_kept_back(k), "system/a/b.dat");
    k->file[1].local = false;
    strcpy(k->file[0].name, "save/com1.mcr");
    assert_string_equal(kl_files_kept_back(k), "save/com1.mcr");
    struct kl_reader r = kl_reader(bytes, write_all(k, bytes, sizeof bytes));
    assert_false(kl_files_make(r, &again));
    assert_null(again);
    kl_fileset_free(k);
}

int main(void) {
    return sodium_init() < 0 ? 1 : run_all_tests(NULL, NULL);
}
