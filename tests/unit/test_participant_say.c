/* A client's words on its machine come in an order that the relay can use; and it takes the relay's verdicts.
 */
#include "net/engine/command.h"
#include "net/session/proof.h"
#include "tests/lib/participant_bare.h"

static void hash(uint32_t frame) {
    s->hash[s->hash_put++ % KL_PARTICIPANT_HASHES] = (struct kl_hash){.frame = frame, .has = KL_HASH_RAM};
}
static void expect(uint8_t kind) {
    struct kl_msg m = {0};
    assert_true(kl_participant_next_word(s, true, &m));
    assert_int_equal(m.kind, kind);
}
static void expect_nothing(bool may_hash) {
    struct kl_msg m;
    assert_false(kl_participant_next_word(s, may_hash, &m));
}

/* The relay looks at hashes once HEALED is there. */
TEST_WITH(healed_before_hashes, make, drop) {
    hash(59);
    hash(119);
    s->snapshot.state_wanted = s->snapshot.healed_wanted = true;
    expect(KL_MSG_HEALED);
    expect(KL_MSG_STATE);
    expect(KL_MSG_HASH);
    s->snapshot.healed_wanted = true;
    expect(KL_MSG_HEALED);
    expect_nothing(false); /* too much is under way for hashes */
    expect(KL_MSG_HASH);
    expect_nothing(true);
}

TEST_WITH(each_hash_once, make, drop) {
    struct kl_hash h = {.frame = 59, .has = KL_HASH_RAM};
    kl_participant_hash(s, &h);
    kl_participant_hash(s, &h);
    expect(KL_MSG_HASH);
    expect_nothing(true);
}

/* After a seal the client signs what it has said, once; and before it leaves, what it has said since. */
TEST_WITH(hashes_are_signed, make, drop) {
    struct kl_msg m, seal = {.kind = KL_MSG_SEAL};
    const struct kl_channels c = {0};
    kl_participant_take_message(s, &seal, 1);
    expect_nothing(true); /* it has said nothing */
    hash(59);
    hash(119);
    expect(KL_MSG_HASH);
    expect(KL_MSG_HASH);
    assert_true(kl_participant_next_word(s, true, &m));
    assert_int_equal(m.kind, KL_MSG_SIGN);
    assert_int_equal(m.sign.count, 2);
    assert_true(kl_sign_is_good(&m.sign, s->status.welcome.room_id, s->seat.pub));
    kl_participant_take_message(s, &seal, 1);
    expect_nothing(true);
    hash(179);
    expect(KL_MSG_HASH);
    kl_participant_leave(s, 2);
    assert_true(kl_participant_say(s, &c, 1, &m) && m.kind == KL_MSG_SIGN && m.sign.label == 179);
    assert_true(kl_participant_say(s, &c, 1, &m) && m.kind == KL_MSG_BYE);
}

static void hear(uint32_t frame, uint32_t first, uint8_t differs, uint16_t healed) {
    struct kl_msg m = {.kind = KL_MSG_VERDICT,
                       .verdict = {.frame = frame, .first = first, .differs = differs, .healed = healed}};
    m.verdict.complete = true;
    kl_participant_take_message(s, &m, 1);
}

/* Out of sync until a verdict says that it is over: by healing, or because who differed has left; or because
 * this relay is another, to which nothing ever differed. */
TEST_WITH(out_of_sync_ends, make, drop) {
    const struct kl_participant_status *st = &s->status;
    hear(59, 59, 1, 0);
    assert_true(st->desync);
    hear(119, 59, 0, 0); /* of those who are not being healed */
    assert_true(st->desync && !st->any_verified);
    hear(179, 0, 0, 1);
    assert_true(!st->desync && st->any_verified && st->verified == 179);
    hear(239, 239, 1, 1);
    assert_true(st->desync);
    hear(299, 0, 0, 1);
    assert_true(!st->desync && st->verified == 299);
}

/* Whatever the relay sends: without the player's consent no state of others is even fetched. */
TEST_WITH(no_offer_without_consent, make, drop) {
    static struct kl_msg m, said;
    for (unsigned i = 0; i < 4; i++) {
        bool begin = i & 1, unlisted = i & 2;
        for (uint8_t consent = KL_CONSENT_NONE; consent <= KL_CONSENT_ROOM; consent++) {
            bool consents = consent == KL_CONSENT_ROOM || (consent == KL_CONSENT_UNLISTED && unlisted);
            s->status.phase = begin ? KL_PARTICIPANT_READY : KL_PARTICIPANT_PLAYING;
            s->status.roster.doors = unlisted ? KL_DOOR_UNLISTED : 0;
            s->hello.consent = consent;
            m = (struct kl_msg){
                .kind = KL_MSG_OFFER,
                .offer = {.keyframe = 600, .interval = 60, .bytes = 9, .packed = 9, .begin = begin}};
            kl_participant_take_message(s, &m, 1);
            assert_int_equal(s->snapshot.coming != NULL, consents);
            assert_int_equal(kl_participant_next_word(s, true, &said), !consents);
            if (!consents)
                assert_true(said.kind == KL_MSG_HEALED && said.healed.how == KL_HEALED_NOT &&
                            said.healed.keyframe == 600);
            kl_participant_snapshot_forget(s);
        }
    }
}

/* The door is the host's to shut while seats are being filled, not only once the game is on. */
TEST_WITH(a_door_is_shut_before_the_game, make, drop) {
    const uint8_t yes = 1;
    s->status.phase = KL_PARTICIPANT_WAITING;
    assert_int_equal(kl_participant_order(s, KL_COMMAND_LOCK, &yes, 1), KL_OK);
    assert_int_equal(kl_participant_order(s, KL_COMMAND_CHAT, "hi", 2), KL_E_STATE);
    s->status.phase = KL_PARTICIPANT_PLAYING;
    assert_int_equal(kl_participant_order(s, KL_COMMAND_CHAT, "hi", 2), KL_OK);
}
