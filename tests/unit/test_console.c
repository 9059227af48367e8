/* The operator's lines: taken apart, carried out on a room, and the members' own commands beside them. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/engine/command.h"
#include "net/relay/program/console.h"
#include "net/relay/lobby/lobby_parts.h"
#include "tests/lib/lobby_net.h"

static struct kl_lobby_room *room;
static struct kl_buffer console; /* the console's */
static const char *answer;
static char notice[PEERS][KL_TEXT_MAX]; /* the newest to each peer */

static void keep_notice(unsigned peer, const struct kl_msg *m) {
    if (m->kind == KL_MSG_NOTICE) memcpy(notice[peer], m->text.text, sizeof notice[peer]);
}

static void command(unsigned peer, uint8_t kind, const void *data, uint8_t len) {
    struct kl_msg m = {.kind = KL_MSG_COMMAND, .order = {.kind = kind, .len = len}};
    if (len) memcpy(m.order.data, data, len);
    notice[peer][0] = 0;
    say(peer, &m);
}

static void join(unsigned peer, const char *name) {
    struct kl_msg m = a_hello(peer, "my room", 1, 2, "x");
    snprintf(m.hello.name, sizeof m.hello.name, "%s", name);
    m.hello.params.policy = KL_POLICY_BOUNDED;
    m.hello.params.wait_budget_ms = 250;
    enter(peer, &m);
}

static int open_room(void **state) {
    (void)state;
    open_lobby(&limits_for_tests);
    on_message = keep_notice;
    memset(notice, 0, sizeof notice);
    join(0, "ann");
    room = kl_lobby_find(lobby, "my room");
    assert_non_null(room);
    return 0;
}

static void begin_game(void) {
    join(1, "bob");
    give(0, "s");
    for (unsigned i = 0; i < 2; i++)
        ready(i, "a");
    assert_int_equal(room->phase, KL_ROOM_PLAYING);
}

static int close_room(void **state) {
    (void)state;
    kl_lobby_destroy(lobby);
    kl_buffer_free(&console);
    return 0;
}

static struct kl_hub_stats network;

static bool obey(const char *line) {
    kl_buffer_clear(&console);
    bool go_on = kl_console_obey(lobby, &network, line, &console, now_us);
    kl_buffer_add(&console, "%s", "");
    answer = console.at;
    return go_on;
}

/* The newest command that waits in the relay's own queue. */
static const struct kl_command *queued(unsigned count) {
    assert_int_equal(room->lock.relay.queued, count);
    return &room->lock.relay.queue[count - 1];
}

TEST(words_of_a_program_become_a_line) {
    static const struct {
        const char *line, *words[6];
    } table[] = {
        {"", {NULL}},
        {"rooms", {"rooms"}},
        {"who \"my room\"", {"who", "my room"}},
        {"kick \"my room\" \" \\\"ann\\\" b\"", {"kick", "my room", " \"ann\" b"}},
        {"say \"my room\" good evening \"ann\"", {"say", "my room", "good", "evening \"ann\""}},
        {"kick \"my room\" ann", {"kick \"my room\" ann"}}, /* a whole line */
        {"dance a  b", {"dance", "a ", "b"}},
    };
    char line[KL_CONSOLE_LINE], text[KL_CONSOLE_LINE];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_true(kl_console_join(line, (char *const *)table[i].words));
        assert_string_equal(line, table[i].line);
    }
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    assert_true(kl_console_join(line, (char *const[]){text, NULL}));
    assert_false(kl_console_join(line, (char *const[]){text, "y", NULL}));
    assert_false(kl_console_join(line, (char *const[]){"say", text, "y", NULL}));
}

TEST_WITH(lines, open_room, close_room) {
    struct kl_console_line c;
    kl_console_parse(&c, "  say \"my room\"  good  evening ");
    assert_int_equal(c.verb, KL_CONSOLE_ORDER);
    assert_string_equal(c.room, "my room");
    assert_int_equal(c.words.order.kind, KL_COMMAND_CHAT);
    assert_int_equal(c.words.order.len, 13);
    assert_memory_equal(c.words.order.data, "good  evening", 13);
    kl_console_parse(&c, "policy r optimistic 300");
    assert_int_equal(c.words.order.kind, KL_COMMAND_POLICY);
    assert_memory_equal(c.words.order.data, ((uint8_t[]){KL_POLICY_OPTIMISTIC, 300 & 255, 300 >> 8}), 3);
    kl_console_parse(&c, "kick r \" ann b \"");
    assert_int_equal(c.words.order.kind, KL_COMMAND_KICK);
    assert_string_equal(c.words.who, " ann b ");
    kl_console_parse(&c, "   ");
    assert_int_equal(c.verb, KL_CONSOLE_NOTHING);
    static const char *const bad[] = {
        "dance",       "who",      "who a b",      "say r",       "rooms now", "policy r fair",
        "disk r next", "leave r",  "give r 1 ann", "kick r \"\"", "kick r",    "kick r a b",
        "pause",       "record r", "record r no",  "quit now",    "who \"\""};
    for (size_t i = 0; i < COUNT(bad); i++) {
        kl_console_parse(&c, bad[i]);
        if (c.verb != KL_CONSOLE_BAD) fail_msg("\"%s\" was taken", bad[i]);
        const char *at = strstr(c.room, "expected");
        assert_non_null(at);
        assert_null(strstr(at + 1, "expected")); /* once */
    }
}

/* A name is typed as it is shown, whatever is in it. */
TEST_WITH(every_room_can_be_named, open_room, close_room) {
    static const char *const names[] = {"a\xc2\x9b"
                                        "b",
                                        "say \"hi\"",
                                        "back\\slash",
                                        "\\x41",
                                        "\xe2\x80\xaetoor",
                                        "a?b"};
    char line[200];
    for (unsigned i = 0; i < COUNT(names); i++) {
        hello(5 + i, names[i], 1, 2, "x");
        assert_true(obey("rooms"));
        const char *shown = answer;
        for (unsigned n = 0; n < 2; n++) /* the first one is there all the time */
            shown = strstr(shown, "room=\"") + 5;
        int len = (int)(strstr(shown, "\" state=") + 1 - shown);
        snprintf(line, sizeof line, "who %.*s", len, shown);
        for (const char *p = line; *p; p++)
            assert_in_range((unsigned char)*p, 0x20, 0x7e);
        assert_true(obey(line));
        assert_non_null(strstr(answer, "ok members=1"));
        snprintf(line, sizeof line, "p%u", 5 + i);
        assert_non_null(strstr(answer, line));
        bye(5 + i);
    }
}

TEST_WITH(answers, open_room, close_room) {
    assert_true(obey("rooms"));
    assert_non_null(strstr(answer, "room=\"my room\" state=gathering filled=1 players=2"));
    assert_non_null(strstr(answer, "ok rooms=1 members=1"));
    assert_true(obey("who \"my room\""));
    assert_non_null(strstr(answer, "client=0 name=\"ann\" seats=0 player=1 host=1"));
    assert_true(obey("who other"));
    assert_string_equal(answer, "error: there is no room \"other\"\n");
    assert_true(obey("pause \"my room\"")); /* before the game */
    assert_non_null(strstr(answer, "error: "));
    assert_true(obey("say \"my room\" wait for bob"));
    assert_string_equal(answer, "ok\n");
    assert_string_equal(notice[0], "relay: wait for bob");
    assert_true(obey(""));
    assert_string_equal(answer, "");
    assert_false(obey("quit"));
}

TEST_WITH(events_of_the_relay, open_room, close_room) {
    begin_game();
    assert_true(obey("say \"my room\" hello"));
    const struct kl_command *c = queued(1);
    assert_int_equal(c->client, KL_RELAY_CLIENT);
    assert_int_equal(c->kind, KL_COMMAND_CHAT);
    assert_memory_equal(c->data, "hello", 5);
    obey("policy \"my room\" strict");
    c = queued(2);
    assert_int_equal(c->kind, KL_COMMAND_POLICY);
    assert_memory_equal(c->data, ((uint8_t[]){KL_POLICY_STRICT, 250, 0, 0}), 4); /* the budget as it was */
    obey("policy \"my room\" bounded 1000");
    assert_memory_equal(queued(3)->data, ((uint8_t[]){KL_POLICY_BOUNDED, 0xe8, 3, 0}), 4);
    obey("pause \"my room\"");
    assert_int_equal(queued(4)->kind, KL_COMMAND_PAUSE);
    char line[200] = "say \"my room\" ";
    memset(line + strlen(line), 'x', KL_COMMAND_BYTES + 1);
    obey(line);
    assert_non_null(strstr(answer, "at most 96 bytes"));
    obey("say \"my room\" x"); /* four wait, and the other four places are not for talk */
    assert_non_null(strstr(answer, "too many"));
    for (unsigned i = 0; i < 4; i++)
        obey("policy \"my room\" strict");
    queued(8);
    obey("policy \"my room\" strict");
    assert_non_null(strstr(answer, "too many"));
}

TEST_WITH(a_client_that_is_too_slow_is_told_once, open_room, close_room) {
    begin_game();
    room->lock.client[1].holds_up = true;
    room->lock.client[1].cost_us = 1000000; /* does not drain in this test */
    kl_lobby_run(lobby, room->due.due_us);
    assert_non_null(strstr(notice[0], "bob (2) holds the game up"));
    notice[0][0] = 0;
    kl_lobby_run(lobby, room->due.due_us);
    assert_string_equal(notice[0], "");
}

TEST_WITH(a_member_is_put_out, open_room, close_room) {
    begin_game();
    obey("kick \"my room\" cid");
    assert_non_null(strstr(answer, "nobody in this room is called \"cid\""));
    strcpy(room->member[1]->v.name, "ANN");
    obey("kick \"my room\" ann");
    assert_string_equal(answer, "error: ann (1) and ANN (2): give the number\n");
    assert_false(inbox[0].hung_up || inbox[1].hung_up);
    obey("kick \"my room\" 2");
    assert_string_equal(answer, "ok\n");
    assert_true(inbox[1].hung_up);
    assert_false(inbox[0].hung_up);
}

TEST_WITH(the_hosts_alone, open_room, close_room) {
    static const uint8_t policy[] = {KL_POLICY_STRICT, 0, 0, 0, 0}, seats[] = {0, 1}, ann = 0, bob = 1,
                         cid = 9;
    begin_game();
    command(1, KL_COMMAND_POLICY, policy, 5);
    assert_int_equal(room->lock.client[1].queued, 0);
    assert_string_equal(notice[1], "only the host of the room can do that, ann (1)");
    command(1, KL_COMMAND_HOST, &bob, 1);
    assert_int_equal(room->host, 0);
    command(0, KL_COMMAND_SWAP, seats, 2);
    assert_int_equal(room->lock.client[0].queued, 1);
    command(0, KL_COMMAND_HOST, &cid, 1); /* nobody */
    assert_int_equal(room->host, 0);
    command(0, KL_COMMAND_HOST, &bob, 1);
    assert_int_equal(room->host, 1);
    assert_string_equal(notice[1], "ann (1) makes bob (2) the host");
    command(1, KL_COMMAND_POLICY, policy, 5);
    assert_int_equal(room->lock.client[1].queued, 1);
    command(0, KL_COMMAND_HOST, &ann, 1); /* no longer */
    assert_int_equal(room->host, 1);
    command(0, KL_COMMAND_SAVE, NULL, 0); /* everybody's */
    assert_int_equal(room->lock.client[0].queued, 2);
}

/* On before the game alone: its players are told before it. */
TEST_WITH(recording, open_room, close_room) {
    assert_true(obey("record \"my room\" on"));
    assert_non_null(strstr(answer, "error: ")); /* this relay keeps none */
    lobby->limits.record_days = 7;
    assert_true(obey("record \"my room\" on"));
    assert_string_equal(answer, "ok\n");
    assert_string_equal(notice[0], "the relay records this match, and keeps it for 7 days");
    run();
    assert_int_equal(heard(0, KL_MSG_ROSTER)->roster.record_days, 7);
    begin_game();
    assert_int_equal(heard(1, KL_MSG_ROSTER)->roster.record_days, 7);
    assert_true(obey("rooms"));
    assert_non_null(strstr(answer, " recorded=yes\n"));
    assert_true(obey("record \"my room\" off"));
    run();
    assert_int_equal(heard(1, KL_MSG_ROSTER)->roster.record_days, 0);
    assert_true(obey("record \"my room\" on"));
    assert_non_null(strstr(answer, "error: "));
}

TEST_WITH(pauses, open_room, close_room) {
    static const uint8_t pause = 1, resume = 0, nonsense = 2;
    begin_game();
    command(0, KL_COMMAND_PAUSE, &resume, 1); /* it does not */
    command(0, KL_COMMAND_PAUSE, &nonsense, 1);
    assert_int_equal(room->lock.client[0].queued, 0);
    command(0, KL_COMMAND_PAUSE, &pause, 1);
    assert_int_equal(room->lock.client[0].queued, 1);
    room->lock.paused = true;                /* as if its keyframe had come */
    command(1, KL_COMMAND_PAUSE, &pause, 1); /* means the same: does not undo it */
    assert_true(room->lock.paused);
    assert_int_equal(room->lock.client[1].queued, 0);
    command(1, KL_COMMAND_CHAT, "wait", 4); /* no keyframe comes, so at once */
    assert_string_equal(notice[0] + strlen("[f 1"), "] bob (2): wait" + 0);
    assert_int_equal(room->lock.client[1].queued, 0);
    strcpy(notice[0], "");
    command(1, KL_COMMAND_CHAT, "wait", 4); /* but not as fast as anybody likes */
    assert_string_equal(notice[0], "");
    command(1, KL_COMMAND_PAUSE, NULL, 0); /* the other of the two */
    assert_false(room->lock.paused);
    assert_string_equal(notice[0], "bob (2) resumes the game");
}

/* Every counter of the network once, each with a word of its own; and help has a line for each group. */
TEST_WITH(status_has_every_counter, open_room, close_room) {
    static const char *const groups[] = {"sessions", "taken", "dropped", "strangers", "turned_away", "held"};
    network = (struct kl_hub_stats){
        .datagrams_in = 101, .datagrams_out = 102, .messages_in = 103, .malformed = 104};
    network.strange = 105, network.forged = 106, network.replayed = 107, network.limited = 108,
    network.slowed = 109;
    network.unfit = 110, network.asked_bytes = 111, network.answered_bytes = 112, network.cookies = 113;
    network.handshakes = 114, network.refused = 115, network.flooded = 116, network.moves = 117,
    network.peers = 118;
    assert_true(obey("status"));
    for (unsigned i = 101; i <= 118; i++) {
        char number[8];
        snprintf(number, sizeof number, "=%u", i);
        if (!strstr(answer, number)) print_error("%u is not in: %s", i, answer);
        assert_non_null(strstr(answer, number));
    }
    assert_non_null(strstr(
        answer,
        "dropped malformed=104 strange=105 forged=106 replayed=107 unfit=110 limited=108 slowed=109\n"));
    assert_non_null(strstr(answer, "strangers bytes_in=111 bytes_out=112 cookies=113\n"));
    for (unsigned i = 0; i < COUNT(groups); i++) {
        assert_true(obey("status"));
        assert_non_null(strstr(answer, groups[i]));
        assert_true(obey("help"));
        assert_non_null(strstr(answer, groups[i]));
    }
}

TEST_WITH(in_pieces, open_room, close_room) {
    int fd[2];
    struct kl_console c = {0};
    char big[KL_CONSOLE_LINE + 100];
    assert_int_equal(pipe(fd), 0);
    c.fd = fd[0];
    kl_buffer_free(&console);
    assert_int_equal(write(fd[1], "who \"my", 7), 7);
    assert_true(kl_console_read(&c, lobby, &console, now_us));
    assert_int_equal(console.len, 0);
    assert_int_equal(write(fd[1], " room\"\r\nwho x\nro", 16), 16);
    assert_true(kl_console_read(&c, lobby, &console, now_us));
    assert_non_null(strstr(console.at, "ok members=1 watchers=0\nerror: there is no room \"x\"\n"));
    memset(big, 'x', sizeof big);
    big[sizeof big - 1] = '\n';
    assert_int_equal(write(fd[1], big, sizeof big), (ssize_t)sizeof big);
    kl_console_read(&c, lobby, &console, now_us);
    kl_console_read(&c, lobby, &console, now_us);
    assert_non_null(strstr(console.at, "at most 511 bytes"));
    assert_int_equal(write(fd[1], "help\n", 5), 5); /* the line after is whole again */
    kl_console_read(&c, lobby, &console, now_us);
    assert_non_null(strstr(console.at, "kick ROOM NAME"));
    close(fd[1]);
    assert_true(kl_console_read(&c, lobby, &console, now_us)); /* the end of input ends nothing */
    assert_int_equal(c.fd, -1);
    close(fd[0]);
}

TEST_WITH(a_snapshot_is_ordered, open_room, close_room) {
    begin_game();
    obey("snapshot \"my room\"");
    assert_string_equal(answer, "ok\n");
    assert_int_equal(queued(1)->kind, KL_COMMAND_SNAPSHOT);
    obey("snapshot \"my room\""); /* one at a time */
    assert_non_null(strstr(answer, "error: not possible"));
    obey("snapshot");
    assert_string_equal(answer, "error: expected: snapshot ROOM\n");
}

TEST_WITH(commands_like_the_members, open_room, close_room) {
    obey("reset \"my room\"");
    assert_non_null(strstr(answer, "error: not possible")); /* no game yet */
    begin_game();
    obey("reset \"my room\"");
    assert_string_equal(answer, "ok\n");
    assert_int_equal(queued(1)->client, KL_RELAY_CLIENT);
    assert_int_equal(queued(1)->kind, KL_COMMAND_RESET);
    obey("save \"my room\"");
    assert_int_equal(queued(2)->kind, KL_COMMAND_SAVE);
    obey("load \"my room\""); /* of what nobody has */
    assert_non_null(strstr(answer, "error: not possible"));
    for (unsigned i = 0; i < 2; i++) /* of frame 0, which nobody waits for */
        command(i, KL_COMMAND_SAVED, (uint8_t[KL_SAVED_BYTES]){0, 0, 0, 0, 1}, KL_SAVED_BYTES);
    obey("load \"my room\"");
    assert_int_equal(queued(3)->kind, KL_COMMAND_LOAD);
    assert_memory_equal(queued(3)->data, ((uint8_t[]){0, 0, 0, 0}), KL_LOAD_BYTES);
    obey("option \"my room\" a=b c");
    assert_int_equal(queued(4)->kind, KL_COMMAND_OPTION);
    assert_memory_equal(queued(4)->data, "a=b c", 5);
    obey("disk \"my room\" 3");
    assert_string_equal(answer, "ok\n");
    assert_int_equal(heard(0, KL_MSG_CHECK)->check.disk, 2); /* it waits for their words */
    obey("disk \"my room\" 0");
    assert_memory_equal(queued(5)->data, ((uint8_t[]){0xff, 0xff}), 2);
    obey("swap \"my room\" 1 2");
    assert_int_equal(queued(6)->kind, KL_COMMAND_SWAP);
    assert_memory_equal(queued(6)->data, ((uint8_t[]){0, 1}), 2);
    obey("disk \"my room\" x");
    assert_string_equal(answer,
                        "error: disk ROOM N: expected disk N, from 1 (0: none), disk next or disk previous, "
                        "got \"x\"\n");
    obey("swap \"my room\" 1 3"); /* a room of two */
    assert_non_null(strstr(answer, "error: not possible"));
    queued(6);
}

TEST_WITH(a_room_is_closed, open_room, close_room) {
    begin_game();
    obey("close \"my room\"");
    assert_string_equal(answer, "ok\n");
    assert_null(kl_lobby_find(lobby, "my room"));
    for (unsigned i = 0; i < 2; i++)
        assert_string_equal(heard(i, KL_MSG_REFUSE)->text.text, "the relay's operator has closed the room");
    obey("close \"my room\"");
    assert_string_equal(answer, "error: there is no room \"my room\"\n");
    obey("close \"my room\" now");
    assert_string_equal(answer, "error: expected: close ROOM\n");
}
