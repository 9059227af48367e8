/* The panel's and the card's words for each state. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "tests/lib/panel_pair.h"

#define LEAVE "/Leave: hold Select+B 2 s (right Shift+Z)"
#define PANEL "/Panel: hold Select 0.4 s, press R (right Shift, W)"

static void check_words(const struct kl_panel *p, enum kl_panel_tone tone, const char *words, int percent) {
    char line[KL_PANEL_LINE];
    int got;
    assert_int_equal(kl_panel_state(p, line, &got), tone);
    assert_string_equal(line, words);
    assert_int_equal(got, percent);
}

TEST(quiet_when_all_is_well) {
    struct kl_panel p = panel_pair();
    p.backlog = 2;
    p.stalls = 7;
    p.late = 100;
    check_words(&p, KL_PANEL_QUIET, "", -1);
    p.stalled = true;
    p.state_us = 400000; /* over before it is read */
    check_words(&p, KL_PANEL_QUIET, "", -1);
    p.stage = KL_PANEL_LOCAL;
    check_words(&p, KL_PANEL_QUIET, "", -1);
}

TEST(each_stage_says_what_is_awaited) {
    struct kl_panel p = panel_pair();
    p.stage = KL_PANEL_REACHING;
    p.state_us = 2500000;
    check_words(&p, KL_PANEL_INFO, "reaching relay:55435  2 s", -1);
    p.stage = KL_PANEL_FILLING;
    p.state_us = 65000000;
    check_words(&p, KL_PANEL_INFO, "waiting (1/2)  1:05  room pair", -1);
    strcpy(p.link, "keylock://relay.example.org/pair"); /* the host's */
    check_words(&p, KL_PANEL_INFO, "waiting (1/2)  1:05  keylock://relay.example.org/pair", -1);
    p.filled = 2; /* nobody else is awaited: what it starts with is the host's to bring */
    check_words(&p, KL_PANEL_INFO, "waiting for this machine to start the game  1:05", -1);
    p.member[1].host = true;
    check_words(&p, KL_PANEL_INFO, "waiting for bob (2) to start the game  1:05", -1);
    p.member[1].host = false;
    p.stage = KL_PANEL_FETCHING;
    p.data_done = 1024 * 300;
    p.data_total = 1024 * 1200;
    check_words(&p, KL_PANEL_INFO, "loading (300 of 1200 KB)", 25);
    p.stage = KL_PANEL_READYING;
    p.member[1].loading = true;
    check_words(&p, KL_PANEL_INFO, "waiting for bob (2) to load  1:05", -1);
    p.filled = 1; /* bob has left again */
    check_words(&p, KL_PANEL_INFO, "waiting (1/2)  1:05  keylock://relay.example.org/pair", -1);
    p.waits_way = true;
    check_words(&p, KL_PANEL_INFO, "waiting for the room's state  1:05", -1);
    p.stage = KL_PANEL_RETURNING;
    p.state_us = 12900000;
    p.seat_time_s = 60;
    check_words(&p, KL_PANEL_WARNING, "connection lost, returning (12 s of 60 s)", -1);
    p.stage = KL_PANEL_BROKEN;
    strcpy(p.reason, "a required file is missing: arcbios.rom");
    check_words(&p, KL_PANEL_WARNING, "not loaded: a required file is missing: arcbios.rom", -1);
    p.reason[0] = 0;
    p.stage = KL_PANEL_ENDED;
    check_words(&p, KL_PANEL_ERROR, "the room is over", -1);
    p.begun = true;
    strcpy(p.reason, "the relay is gone");
    check_words(&p, KL_PANEL_ERROR, "the relay is gone", -1);
}

TEST(files_that_are_read_show_how_far) {
    struct kl_panel p = panel_pair();
    p.checks = true;
    p.check_disk = 2;
    p.check_percent = 40;
    check_words(&p, KL_PANEL_INFO, "checking disk 2: 40 %", 40);
    p.check_disk = 0;
    p.stage = KL_PANEL_FETCHING;
    check_words(&p, KL_PANEL_INFO, "checking the game's files: 40 %", 40);
    p.stage = KL_PANEL_ENDED;
    strcpy(p.reason, "the relay is gone");
    check_words(&p, KL_PANEL_ERROR, "the relay is gone", -1);
}

TEST(a_stall_names_whom_it_waits_for) {
    struct kl_panel p = panel_pair();
    p.stalled = true;
    p.state_us = 3000000;
    check_words(&p, KL_PANEL_WARNING, "waiting for the relay  3 s", -1);
    p.member[1].lacking = true;
    check_words(&p, KL_PANEL_WARNING, "waiting for bob (2)  3 s", -1);
    p.member[1].away = true;
    check_words(&p, KL_PANEL_WARNING, "waiting for bob (2) (away)  3 s", -1);
    p.member[1].lost = true;
    check_words(&p, KL_PANEL_WARNING, "waiting for bob (2) (connection lost)  3 s", -1);
    p.you_lack = true;
    check_words(&p, KL_PANEL_WARNING, "waiting for the relay  3 s", -1);
    p.paused = true;
    check_words(&p, KL_PANEL_INFO, "paused  3 s", -1);
    strcpy(p.goes_on, "Select+L"); /* for one who has come in a pause, and was not asked */
    check_words(&p, KL_PANEL_INFO, "paused  3 s  Go on? (Select+L)", -1);
    strcpy(p.question, "machines differ in RAM: you, bob (2). Go on? (Select+L)");
    check_words(&p, KL_PANEL_WARNING, p.question, -1);
    p.desync = p.desync_is_news = true;
    check_words(&p, KL_PANEL_WARNING, p.question, -1);
    p.desync = p.desync_is_news = false;
    p.question[0] = 0;
}

TEST(coming_back_shows_progress) {
    struct kl_panel p = panel_pair();
    p.absent = true;
    check_words(&p, KL_PANEL_INFO, "coming back: your pad works again in a moment", -1);
    p.catch_up = 200;
    p.behind = 150;
    check_words(&p, KL_PANEL_INFO, "catching up: 150 frames left", 25);
    p.too_slow = true;
    check_words(&p, KL_PANEL_WARNING, "too slow to catch up: close other programs", 25);
    p.machine_fps = 48;
    p.core_fps = 60;
    check_words(&p, KL_PANEL_WARNING, "too slow to catch up: 48 frames a second, expected over 60", 25);
    p.too_slow = false;
    p.behind = 300; /* it grew since */
    check_words(&p, KL_PANEL_INFO, "catching up: 300 frames left", 0);
    p.begins = true;
    p.shot_done = 1024 * 400;
    p.shot_total = 1024 * 4000;
    check_words(&p, KL_PANEL_INFO, "fetching the room's state: 400 of 4000 KB", 10);
    p.left_s = 65;
    check_words(&p, KL_PANEL_INFO, "fetching the room's state: 400 of 4000 KB, 1:05", 10);
}

TEST(a_desync_says_where_and_who) {
    struct kl_panel p = panel_pair();
    p.desync = true;
    p.desync_frame = 1199;
    p.desync_part = "picture";
    check_words(&p, KL_PANEL_ERROR, "out of sync since frame 1199: picture (no majority)", -1);
    p.member[1].alone = true;
    check_words(&p, KL_PANEL_ERROR, "out of sync since frame 1199: picture (alone: bob (2))", -1);
    p.member[0].alone = true;
    check_words(&p, KL_PANEL_ERROR, "out of sync since frame 1199: picture (alone: you, bob (2))", -1);
    p.plays_on = true;
    check_words(&p, KL_PANEL_WARNING, "machines differ since frame 1199: picture (alone: you, bob (2))", -1);
    p.plays_on = false;
    p.paused = true; /* a lasting line gives way to news only */
    check_words(&p, KL_PANEL_INFO, "paused  0 s", -1);
    p.desync_is_news = true;
    check_words(&p, KL_PANEL_ERROR, "out of sync since frame 1199: picture (alone: you, bob (2))", -1);
}

/* The lines of the card, with '/' between. */
static void check_card(const struct kl_panel *p, const char *words) {
    static struct kl_card card;
    char all[KL_CARD_LINES * KL_PANEL_LINE] = "";
    bool any = kl_panel_card(p, &card);
    for (unsigned i = 0; any && i < card.count; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? "/" : "", card.line[i]);
    assert_string_equal(all, words);
}

TEST(a_card_says_what_is_awaited_and_what_to_do) {
    struct kl_panel p = panel_pair();
    p.state_us = 12000000;
    p.leave = (struct kl_panel_key){"Select+B", "right Shift+Z"};
    p.panel = (struct kl_panel_key){"Select 0.4 s, press R", "right Shift, W"};
    p.leave_s = 2;
    check_card(&p, "");
    p.stage = KL_PANEL_FILLING;
    check_card(&p, "Waiting for 1 player 12 s/Your friend: same core, same game, room \"pair\"" PANEL LEAVE);
    p.practises = true;
    strcpy(p.link, "keylock://r/pair");
    check_card(&p, "Waiting for 1 player 12 s/Your friend: same core, same game, room \"pair\", or this "
                   "link:/keylock://r/pair/Practice: the match starts anew" PANEL LEAVE);
    p.stage = KL_PANEL_READYING; /* bob has left again */
    check_card(&p, "Waiting for 1 player 12 s/Your friend: same core, same game, room \"pair\", or this "
                   "link:/keylock://r/pair/Practice: the match starts anew" PANEL LEAVE);
    strcpy(p.beside, "friends");
    check_card(&p,
               "Waiting for 1 player 12 s/Your friend: same core, same game, room \"pair\", or this "
               "link:/keylock://r/pair/This game is also open in room \"friends\"/Practice: the match starts "
               "anew" LEAVE);
    p.beside[0] = 0;
    p.record_days = 30;
    check_card(&p, "Waiting for 1 player 12 s/Your friend: same core, same game, room \"pair\", or this "
                   "link:/keylock://r/pair/Practice: the match starts anew" PANEL
                   "/Recorded by the relay, kept 30 days" LEAVE);
    p.record_days = 0;
    p.found_matches = true; /* no friend is awaited */
    check_card(&p, "Waiting for 1 player 12 s/Practice: the match starts anew" PANEL LEAVE);
    p.filled = 2;
    p.member[1].loading = true;
    check_card(&p, "Waiting for bob (2) to load  12 s" LEAVE);
    p.record_days = 1;
    p.saves_recorded = true;
    check_card(
        &p,
        "Waiting for bob (2) to load  12 s/Recorded, kept 1 day, with your saves (or: saves = off)" LEAVE);
    p.record_days = 0;
    p.stage = KL_PANEL_LOOKING;
    check_card(&p, "Looking for a match  12 s/Practice: the match starts anew" LEAVE);
    p.stage = KL_PANEL_REACHING;
    p.state_us = 2000000;
    check_card(&p, "Calling the relay relay:55435  2 s" LEAVE);
    p.retries = true;
    check_card(&p, "No answer, trying again: relay:55435  2 s/Is its name right? Is it running?" LEAVE);
    p.stage = KL_PANEL_RETURNING;
    p.seat_time_s = 60;
    check_card(&p, "Connection lost, trying again  2 s/Your place is kept for 58 s more" LEAVE);
    p.stage = KL_PANEL_ENDED;
    strcpy(p.reason, "Wrong password: set the right one, then try again");
    check_card(&p, "Wrong password: set the right one, then try again");
    p.again = (struct kl_panel_key){"Select 0.4 s, press X", "right Shift, S"};
    check_card(&p, "Wrong password: set the right one, then try again/Try again: hold Select 0.4 s, press X "
                   "(right Shift, S)");
    p.again = (struct kl_panel_key){"Select 0.4 s, press L3", ""}; /* no key of a keyboard */
    check_card(&p,
               "Wrong password: set the right one, then try again/Try again: hold Select 0.4 s, press L3");
    p.stage = KL_PANEL_READYING;
    p.leave.pad[0] = p.panel.pad[0] = 0; /* no hot keys */
    check_card(&p, "Waiting for bob (2) to load  2 s/Leave: Core Options, Play, Alone");
}

TEST(a_state_of_another_match_is_asked_about) {
    struct kl_panel p = panel_pair();
    p.stage = KL_PANEL_ASKING;
    strcpy(p.asks, "frame 600 of match cup-3: ann (1), bob (2)");
    p.leave = (struct kl_panel_key){"Select+B", "right Shift+Z"};
    p.leave_s = 2;
    check_words(&p, KL_PANEL_WARNING, "begin with frame 600 of match cup-3: ann (1), bob (2)?", -1);
#define ASKED                                                                                                \
    "Begin with a state of another match?/It is frame 600 of match cup-3: ann (1), bob (2)/A state can do "  \
    "harm: agree if you trust its maker/Yes: "
    check_card(&p, ASKED "keylock command again" LEAVE); /* no hot keys */
    p.again = (struct kl_panel_key){"Select 0.4 s, press X", "right Shift, S"};
    check_words(&p, KL_PANEL_WARNING,
                "begin with frame 600 of match cup-3: ann (1), bob (2)? Yes: hold Select 0.4 s, press X", -1);
    check_card(&p, ASKED "hold Select 0.4 s, press X (right Shift, S)" LEAVE);
    memset(p.asks, 'a', sizeof p.asks - 1);
    char line[KL_PANEL_LINE];
    int percent;
    kl_panel_state(&p, line, &percent);
    assert_true(strlen(line) < KL_PANEL_LINE);
}

TEST(the_begin_names_all_players) {
    struct kl_panel p = panel_pair();
    char line[KL_PANEL_LINE];
    kl_panel_begin(&p, line);
    assert_string_equal(line, "you are player 1, bob is player 2");
    p.member[p.count++] = (struct kl_panel_member){.name = "carl", .seats = 4};
    p.member[p.count++] = (struct kl_panel_member){.name = "eve"};
    kl_panel_begin(&p, line);
    assert_string_equal(line, "you are player 1, bob 2, carl 3");
    p.member[0].you = false;
    p.delay_s = 5;
    kl_panel_begin(&p, line);
    assert_string_equal(line, "you watch, 5 s behind the players: ann 1, bob 2, carl 3");
    p.record_days = 30;
    kl_panel_begin(&p, line);
    assert_string_equal(line, "you watch, 5 s behind the players (recorded): ann 1, bob 2, carl 3");
    p.count = 0;
    p.delay_s = 0;
    kl_panel_begin(&p, line);
    assert_string_equal(line, "you watch (recorded)");
}

/* A name of 92 bytes is 23 characters, and is named as any other. */
TEST(wide_names_are_named_whole) {
    struct kl_panel p = panel_pair();
    char name[KL_NAME_MAX], line[KL_PANEL_LINE], want[KL_PANEL_LINE];
    wide_name(name, KL_NAME_CHARS);
    strcpy(p.member[1].name, name);
    p.stalled = p.member[1].lacking = true;
    p.state_us = 3000000;
    snprintf(want, sizeof want, "waiting for %s (2)  3 s", name);
    check_words(&p, KL_PANEL_WARNING, want, -1);
    kl_panel_begin(&p, line);
    snprintf(want, sizeof want, "you are player 1, %s is player 2", name);
    assert_string_equal(line, want);
    p.stalled = false;
    p.desync = p.member[1].alone = true;
    p.desync_part = "ram";
    snprintf(want, sizeof want, "out of sync since frame 0: ram (alone: %s (2))", name);
    check_words(&p, KL_PANEL_ERROR, want, -1);
}

/* Sixteen of the longest names and reasons stay within the line. */
TEST(the_longest_words_fit) {
    struct kl_panel p = panel_pair();
    char line[KL_PANEL_LINE];
    int percent;
    p.count = KL_MAX_CLIENTS;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        memset(p.member[i].name, 'm', KL_NAME_MAX - 1);
        p.member[i].lacking = p.member[i].loading = p.member[i].alone = p.member[i].away = true;
    }
    memset(p.reason, 'r', sizeof p.reason - 1);
    memset(p.relay, 'l', sizeof p.relay - 1);
    memset(p.room, 'o', sizeof p.room - 1);
    p.state_us = UINT64_MAX;
    for (unsigned stage = KL_PANEL_REACHING; stage <= KL_PANEL_ENDED; stage++)
        for (unsigned what = 0; what < 4; what++) {
            p.stage = (enum kl_panel_stage)stage;
            p.stalled = what == 1;
            p.desync = what == 2;
            p.catch_up = what == 3 ? UINT32_MAX : 0;
            p.behind = UINT32_MAX;
            kl_panel_state(&p, line, &percent);
            kl_panel_begin(&p, line);
            assert_true(strlen(line) < KL_PANEL_LINE);
            assert_true(percent >= -1 && percent <= 100);
        }
}
