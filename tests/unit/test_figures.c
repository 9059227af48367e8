/* The figures that a relay's processes share: read whole, and told for Prometheus. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "net/relay/program/figures.h"

static struct kl_figures_place place[2];
static struct kl_figures figures[2];
static struct kl_buffer text;

static int begin(void **state) {
    static struct kl_figures_writer w;
    static struct kl_server_config config = {.rooms = 7, .journal_total_mib = 3};
    (void)state;
    for (unsigned i = 2; i-- > 0;)
        kl_figures_begin(&w, &place[i], &config);
    return 0;
}
static int end(void **state) {
    (void)state;
    kl_log_count(NULL);
    kl_log_stories(NULL, 0);
    kl_buffer_free(&text);
    return 0;
}

static void has(const char *line) {
    if (!strstr(text.at, line)) fail_msg("expected \"%s\" in:\n%s", line, text.at);
}

TEST_WITH(one_that_is_being_written_is_not_read, begin, end) {
    figures[0].seats = 42;
    place[0].lock = 5;
    assert_false(kl_figures_read(&place[0], &figures[0]));
    assert_int_equal(figures[0].seats, 42);
    place[0].lock = 6;
    assert_true(kl_figures_read(&place[0], &figures[0]));
    assert_int_equal(figures[0].seats, 0);
    assert_int_equal(figures[0].rooms_most, 7);
    assert_int_equal(figures[0].journal_most_bytes, 3 * 1048576);
}

TEST_WITH(a_string_of_json_is_one_whatever_a_player_is_called, begin, end) {
    static const struct {
        const char *is, *told;
    } names[] = {{"a\"b\\", "\"a\\u0022b\\u005c\""},
                 {"</script>&", "\"\\u003c/script\\u003e\\u0026\""},
                 {"\x01\x7f\n", "\"\\u0001\\u007f\\u000a\""},
                 {"\xc3\xa4\xf0\x9f\x98\x80", "\"\xc3\xa4\xf0\x9f\x98\x80\""},
                 {"\xc3", "\"\\ufffd\""},                                    /* cut */
                 {"\xc0\xaf", "\"\\ufffd\\ufffd\""},                         /* longer than it need be */
                 {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},              /* a surrogate */
                 {"\xf4\x90\x80\x80x", "\"\\ufffd\\ufffd\\ufffd\\ufffdx\""}, /* above all characters */
                 {"\xe2\x80\xa8", "\"\\u2028\""}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        kl_buffer_clear(&text);
        kl_rooms_text_quote(&text, names[i].is);
        assert_string_equal(text.at, names[i].told);
    }
}

TEST_WITH(a_process_is_fresh_for_a_second_after_its_look, begin, end) {
    figures[0] = (struct kl_figures){.at_us = 5000000};
    figures[1] = (struct kl_figures){.at_us = 5900000};
    assert_true(kl_figures_fresh(&text, figures, 2, 5999999));
    assert_int_equal(text.len, 0);
    assert_false(kl_figures_fresh(&text, figures, 2, 6500000));
    assert_string_equal(text.at, "process 0 has had no turn for 1.5 s\n");
    kl_buffer_clear(&text);
    figures[1].at_us = 0;
    assert_false(kl_figures_fresh(&text, figures + 1, 1, 6000000));
    assert_string_equal(text.at, "process 0 does not listen yet\n");
}

TEST_WITH(figures_become_text, begin, end) {
    memset(figures, 0, sizeof figures);
    kl_server_time(&figures[1].turn, 50);
    kl_server_time(&figures[1].turn, 51);
    kl_server_time(&figures[1].turn, 700000);
    figures[0].rooms[KL_FIGURES_PAUSED] = 3;
    figures[1].network.peers = 9;
    figures[1].processor_us = 2500000;
    figures[1].lead[KL_FIGURES_LEAD] = 4;
    figures[1].lead_sum = 120;
    kl_figures_tell(&text, place, figures, 2, 1);
    has("# TYPE keylock_rooms gauge\nkeylock_rooms{shard=\"0\",state=\"gathering\"} 0\n");
    has("\nkeylock_rooms{shard=\"0\",state=\"paused\"} 3\n");
    has("\nkeylock_sessions{shard=\"1\"} 9\n");
    has("\nkeylock_processor_seconds_total{shard=\"1\"} 2.5\n");
    has("\nkeylock_loop_seconds_bucket{shard=\"1\",le=\"5e-05\"} 1\n");
    has("\nkeylock_loop_seconds_bucket{shard=\"1\",le=\"0.0001\"} 2\n");
    has("\nkeylock_loop_seconds_bucket{shard=\"1\",le=\"0.05\"} 2\n");
    has("\nkeylock_loop_seconds_bucket{shard=\"1\",le=\"+Inf\"} 3\n");
    has("\nkeylock_loop_seconds_sum{shard=\"1\"} 0.700101");
    has("\nkeylock_loop_seconds_count{shard=\"1\"} 3\n");
    has("\nkeylock_lead_frames_bucket{shard=\"1\",le=\"20\"} 0\n");
    has("\nkeylock_lead_frames_sum{shard=\"1\"} 120\n");
    assert_null(strstr(text.at, "keylock_events_total{"));
}

static const struct kl_shown_rooms *rooms_of(const void *ctx, unsigned shard) {
    (void)ctx;
    return &place[shard].rooms;
}

static void show_room(unsigned at, enum kl_shard_listed is, const char *name) {
    struct kl_shown_rooms *rooms = &place[0].rooms;
    kl_log_story_begin(at);
    rooms->at[at] = (struct kl_shown_room){.is = is, .story = rooms->story[at].told.number};
    snprintf(rooms->at[at].line.name, sizeof rooms->at[at].line.name, "%s", name);
    if (rooms->end <= at) rooms->end = at + 1;
}

static void log_joined(unsigned at, const char *room, const char *name) {
    char quoted[2][256];
    kl_log_of_room(at, KL_LOG_INFO, "joined", "room=%s client=0 name=%s address=[2001:db8::1]:5 host=1",
                   kl_log_quote(quoted[0], sizeof quoted[0], room),
                   kl_log_quote(quoted[1], sizeof quoted[1], name));
}

/* The answer from "story" on, and without the times. NULL: the room is not told. */
static const char *story(bool to_host, const char *room) {
    const struct kl_rooms_told told = {.rooms_of = rooms_of, .count = 2, .to_host = to_host};
    kl_buffer_clear(&text);
    if (!kl_rooms_text_tell_one(&text, &told, room)) return NULL;
    char *from = strstr(text.at, ",\"story\":"), *at = from;
    while ((at = strstr(at, "\"at\":\"2")))
        memmove(at, at + 32, strlen(at + 32) + 1);
    return from + 9;
}

TEST_WITH(a_room_has_a_story_whatever_it_and_its_players_are_called, begin, end) {
    static const char room[] = "a \"room\" address=1";
    kl_log_to(fopen("/dev/null", "w"));
    kl_log_set_level(KL_LOG_DEBUG);
    show_room(1, KL_SHARD_LISTED, "other");
    show_room(3, KL_SHARD_LISTED, room);
    assert_string_equal(story(false, room), "[]");
    log_joined(1, "other", "eve");
    log_joined(3, room, "<b>\" address=7 \\");
    kl_log_of_room(3, KL_LOG_DEBUG, "link", "room=x");
    kl_log_of_room(3, KL_LOG_ERROR, "alone", "room=x");
    kl_log_of_room(KL_LOG_NO_PLACE, KL_LOG_INFO, "elsewhere", "room=x");
#define NAME "\"text\":\"client=0 name=\\u0022\\u003cb\\u003e\\u005c\\u0022 address=7 \\u005c\\u005c\\u0022 "
#define LAST "host=1\"},{\"event\":\"alone\",\"text\":\"\"}]"
    assert_string_equal(story(false, room), "[{\"event\":\"joined\"," NAME LAST);
    assert_string_equal(story(true, room), "[{\"event\":\"joined\"," NAME "address=[2001:db8::1]:5 " LAST);
    kl_log_set_level(KL_LOG_INFO);
}

TEST_WITH(a_story_is_of_its_room_alone, begin, end) {
    kl_log_to(fopen("/dev/null", "w"));
    show_room(0, KL_SHARD_UNLISTED, "secret");
    log_joined(0, "secret", "ann");
    assert_null(story(false, "secret"));
    assert_non_null(strstr(story(true, "secret"), "ann"));
    assert_null(story(true, "sec"));
    kl_log_story_begin(0); /* a newer room, which is not shown yet */
    log_joined(0, "new", "bob");
    assert_string_equal(story(true, "secret"), "[]");
}

TEST_WITH(a_long_story_keeps_its_end, begin, end) {
    char name[32];
    kl_log_to(fopen("/dev/null", "w"));
    show_room(0, KL_SHARD_LISTED, "room");
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "player %u.", i);
        log_joined(0, "room", name);
    }
    const char *told = story(false, "room");
    assert_non_null(strstr(told, "player 999."));
    assert_null(strstr(told, "player 900."));
    assert_memory_equal(told, "[{\"event\":\"joined\",", 19);
    assert_int_equal(place[0].rooms.story[0].told.lines, 1000);
    assert_in_range(place[0].rooms.story[0].told.len, KL_LOG_STORY_BYTES - 200, KL_LOG_STORY_BYTES);
}

/* Of the process that began last; more kinds than there is place for are left out. */
TEST_WITH(lines_are_counted_by_event, begin, end) {
    char event[32];
    kl_log_to(fopen("/dev/null", "w"));
    kl_log_set_lines(1);
    for (unsigned i = 0; i < 3; i++)
        kl_log(KL_LOG_INFO, "stall", "room=\"x\"");
    kl_log(KL_LOG_DEBUG, "unwanted", "%s", "");
    kl_figures_tell(&text, place, figures, 2, 1);
    has("\nkeylock_events_total{shard=\"0\",event=\"stall\"} 3\n");
    assert_null(strstr(text.at, "unwanted"));
    assert_null(strstr(text.at, "keylock_events_total{shard=\"1\""));
    for (unsigned i = 0; i < 2 * KL_LOG_EVENTS; i++) {
        snprintf(event, sizeof event, "event_number_%u", i);
        kl_log(KL_LOG_INFO, event, "%s", "");
    }
    kl_log(KL_LOG_INFO, "stall", "room=\"x\"");
    kl_buffer_clear(&text);
    kl_figures_tell(&text, place, figures, 2, 1);
    has("\nkeylock_events_total{shard=\"0\",event=\"stall\"} 4\n");
    kl_log_set_lines(0);
}
