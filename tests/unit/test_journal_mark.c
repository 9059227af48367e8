/* test_journal_mark.c - marks, by which long journals load quickly: the room that comes of them is the one
 * that was played, whatever happens to the file. journal_file.h, MARK. */
#include "tests/unit/unit.h"
#include "tests/lib/journal_lives.h"

#include "net/engine/command.h"

static uint64_t mark_at[64], mark_end[64]; /* of the journal in `bytes` */
static unsigned marks;

static void find_marks(void) {
    struct kl_journal_cursor c;
    uint8_t key[32], id[KL_JOURNAL_ID];
    assert_int_equal(kl_journal_head_open(secret, bytes, bytes_len, id), KL_OK);
    kl_journal_key(secret, id, key);
    kl_journal_seek(&c, key, bytes, bytes_len);
    marks = 0;
    for (uint64_t at = c.at; kl_journal_next(&c); at = c.at) {
        if (c.type != KL_JOURNAL_MARK) continue;
        mark_at[marks] = at;
        mark_end[marks++] = c.at;
    }
}

/* Commands of all kinds that mean something to the room, and some that do not. */
static void give_commands(unsigned turn) {
    static const char words[] = "good game";
    struct kl_msg m = {.kind = KL_MSG_COMMAND, .order.kind = KL_COMMAND_CHAT, .order.len = sizeof words - 1};
    memcpy(m.order.data, words, sizeof words - 1);
    say(player[turn % PLAYERS].peer, &m);
    if (turn % 2 == 0) order(player[0].peer, KL_COMMAND_SAVE, 0);
    struct kl_msg swap = {.kind = KL_MSG_COMMAND,
                          .order = {.kind = KL_COMMAND_SWAP, .len = 2, .data = {0, (uint8_t)(1 + turn % 2)}}};
    if (turn % 3 == 1) say(player[0].peer, &swap);
    uint8_t spacing = turn == 2 ? 7 : 23; /* pieces that begin and end within intervals */
    struct kl_msg policy = {
        .kind = KL_MSG_COMMAND,
        .order = {.kind = KL_COMMAND_POLICY, .len = 4, .data = {KL_POLICY_BOUNDED, 250, 0, spacing}}};
    if (turn == 2 || turn == 6) say(player[0].peer, &policy);
}

/* Four marks and a half of the next. */
static void play_long(void) {
    be_quiet();
    begin_game(KL_POLICY_BOUNDED);
    for (unsigned i = 0; i < 10; i++) {
        play(8 * SECOND);
        give_commands(i);
    }
    expect_all_at_the_end();
    read_only_file();
    snprintf(journal_name, sizeof journal_name, "%s", only_file());
    find_marks();
    assert_int_equal(marks, 4);
}

/* All that UPDATE could bring is what was played. */
static void look_at_the_kept(const struct kl_lobby_room *r) {
    uint32_t next = r->lock.next_close, from = next > KL_KEPT_FRAMES ? next - KL_KEPT_FRAMES : 0;
    for (uint32_t f = from; f < next && f < canon_end; f++) {
        struct kl_frame kept;
        assert_true(kl_lock_frame(&r->lock, f, &kept));
        assert_int_equal(kept.number, f);
        for (unsigned s = 0; s < KL_MAX_SEATS; s++)
            assert_true(kl_input_equal(&kept.in[s], &canon[f].in[s]));
    }
}

/* Whether what is there now loads by its marks; begins a life. */
static bool loads_by_marks(void) {
    char line[1000];
    bool found = false;
    FILE *log = tmpfile();
    kl_log_to(log);
    setenv("KL_TEST_LOG", "1", 1);
    begin_life(now_us);
    unsetenv("KL_TEST_LOG");
    kl_log_set_level(KL_LOG_ERROR);
    be_quiet();
    rewind(log);
    while (fgets(line, sizeof line, log))
        found = found || (strstr(line, "journal_loaded") && !strstr(line, "marked=0"));
    fclose(log);
    return found;
}

/* The frames of the room that comes of it, 0 where none does. */
static uint32_t load(const uint8_t *from, size_t len) {
    put_file(journal_name, from, len, 0600);
    begin_life(now_us);
    uint32_t frames = 0;
    if (the_room()) {
        frames = frames_in(the_room());
        look_at_the_kept(the_room());
    }
    die();
    return frames;
}

/* As the one that died. */
static void the_same_room(void **state) {
    (void)state;
    static struct kl_lobby_room before;
    play_long();
    before = *the_room();
    die();
    assert_true(loads_by_marks());
    const struct kl_lobby_room *r = the_room();
    assert_int_equal(frames_in(r), before.journal.frames);
    look_at_the_kept(r);
    bool begun =
        before.lock.now.first == before.journal.frames; /* the next interval, which has no frames yet */
    const struct kl_interval *was = begun ? &before.lock.before : &before.lock.now;
    assert_int_equal(r->lock.now.first, was->first);
    assert_int_equal(r->lock.now.length, was->length);
    assert_int_equal(r->lock.now.active, was->active);
    if (!begun) assert_int_equal(r->lock.hash_next, before.lock.hash_next);
    assert_memory_equal(&r->lock.params, &before.lock.params, sizeof before.lock.params);
    assert_memory_equal(r->lock.plays, before.lock.plays, sizeof before.lock.plays);
    assert_int_equal(r->past.history.intervals, before.past.history.intervals);
    assert_memory_equal(&r->past.digest, &before.past.digest, sizeof r->past.digest);
    assert_int_equal(r->journal.bytes, before.journal.bytes);
    assert_memory_equal(&r->journal.marked.chain, &before.journal.marked.chain,
                        sizeof r->journal.marked.chain);
}

/* Marks go on where they were, life after life. */
static void the_match_goes_on(void **state) {
    (void)state;
    play_long();
    for (unsigned life = 1; life <= 2; life++) {
        uint32_t before = canon_end;
        die_and_begin_again();
        all_come_back(10 * life);
        play(20 * SECOND);
        expect_all_at_the_end();
        assert_true(canon_end > before + 15 * 60);
        give_commands(life);
    }
    read_only_file();
    find_marks();
    assert_in_range(marks, 6, 7);
    assert_int_equal(the_room()->journal.marked.chain.end >= canon_end - 1100, 1);
    assert_int_equal(unwritten, 0);
}

static void torn_anywhere(void **state) {
    (void)state;
    uint64_t end;
    play_long();
    die();
    for (unsigned i = 0; i < marks; i++)
        for (uint64_t at = mark_at[i] - 1; at <= mark_end[i] + 1;
             at += at == mark_at[i] + 30 ? mark_end[i] - 50 - at : 1)
            assert_int_equal(load(bytes, at), whole_frames(at, &end));
    for (size_t at = bytes_len; at > 1500; at -= 1499)
        assert_int_equal(load(bytes, at), whole_frames(at, &end));
    begin_life(now_us);
}

/* Never another frame than was played, and all before the change. */
static void changed_anywhere(void **state) {
    (void)state;
    static uint8_t changed[BYTES_MAX];
    uint64_t end;
    play_long();
    die();
    uint32_t all = whole_frames(bytes_len, &end);
    for (size_t at = 60, step = 1; at < bytes_len; at += step) {
        bool in_mark = false;
        for (unsigned i = 0; i < marks; i++)
            in_mark = in_mark || (at >= mark_at[i] && at < mark_at[i] + 40);
        step = in_mark ? 3 : 1201;
        for (unsigned i = 0; i < marks; i++)
            if (at < mark_at[i] && at + step > mark_at[i]) step = mark_at[i] - at;
        memcpy(changed, bytes, bytes_len);
        changed[at] ^= (uint8_t)(1u << at % 8);
        uint32_t frames = load(changed, bytes_len);
        assert_in_range(frames, whole_frames(at, &end), all);
    }
    begin_life(now_us);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(the_same_room),
        T(the_match_goes_on),
        T(torn_anywhere),
        T(changed_anywhere),
    };
    return cmocka_run_group_tests_name("journal_mark", tests, NULL, NULL);
}
