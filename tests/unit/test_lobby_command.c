/* test_lobby_command.c - wishes of players: a rematch, a load, an option, a disk; other files
 * that are opened in play. net/ROOMS.md §7, Wishes; net/relay/room/lobby_files.h. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_players.h"

#include "net/engine/command.h"
#include "net/relay/lobby/lobby_parts.h"

static unsigned reset_count, load_count, option_count; /* of the game, as the first player runs it */

static void count_resets(struct lobby_player *p, const struct kl_frame *f) {
    bool some = p == &player[0] && (f->flags & KL_FRAME_COMMANDS);
    const struct kl_commands *set = some ? kl_participant_commands(&p->p.participant, f->number) : NULL;
    for (unsigned i = 0; set && i < set->count; i++) {
        reset_count += set->at[i].kind == KL_COMMAND_RESET;
        load_count += set->at[i].kind == KL_COMMAND_LOAD;
        option_count += set->at[i].kind == KL_COMMAND_OPTION;
    }
}

static void begin_counting(void) {
    start_room(KL_POLICY_BOUNDED);
    reset_count = load_count = option_count = 0;
    on_frame = count_resets;
}

static const struct kl_text *newest_notice(unsigned peer) {
    return &heard(peer, KL_MSG_NOTICE)->text;
}

static void reset_by(unsigned peer) {
    say(peer, &(struct kl_msg){.kind = KL_MSG_COMMAND, .order = {.kind = KL_COMMAND_RESET}});
}

TEST_WITH(a_rematch_needs_more_than_half, set_up_watched, tear_down) {
    begin_counting();
    play(2 * SECOND);
    reset_by(0);
    play(SECOND);
    assert_int_equal(reset_count, 0);
    assert_string_equal(newest_notice(0)->text, "you asked for a rematch: 1 of 3 players agree");
    for (unsigned i = 1; i < PLAYERS; i++) {
        assert_int_equal(newest_notice(i)->code, KL_NOTICE_AGAIN);
        assert_string_equal(newest_notice(i)->text, "p0 (1) wants a rematch: agree within 10 s");
    }
    for (unsigned i = 0; i < 5; i++) /* again and again: it stays one wish */
        reset_by(0);
    play(SECOND);
    assert_int_equal(reset_count, 0);
    reset_by(2);
    play(SECOND);
    assert_int_equal(reset_count, 1);
    reset_by(1); /* the wishes before are used up */
    play(SECOND);
    assert_int_equal(reset_count, 1);
    play(10 * SECOND);
    reset_by(2); /* the wish before is over */
    play(SECOND);
    assert_int_equal(reset_count, 1);
}

TEST_WITH(a_rematch_of_one, set_up_watched, tear_down) {
    begin_counting();
    play(2 * SECOND);
    order(2, KL_COMMAND_SEAT, 0);
    play(SECOND);
    reset_by(2); /* without a seat */
    assert_string_equal(newest_notice(2)->text, "only players can ask for that");
    reset_by(0);
    play(SECOND);
    assert_int_equal(reset_count, 0); /* of two */
    cut(1);
    play(11 * SECOND);
    reset_by(0);
    play(SECOND);
    assert_int_equal(reset_count, 1); /* the other one is away */
    order(2, KL_COMMAND_SEAT, 1);
    reset_by(0); /* at once: the other one counts before the first sample */
    play(SECOND);
    assert_int_equal(reset_count, 1);
}

static void option_by(unsigned peer, const char *text) {
    struct kl_msg m = {.kind = KL_MSG_COMMAND,
                       .order = {.kind = KL_COMMAND_OPTION, .len = (uint8_t)strlen(text)}};
    memcpy(m.order.data, text, strlen(text));
    say(peer, &m);
}

TEST_WITH(an_option_needs_more_than_half_or_the_host, set_up_watched, tear_down) {
    begin_counting();
    play(2 * SECOND);
    option_by(1, "speed=fast");
    play(SECOND);
    assert_int_equal(option_count, 0);
    assert_int_equal(newest_notice(2)->code, KL_NOTICE_AGAIN);
    assert_string_equal(newest_notice(2)->text, "p1 (2) wants speed=fast: agree within 10 s");
    assert_string_equal(newest_notice(1)->text, "you asked for speed=fast: 1 of 3 players agree");
    option_by(2, "speed=slow"); /* another wish */
    assert_string_equal(newest_notice(2)->text, "p1 (2) wants speed=fast: agree, or wait");
    play(SECOND);
    assert_int_equal(option_count, 0);
    option_by(0, "speed=slow"); /* the host's own */
    play(SECOND);
    assert_int_equal(option_count, 1);
    option_by(2, "speed=fast"); /* the same */
    play(SECOND);
    assert_int_equal(option_count, 2);
    option_by(1, "speed=slow"); /* the last one was shared */
    reset_by(2);                /* the key that agrees */
    play(SECOND);
    assert_int_equal(option_count, 3);
    assert_int_equal(reset_count, 0);
}

static void saved_by(unsigned peer, uint32_t keyframe) {
    struct kl_msg m = {.kind = KL_MSG_COMMAND, .order = {.kind = KL_COMMAND_SAVED, .len = KL_SAVED_BYTES}};
    m.order.data[0] = (uint8_t)keyframe;
    m.order.data[4] = true;
    say(peer, &m);
}

static void load_by(unsigned peer, uint32_t keyframe) {
    struct kl_msg m = {.kind = KL_MSG_COMMAND, .order = {.kind = KL_COMMAND_LOAD, .len = KL_LOAD_BYTES}};
    m.order.data[0] = (uint8_t)keyframe;
    say(peer, &m);
}

TEST_WITH(a_load_needs_more_than_half_and_the_state, set_up_watched, tear_down) {
    begin_counting();
    play(2 * SECOND);
    for (unsigned i = 0; i < PLAYERS; i++)
        saved_by(i, 60);
    load_by(0, 60);
    play(SECOND);
    assert_int_equal(load_count, 0);
    assert_string_equal(newest_notice(1)->text, "p0 (1) wants the saved state: agree within 10 s");
    saved_by(2, 61); /* meanwhile */
    load_by(1, 60);
    play(SECOND);
    assert_int_equal(load_count, 0);
    for (unsigned i = 0; i < PLAYERS; i++)
        saved_by(i, 61);
    load_by(0, 61);
    load_by(1, 61);
    play(SECOND);
    assert_int_equal(load_count, 1);
}

TEST_WITH(a_wish_that_nobody_shares_bars_its_player, set_up_watched, tear_down) {
    begin_counting();
    play(2 * SECOND);
    option_by(1, "speed=fast");
    play(11 * SECOND);
    reset_by(1);
    assert_string_equal(newest_notice(1)->text, "the others did not agree: ask again in 19 s");
    reset_by(2); /* another's wish */
    assert_string_equal(newest_notice(1)->text, "p2 (3) wants a rematch: agree within 10 s");
    reset_by(1);
    play(SECOND);
    assert_int_equal(reset_count, 1);
    play(20 * SECOND);
    reset_by(1);
    assert_string_equal(newest_notice(2)->text, "p1 (2) wants a rematch: agree within 10 s");
}

TEST_WITH(a_wish_ends_with_its_player, set_up_watched, tear_down) {
    begin_counting();
    play(2 * SECOND);
    reset_by(1);
    bye(1);
    play(SECOND);
    reset_by(2);
    assert_string_equal(newest_notice(0)->text, "p2 (3) wants a rematch: agree within 10 s");
    play(SECOND);
    assert_int_equal(reset_count, 0);
}

/* --- the saved state --- */

static struct kl_lobby_room *room;

static int begin_saved(void **state) {
    set_up(state);
    start_game_of(3);
    room = the_room();
    return 0;
}

/* In a room that has closed so many frames. */
static void say_at(uint32_t frame, unsigned peer, const struct kl_msg *m) {
    uint8_t bytes[KL_MSG_MAX];
    uint32_t was = room->lock.next_close;
    int len = kl_msg_encode(m, bytes, sizeof bytes);
    room->lock.next_close = frame;
    kl_lobby_message(lobby, peer, bytes, (size_t)len, now_us);
    room->lock.next_close = was;
}

static void tell(unsigned peer, uint32_t keyframe, bool has, uint8_t hash) {
    struct kl_msg m = {.kind = KL_MSG_COMMAND, .order = {.kind = KL_COMMAND_SAVED, .len = KL_SAVED_BYTES}};
    m.order.data[0] = (uint8_t)keyframe;
    m.order.data[1] = (uint8_t)(keyframe >> 8);
    m.order.data[4] = has;
    m.order.data[5] = hash;
    say_at(1000, peer, &m);
}

static void ask(unsigned peer, uint32_t keyframe) {
    struct kl_msg m = {.kind = KL_MSG_COMMAND, .order = {.kind = KL_COMMAND_LOAD, .len = KL_LOAD_BYTES}};
    m.order.data[0] = (uint8_t)keyframe;
    m.order.data[1] = (uint8_t)(keyframe >> 8);
    say_at(1000, peer, &m);
}

static unsigned queued(unsigned client) {
    return room->lock.client[client].queued;
}

/* Everybody is told. */
static void refused(const char *text) {
    for (unsigned i = 0; i < 3; i++) {
        if (inbox[i].hung_up) continue;
        const struct kl_msg *m = heard(i, KL_MSG_NOTICE);
        assert_non_null(m);
        assert_string_equal(m->text.text, text);
    }
}

TEST_WITH(all_or_none, begin_saved, tear_down) {
    ask(0, 100);
    assert_int_equal(queued(0), 0);
    refused("did not load the save of frame 100: p0 (1) has not run that save yet");
    tell(0, 100, true, 5);
    tell(1, 100, true, 5);
    ask(0, 100);
    assert_int_equal(queued(0), 0);
    refused("did not load the save of frame 100: p2 (3) has not run that save yet");
    tell(2, 100, false, 0);
    ask(0, 100);
    assert_int_equal(queued(0), 0);
    refused("did not load the save of frame 100: p2 (3) could not save it");
    tell(2, 100, true, 6);
    ask(0, 100);
    assert_int_equal(queued(0), 0);
    refused("did not load the save of frame 100: p2 (3) has another save, out of sync");
    tell(2, 100, true, 5);
    ask(1, 100);
    assert_int_equal(queued(1), 0);
    ask(0, 100); /* two of three want it */
    assert_int_equal(queued(1), 1);
    tell(1, 200, true, 7);
    ask(0, 100);
    assert_int_equal(queued(0), 0);
    refused("did not load the save of frame 100: p1 (2) has a newer save");
}

/* A player who is away runs the save before the load. A player who said they have nothing would not. */
TEST_WITH(members_that_are_gone_do_not_count, begin_saved, tear_down) {
    tell(0, 100, true, 5);
    tell(1, 100, true, 5);
    lose(2);
    ask(0, 100);
    ask(1, 100);
    assert_int_equal(queued(0), 1);
    tell(1, 200, false, 0);
    tell(0, 200, true, 5);
    lose(1);
    ask(0, 200);
    assert_int_equal(queued(0), 1);
    refused("did not load the save of frame 200: p1 (2) could not save it");
}

TEST_WITH(nonsense_changes_nothing, begin_saved, tear_down) {
    struct kl_msg m = {.kind = KL_MSG_COMMAND, .order = {.kind = KL_COMMAND_LOAD}};
    for (unsigned i = 0; i < 3; i++)
        tell(i, 100, true, 5);
    say_at(1000, 0, &m); /* names no keyframe */
    assert_int_equal(queued(0), 0);
    tell(1, 1000, true, 5); /* of a frame that nobody can have run */
    m.order = (struct kl_order){.kind = KL_COMMAND_SAVED, .len = KL_SAVED_BYTES, .data = {90, 0, 0, 0, 2}};
    say_at(1000, 1, &m);
    m.order.len--;
    say_at(1000, 1, &m);
    ask(0, 100);
    ask(1, 100);
    assert_int_equal(queued(0), 1);
}

TEST_WITH(by_the_operator, begin_saved, tear_down) {
    const struct kl_order load = {.kind = KL_COMMAND_LOAD};
    assert_int_equal(kl_lobby_order_command(room, &load, now_us), KL_E_STATE); /* nothing is saved */
    for (unsigned i = 0; i < 3; i++)
        tell(i, 100, true, 5);
    tell(1, 300, true, 5);
    assert_int_equal(kl_lobby_order_command(room, &load, now_us), KL_E_STATE);
    refused("did not load the save of frame 300: p0 (1) has not run that save yet");
    tell(0, 300, true, 5);
    tell(2, 300, true, 5);
    assert_int_equal(kl_lobby_order_command(room, &load, now_us), KL_OK);
    assert_int_equal(room->lock.relay.queued, 1);
    assert_memory_equal(room->lock.relay.queue[0].data, ((uint8_t[]){0x2c, 1, 0, 0}), KL_LOAD_BYTES);
}

/* --- files --- */

static struct kl_lobby_room *room;

static int begin(void **state) {
    set_up(state);
    start_game_of(3);
    room = the_room();
    return 0;
}

/* A member's command, to be given to the room at a keyframe. */
static void want_disk(unsigned peer, uint16_t disk) {
    struct kl_msg m = {.kind = KL_MSG_COMMAND, .order = {.kind = KL_COMMAND_DISK, .len = 2}};
    m.order.data[0] = (uint8_t)disk;
    m.order.data[1] = (uint8_t)(disk >> 8);
    speak(peer, &m);
}

static void said(unsigned peer, uint16_t disk, enum kl_file_is is, uint64_t hash, const char *name) {
    struct kl_msg m = {.kind = KL_MSG_FILE,
                       .file = {.disk = disk, .is = (uint8_t)is, .hash = hash, .bytes = 9}};
    snprintf(m.file.name, sizeof m.file.name, "%s", name);
    speak(peer, &m);
}

static unsigned given(unsigned peer) {
    unsigned count = 0;
    for (unsigned i = 0; i < room->lock.client[peer].queued; i++)
        count += room->lock.client[peer].queue[i].kind == KL_COMMAND_DISK;
    return count;
}

/* One run that judges, without frames that would take the queue away. */
static void judge(void) {
    kl_lobby_files_run(room, now_us);
}

static bool asked(unsigned peer, uint16_t disk) {
    const struct kl_msg *m = heard(peer, KL_MSG_CHECK);
    return m && m->check.disk == disk;
}

TEST_WITH(in_if_all_say_the_same, begin, tear_down) {
    want_disk(1, 2);
    for (unsigned i = 0; i < 3; i++)
        assert_true(asked(i, 2));
    said(0, 2, KL_FILE_HERE, 5, "d2.chd");
    said(1, 2, KL_FILE_BUSY, 0, "d2.chd");
    said(2, 2, KL_FILE_HERE, 5, "d2.chd");
    said(1, 1, KL_FILE_HERE, 5, "d2.chd"); /* of another disk */
    judge();
    assert_int_equal(given(1), 0);
    said(1, 2, KL_FILE_HERE, 5, "d2.chd");
    judge();
    assert_int_equal(given(1), 1);
    judge();
    assert_int_equal(given(1), 1);
}

TEST_WITH(a_difference_is_named_and_nothing_goes_in, begin, tear_down) {
    want_disk(0, 1);
    said(0, 1, KL_FILE_HERE, 5, "game2.chd");
    said(1, 1, KL_FILE_HERE, 6, "game2.chd");
    said(2, 1, KL_FILE_MISSING, 0, "game2.chd");
    judge();
    assert_int_equal(given(0), 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(told(i, "p1: disk 2 differs (game2.chd)"));
        assert_true(told(i, "p2: disk 2 is missing (game2.chd)"));
    }
    assert_false(told(0, "p0: disk 2 differs (game2.chd)"));
    want_disk(0, 1); /* they have put it right */
    for (unsigned i = 0; i < 3; i++)
        said(i, 1, KL_FILE_HERE, 5, "game2.chd");
    judge();
    assert_int_equal(given(0), 1);
}

/* A guest that says nothing of the disk that it wants keeps nobody's away; a host's is not taken away. */
TEST_WITH(the_hosts_disk_takes_the_place_of_a_guests, begin, tear_down) {
    want_disk(1, 9);
    want_disk(0, 1);
    assert_true(asked(1, 1));
    want_disk(1, 9);
    for (unsigned i = 0; i < 3; i++)
        said(i, 1, KL_FILE_HERE, 5, "a");
    judge();
    assert_int_equal(given(0), 1);
    assert_int_equal(given(1), 0);
}

/* Two say the same: the host is alone, whoever asked. */
TEST_WITH(the_majority_is_right, begin, tear_down) {
    want_disk(0, 1);
    said(0, 1, KL_FILE_HERE, 5, "a");
    said(1, 1, KL_FILE_HERE, 6, "a");
    said(2, 1, KL_FILE_HERE, 6, "a");
    judge();
    assert_true(told(2, "p0: disk 2 differs (a)"));
    assert_false(told(2, "p1: disk 2 differs (a)"));
}

TEST_WITH(unknown_files_and_missing_numbers, begin, tear_down) {
    want_disk(0, 1);
    for (unsigned i = 0; i < 3; i++)
        said(i, 1, KL_FILE_UNKNOWN, 0, "");
    judge();
    assert_int_equal(given(0), 1);
    want_disk(1, 9);
    for (unsigned i = 0; i < 3; i++)
        said(i, 9, KL_FILE_NO_DISK, 0, "");
    judge();
    assert_int_equal(given(1), 1); /* none everywhere */
    want_disk(2, 3);
    said(0, 3, KL_FILE_HERE, 1, "x");
    said(1, 3, KL_FILE_NO_DISK, 0, "");
    said(2, 3, KL_FILE_HERE, 1, "x");
    judge();
    assert_int_equal(given(2), 0);
    assert_true(told(0, "p1 has no disk 4: it stays out"));
    want_disk(2, KL_DISK_NONE); /* needs no look */
    assert_int_equal(given(2), 1);
}

TEST_WITH(whoever_says_nothing_is_named, begin, tear_down) {
    want_disk(0, 1);
    said(0, 1, KL_FILE_HERE, 5, "a");
    said(1, 1, KL_FILE_HERE, 5, "a");
    now_us += KL_CHECK_TOLD_US;
    judge();
    assert_true(told(1, "checking disk 2: waiting for p2 (3)"));
    now_us += KL_CHECK_US;
    judge();
    assert_true(told(1, "disk 2 stays out: no word from p2 (3)"));
    said(2, 1, KL_FILE_HERE, 5, "a"); /* too late */
    judge();
    assert_int_equal(given(0), 0);
}

/* A machine that reads on has more time, but not for ever; one that repeats itself has not. */
TEST_WITH(progress_has_time_and_an_end, begin, tear_down) {
    struct kl_msg m = {.kind = KL_MSG_FILE, .file = {.disk = 1, .is = KL_FILE_BUSY, .bytes = 1}};
    want_disk(0, 1);
    said(0, 1, KL_FILE_HERE, 5, "a");
    said(1, 1, KL_FILE_HERE, 5, "a");
    uint64_t from_us = now_us;
    while (room->start.files->check.on) {
        now_us += KL_CHECK_MORE_US / 2;
        m.file.bytes++;
        speak(2, &m);
        judge();
        assert_true(now_us - from_us <= KL_CHECK_MOST_US + KL_CHECK_MORE_US);
    }
    assert_true(now_us - from_us >= KL_CHECK_MOST_US);
    want_disk(0, 1);
    from_us = now_us;
    while (room->start.files->check.on) {
        now_us += KL_CHECK_MORE_US / 2;
        speak(2, &m);
        judge();
    }
    assert_true(now_us - from_us <= KL_CHECK_US + KL_CHECK_MORE_US);
}

TEST_WITH(one_disk_at_a_time_and_so_many_a_minute, begin, tear_down) {
    want_disk(0, 1);
    want_disk(1, 2);
    assert_true(told(1, "another disk is being checked: wait for it"));
    want_disk(1, 1); /* the same */
    for (unsigned i = 0; i < 20; i++)
        want_disk(2, 1);
    assert_true(told(2, "too many disks a minute: the last one was dropped"));
    assert_false(told(0, "too many disks a minute: the last one was dropped"));
}

TEST_WITH(players_that_leave_and_come_back, begin, tear_down) {
    want_disk(1, 1);
    said(0, 1, KL_FILE_HERE, 5, "a");
    lose(2); /* its seat is kept, and it is not waited for */
    said(1, 1, KL_FILE_HERE, 5, "a");
    judge();
    assert_int_equal(given(1), 1);
    want_disk(1, 2);
    bye(1);
    said(0, 2, KL_FILE_HERE, 5, "a");
    pass(3 * SECOND); /* its last samples */
    judge();
    assert_true(told(0, "disk 3 stays out: its player has left"));
}

TEST_WITH(a_disk_by_the_operator, begin, tear_down) {
    const struct kl_order o = {.kind = KL_COMMAND_DISK, .len = 2, .data = {1}};
    assert_int_equal(kl_lobby_order_command(room, &o, now_us), KL_OK);
    assert_int_equal(room->lock.relay.queued, 0);
    for (unsigned i = 0; i < 3; i++)
        said(i, 1, KL_FILE_HERE, 5, "a");
    judge();
    assert_int_equal(room->lock.relay.queued, 1);
}

/* --- other files --- */

static void opened(unsigned peer, const char *name, enum kl_file_is is, uint64_t hash) {
    struct kl_msg m = {.kind = KL_MSG_FILE,
                       .file = {.late = true, .is = (uint8_t)is, .hash = hash, .bytes = 9}};
    snprintf(m.file.name, sizeof m.file.name, "%s", name);
    speak(peer, &m);
}

TEST_WITH(a_late_file_that_differs_is_named_once, begin, tear_down) {
    opened(0, "data2.pak", KL_FILE_HERE, 5);
    opened(1, "data2.pak", KL_FILE_HERE, 6);
    judge();
    assert_false(told(0, "p1's file data2.pak differs"));
    opened(2, "data2.pak", KL_FILE_HERE, 5);
    now_us += KL_LATE_US;
    judge();
    for (unsigned i = 0; i < 3; i++)
        assert_true(told(i, "p1's file data2.pak differs"));
    assert_false(told(0, "p0's file data2.pak differs"));
    unsigned count = inbox[0].count;
    opened(1, "data2.pak", KL_FILE_HERE, 7);
    now_us += KL_LATE_US;
    judge();
    assert_int_equal(inbox[0].count, count);
    opened(2, "cfg", KL_FILE_MISSING, 0);
    opened(0, "cfg", KL_FILE_HERE, 0);
    now_us += KL_LATE_US;
    judge();
    assert_true(told(1, "p2 lacks the file cfg"));
}

TEST_WITH(equal_files_are_no_news, begin, tear_down) {
    unsigned count = inbox[0].count;
    for (unsigned i = 0; i < 3; i++) {
        opened(i, "a", KL_FILE_HERE, 5);
        opened(i, "b", KL_FILE_MISSING, i); /* the hash of a missing file is none */
    }
    now_us += KL_LATE_US;
    judge();
    assert_int_equal(inbox[0].count, count);
}

/* One member cannot use up the room's places, and its bytes do no harm on screens. */
TEST_WITH(a_liar_is_bounded, begin, tear_down) {
    char name[KL_FILE_NAME_MAX];
    for (unsigned i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "x%u", i);
        opened(1, name, KL_FILE_HERE, i);
    }
    assert_int_equal(room->start.files->lates, KL_LATE_FILES);
    opened(0, "a\x1b\xff", KL_FILE_HERE, 5);
    opened(2, "a\x1b\xff", KL_FILE_HERE, 6);
    now_us += KL_LATE_US;
    judge();
    assert_true(told(0, "p2's file a?? differs"));
}

TEST_WITH(a_watcher_is_told_of_its_own, set_up_watched, tear_down) {
    struct kl_msg m = {.kind = KL_MSG_FILE,
                       .file = {.late = true, .is = KL_FILE_HERE, .hash = 6, .name = "a"}};
    start_room(KL_POLICY_BOUNDED);
    watches(0);
    play(SECOND);
    speak(AT_PEER, &m); /* nobody else has opened it */
    assert_false(told(AT_PEER, "your file a differs"));
    opened(0, "a", KL_FILE_HERE, 5);
    speak(AT_PEER, &m);
    assert_true(told(AT_PEER, "your file a differs"));
    assert_false(told(0, "your file a differs"));
    m.file.late = false; /* a disk is no business of a watcher's */
    speak(AT_PEER, &m);
    assert_false(inbox[AT_PEER].hung_up);
}
