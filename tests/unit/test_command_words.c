/* Commands as people write them, and the bytes that they become. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "net/session/command_words.h"

static struct kl_words w;
static char err[KL_WORDS_MAX];

static int parse(const char *line) {
    err[0] = 0;
    return kl_words_parse(&w, line, err, sizeof err);
}

/* The command as it arrives on all machines. */
static struct kl_command arrived(void) {
    struct kl_command c = {.kind = w.order.kind, .len = w.order.len};
    memcpy(c.data, w.order.data, w.order.len);
    return c;
}

TEST(words_become_bytes) {
    static const struct {
        const char *line;
        uint8_t kind, len, data[5];
    } cases[] = {
        {"pause", 3, 1, {1}},
        {"resume", 3, 1, {0}},
        {" reset ", 16, 0, {0}},
        {"next", 12, 1, {255}},
        {"save", 20, 0, {0}},
        {"load\t", 21, 0, {0}},
        {"disk 1", 18, 2, {0, 0}},
        {"disk 258", 18, 2, {1, 1}},
        {"disk 0", 18, 2, {0xff, 0xff}},
        {"swap 1 8", 2, 2, {0, 7}},
        {"swap  2   1", 2, 2, {1, 0}},
        {"swap", 2, 2, {0, 1}},
        {"give 3 bob", 2, 2, {2, 2}},
        {"policy strict", 1, 5, {0, 0, 0, 0, 0}},
        {"lock", 6, 1, {1}},
        {"unlock ", 6, 1, {0}},
        {"lead-max 30", 1, 5, {0, 0, 0, 0, 30}},
        {"report  he paused twice", KL_COMMAND_REPORT, 15, {'h', 'e', ' ', 'p', 'a'}},
        {"watchers", KL_COMMAND_WATCHERS, 0, {0}},
        {"voice none", KL_COMMAND_VOICE, 1, {KL_VOICE_NONE}},
        {"voice all", KL_COMMAND_VOICE, 1, {KL_VOICE_ALL}},
        {"desync ignore", 10, 1, {2}},
        {"policy bounded 250", 1, 5, {1, 250, 0, 0, 0}},
        {"policy optimistic 1000", 1, 5, {2, 0xe8, 3, 0, 0}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (parse(cases[i].line) != 0) fail_msg("%s: %s", cases[i].line, err);
        assert_int_equal(w.order.kind, cases[i].kind);
        assert_int_equal(w.order.len, cases[i].len);
        assert_memory_equal(w.order.data, cases[i].data, cases[i].len < 5 ? cases[i].len : 5);
    }
}

TEST(texts) {
    char key[KL_COMMAND_BYTES + 1], value[KL_COMMAND_BYTES + 1];
    assert_int_equal(parse("say  well  played, caf\xc3\xa9 "), 0);
    struct kl_command c = arrived();
    kl_words_text(&c, key);
    assert_string_equal(key, "well  played, caf\xc3\xa9");
    assert_int_equal(parse("option core_speed=very fast=1"), 0);
    c = arrived();
    assert_true(kl_words_option(&c, key, value));
    assert_string_equal(key, "core_speed");
    assert_string_equal(value, "very fast=1");
}

TEST(names_of_members) {
    static const struct {
        const char *line;
        uint8_t kind;
        const char *who;
        unsigned percent;
    } cases[] = {
        {"kick Ann B", 7, "Ann B", 0},      {"ban 2", 8, "2", 0},      {"host Ann B", 4, "Ann B", 0},
        {"give 8 Ann  B ", 2, "Ann  B", 0}, {"mute ann", 0, "ann", 0}, {"volume 50 ann b", 0, "ann b", 50},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (parse(cases[i].line) != 0) fail_msg("%s: %s", cases[i].line, err);
        assert_int_equal(w.order.kind, cases[i].kind);
        assert_string_equal(w.who, cases[i].who);
        assert_int_equal(w.percent, cases[i].percent);
        assert_int_equal(w.mute, cases[i].line[0] == 'm');
        assert_int_equal(w.volume, cases[i].line[0] == 'v');
    }
}

/* A flag of the struct, at its offset. No other one is set, and the room gets no command but a reset. */
TEST(words_for_this_machine_alone) {
    static const struct {
        const char *line;
        size_t flag;
    } cases[] = {
        {"panel", offsetof(struct kl_words, panel)}, {"ahead", offsetof(struct kl_words, ahead)},
        {"queue", offsetof(struct kl_words, queue)}, {"chat", offsetof(struct kl_words, chat)},
        {"talk", offsetof(struct kl_words, talk)},   {"leave", offsetof(struct kl_words, leave)},
        {"again", offsetof(struct kl_words, again)},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (parse(cases[i].line) != 0) fail_msg("%s: %s", cases[i].line, err);
        for (size_t k = 0; k < COUNT(cases); k++)
            if (((bool *)&w)[cases[k].flag] != (k == i)) fail_msg("%s: %s", cases[i].line, cases[k].line);
        assert_int_equal(w.order.kind, w.again ? KL_COMMAND_RESET : 0);
    }
    assert_int_equal(parse("voice push"), 0);
    assert_string_equal(w.voice, "push");
    assert_int_equal(w.order.kind, 0);
    assert_int_equal(parse("voice none"), 0);
    assert_null(w.voice);
}

static void check_policy(const char *line, unsigned said, unsigned policy, unsigned budget_ms,
                         unsigned spacing) {
    struct kl_params is;
    if (parse(line) != 0) fail_msg("%s: %s", line, err);
    struct kl_command c = arrived();
    assert_true(kl_words_get_policy(&c, &is));
    assert_int_equal(w.has_policy | w.has_budget << 1 | w.has_spacing << 2 | w.has_lead_max << 3, said);
    assert_int_equal(is.policy, policy);
    assert_int_equal(is.wait_budget_ms, budget_ms);
    assert_int_equal(is.spacing_fixed, spacing);
}

TEST(policy_budget_and_spacing_are_one_command) {
    check_policy("policy strict", 1, 0, 0, 0);
    check_policy("policy bounded 100", 3, 1, 100, 0);
    check_policy("policy bounded 100 spacing 30", 7, 1, 100, 30);
    check_policy("policy optimistic  spacing  0 ", 5, 2, 0, 0);
    check_policy("policy bounded", 1, 1, 0, 0);
    check_policy("policy bounded 20", 3, 1, 20, 0);
    check_policy("policy bounded 60000", 3, 1, 60000, 0);
    check_policy("budget 60000", 2, 0, 60000, 0);
    check_policy("spacing 7", 4, 0, 0, 7);
    check_policy("spacing 0", 4, 0, 0, 0);
    check_policy("lead-max 17", 8, 0, 0, 0);
}

TEST(disks_step) {
    assert_int_equal(parse("disk next"), 0);
    assert_int_equal(w.disk_step, 1);
    assert_int_equal(w.order.kind, 18);
    assert_int_equal(parse("disk previous"), 0);
    assert_int_equal(w.disk_step, -1);
    assert_int_equal(parse("disk 3"), 0);
    assert_int_equal(w.disk_step, 0);
}

TEST(wrong_words) {
    static const char *const cases[] = {
        "",
        "paused",
        "pause now",
        "option speed",
        "option =fast",
        "option",
        "disk",
        "disk one",
        "disk 65535",
        "disk -1",
        "disk 1 2",
        "swap 1",
        "swap 1 1",
        "swap 0 1",
        "swap 1 9",
        "swap 1 2 3",
        "policy",
        "policy fair",
        "say",
        "policy strict 19",
        "policy strict 60001",
        "policy strict 5x",
        "policy strict 50 50",
        "host",
        "lock me",
        "unlock bob",
        "kick",
        "ban ",
        "judge bob",
        "desync",
        "desync mend",
        "disk later",
        "give",
        "give 1",
        "give 0 bob",
        "give 9 bob",
        "give bob",
        "budget",
        "budget 19",
        "budget 100 100",
        "spacing",
        "spacing 31",
        "spacing 1 2",
        "policy strict spacing",
        "policy strict spacing 31",
        "policy strict spacing 3 100",
        "policy strict spaced 3",
        "policy spacing 3",
        "policy strictly_more_than_fits",
        "report",
        "watchers ann",
        "voice everybody",
        "voice loud",
        "mute",
        "volume 201 ann",
        "volume ann",
        "volume 50",
        "leave now",
        "lead-max 0",
        "lead-max 31",
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (parse(cases[i]) == 0) fail_msg("\"%s\" was taken", cases[i]);
        assert_non_null(strstr(err, "expected")); /* says what, and what came */
    }
}

TEST(a_line_longer_than_a_command_is_refused) {
    char line[KL_WORDS_MAX + 20];
    memset(line, 'x', sizeof line);
    memcpy(line, "say ", 4);
    line[4 + KL_COMMAND_BYTES] = 0;
    assert_int_equal(parse(line), 0);
    line[4 + KL_COMMAND_BYTES] = 'x';
    line[4 + KL_COMMAND_BYTES + 1] = 0;
    assert_int_equal(parse(line), -1);
    line[4 + KL_COMMAND_BYTES + 1] = 'x';
    line[sizeof line - 1] = 0;
    assert_int_equal(parse(line), -1);
}

/* From a peer anything may come. */
TEST(hostile_data) {
    char text[KL_COMMAND_BYTES + 1], value[KL_COMMAND_BYTES + 1];
    uint16_t n;
    struct kl_command c = {.len = KL_COMMAND_BYTES};
    memset(c.data, 0xff, sizeof c.data);
    kl_words_text(&c, text);
    assert_int_equal(strlen(text), KL_COMMAND_BYTES);
    assert_null(strchr(text, (char)0xff));
    c.len = 5;
    memcpy(c.data, "a\x1b[2J", 5);
    kl_words_text(&c, text);
    assert_string_equal(text, "a?[2J");
    memcpy(c.data, "a\0b=c", 5);
    kl_words_text(&c, text);
    assert_string_equal(text, "a");
    assert_false(kl_words_option(&c, text, value));
    struct kl_params is;
    c.data[0] = 3;
    assert_false(kl_words_get_policy(&c, &is));
    assert_false(kl_words_get_disk(&c, &n));
    c.len = 4;
    c.data[0] = 1;
    assert_false(kl_words_get_policy(&c, &is));
    c.len = 0;
    kl_words_text(&c, text);
    assert_string_equal(text, "");
    assert_false(kl_words_option(&c, text, value));
}

/* A name that reads like the form around it is no words: its letters stay plain (canvas.h). */
TEST(words_in_a_notice) {
    struct kl_roster r = {.count = 3};
    strcpy(r.member[0].name, "ann");
    strcpy(r.member[1].name, ": x");
    strcpy(r.member[2].name, "ann: y");
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"[f 12] ann: hello", "hello"},
        {"[f 12] ann: y: hello", "hello"},
        {"[f 12] : x: hello", "hello"},
        {"[f 12] relay: hello", "hello"},
        {"[f 12] bob: hello", NULL},
        {"[f 12", NULL},
        {"bob (watches): hello", "hello"},
        {" (watches): x (watches): hello", "hello"},
        {" (watches): x", NULL},
        {"bob: hello", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t at = kl_words_in_notice(cases[i].text, &r);
        if (cases[i].words)
            assert_string_equal(cases[i].text + at, cases[i].words);
        else
            assert_int_equal(at, 0);
    }
}
