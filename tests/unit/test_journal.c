/* test_journal.c - the relay writes down what its rooms need, is killed, and loads them. journal.h. */
#include "tests/unit/unit.h"
#include "tests/lib/journal_lives.h"

#include "net/engine/command.h"
#include "net/record/klr_body.h"
#include "net/session/proof.h"
#include "net/platform/socket.h"
#include "net/platform/wait.h"
#include "net/session/seal.h"
#include "tests/lib/files.h"

/* --- the tail's bytes --- */

static const struct kl_tail_base base_of_test = {{77, {1, 2}}, {{3}, 4, 120}};

static struct kl_tail *tail_of_test(const char *name) {
    struct kl_file file;
    uint8_t key[32];
    kl_tail_key(secret, (const uint8_t *)"the room's own id", key);
    assert_int_equal(kl_file_open(&file, path_of(name), true, err, sizeof err), 0);
    struct kl_tail *t = kl_tail_make(key, &file, NULL, err, sizeof err);
    assert_non_null(t);
    assert_true(t->slab.mapped);
    return t;
}

static void expect_record(struct kl_tail_cursor *c, enum kl_tail_type type, const char *body) {
    size_t no;
    assert_true(kl_tail_next(c, &no));
    assert_int_equal(c->type, type);
    assert_int_equal(c->body_len, strlen(body));
    assert_memory_equal(c->body, body, strlen(body));
}

TEST_WITH(a_tail_is_read_as_written, make_folder, remove_folder) {
    struct kl_tail *t = tail_of_test("a");
    struct kl_tail_cursor slot[2], c;
    const uint8_t *at = t->slab.bytes;
    size_t wrong;
    assert_true(kl_tail_is_unwritten(at, KL_TAIL_BYTES));
    assert_true(kl_tail_turn(t, &base_of_test));
    assert_true(kl_tail_add(t, KL_TAIL_TICKET, "ticket", 6));
    assert_int_equal(kl_tail_open(slot, t->key, at, KL_TAIL_BYTES, &wrong), 0); /* it does not count yet */
    assert_true(kl_tail_keep(t));
    assert_false(kl_tail_is_unwritten(at, KL_TAIL_BYTES));
    assert_true(kl_tail_add(t, KL_TAIL_FRAMES, "", 0));
    assert_int_equal(kl_tail_open(slot, t->key, at, KL_TAIL_BYTES, &wrong), 1);
    assert_memory_equal(&slot[0].base, &base_of_test, sizeof base_of_test);
    expect_record(&slot[0], KL_TAIL_TICKET, "ticket");
    expect_record(&slot[0], KL_TAIL_FRAMES, "");
    assert_false(kl_tail_next(&slot[0], &wrong));
    assert_int_equal(wrong, 0);
    assert_memory_equal(&slot[0].slot.mac, &t->slot.mac, KL_TAIL_MAC);
    kl_tail_turn(t, &base_of_test);
    assert_true(kl_tail_add(t, KL_TAIL_TICKET, "newer", 5));
    kl_tail_drop(t); /* the one before goes on */
    assert_true(kl_tail_add(t, KL_TAIL_FRAMES, "more", 4));
    kl_tail_turn(t, &base_of_test);
    assert_true(kl_tail_add(t, KL_TAIL_TICKET, "newest", 6) && kl_tail_keep(t));
    assert_int_equal(kl_tail_open(slot, t->key, at, KL_TAIL_BYTES, &wrong), 2);
    c = slot[0];
    expect_record(&c, KL_TAIL_TICKET, "ticket");
    expect_record(&c, KL_TAIL_FRAMES, "");
    expect_record(&c, KL_TAIL_FRAMES, "more");
    expect_record(&slot[1], KL_TAIL_TICKET, "newest");
    assert_null(kl_tail_objection(at, KL_TAIL_BYTES));
    uint8_t other[KL_TAIL_HEAD];
    memcpy(other, at, sizeof other);
    other[16] = KL_TAIL_VERSION - 1;
    assert_string_equal(kl_tail_objection(other, sizeof other), "it is of another version of this relay");
    t->key[0]++;
    assert_int_equal(kl_tail_open(slot, t->key, at, KL_TAIL_BYTES, &wrong), 0);
    kl_tail_free(t);
    unlink(path_of("a"));
}

TEST_WITH(a_slot_has_an_end, make_folder, remove_folder) {
    static uint8_t body[KL_TICKET_MAX];
    struct kl_tail *t = tail_of_test("a");
    unsigned added = 0;
    kl_tail_turn(t, &base_of_test);
    while (kl_tail_add(t, KL_TAIL_FRAMES, body, sizeof body))
        added++;
    assert_int_equal(added, (KL_TAIL_SLOT - KL_TAIL_BASE - KL_TAIL_MAC) / (sizeof body + KL_TAIL_AROUND));
    assert_true(kl_tail_keep(t));
    kl_tail_free(t);
    unlink(path_of("a"));
}

/* --- killed and started again --- */

TEST_WITH(the_match_goes_on, make_folder, remove_folder) {
    begin_game(KL_POLICY_BOUNDED);
    play(40 * SECOND); /* some of it is in the recording */
    assert_true(the_room()->journal.base.chain.end > 2000);
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
TEST_WITH(commands_come_back, make_folder, remove_folder) {
    begin_game(KL_POLICY_BOUNDED);
    play(SECOND);
    give_commands();
    play(2 * SECOND);
    read_files();
    assert_true(memmem(tail, tail_len, "a part of what was played", 25) != NULL);
    uint32_t closed = written();
    die_and_begin_again();
    assert_int_equal(the_room()->lock.next_close, closed);
    all_come_back(10);
    play(3 * SECOND);
    expect_all_at_the_end();
}

TEST_WITH(a_player_with_nothing_comes_back_too, make_folder, remove_folder) {
    begin_game(KL_POLICY_OPTIMISTIC);
    play(4 * SECOND);
    die_and_begin_again();
    for (unsigned i = 0; i < 2; i++) {
        struct kl_msg m = prepare_return(&player[i], 10 + i);
        say(10 + i, &m);
    }
    pass(1200000);
    come_back_with_nothing(2, 12);
    assert_memory_equal(heard(12, KL_MSG_DATA)->data.bytes, "save", 4);
    play(6 * SECOND);
    expect_all_at_the_end();
}

/* Names and seats are taken at once; the frames are read for the first who comes back. */
TEST_WITH(a_room_is_read_for_the_first_who_returns, make_folder, remove_folder) {
    begin_game(KL_POLICY_BOUNDED);
    play(20 * SECOND);
    uint32_t closed = written();
    die();
    begin_life_unread();
    assert_true(kl_journal_is_unread(the_room()));
    assert_int_equal(the_room()->lock.next_close, 0);
    assert_null(the_room()->start.data);
    assert_int_equal(kl_lobby_members(lobby), PLAYERS);
    struct kl_msg m = a_hello(20, "room", 1, PLAYERS, "x");
    enter(20, &m);
    expect_refusal(20, KL_REFUSE_STARTED, "is restoring room");
    play(SECOND);
    for (unsigned i = 0; i < PLAYERS; i++) {
        m = prepare_return(&player[i], 10 + i);
        speak(10 + i, &m); /* all before the relay's next turn */
        assert_null(heard(10 + i, KL_MSG_WELCOME));
    }
    pass(200000);
    for (unsigned i = 0; i < PLAYERS; i++)
        assert_non_null(heard(10 + i, KL_MSG_WELCOME));
    assert_false(kl_journal_is_unread(the_room()));
    assert_true(the_room()->lock.next_close >= closed);
    play(3 * SECOND);
    expect_all_at_the_end();
}

static void begin_return(void) {
    begin_game(KL_POLICY_BOUNDED);
    play(460 * SECOND);
    die();
    begin_life_unread();
    struct kl_msg m = prepare_return(&player[0], 10);
    speak(10, &m);
}

/* Other rooms have their turns meanwhile. */
TEST_WITH(a_long_room_is_read_in_parts, make_folder, remove_folder) {
    unsigned turns = 0;
    begin_return();
    for (; kl_journal_is_unread(the_room()); turns++)
        run();
    assert_in_range(turns, 3, 9);
    assert_non_null(heard(10, KL_MSG_WELCOME));
    assert_true(the_room()->lock.next_close >= 459 * 60);
    for (unsigned i = 1; i < PLAYERS; i++) {
        struct kl_msg m = prepare_return(&player[i], 10 + i);
        say(10 + i, &m);
    }
    play(3 * SECOND);
    expect_all_at_the_end();
}

/* The one who came back goes again, and nobody else comes. */
TEST_WITH(a_room_that_ends_while_it_is_read, make_folder, remove_folder) {
    begin_return();
    run();
    run();
    assert_true(kl_journal_is_unread(the_room()));
    assert_in_range(the_room()->lock.next_close, 1, 459 * 60);
    lose(10);
    pass(62 * SECOND);
    assert_null(the_room());
    assert_null(only_room());
}

/* The recording is gone meanwhile. */
TEST_WITH(a_room_that_cannot_be_read, make_folder, remove_folder) {
    be_quiet();
    begin_game(KL_POLICY_BOUNDED);
    play(20 * SECOND);
    die();
    read_files();
    begin_life_unread();
    file_write(file_of(KL_ENDING_RECORDING), bytes, 30, 0600);
    struct kl_msg m = prepare_return(&player[0], 10);
    say(10, &m);
    expect_refusal(10, KL_REFUSE_SEAT, "has no room room: it ended, or was lost");
    assert_null(the_room());
    assert_non_null(only_room()); /* left alone */
}

/* --- END --- */

static int held; /* the recording, open: its bytes are read after it has been removed */

static void hold_recording(void) {
    read_files();
    held = open(file_of(KL_ENDING_RECORDING), O_RDONLY);
    assert_true(held >= 0);
}

static uint32_t count_frames(const struct kl_klr_cursor *c, uint32_t next) {
    const uint8_t *piece;
    size_t len;
    struct kl_reader r = kl_reader(c->body, c->body_len);
    while ((piece = kl_klr_read_piece(&r, &len))) {
        struct kl_frames frames;
        struct kl_frame f;
        assert_int_equal(kl_piece_open(&frames, piece, len), KL_OK);
        for (; kl_frames_next(&frames, &f); next++) {
            assert_int_equal(f.number, next);
            if (next >= canon_end) continue;
            for (unsigned s = 0; s < KL_MAX_SEATS; s++)
                assert_true(kl_input_equal(&f.in[s], &canon[next].in[s]));
        }
    }
    return next;
}

/* The held recording has all frames, as they were played, and ends so. If the relay signs, its last seal is
 * of all whole intervals. */
static void expect_end(const char *reason, uint32_t least) {
    struct kl_klr_cursor c;
    struct kl_klr_end end = {0};
    struct kl_digest digest = {{0}, 0, 0};
    struct kl_proof seal = {0};
    uint32_t frames = 0;
    unsigned ends = 0;
    bytes_len = (size_t)pread(held, bytes, sizeof bytes, 0);
    close(held);
    assert_true(kl_klr_open(&c, bytes, bytes_len));
    enum kl_klr_next next;
    while ((next = kl_klr_next(&c)) == KL_KLR_BLOCK) {
        assert_int_equal(ends, 0); /* nothing stands behind it */
        struct kl_reader r = kl_reader(c.body, c.body_len);
        if (c.type == KL_KLR_PIECES) frames = count_frames(&c, frames);
        if (c.type == KL_KLR_DIGEST) kl_klr_read_digest(&r, &digest);
        if (c.type == KL_KLR_SEAL) kl_klr_read_seal(&r, &seal);
        if (c.type != KL_KLR_END) continue;
        kl_klr_read_end(&r, &end);
        ends++;
    }
    assert_int_equal(next, KL_KLR_WHOLE);
    assert_int_equal(ends, 1);
    assert_string_equal(end.why, reason);
    assert_int_equal(end.frames, frames);
    assert_true(frames >= least);
    if (lobby->signer.signs) assert_int_equal(seal.end, digest.end);
    const struct kl_digest of_frames = digest_of(bytes + KL_KLR_MAGIC + KL_KLR_BEFORE + 4, digest.end);
    assert_memory_equal(&digest, &of_frames, sizeof digest);
}

TEST_WITH(an_unread_room_ends_with_its_seats, make_folder, remove_folder) {
    begin_game(KL_POLICY_BOUNDED);
    play(20 * SECOND);
    uint32_t closed = written();
    die();
    begin_life_unread();
    pass(59 * SECOND);
    assert_true(kl_journal_is_unread(the_room()));
    hold_recording();
    pass(3 * SECOND);
    assert_null(the_room());
    assert_null(only_room());
    expect_end("relay lost", closed); /* with those of the tail */
}

TEST_WITH(the_relay_shuts_down, make_folder, remove_folder) {
    struct kl_relay_key key;
    begin_game(KL_POLICY_BOUNDED);
    sign_recordings(&key);
    play(20 * SECOND);
    hold_recording();
    kl_lobby_shut_down(lobby, now_us);
    assert_null(only_room());
    expect_end("the relay is shutting down", canon_end);
}

/* It died between END and the files' removal. */
TEST_WITH(an_ended_room_is_not_restored, make_folder, remove_folder) {
    begin_game(KL_POLICY_BOUNDED);
    play(3 * SECOND);
    hold_recording();
    kl_lobby_shut_down(lobby, now_us);
    expect_end("the relay is shutting down", canon_end);
    die();
    put_files();
    begin_life_unread();
    assert_true(kl_journal_is_unread(the_room())); /* its name is known by the tail alone */
    connect_peer(10);
    struct kl_msg m = a_return(0, 10, "room", player[0].p.participant.status.welcome.token);
    say(10, &m);
    expect_refusal(10, KL_REFUSE_SEAT, "has no room room: it ended, or was lost");
    assert_null(only_room());
}

/* The recording has a wrong byte: it keeps it, and no END hides it. */
TEST_WITH(a_damaged_recording_gets_no_end, make_folder, remove_folder) {
    static uint8_t is[BYTES_MAX];
    be_quiet();
    make_journal(20 * SECOND);
    bytes[bytes_len / 2] ^= 1;
    put_files();
    begin_life_unread();
    hold_recording();
    pass(62 * SECOND);
    assert_null(only_room());
    assert_int_equal(pread(held, is, sizeof is, 0), bytes_len);
    assert_memory_equal(is, bytes, bytes_len);
    close(held);
}

TEST_WITH(the_files_go_with_the_room, make_folder, remove_folder) {
    struct stat st;
    assert_null(only_room());
    begin_game(KL_POLICY_BOUNDED);
    play(SECOND);
    read_files();
    assert_int_equal(stat(file_of(KL_ENDING_RECORDING), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(stat(file_of(KL_ENDING_TAIL), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(st.st_size, KL_TAIL_BYTES);
    assert_int_equal(stat(folder, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    hold_recording();
    for (unsigned i = 0; i < PLAYERS; i++) {
        bye(i);
        player[i].linked = false;
    }
    pass(15 * SECOND);
    assert_int_equal(kl_lobby_rooms(lobby), 0);
    assert_null(only_room());
    expect_end("everyone left", canon_end);
}

TEST_WITH(a_client_that_does_not_come_back_ends_it, make_folder, remove_folder) {
    begin_game(KL_POLICY_BOUNDED);
    play(SECOND);
    die_and_begin_again();
    assert_non_null(the_room());
    pass(59 * SECOND); /* the seat time, from the restart on */
    assert_non_null(the_room());
    pass(3 * SECOND);
    assert_null(the_room());
    assert_null(only_room());
}

/* --- files that are not ours --- */

static void expect_no_rooms(void) {
    begin_life(now_us);
    assert_int_equal(kl_lobby_rooms(lobby), 0);
    die();
}

static void expect_tail_at(const char *path) {
    static uint8_t again[KL_TAIL_BYTES + 1];
    assert_int_equal(file_read(path, again, sizeof again), tail_len);
    assert_memory_equal(again, tail, tail_len);
}

TEST_WITH(others_files_are_left_alone, make_folder, remove_folder) {
    static uint8_t again[8];
    static const char foreign[] = "00000000000000000000000000000000.tail";
    make_journal(800000);
    put_file(foreign, tail, tail_len, 0600); /* another room's name */
    put_file("ffffffffffffffffffffffffffffffff.klr", "", 0, 0600);
    put_file("notes.txt", "mine", 4, 0600);
    put_file(strrchr(file_of(KL_ENDING_TAIL), '/') + 1, tail, tail_len, 0644);
    expect_no_rooms();
    expect_tail_at(path_of(foreign));
    assert_int_equal(get_file("notes.txt", again, sizeof again), 4);
    assert_int_equal(get_file("ffffffffffffffffffffffffffffffff.klr", again, sizeof again), 0);
    put_files();
    open_lobby(&limits_for_tests);
    uint8_t other[32] = {7};
    kl_lobby_set_secret(lobby, other); /* another relay's key */
    open_journal();
    assert_int_equal(kl_lobby_rooms(lobby), 0);
    die();
    expect_tail_at(file_of(KL_ENDING_TAIL));
    assert_int_equal(unlink(file_of(KL_ENDING_TAIL)), 0);
    assert_int_equal(symlink(foreign, file_of(KL_ENDING_TAIL)), 0);
    expect_no_rooms();
    begin_life(now_us);
}

/* A relay that died as it made or removed the files left a part of them. */
TEST_WITH(what_nobody_played_is_removed, make_folder, remove_folder) {
    static const uint8_t nothing[KL_TAIL_BYTES];
    make_journal(800000);
    assert_int_equal(unlink(file_of(KL_ENDING_RECORDING)), 0); /* it had ended */
    expect_no_rooms();
    assert_null(only_room());
    file_write(file_of(KL_ENDING_TAIL), nothing, 0, 0600);
    expect_no_rooms();
    assert_null(only_room());
    file_write(file_of(KL_ENDING_TAIL), nothing, sizeof nothing, 0600);
    file_write(file_of(KL_ENDING_RECORDING), bytes, 20, 0600);
    expect_no_rooms();
    assert_null(only_room());
    begin_life(now_us);
}

TEST_WITH(one_relay_a_folder, make_folder, remove_folder) {
    struct kl_journal *second;
    char deep[100];
    assert_int_equal(kl_journal_open(&second, folder, journal_limits, err, sizeof err), -1);
    assert_non_null(strstr(err, "another relay"));
    snprintf(deep, sizeof deep, "%s/x", folder);
    assert_int_equal(mkdir(deep, 0700), 0);
    assert_int_equal(chmod(deep, 0777), 0);
    assert_int_equal(kl_journal_open(&second, deep, journal_limits, err, sizeof err), -1);
    assert_non_null(strstr(err, "others may write"));
    rmdir(deep);
    put_file("file", "", 0, 0600);
    snprintf(deep, sizeof deep, "%s/file", folder);
    assert_int_equal(kl_journal_open(&second, deep, journal_limits, err, sizeof err), -1);
}

static bool holds(const void *what, size_t len) {
    return memmem(bytes, bytes_len, what, len) || memmem(tail, tail_len, what, len);
}

TEST_WITH(nothing_in_clear, make_folder, remove_folder) {
    begin_game(KL_POLICY_BOUNDED);
    play(20 * SECOND);
    read_files();
    assert_true(bytes_len > 5000);
    const struct kl_lobby_room *r = the_room();
    for (unsigned i = 0; i < PLAYERS; i++) {
        assert_false(holds(player[i].p.participant.status.welcome.token, KL_TOKEN_BYTES));
        assert_false(holds(r->member[i]->token_hash[0], KL_SEAT_HASH));
        assert_false(holds(r->member[i]->v.seat_key, KL_SEAT_KEY_BYTES));
    }
    assert_false(holds(secret, sizeof secret));
    assert_false(holds(r->journal.tail->key, 32));
    assert_false(holds("192.0.2.1", 9));
    assert_true(holds(r->id, 16)); /* holds() finds what there is */
}

/* --- a fleet's Redis gets a copy --- */

static struct kl_fleet *fleet;
static unsigned uncopied; /* datagrams with frames of which it has no copy */

static bool is_copied(void) {
    return atomic_load(&fleet->copied[0][the_room()->due.index]) == kl_journal_mark(the_room());
}

static void watch_copies(unsigned peer, const uint8_t *body, size_t len) {
    uncopied += !is_copied();
    listen_update(peer, body, len);
}

static void copy(void) {
    kl_fleet_copied(fleet, 0, the_room()->due.index, kl_journal_mark(the_room()));
    kl_fleet_copied_all(fleet);
}

TEST_WITH(frames_wait_for_their_copy, make_folder, remove_folder) {
    struct kl_shards shards = {.count = 1};
    fleet = calloc(1, sizeof *fleet);
    assert_non_null(fleet);
    fleet->lease_us = UINT64_MAX;
    fleet->shards = &shards;
    fleet->wake = kl_wake_open();
    fleet->copied_wake[0] = kl_wake_open();
    begin_game(KL_POLICY_BOUNDED);
    play(SECOND);
    kl_lobby_set_fleet(lobby, fleet);
    play(SECOND); /* Redis gets nothing: one frame has waited */
    on_update = watch_copies;
    assert_true(the_room()->due.lags);
    uint32_t before = canon_end;
    play(SECOND);
    assert_true(canon_end > before + 50);
    copy(); /* until here none waits */
    pass(0);
    uncopied = 0;
    before = canon_end;
    for (unsigned i = 0; i < 1000; i++, copy())
        play(STEP_US);
    assert_true(canon_end > before + 200);
    assert_int_equal(uncopied, 0);
    assert_true(kl_wait_for(fleet->copied_wake, 1, 0));
    const uint64_t from_us = now_us;
    while (!uncopied)
        play(1000);
    assert_in_range(now_us - from_us, 5000, 50000); /* that is all that it waits, with the frame's own time */
    atomic_store(&fleet->lease_us, 0);
    play(20000);
    assert_false(the_room()->due.lags); /* without Redis it waits for none */
    kl_lobby_set_fleet(lobby, NULL);
    kl_socket_close(fleet->wake);
    kl_socket_close(fleet->copied_wake[0]);
    free(fleet);
}
