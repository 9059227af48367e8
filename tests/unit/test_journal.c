/* test_journal.c - the relay writes down what its rooms need, is killed, and loads them. journal.h. */
#include "tests/unit/unit.h"
#include "tests/lib/journal_lives.h"

#include "net/engine/command.h"

/* --- bytes --- */

static const uint8_t id_of_test[KL_JOURNAL_ID] = {1, 2, 3};

static size_t put_record(const uint8_t key[32], size_t at, enum kl_journal_type type, const char *body) {
    uint32_t len = (uint32_t)strlen(body);
    kl_journal_record(key, at, type, body, len, bytes + at, bytes + at + KL_JOURNAL_BEFORE + len);
    memcpy(bytes + at + KL_JOURNAL_BEFORE, body, len);
    return at + KL_JOURNAL_AROUND + len;
}

static void records_are_read_as_written(void **state) {
    (void)state;
    uint8_t key[32], id[KL_JOURNAL_ID], other[32] = {9};
    struct kl_journal_cursor c;
    kl_journal_key(secret, id_of_test, key);
    kl_journal_head(key, id_of_test, bytes);
    size_t second = put_record(key, KL_JOURNAL_HEAD, KL_JOURNAL_TICKET, "ticket");
    size_t end = put_record(key, second, KL_JOURNAL_START, "");
    assert_int_equal(kl_journal_head_open(secret, bytes, end, id), KL_OK);
    assert_memory_equal(id, id_of_test, sizeof id);
    assert_int_equal(kl_journal_head_open(other, bytes, end, id), KL_E_MALFORMED);
    kl_journal_seek(&c, key, bytes, end);
    assert_true(kl_journal_next(&c));
    assert_int_equal(c.type, KL_JOURNAL_TICKET);
    assert_memory_equal(c.body, "ticket", 6);
    assert_true(kl_journal_next(&c));
    assert_int_equal(c.type, KL_JOURNAL_START);
    assert_int_equal(c.body_len, 0);
    assert_false(kl_journal_next(&c));
    assert_int_equal(c.at, end);
    memmove(bytes + KL_JOURNAL_HEAD, bytes + second, end - second); /* a record at another's place is none */
    kl_journal_seek(&c, key, bytes, KL_JOURNAL_HEAD + end - second);
    assert_false(kl_journal_next(&c));
    bytes[KL_JOURNAL_MAGIC]++;
    assert_int_equal(kl_journal_head_open(secret, bytes, end, id), KL_E_VERSION);
}

/* --- killed and started again --- */

static void the_match_goes_on(void **state) {
    (void)state;
    begin_game(KL_POLICY_BOUNDED);
    play(10 * SECOND);
    for (unsigned life = 1; life <= 3; life++) {
        uint32_t before = canon_end, closed = written();
        die_and_begin_again();
        assert_non_null(the_room());
        assert_int_equal(the_room()->lock.next_close, closed); /* nothing that was written is lost */
        assert_int_equal(kl_lobby_members(lobby), PLAYERS);
        all_come_back(10 * (life % 3));
        play(5 * SECOND);
        expect_all_at_the_end();
        assert_true(canon_end > before + 3 * 60); /* run_frame() compares */
    }
    const struct kl_digest d = digest_of(the_room()->id, canon_end); /* one chain through all lives */
    assert_true(d.intervals > 100);
    struct kl_digest is;
    assert_true(kl_lobby_past_digest(the_room(), d.intervals, &is));
    assert_memory_equal(&d, &is, sizeof d);
    assert_int_equal(unwritten, 0);
}

static void give_commands(void) {
    static const char words[] = "what they say in the room is a part of what was played";
    struct kl_msg m = {.kind = KL_MSG_COMMAND, .order.kind = KL_COMMAND_CHAT, .order.len = sizeof words - 1};
    memcpy(m.order.data, words, sizeof words - 1);
    for (unsigned i = 0; i < 20; i++) {
        say(player[i % PLAYERS].peer, &m);
        if (i % 3 == 0) order(player[0].peer, KL_COMMAND_SAVE, 0);
        play(150000);
    }
}

/* They count in the digests. */
static void commands_come_back(void **state) {
    (void)state;
    begin_game(KL_POLICY_BOUNDED);
    play(SECOND);
    give_commands();
    play(2 * SECOND);
    read_only_file();
    assert_true(memmem(bytes, bytes_len, "a part of what was played", 25) != NULL);
    uint32_t closed = written();
    die_and_begin_again();
    assert_int_equal(the_room()->lock.next_close, closed);
    all_come_back(10);
    play(3 * SECOND);
    expect_all_at_the_end();
}

static void a_player_with_nothing_comes_back_too(void **state) {
    (void)state;
    begin_game(KL_POLICY_OPTIMISTIC);
    play(4 * SECOND);
    die_and_begin_again();
    for (unsigned i = 0; i < 2; i++) {
        struct kl_msg m = prepare_return(i, 10 + i);
        say(10 + i, &m);
    }
    pass(1200000);
    come_back_with_nothing(2, 12);
    assert_memory_equal(heard(12, KL_MSG_DATA)->data.bytes, "save", 4);
    play(6 * SECOND);
    expect_all_at_the_end();
}

static void the_file_goes_with_the_room(void **state) {
    (void)state;
    struct stat st;
    assert_null(only_file());
    begin_game(KL_POLICY_BOUNDED);
    play(SECOND);
    assert_non_null(only_file());
    assert_int_equal(stat(path_of(only_file()), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(stat(folder, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    for (unsigned i = 0; i < PLAYERS; i++) {
        bye(i);
        player[i].linked = false;
    }
    pass(15 * SECOND);
    assert_int_equal(kl_lobby_rooms(lobby), 0);
    assert_null(only_file());
}

static void a_client_that_does_not_come_back_ends_it(void **state) {
    (void)state;
    begin_game(KL_POLICY_BOUNDED);
    play(SECOND);
    die_and_begin_again();
    assert_non_null(the_room());
    pass(59 * SECOND); /* the seat time, from the restart on */
    assert_non_null(the_room());
    pass(3 * SECOND);
    assert_null(the_room());
    assert_null(only_file());
}

/* --- files that are not ours --- */

static void others_files_are_left_alone(void **state) {
    (void)state;
    static uint8_t again[BYTES_MAX];
    static const char foreign[] = "00000000000000000000000000000000.journal";
    make_small_journal();
    put_file(foreign, bytes, bytes_len, 0600); /* another room's name */
    put_file("ffffffffffffffffffffffffffffffff.journal", "", 0, 0600);
    put_file("notes.txt", "mine", 4, 0600);
    put_file(journal_name, bytes, bytes_len, 0644);
    begin_life(now_us);
    assert_int_equal(kl_lobby_rooms(lobby), 0);
    die();
    assert_int_equal(get_file(foreign, again, sizeof again), bytes_len);
    assert_memory_equal(again, bytes, bytes_len);
    assert_int_equal(get_file("notes.txt", again, sizeof again), 4);
    put_file(journal_name, bytes, bytes_len, 0600);
    open_lobby(&limits_for_tests);
    uint8_t other[32] = {7};
    kl_lobby_set_secret(lobby, other); /* another relay's key */
    open_journal();
    assert_int_equal(kl_lobby_rooms(lobby), 0);
    die();
    assert_int_equal(get_file(journal_name, again, sizeof again), bytes_len);
    assert_int_equal(unlink(path_of(journal_name)), 0);
    assert_int_equal(symlink(foreign, path_of(journal_name)), 0);
    begin_life(now_us);
    assert_int_equal(kl_lobby_rooms(lobby), 0);
}

static void one_relay_a_folder(void **state) {
    (void)state;
    struct kl_journal *second;
    char deep[100];
    assert_int_equal(kl_journal_open(&second, folder, MIB, err, sizeof err), -1);
    assert_non_null(strstr(err, "another relay"));
    snprintf(deep, sizeof deep, "%s/x", folder);
    assert_int_equal(mkdir(deep, 0700), 0);
    assert_int_equal(chmod(deep, 0777), 0);
    assert_int_equal(kl_journal_open(&second, deep, MIB, err, sizeof err), -1);
    assert_non_null(strstr(err, "others may write"));
    rmdir(deep);
    put_file("file", "", 0, 0600);
    snprintf(deep, sizeof deep, "%s/file", folder);
    assert_int_equal(kl_journal_open(&second, deep, MIB, err, sizeof err), -1);
}

static bool holds(const void *what, size_t len) {
    return memmem(bytes, bytes_len, what, len) != NULL;
}

static void nothing_in_clear(void **state) {
    (void)state;
    begin_game(KL_POLICY_BOUNDED);
    play(2 * SECOND);
    read_only_file();
    const struct kl_lobby_room *r = the_room();
    for (unsigned i = 0; i < PLAYERS; i++) {
        assert_false(holds(player[i].token, KL_TOKEN_BYTES));
        assert_false(holds(r->member[i].token_hash[0], KL_SEAT_HASH));
        assert_false(holds(r->member[i].v.seat_key, KL_SEAT_KEY_BYTES));
    }
    assert_false(holds(secret, sizeof secret));
    assert_false(holds(r->journal.key, 32));
    assert_false(holds("192.0.2.1", 9));
    assert_true(holds(r->id, 16)); /* holds() finds what there is */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(records_are_read_as_written),
        T(the_match_goes_on),
        T(commands_come_back),
        T(a_player_with_nothing_comes_back_too),
        T(the_file_goes_with_the_room),
        T(a_client_that_does_not_come_back_ends_it),
        T(others_files_are_left_alone),
        T(one_relay_a_folder),
        T(nothing_in_clear),
    };
    return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
