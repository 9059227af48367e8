/* test_journal_kept.c - recordings of ended rooms that the relay's host keeps. kept.h, journal.h. */
#include "tests/unit/unit.h"
#include "tests/lib/journal_lives.h"

#include <sched.h>
#include <sys/mount.h>

#include "net/engine/command.h"
#include "net/platform/clock.h"
#include "net/record/klr_body.h"
#include "net/relay/durable/journal_private.h"
#include "net/session/proof.h"
#include "tests/lib/files.h"

static char kept_dir[64];
static const struct kl_kept_limits limits = {.all_bytes = UINT64_C(1) << 30, .days = 30};

static void keep(void) {
    if (kl_journal_keep_in(journal, kept_dir, limits, err, sizeof err) != 0) fail_msg("%s", err);
}

static const char *in_kept(const char *name) {
    static char path[600];
    snprintf(path, sizeof path, "%s/%s", kept_dir, name);
    return path;
}

static int make_folders(void **state) {
    snprintf(kept_dir, sizeof kept_dir, "/tmp/test_kept.XXXXXX");
    assert_non_null(mkdtemp(kept_dir));
    limits_for_tests.record_days = limits.days;
    make_folder(state);
    be_quiet();
    keep();
    return 0;
}

static int remove_folders(void **state) {
    limits_for_tests.record_days = 0;
    remove_folder(state);
    kl_dir_remove_tree(kept_dir);
    return 0;
}

/* The name of the only recording in DIR/new; NULL: there is none. */
static const char *only_kept(void) {
    static char name[KL_KEPT_NAME];
    struct kl_dir_list list;
    assert_int_equal(kl_dir_list(&list, in_kept("new"), "", err, sizeof err), 0);
    assert_in_range(list.count, 0, 1);
    if (list.count) snprintf(name, sizeof name, "%s", list.name[0]);
    bool any = list.count > 0;
    kl_dir_list_free(&list);
    return any ? name : NULL;
}

/* Reads it. Returns its frames by END; 0: it has no END. */
static uint32_t ended_frames(const char *reason) {
    char path[200];
    struct kl_klr_cursor c;
    struct kl_klr_end end = {0};
    const char *name = only_kept();
    assert_non_null(name);
    snprintf(path, sizeof path, "new/%s", name);
    bytes_len = file_read(in_kept(path), bytes, sizeof bytes);
    assert_true(kl_klr_open(&c, bytes, bytes_len));
    while (kl_klr_next(&c) == KL_KLR_BLOCK) {
        struct kl_reader r = kl_reader(c.body, c.body_len);
        if (c.type == KL_KLR_END) kl_klr_read_end(&r, &end);
    }
    assert_true(!end.frames || !strcmp(end.why, reason));
    assert_int_equal(!end.frames, strstr(name, "-broken.klr") != NULL);
    return end.frames;
}

/* --- players that want theirs deleted --- */

static enum kl_kept_fate wished(const uint8_t room[KL_ROOM_ID_BYTES], const uint8_t key[KL_SEAT_PUB]) {
    struct kl_kept_wish w = {.number = 7}, got;
    memcpy(w.room_id, room, sizeof w.room_id);
    memcpy(w.seat_key, key, sizeof w.seat_key);
    assert_true(kl_journal_wish(journal, &w));
    for (unsigned i = 0; i < 5000 && !kl_journal_next_wish(journal, &got); i++)
        (void)kl_sleep_us(1000);
    assert_int_equal(got.number, 7);
    return got.fate;
}

static void all_leave(void) {
    for (unsigned i = 0; i < PLAYERS; i++)
        if (player[i].linked) {
            bye(player[i].peer);
            player[i].linked = false;
        }
    pass(15 * SECOND);
    assert_null(the_room());
    assert_null(only_room());
}

static void live_again(bool read) {
    die();
    reads = read;
    begin_life(now_us);
    reads = true;
    keep();
    if (read) play(SECOND); /* the players run what they have */
}

static const uint8_t secret_of_door[KL_DOOR_SECRET] = {7, 1, 200, 3, 99, 4};

/* Named by its begin and the room's id, without a word of the players'. No secret is in it. */
TEST_WITH(a_match_is_kept, make_folders, remove_folders) {
    char name[KL_KEPT_NAME], id[KL_STORE_NAME], when[KL_WALL_TEXT];
    begin_game(KL_POLICY_BOUNDED);
    play(20 * SECOND);
    memcpy(the_room()->door.secret, secret_of_door, sizeof secret_of_door);
    the_room()->door.flags |= KL_DOOR_PASSWORD;
    kl_lobby_changed(the_room(), true);
    play(SECOND);
    sodium_bin2hex(id, sizeof id, the_room()->id, KL_STORE_ID);
    kl_wall_text(when, the_room()->start.epoch_s * 1000000);
    snprintf(name, sizeof name, "%.4s%.2s%.2s-%.2s%.2s%.2s-%s.klr", when, when + 5, when + 8, when + 11,
             when + 14, when + 17, id);
    read_files(); /* the tail as well, with the ticket */
    assert_null(only_kept());
    all_leave();
    assert_true(ended_frames("everyone left") >= canon_end);
    assert_string_equal(only_kept(), name);
    static const char address[] = "192.0.2.1";
    assert_non_null(memmem(bytes, bytes_len, "room", 4));
    assert_null(memmem(bytes, bytes_len, address, sizeof address - 1));
    assert_null(memmem(bytes, bytes_len, secret_of_door, sizeof secret_of_door));
    for (unsigned i = 0; i < PLAYERS; i++)
        assert_null(memmem(bytes, bytes_len, player[i].p.participant.status.welcome.token, KL_TOKEN_BYTES));
}

/* As a verifier gets it. */
TEST_WITH(a_recording_that_grows_is_copied_up_to_a_byte, make_folders, remove_folders) {
    static uint8_t copy[sizeof bytes];
    begin_game(KL_POLICY_BOUNDED);
    play(20 * SECOND);
    read_files();
    assert_true(bytes_len > 100);
    const uint8_t *id = the_room()->id;
    assert_true(kl_store_copy(journal->store, id, bytes_len - 1, in_kept("copy"), err, sizeof err));
    assert_int_equal(file_read(in_kept("copy"), copy, sizeof copy), bytes_len - 1);
    assert_memory_equal(copy, bytes, bytes_len - 1);
    assert_false(kl_store_copy(journal->store, id, bytes_len + 1, in_kept("more"), err, sizeof err));
    assert_non_null(strstr(err, "it became shorter"));
    assert_int_equal(kl_file_kind(in_kept("more")), KL_FILE_IS_NONE);
}

TEST_WITH(a_relay_that_is_killed_keeps_it_too, make_folders, remove_folders) {
    begin_game(KL_POLICY_BOUNDED);
    play(20 * SECOND);
    live_again(true);
    all_come_back(10);
    play(5 * SECOND);
    assert_null(only_kept());
    all_leave();
    assert_true(ended_frames("everyone left") >= canon_end);
}

/* Its name says so, also after a relay's death, and when nobody comes back. */
TEST_WITH(a_report_is_in_the_name, make_folders, remove_folders) {
    die();
    struct kl_msg m = {.kind = KL_MSG_COMMAND, .order = {KL_COMMAND_REPORT, 3, "odd"}};
    for (unsigned life = 1; life <= 3; life++) {
        char path[200];
        begin_life(now_us);
        keep();
        begin_game(KL_POLICY_BOUNDED);
        play(SECOND);
        say(player[1].peer, &m);
        play(20 * SECOND);
        if (life == 2) {
            live_again(true);
            all_come_back(10);
        }
        if (life == 3) live_again(false);
        if (life < 3)
            all_leave();
        else
            pass(62 * SECOND);
        assert_non_null(only_kept());
        assert_non_null(strstr(only_kept(), "-reported.klr"));
        snprintf(path, sizeof path, "new/%s", only_kept());
        assert_int_equal(unlink(in_kept(path)), 0);
        die();
    }
}

TEST_WITH(nobody_comes_back, make_folders, remove_folders) {
    begin_game(KL_POLICY_BOUNDED);
    play(20 * SECOND);
    uint32_t closed = written();
    live_again(false);
    pass(62 * SECOND);
    assert_null(only_room());
    assert_true(ended_frames("relay lost") >= closed);
}

/* It died between END and the move. */
TEST_WITH(an_ended_match_is_moved_later, make_folders, remove_folders) {
    begin_game(KL_POLICY_BOUNDED);
    play(3 * SECOND);
    read_files();
    kl_lobby_shut_down(lobby, now_us);
    uint32_t frames = ended_frames("the relay is shutting down");
    assert_true(frames >= canon_end);
    die();
    for (unsigned returns = 0; returns < 2; returns++) {
        char path[200];
        snprintf(path, sizeof path, "new/%s", only_kept());
        put_files(); /* `bytes` has END */
        assert_int_equal(unlink(in_kept(path)), 0);
        live_again(false);
        if (returns) {
            connect_peer(10);
            struct kl_msg m = a_return(0, 10, "room", player[0].p.participant.status.welcome.token);
            say(10, &m);
        }
        pass(62 * SECOND);
        assert_null(only_room());
        assert_int_equal(ended_frames("the relay is shutting down"), frames);
    }
}

/* As of a full disk: what it has is good, and its name says that it is not all. */
TEST_WITH(one_that_broke_off_says_so, make_folders, remove_folders) {
    die();
    journal_limits.room_bytes = 12000;
    begin_life(now_us);
    keep();
    begin_game(KL_POLICY_BOUNDED);
    play(60 * SECOND);
    assert_int_equal(the_room()->journal.state, KL_JOURNAL_OVER);
    all_leave();
    assert_int_equal(ended_frames(""), 0);
    assert_in_range(bytes_len, 5000, 12000);
}

TEST_WITH(one_that_gives_way_is_kept, make_folders, remove_folders) {
    die();
    journal_limits.all_bytes = KL_TAIL_BYTES + 12000;
    begin_life(now_us);
    keep();
    begin_game(KL_POLICY_BOUNDED);
    play(80 * SECOND);
    assert_null(only_room());
    assert_int_equal(ended_frames(""), 0);
    all_leave();
    assert_non_null(only_kept());
}

/* The folder is gone: the recording stays in the journal's, and the room's end waits for nothing. */
TEST_WITH(no_place_to_move_it_to, make_folders, remove_folders) {
    begin_game(KL_POLICY_BOUNDED);
    play(20 * SECOND);
    read_files();
    assert_int_equal(rmdir(in_kept("new")), 0);
    kl_lobby_shut_down(lobby, now_us);
    assert_int_equal(access(file_of(KL_ENDING_TAIL), F_OK), -1);
    assert_int_equal(access(file_of(KL_ENDING_RECORDING), F_OK), 0);
    die();
    assert_int_equal(mkdir(in_kept("new"), 0700), 0);
    begin_life(now_us);
    assert_int_equal(kl_lobby_rooms(lobby), 0);
}

/* Those of a room that was not told are removed, also if the relay records by now. */
TEST_WITH(a_room_that_was_not_told, make_folders, remove_folders) {
    begin_game(KL_POLICY_BOUNDED);
    the_room()->door.recorded = false;
    kl_lobby_changed(the_room(), true);
    play(20 * SECOND);
    live_again(true);
    assert_false(the_room()->door.recorded);
    all_come_back(10);
    all_leave();
    assert_null(only_kept());
}

TEST_WITH(a_folder_that_cannot_be_used, make_folders, remove_folders) {
    die();
    begin_life(now_us);
    file_write_text(in_kept("file"), "");
    assert_int_equal(kl_journal_keep_in(journal, in_kept("file"), limits, err, sizeof err), -1);
    assert_non_null(strstr(err, in_kept("file")));
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) skip();
    die();
    begin_life(now_us);
    assert_int_equal(mount("none", in_kept("new"), "tmpfs", 0, "size=500k,mode=700"), 0);
    assert_int_equal(kl_journal_keep_in(journal, kept_dir, limits, err, sizeof err), -1);
    assert_non_null(strstr(err, "Invalid cross-device link"));
    die();
    umount(in_kept("new"));
}

/* The first player's, who has signed; in whatever folder; not a reported one. The verifier is told, if there
 * is one. */
TEST_WITH(a_player_has_it_deleted, make_folders, remove_folders) {
    struct kl_msg m = {.kind = KL_MSG_SIGN, .sign = {.count = 1, .label = 1, .has = KL_HASH_RAM, .ram = 5}};
    uint8_t id[KL_STORE_ID], key[2][KL_SEAT_PUB];
    char room[KL_STORE_NAME], from[700], to[800];
    begin_game(KL_POLICY_BOUNDED);
    memcpy(id, the_room()->id, sizeof id);
    kl_sign_make(&m.sign, id, seat_key(player[0].peer));
    for (unsigned i = 0; i < 2; i++)
        memcpy(key[i], seat_key(player[i].peer)->pub, sizeof key[i]);
    play(3 * SECOND);
    say(player[0].peer, &m);
    play(20 * SECOND);
    all_leave();
    assert_int_equal(wished(id, key[1]), KL_KEPT_ANOTHERS);
    assert_int_equal(wished(key[0], key[0]), KL_KEPT_NONE);
    snprintf(from, sizeof from, "%s", in_kept("new/"));
    snprintf(from + strlen(from), sizeof from - strlen(from), "%s", only_kept());
    snprintf(to, sizeof to, "%.*s-reported.klr", (int)strlen(from) - 4, from);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(wished(id, key[0]), KL_KEPT_REPORTED);
    assert_int_equal(mkdir(in_kept("kept"), 0700), 0);
    assert_int_equal(mkdir(in_kept("forget"), 0700), 0);
    assert_int_equal(rename(to, in_kept("kept/20240506-070809-0.klr")), 0);
    assert_int_equal(wished(id, key[0]), KL_KEPT_NONE); /* by its name it is another's */
    sodium_bin2hex(room, sizeof room, id, sizeof id);
    snprintf(from, sizeof from, "%s", in_kept("kept/20240506-070809-0.klr"));
    snprintf(to, sizeof to, "%s/kept/20240506-070809-%s.2.klr", kept_dir, room);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(wished(id, key[0]), KL_KEPT_DELETED);
    assert_int_equal(access(to, F_OK), -1);
    snprintf(to, sizeof to, "%s/forget/%s", kept_dir, room);
    assert_int_equal(access(to, F_OK), 0);
    assert_int_equal(wished(id, key[0]), KL_KEPT_NONE);
}

/* --- bounds --- */

static void add(const char *name, size_t len) {
    static const char nothing[1000];
    file_write(in_kept(name), nothing, len, 0600);
}

static unsigned left(const char *const *names) {
    unsigned mask = 0;
    for (unsigned i = 0; names[i]; i++)
        mask |= (unsigned)(access(in_kept(names[i]), F_OK) == 0) << i;
    return mask;
}

TEST_WITH(the_oldest_goes_first, make_folders, remove_folders) {
    static const char *const names[] = {"new/20240401-000000-00-reported.klr",
                                        "kept/20240402-000000-11.klr",
                                        "new/20240403-000000-22-broken.klr",
                                        "new/20240404-000000-33.klr",
                                        "new/notes.klr",
                                        NULL};
    const uint64_t april_5_us = UINT64_C(1712275200000000);
    die(); /* with its own thread for this */
    assert_int_equal(mkdir(in_kept("kept"), 0700), 0);
    for (unsigned i = 0; names[i]; i++)
        add(names[i], 1000);
    kl_kept_tidy(kept_dir, (struct kl_kept_limits){4000, 3}, april_5_us);
    assert_int_equal(left(names), 31);
    kl_kept_tidy(kept_dir, (struct kl_kept_limits){4000, 2}, april_5_us);
    assert_int_equal(left(names), 29); /* the reported one may be older */
    kl_kept_tidy(kept_dir, (struct kl_kept_limits){2999, 2}, april_5_us);
    assert_int_equal(left(names), 25);
    kl_kept_tidy(kept_dir, (struct kl_kept_limits){1000, 2}, april_5_us);
    assert_int_equal(left(names), 17);
    kl_kept_tidy(kept_dir, (struct kl_kept_limits){1, 1000}, april_5_us);
    assert_int_equal(left(names), 16); /* not the relay's to remove */
}
