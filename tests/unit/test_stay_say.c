/* What a client says of its machine comes in an order that the relay can use; and what it takes from
 * verdicts. */
#include "tests/unit/stay_bare.h"

#include "net/session/commit.h"

static void hash(uint32_t frame) {
    s->hash[s->hash_put++ % KL_STAY_HASHES] = (struct kl_hash){.frame = frame, .has_ram = true};
}
static void expect(uint8_t kind) {
    struct kl_msg m = {0};
    assert_true(kl_stay_next_word(s, true, &m));
    assert_int_equal(m.kind, kind);
}
static void expect_nothing(bool may_hash) {
    struct kl_msg m;
    assert_false(kl_stay_next_word(s, may_hash, &m));
}

/* COMMIT for a frame that was hashed when it was healed: the relay looks at it once HEALED is there. */
static void healed_before_hashes(void **state) {
    (void)state;
    hash(59);
    s->any_reveal = true;
    s->reveal = 59;
    s->shot.state_wanted = s->shot.healed_wanted = true;
    expect(KL_MSG_HEALED);
    expect(KL_MSG_STATE);
    expect(KL_MSG_COMMIT);
    s->shot.healed_wanted = true;
    expect(KL_MSG_HEALED);
    expect(KL_MSG_HASH);
    expect_nothing(true);
}

static void what_is_not_open_waits(void **state) {
    (void)state;
    hash(59);
    hash(119);
    s->any_reveal = true;
    s->reveal = 59;
    s->shot.state_wanted = true;
    expect(KL_MSG_STATE); /* though too much is under way for hashes */
    expect_nothing(false);
    expect(KL_MSG_COMMIT);
    expect(KL_MSG_COMMIT);
    expect(KL_MSG_HASH);
    expect_nothing(true);
}

static void next(struct kl_msg *m, uint8_t kind) {
    assert_true(kl_stay_next_word(s, true, m));
    assert_int_equal(m->kind, kind);
}

static void reveal(uint32_t frame) {
    struct kl_msg m = {.kind = KL_MSG_REVEAL, .reveal = {KL_MSG_HASH, frame}};
    kl_stay_take_message(s, &m, 1);
}

/* Nothing is said before the first REVEAL, of frame 0 neither; and what is open stays so. */
static void nothing_before_it_is_called_for(void **state) {
    (void)state;
    hash(0);
    expect(KL_MSG_COMMIT);
    expect_nothing(true);
    reveal(59);
    reveal(30);
    expect(KL_MSG_HASH);
    hash(59);
    expect(KL_MSG_COMMIT);
    expect(KL_MSG_HASH);
    expect_nothing(true);
}

/* Equal hashes are committed to by words that nobody can tell apart by guessing: the nonce is new for each.
 */
static void what_is_committed_to_is_hidden(void **state) {
    (void)state;
    static const uint8_t none[KL_NONCE_BYTES];
    struct kl_hash h = {.frame = 59, .has_ram = true};
    struct kl_msg commit[2], said[2];
    kl_stay_hash(s, &h);
    kl_stay_hash(s, &h); /* once */
    next(&commit[0], KL_MSG_COMMIT);
    expect_nothing(true);
    h.frame = 119;
    kl_stay_hash(s, &h);
    next(&commit[1], KL_MSG_COMMIT);
    reveal(119);
    for (unsigned i = 0; i < 2; i++) {
        next(&said[i], KL_MSG_HASH);
        assert_int_equal(said[i].hash.frame, commit[i].commit.frame);
        assert_memory_not_equal(said[i].nonce, none, sizeof none);
        assert_true(kl_commit_fits(&said[i], s->status.welcome.room_id, 0, commit[i].commit.commitment));
    }
    assert_memory_not_equal(said[0].nonce, said[1].nonce, sizeof none);
}

/* The relay forgets what a session that ended had not revealed: the next commits to it anew, and waits anew.
 */
static void a_new_session_commits_again(void **state) {
    (void)state;
    struct kl_welcome w = {.client = 3};
    struct kl_msg commit, said;
    hash(59);
    hash(119);
    reveal(59);
    expect(KL_MSG_COMMIT);
    expect(KL_MSG_COMMIT);
    expect(KL_MSG_HASH);
    kl_stay_returned(s, &w, 1);
    next(&commit, KL_MSG_COMMIT);
    assert_int_equal(commit.commit.frame, 119);
    expect_nothing(true);
    reveal(119);
    next(&said, KL_MSG_HASH);
    assert_true(kl_commit_fits(&said, w.room_id, 3, commit.commit.commitment));
    hash(179);
    reveal(179);
    kl_stay_returned(s, &w, 1);
    expect(KL_MSG_COMMIT);
    expect_nothing(true); /* what was called for in the old session is not in this one */
}

/* Who watches is compared with what the players have said: there is nothing to copy. */
static void who_watches_says_it_at_once(void **state) {
    (void)state;
    s->status.welcome.client = KL_WATCHER;
    hash(59);
    expect(KL_MSG_HASH);
    s->status.welcome.client = 2;
    expect_nothing(true); /* it has been said */
    hash(119);
    expect(KL_MSG_COMMIT);
    expect_nothing(true);
}

static void hear(uint32_t frame, uint32_t first, uint8_t differs, uint16_t healed) {
    struct kl_msg m = {.kind = KL_MSG_VERDICT,
                       .verdict = {.frame = frame, .first = first, .differs = differs, .healed = healed}};
    m.verdict.complete = true;
    kl_stay_take_message(s, &m, 1);
}

/* Out of sync until a verdict says that it is over: by healing, or because who differed has left; or because
 * this relay is another, to which nothing ever differed. */
static void out_of_sync_ends(void **state) {
    (void)state;
    const struct kl_link_status *st = &s->status;
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(healed_before_hashes, make, drop),
        cmocka_unit_test_setup_teardown(what_is_not_open_waits, make, drop),
        cmocka_unit_test_setup_teardown(nothing_before_it_is_called_for, make, drop),
        cmocka_unit_test_setup_teardown(what_is_committed_to_is_hidden, make, drop),
        cmocka_unit_test_setup_teardown(a_new_session_commits_again, make, drop),
        cmocka_unit_test_setup_teardown(who_watches_says_it_at_once, make, drop),
        cmocka_unit_test_setup_teardown(out_of_sync_ends, make, drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
