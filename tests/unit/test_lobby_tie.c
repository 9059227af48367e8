/* test_lobby_tie.c - a tie in the lobby, decided by a verifier beside the relay: the machines are those of
 * lobby_players.h, the journal and both folders are real, and the test answers in the verifier's place.
 * net/ROOMS.md §7, Healing; net/record/tie.h. runs: working, check, 3 s */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_players.h"

#include "net/engine/command.h"
#include "net/platform/clock.h"
#include "net/platform/dir.h"
#include "net/relay/durable/journal_private.h"
#include "tests/lib/files.h"
#include "tests/lib/rng.h"

#define SEEDS   40
#define HONEST  7
#define WAIT_US 5000000 /* for the journal's thread, in real time */

static char folder[200], kept[220], err[300];
static struct kl_journal *journal;
static struct kl_file lock; /* of the folder, as a verifier holds it */

static const char *in_kept(const char *in, const char *name) {
    static char path[400];
    snprintf(path, sizeof path, "%s/%s/%s", kept, in, name);
    return path;
}

static void watch_folder(void) {
    char path[240];
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(kl_dir_make(in_kept(i ? KL_TIE_ASK : KL_TIE_VERDICTS, ""), true, err, sizeof err),
                         0);
    snprintf(path, sizeof path, "%s/lock", kept);
    assert_int_equal(kl_file_lock(&lock, path, false, err, sizeof err), 0);
}

static int begin(void **state) {
    const struct kl_journal_limits limits = {UINT64_C(1) << 24, UINT64_C(1) << 26};
    const struct kl_kept_limits all = {.all_bytes = UINT64_C(1) << 30, .days = 30};
    assert_int_equal(kl_dir_make_temporary(folder, sizeof folder, "test_tie", err, sizeof err), 0);
    snprintf(kept, sizeof kept, "%s/kept", folder);
    limits_for_tests.record_days = all.days;
    set_up(state);
    char path[220];
    snprintf(path, sizeof path, "%s/journal", folder);
    if (kl_journal_open(&journal, path, limits, err, sizeof err) != 0 ||
        kl_journal_keep_in(journal, kept, all, err, sizeof err) != 0)
        fail_msg("%s", err);
    kl_lobby_set_journal(lobby, journal, now_us);
    lock.handle = -1;
    return 0;
}

static int finish(void **state) {
    if (lock.handle >= 0) kl_file_unlock(&lock, NULL);
    tear_down(state);
    kl_journal_close(journal);
    limits_for_tests.record_days = 0;
    kl_dir_remove_tree(folder);
    return 0;
}

/* --- the verifier --- */

static struct {
    bool answers;              /* else it is silent */
    uint64_t after_us, at_us;  /* in virtual time; at_us 0: it has no question */
    struct kl_tie_question is; /* the newest */
    unsigned asked, answered;
    uint64_t finds;   /* the run's machine */
    const char *says; /* NULL: an answer; else these bytes, or a reason */
    bool cannot;
} verifier;

static bool read_question(void) {
    struct kl_dir_list list;
    bool any = false;
    assert_int_equal(kl_dir_list(&list, in_kept(KL_TIE_ASK, ""), ".klr", err, sizeof err), 0);
    for (unsigned i = 0; i < list.count; i++) {
        struct kl_tie_question q;
        assert_true(kl_tie_read_name(list.name[i], KL_TIE_ASKED, &q));
        any = the_room()->heal.tie && q.label == the_room()->heal.tie->label;
        if (!any) continue;
        if (!verifier.at_us) verifier.asked++, verifier.at_us = now_us + verifier.after_us;
        verifier.is = q;
        break;
    }
    kl_dir_list_free(&list);
    return any;
}

static enum kl_kept_ask state_now(void) {
    struct kl_klr_hash found;
    char reason[KL_TIE_WHY];
    return kl_journal_answer(the_room(), the_room()->heal.tie->label, &found, reason);
}

static void await_past(enum kl_kept_ask state) {
    for (uint64_t end_us = kl_now_us() + WAIT_US; state_now() == state && kl_now_us() < end_us;) {
        (void)kl_sleep_us(500);
    }
    assert_int_not_equal(state_now(), state);
}

/* The recording up to the label is whole, and of this match. */
static void expect_recording(void) {
    static uint8_t bytes[1 << 20];
    char name[KL_TIE_NAME];
    struct kl_klr_cursor c;
    struct kl_digest d = {0};
    kl_tie_name(name, &verifier.is, KL_TIE_ASKED);
    size_t len = file_read(in_kept(KL_TIE_ASK, name), bytes, sizeof bytes);
    enum kl_klr_next next;
    assert_true(kl_klr_open(&c, bytes, len));
    while ((next = kl_klr_next(&c)) == KL_KLR_BLOCK) {
        struct kl_reader r = kl_reader(c.body, c.body_len);
        if (c.type == KL_KLR_DIGEST) kl_klr_read_digest(&r, &d);
    }
    assert_int_equal(next, KL_KLR_WHOLE);
    assert_true(d.end > verifier.is.label);
    assert_memory_equal(verifier.is.room, the_room()->id, KL_STORE_ID);
}

static void answer(void) {
    char name[KL_TIE_NAME], text[KL_TIE_ANSWER];
    const struct kl_klr_hash found = {.has = verifier.cannot ? 0 : KL_HASH_RAM | KL_HASH_STATE,
                                      .ram = verifier.finds,
                                      .state = verifier.finds};
    bool bytes = verifier.says && !verifier.cannot;
    size_t len = kl_tie_write_answer(text, &found, verifier.says ? verifier.says : "");
    expect_recording();
    kl_tie_name(name, &verifier.is, KL_TIE_VERDICT);
    file_write(in_kept(KL_TIE_VERDICTS, name), bytes ? verifier.says : text,
               bytes ? strlen(verifier.says) : len, 0600);
    verifier.answered++;
    verifier.at_us = 0;
    await_past(KL_KEPT_ASKED);
}

static const char *awaited; /* a text; NULL: none */
static bool came;           /* to the second player */

/* All go on, the verifier too. */
static void go_on_tied(uint64_t us) {
    for (uint64_t end_us = now_us + us; now_us < end_us;) {
        play(20000);
        came |= awaited && told(player[1].peer, awaited);
        if (!the_room() || !the_room()->heal.tie || !the_room()->heal.tie->asked) continue;
        if (state_now() == KL_KEPT_UNASKED) await_past(KL_KEPT_UNASKED);
        if (state_now() == KL_KEPT_ASKED && read_question() && verifier.answers && now_us >= verifier.at_us)
            answer();
    }
}

/* Two play. A liar's machine parts again at once, until it has the other's state. */
static void begin_two(unsigned liar, bool watched) {
    memset(&verifier, 0, sizeof verifier);
    verifier.answers = true;
    verifier.finds = HONEST;
    awaited = NULL;
    came = false;
    if (watched) watch_folder();
    begin_machines();
    leave(2);
    kl_lobby_start_free(the_room()); /* nobody can begin the game anew */
    player[liar].machine = HONEST + 1;
    player[liar].at_once = true;
}

/* --- the tests --- */

/* A liar of either side, and an answer at any time: while the machines go back, while the room asks and
 * stands, or while it plays on. */
TEST(a_tie_with_a_liar_of_either_side_is_decided_rightly) {
    unsigned sides[2] = {0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct rng rng = {seed};
        unsigned liar = rng_below(&rng, 2), honest = !liar;
        begin(NULL);
        begin_two(liar, true);
        verifier.after_us = rng_below(&rng, 45 * SECOND);
        for (uint64_t end_us = now_us + 200 * SECOND; now_us < end_us && !the_room()->heal.right;)
            go_on_tied(20000);
        player[liar].at_once = false; /* before the state comes */
        go_on_tied(4 * SECOND);
        bool good = player[liar].offers == 1 && !player[honest].offers && player[liar].machine == HONEST &&
                    player[honest].machine == HONEST && verdict.complete && !verdict.differs;
        if (!good)
            fail_msg("seed %llu: liar %u, offers %u and %u, machines %llu and %llu, differs %u",
                     (unsigned long long)seed, liar, player[0].offers, player[1].offers,
                     (unsigned long long)player[0].machine, (unsigned long long)player[1].machine,
                     verdict.differs);
        assert_false(the_room()->heal.hopeless || the_room()->lock.paused || the_room()->heal.tie);
        sides[liar]++;
        finish(NULL);
    }
    assert_true(sides[0] >= SEEDS / 4 && sides[1] >= SEEDS / 4);
}

static unsigned files_of(const char *in) {
    struct kl_dir_list list;
    assert_int_equal(kl_dir_list(&list, in_kept(in, ""), "", err, sizeof err), 0);
    unsigned count = list.count;
    kl_dir_list_free(&list);
    return count;
}

/* Both are told that the relay asks, and of the result; names and no hash. */
TEST_WITH(both_players_are_told, begin, finish) {
    begin_two(1, true);
    verifier.after_us = 3 * SECOND;
    while (!the_room()->heal.tie || !the_room()->heal.tie->told)
        go_on_tied(20000);
    for (unsigned i = 0; i < 2; i++)
        assert_true(told(player[i].peer, "who is right? The relay runs the match again"));
    while (!player[1].offers)
        go_on_tied(20000);
    for (unsigned i = 0; i < 2; i++)
        assert_true(told(player[i].peer, "the relay's own run agrees with p0 (1), not with p1 (2)"));
    /* nothing lies there any more */
    player[1].at_once = false;
    go_on_tied(8 * SECOND);
    assert_null(the_room()->heal.tie);
    for (uint64_t end_us = kl_now_us() + WAIT_US; files_of(KL_TIE_ASK) && kl_now_us() < end_us;)
        (void)kl_sleep_us(500);
    assert_int_equal(files_of(KL_TIE_ASK) + files_of(KL_TIE_VERDICTS), 0);
}

/* A fault that own states heal needs no answer; the answer names the machine, and nothing else happens. */
TEST_WITH(an_answer_after_the_healing_is_only_told, begin, finish) {
    begin_two(1, true);
    player[1].at_once = false;
    verifier.after_us = 10 * SECOND;
    go_on_tied(14 * SECOND);
    expect_in_sync(1);
    assert_int_equal(verifier.answered, 1);
    assert_int_equal(player[0].offers + player[1].offers, 0);
    assert_true(told(player[0].peer, "agrees with p0 (1), not with p1 (2)"));
}

static void expect_undecided(void) {
    go_on_tied(40 * SECOND);
    assert_int_equal(player[0].offers + player[1].offers, 0);
    assert_int_equal(player[0].rewinds, 1);
    assert_int_equal(player[0].machine, HONEST);
    assert_true(the_room()->heal.hopeless);
}

TEST_WITH(without_a_verifier_nobody_is_asked_and_nobody_told, begin, finish) {
    begin_two(1, false);
    expect_undecided();
    assert_int_equal(verifier.asked, 0);
    assert_false(told(player[0].peer, "The relay") || told(player[0].peer, "cannot tell"));
}

TEST_WITH(a_match_that_is_not_recorded_is_not_shown_to_the_verifier, begin, finish) {
    begin_two(1, true);
    the_room()->door.recorded = false;
    expect_undecided();
    assert_int_equal(verifier.asked, 0);
}

TEST_WITH(a_run_that_agrees_with_nobody_decides_nothing, begin, finish) {
    begin_two(1, true);
    verifier.finds = 99;
    awaited = "agrees with nobody";
    expect_undecided();
    assert_true(verifier.answered > 0 && came);
}

TEST_WITH(a_verifier_that_cannot_run_it_decides_nothing, begin, finish) {
    begin_two(1, true);
    verifier.cannot = true;
    verifier.after_us = 3 * SECOND;
    verifier.says = "content missing";
    awaited = "the relay cannot tell who is right";
    expect_undecided();
    assert_true(verifier.answered > 0 && came);
}

TEST_WITH(an_answer_that_is_none_decides_nothing, begin, finish) {
    static char answers[][KL_TIE_ANSWER + 8] = {"", "\n", "has=3", "agreed\n", "\xff\xfe\n"};
    for (unsigned i = 0; i < COUNT(answers); i++) {
        if (i) finish(NULL), begin(NULL);
        begin_two(1, true);
        verifier.says = answers[i];
        expect_undecided();
        assert_true(verifier.answered > 0);
    }
}

/* The player has gone, and somebody else has the place: nothing of the answer is about that one. */
TEST_WITH(an_answer_is_for_those_who_said_the_hashes, begin, finish) {
    struct kl_klr_hash found = {.has = KL_HASH_RAM, .ram = HONEST};
    uint16_t wrong;
    begin_two(1, true);
    verifier.answers = false;
    while (!the_room()->heal.tie)
        go_on_tied(20000);
    found.label = the_room()->heal.tie->label;
    assert_int_equal(kl_heal_tie_sides(the_room(), &found, &wrong), 1);
    assert_int_equal(wrong, 2);
    the_room()->member[1]->joined++;
    assert_int_equal(kl_heal_tie_sides(the_room(), &found, &wrong), 1);
    assert_int_equal(wrong, 0);
    found.has = KL_HASH_PICTURE; /* no part that differs */
    assert_int_equal(kl_heal_tie_sides(the_room(), &found, &wrong), 0);
}

/* As many as may be are open, and one of each room. */
TEST_WITH(questions_are_bounded, begin, finish) {
    struct kl_tie_question q = {.label = 5};
    struct kl_klr_hash found;
    char reason[KL_TIE_WHY];
    watch_folder();
    assert_false(kl_kept_ask(journal->kept, &q, journal->store, KL_TIE_BYTES + 1));
    for (q.room[0] = 1; q.room[0] <= KL_TIE_OPEN; q.room[0]++)
        assert_true(kl_kept_ask(journal->kept, &q, journal->store, 10));
    assert_false(kl_kept_ask(journal->kept, &q, journal->store, 10));
    /* of rooms without a recording */
    q.room[0] = 1;
    for (uint64_t end_us = kl_now_us() + WAIT_US; kl_now_us() < end_us; (void)kl_sleep_us(500))
        if (kl_kept_answer(journal->kept, &q, &found, reason) != KL_KEPT_UNASKED) break;
    assert_int_equal(kl_kept_answer(journal->kept, &q, &found, reason), KL_KEPT_CANNOT);
    assert_non_null(strstr(reason, "cannot"));
    kl_kept_ask_no_more(journal->kept, q.room);
    assert_int_equal(kl_kept_answer(journal->kept, &q, &found, reason), KL_KEPT_CANNOT);
    assert_string_equal(reason, "it is not asked");
    for (uint64_t end_us = kl_now_us() + WAIT_US; kl_now_us() < end_us; (void)kl_sleep_us(500))
        if (kl_kept_ask(journal->kept, &q, journal->store, 10)) return;
    fail_msg("a dropped question keeps its place");
}

/* A question that goes has the same files as the next one of its room and label. */
TEST_WITH(a_question_asked_again_has_its_file, begin, finish) {
    begin_two(1, true);
    verifier.answers = false;
    while (!the_room()->heal.tie || !the_room()->heal.tie->asked || state_now() == KL_KEPT_UNASKED)
        go_on_tied(20000);
    const struct kl_lobby_room *r = the_room();
    struct kl_tie_question q = {.label = r->heal.tie->label};
    char name[KL_TIE_NAME];
    memcpy(q.room, r->id, sizeof q.room);
    kl_tie_name(name, &q, KL_TIE_ASKED);
    for (unsigned i = 0; i < 100; i++) {
        assert_true(kl_kept_ask(journal->kept, &q, journal->store, r->journal.base.klr.at));
        await_past(KL_KEPT_UNASKED);
        assert_int_equal(state_now(), KL_KEPT_ASKED);
        assert_int_equal(kl_file_kind_here(in_kept(KL_TIE_ASK, name)), KL_FILE_IS_PLAIN);
    }
}

/* Other files stay. */
TEST(an_earlier_relays_questions_go) {
    const struct kl_tie_question q = {.label = 5};
    char ask[KL_TIE_NAME], said[KL_TIE_NAME];
    begin(NULL);
    watch_folder();
    kl_tie_name(ask, &q, KL_TIE_ASKED);
    kl_tie_name(said, &q, KL_TIE_VERDICT);
    file_write(in_kept(KL_TIE_ASK, ask), "x", 1, 0600);
    file_write(in_kept(KL_TIE_VERDICTS, said), "x", 1, 0600);
    file_write(in_kept(KL_TIE_ASK, "mine.klr"), "x", 1, 0600);
    kl_kept_ask_clear(kept);
    assert_int_equal(kl_file_kind_here(in_kept(KL_TIE_ASK, ask)), KL_FILE_IS_NONE);
    assert_int_equal(kl_file_kind_here(in_kept(KL_TIE_VERDICTS, said)), KL_FILE_IS_NONE);
    assert_int_equal(kl_file_kind_here(in_kept(KL_TIE_ASK, "mine.klr")), KL_FILE_IS_PLAIN);
    finish(NULL);
}
