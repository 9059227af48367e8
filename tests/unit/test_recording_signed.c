/* test_recording_signed.c - players' signatures in a relay's recording. net/session/proof.h. */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "core_wrapper/record/recording.h"
#include "net/session/proof.h"

static char why[200];
static uint8_t file[4096];
static struct kl_writer to;
static struct kl_klr_place behind;

static void put_block(enum kl_klr_type type, const uint8_t *body, const struct kl_writer *w) {
    uint32_t len = (uint32_t)(w->at - body);
    struct kl_klr_around a = kl_klr_around(&behind, type, body, len);
    kl_write_bytes(&to, a.before, sizeof a.before);
    kl_write_bytes(&to, body, len);
    kl_write_bytes(&to, a.check, sizeof a.check);
}

static void put_said(uint32_t label, uint16_t clients, uint64_t ram) {
    uint8_t body[64];
    struct kl_writer w = kl_writer(body, sizeof body);
    kl_klr_write_hash(&w, &(struct kl_klr_hash){label, clients, KL_HASH_RAM, .ram = ram});
    put_block(KL_KLR_HASH, body, &w);
}

static void put_signed(unsigned client, const struct kl_sign *sign, const struct kl_seat_key *k) {
    uint8_t body[256];
    struct kl_klr_sign s = {.client = (uint8_t)client, .sign = *sign};
    memcpy(s.seat_pub, k->pub, sizeof s.seat_pub);
    struct kl_writer w = kl_writer(body, sizeof body);
    kl_klr_write_sign(&w, &s);
    put_block(KL_KLR_SIGN, body, &w);
}

/* Client 1 said other hashes than client 0 from frame 119 on. */
static void write_signed(struct kl_recording *r, uint32_t left_out, uint64_t forged) {
    const struct kl_klr_head head = {KL_KLR_VERSION, KL_KLR_RULES, 0, {7}, {0}, 946684800};
    struct kl_seat_key key[2];
    struct kl_sign sign[2] = {{0}};
    uint8_t body[256], *bytes = malloc(sizeof file);
    to = kl_writer(file, sizeof file);
    kl_write_bytes(&to, kl_klr_magic, sizeof kl_klr_magic);
    behind = kl_klr_begin();
    struct kl_writer w = kl_writer(body, sizeof body);
    kl_klr_write_head(&w, &head);
    put_block(KL_KLR_HEAD, body, &w);
    for (unsigned i = 0; i < 2; i++)
        kl_seat_make(&key[i]);
    for (uint32_t label = 59; label < 240; label += 60) {
        bool same = label < 119;
        for (unsigned i = 0; i < 2; i++) {
            const struct kl_hash h = {.frame = label, .has = KL_HASH_RAM, .ram = label + (i && !same)};
            kl_sign_add(&sign[i], &h);
            kl_sign_make(&sign[i], head.room_id, &key[i]);
            if (label == 179)
                put_signed(i, &sign[i], &key[i]); /* before the hashes of that frame, as in a match */
        }
        if (label == left_out) continue;
        put_said(label, same ? 3 : 1, label);
        if (!same) put_said(label, 2, label == forged ? 1 : label + 1);
    }
    assert_non_null(bytes);
    memcpy(bytes, file, sizeof file);
    assert_int_equal(kl_recording_parse(r, bytes, (size_t)(to.at - file), "it", why, sizeof why), 0);
    assert_string_equal(r->damage, "");
}

static void expect_signed(uint32_t left_out, uint64_t forged, enum kl_signed first, enum kl_signed second) {
    static struct kl_recording r;
    const struct kl_klr_sign *s;
    write_signed(&r, left_out, forged);
    assert_int_equal(kl_recording_signed(&r, 0, &s), first);
    if (first != KL_SIGNED_NOT) assert_int_equal(s->sign.label, 179);
    assert_int_equal(kl_recording_signed(&r, 1, &s), second);
    assert_int_equal(kl_recording_signed(&r, 2, &s), KL_SIGNED_NOT);
    assert_null(s);
    kl_recording_free(&r);
}

TEST(players_sign_their_own_hashes) {
    expect_signed(0, 0, KL_SIGNED_ALL, KL_SIGNED_ALL);
    expect_signed(59, 0, KL_SIGNED_ONE, KL_SIGNED_ONE);
    expect_signed(179, 0, KL_SIGNED_ALL, KL_SIGNED_ALL); /* the signature has it */
    expect_signed(179, 119, KL_SIGNED_ALL, KL_SIGNED_NOT);
    expect_signed(0, 119, KL_SIGNED_ALL, KL_SIGNED_ONE);
    expect_signed(0, 179, KL_SIGNED_ALL, KL_SIGNED_FALSE);
}
