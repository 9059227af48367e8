/* The environment and keylock.cfg, written right and wrong by a player. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/folder.h"

#include "core_wrapper/words/config.h"
#include "core_wrapper/words/config_table.h"
#include "net/transport/link.h"
#include "net/session/command_words.h"

static int setup(void **state) {
    clearenv();
    return make_folder(state);
}

static void write_file(const char *text) {
    put(KL_CONFIG_FILE, text);
}

TEST_WITH(nothing_said_plays_alone, setup, remove_folder) {
    struct kl_config c;
    assert_int_equal(kl_config_read(&c, dir, err, sizeof err), 0);
    assert_string_equal(c.host, "");
    assert_string_equal(c.core, "");
    assert_false(c.epoch_set);
    assert_int_equal(c.seats, 1);
    assert_int_equal(c.params.players, 2);
    assert_true(c.params.subframes);
    assert_true(c.params.clocked);
    assert_int_equal(kl_config_read(&c, NULL, err, sizeof err), 0);
}

TEST_WITH(file_and_environment, setup, remove_folder) {
    struct kl_config c;
    write_file(
        "# a comment\n\n  core = \"/a b/x#1_libretro.so\"  \nrelay=example.org:7000 # there\nroom = ours\n"
        "players=4\r\nsubframes = off\n");
    setenv("KEYLOCK_ROOM", "theirs", 1);
    setenv("KEYLOCK_SPEED", "max", 1);
    setenv("KEYLOCK_NAME", "", 1);
    assert_int_equal(kl_config_read(&c, dir, err, sizeof err), 0);
    assert_string_equal(c.core, "/a b/x#1_libretro.so");
    assert_string_equal(c.host, "example.org");
    assert_int_equal(c.port, 7000);
    assert_string_equal(c.room, "theirs");
    assert_int_equal(c.params.players, 4);
    assert_false(c.params.subframes);
    assert_false(c.params.clocked);
}

TEST(relays) {
    static const struct {
        const char *text, *host;
        unsigned port; /* 0: refused */
    } cases[] = {
        {"h", "h", KL_DEFAULT_PORT},
        {"h:1", "h", 1},
        {"h:65535", "h", 65535},
        {"[::1]:9", "::1", 9},
        {"[::1]", "::1", KL_DEFAULT_PORT},
        {"::1", "::1", KL_DEFAULT_PORT},
        {"[2001:DB8:0:0::1]:9", "2001:db8::1", 9},
        {"[::ffff:192.0.2.1]:9", "192.0.2.1", 9},
        {"h:0", "", 0},
        {"h:65536", "", 0},
        {"h:", "", 0},
        {"h:x", "", 0},
        {":5", "", 0},
        {"h:-1", "", 0},
        {"h: 5", "", 0},
        {"[]:5", "", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kl_config c = {0};
        int r = kl_config_set(&c, "relay", cases[i].text, err, sizeof err);
        assert_int_equal(r, cases[i].port ? 0 : -1);
        assert_string_equal(c.host, cases[i].host);
        assert_int_equal(c.port, cases[i].port);
    }
}

static void refused(const char *key, const char *value) {
    struct kl_config c = {0};
    err[0] = 0;
    assert_int_equal(kl_config_set(&c, key, value, err, sizeof err), -1);
    assert_non_null(strstr(err, "KEYLOCK_")); /* names the key, what was expected and what came */
    assert_non_null(strstr(err, "expected"));
    assert_non_null(strstr(err, value));
}

TEST(values_with_rules_of_their_own) {
    refused("hotkeys", "select+r:dance");
    refused("room", "");
    refused("link", "http://relay/room");
    refused("link", "relay/room");
    refused("password_file", "/nowhere/at/all");
    refused("room", "a room with a name that is too long");
    refused("name", "bell\a");
    refused("name", "abcdefghijklmnopqrstuvwx"); /* 24 */
    assert_non_null(strstr(err, "a name of 1 to 23 characters"));
    struct kl_config c = {0};
    assert_int_equal(kl_config_set(&c, "colour", "red", err, sizeof err), -2);
    char wide[4 * 24 + 1];
    wide_name(wide, 23);
    assert_int_equal(kl_config_set(&c, "name", wide, err, sizeof err), 0);
    assert_int_equal(kl_config_set(&c, "room", wide, err, sizeof err), 0);
    assert_string_equal(c.name, wide);
    wide_name(wide, 24);
    assert_int_equal(kl_config_set(&c, "name", wide, err, sizeof err), -1);
}

/* Bounded where there is a clock to be late by, strict without, unless something is said. */
TEST_WITH(policies, setup, remove_folder) {
    struct kl_config c;
    assert_int_equal(kl_config_read(&c, NULL, err, sizeof err), 0);
    assert_int_equal(c.params.policy, KL_POLICY_BOUNDED);
    assert_int_equal(c.params.wait_budget_ms, 250);
    assert_false(c.params.half_steps || c.sparing); /* as the room has it */
    setenv("KEYLOCK_HALF_STEPS", "off", 1);
    assert_int_equal(kl_config_read(&c, NULL, err, sizeof err), 0);
    assert_true(!c.params.half_steps && c.sparing); /* said: not to and from here */
    unsetenv("KEYLOCK_HALF_STEPS");
    setenv("KEYLOCK_ECONOMY", "on", 1);
    assert_int_equal(kl_config_read(&c, NULL, err, sizeof err), 0);
    assert_true(c.params.economy);
    setenv("KEYLOCK_HALF_STEPS", "on", 1);
    assert_int_equal(kl_config_read(&c, NULL, err, sizeof err), -1);
    assert_non_null(strstr(err, "KEYLOCK_HALF_STEPS=off"));
    unsetenv("KEYLOCK_HALF_STEPS");
    setenv("KEYLOCK_SPEED", "max", 1);
    assert_int_equal(kl_config_read(&c, NULL, err, sizeof err), -1);
    assert_non_null(strstr(err, "KEYLOCK_SPEED=real"));
    unsetenv("KEYLOCK_ECONOMY");
    assert_int_equal(kl_config_read(&c, NULL, err, sizeof err), 0);
    assert_int_equal(c.params.policy, KL_POLICY_STRICT);
    write_file("policy = bounded\nbudget_ms = 1000\nhalf_steps = on\nhotkeys = select+x:save\n");
    assert_int_equal(kl_config_read(&c, dir, err, sizeof err), 0);
    assert_int_equal(c.params.policy, KL_POLICY_BOUNDED);
    assert_int_equal(c.params.wait_budget_ms, 1000);
    assert_true(c.params.half_steps && c.hotkeys_set && !c.sparing);
    assert_string_equal(c.hotkeys, "select+x:save");
    setenv("KEYLOCK_POLICY", "optimistic", 1); /* by a clock that is not there */
    assert_int_equal(kl_config_read(&c, NULL, err, sizeof err), -1);
    assert_non_null(strstr(err, "KEYLOCK_SPEED=real"));
    unsetenv("KEYLOCK_SPEED");
    assert_int_equal(kl_config_read(&c, NULL, err, sizeof err), 0);
    assert_int_equal(c.params.policy, KL_POLICY_OPTIMISTIC);
    setenv("KEYLOCK_SUBFRAMES", "off", 1);
    assert_int_equal(kl_config_read(&c, NULL, err, sizeof err), -1);
    assert_non_null(strstr(err, "KEYLOCK_SUBFRAMES=on"));
}

/* A link is relay, room and fingerprint; what comes by name is pinned elsewhere. */
TEST_WITH(links, setup, remove_folder) {
    static const char print[] = "klctam52jbefllrbwzcec4kpzufo5yyd";
    struct kl_config c;
    write_file("link = keylock://Example.org/ours#klctam52jbefllrbwzcec4kpzufo5yyd # hers\nplayers = 3\n");
    assert_int_equal(kl_config_read(&c, dir, err, sizeof err), 0);
    assert_string_equal(c.host, "example.org");
    assert_string_equal(c.room, "ours");
    assert_string_equal(c.fingerprint, print);
    assert_int_equal(c.port, KL_DEFAULT_PORT);
    assert_int_equal(c.params.players, 3);
    setenv("KEYLOCK_RELAY", "other:7", 1); /* another relay: the fingerprint is not its */
    assert_int_equal(kl_config_read(&c, dir, err, sizeof err), 0);
    assert_string_equal(c.host, "other");
    assert_string_equal(c.fingerprint, "");
    setenv("KEYLOCK_LINK", "keylock://third:9/a%20b", 1); /* before KEYLOCK_RELAY */
    assert_int_equal(kl_config_read(&c, dir, err, sizeof err), 0);
    assert_string_equal(c.host, "third");
    assert_string_equal(c.room, "a b");
    assert_int_equal(c.port, 9);
    assert_string_equal(c.fingerprint, "");
}

/* The place in the invitation is another than the relay's, and changes nothing about it. */
TEST_WITH(reached_at, setup, remove_folder) {
    struct kl_config c;
    setenv("KEYLOCK_LINK", "keylock://127.0.0.1:55436/den", 1);
    setenv("KEYLOCK_REACHED_AT", "203.0.113.5:7", 1);
    assert_int_equal(kl_config_read(&c, dir, err, sizeof err), 0);
    assert_string_equal(c.reached_host, "203.0.113.5");
    assert_int_equal(c.reached_port, 7);
    assert_string_equal(c.host, "127.0.0.1");
    assert_int_equal(c.port, 55436);
    setenv("KEYLOCK_REACHED_AT", "here:0", 1);
    assert_int_equal(kl_config_read(&c, dir, err, sizeof err), -1);
    assert_non_null(strstr(err, "KEYLOCK_REACHED_AT: expected HOST or HOST:PORT"));
}

TEST_WITH(doors, setup, remove_folder) {
    struct kl_config c;
    assert_int_equal(kl_config_set(&c, "link", "keylock://relay/room#short", err, sizeof err), -1);
    assert_int_equal(kl_config_read(&c, NULL, err, sizeof err), 0);
    assert_string_equal(c.password, "");
    assert_false(c.unlisted || c.insecure_lan || c.invite || c.seat_time_s);
    write_file("  swordfish \r\nsecond line\n");
    setenv("KEYLOCK_PASSWORD_FILE", at(KL_CONFIG_FILE), 1);
    setenv("KEYLOCK_SEAT_TIME", "90", 1);
    setenv("KEYLOCK_UNLISTED", "on", 1);
    assert_int_equal(kl_config_read(&c, NULL, err, sizeof err), 0);
    assert_string_equal(c.password, "  swordfish ");
    assert_int_equal(c.seat_time_s, 90);
    assert_true(c.unlisted);
    write_file("\nswordfish\n");
    assert_int_equal(kl_config_read(&c, NULL, err, sizeof err), -1);
    assert_non_null(strstr(err, "KEYLOCK_PASSWORD_FILE"));
    char *secret = calloc(1, KL_DOOR_PASSWORD_MAX + 2);
    assert_non_null(secret);
    memset(secret, 'q', KL_DOOR_PASSWORD_MAX + 1);
    assert_int_equal(kl_config_set(&c, "password", secret, err, sizeof err), -1);
    assert_null(strchr(err, 'q')); /* errors do not tell it */
    free(secret);
}

TEST_WITH(a_room_needs_a_relay, setup, remove_folder) {
    struct kl_config c;
    setenv("KEYLOCK_ROOM", "ours", 1);
    assert_int_equal(kl_config_read(&c, NULL, err, sizeof err), -1);
    assert_non_null(strstr(err, "KEYLOCK_RELAY"));
}

/* As RetroArch has it in its own files. */
TEST_WITH(the_first_line_of_a_key_counts, setup, remove_folder) {
    struct kl_config c;
    write_file("players = 3\nroom = \"first\"\nroom = second\nplayers = many\nlink = "
               "keylock://a.example.org/linked\n"
               "relay = b.example.org\n");
    assert_int_equal(kl_config_read(&c, dir, err, sizeof err), 0);
    assert_int_equal(c.params.players, 3);
    assert_string_equal(c.room, "linked"); /* a link counts before relay and room, wherever they stand */
    assert_string_equal(c.host, "a.example.org");
    write_file("room = first\nrelay = b.example.org\nroom = second\n");
    assert_int_equal(kl_config_read(&c, dir, err, sizeof err), 0);
    assert_string_equal(c.room, "first");
}

/* A value just inside the range is taken, and one just outside is not. */
static void check_range(const struct kl_row *row) {
    struct kl_config c = {0};
    char text[32];
    for (int outside = 0; outside < 2; outside++) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)row->max + outside);
        assert_int_equal(kl_config_set(&c, row->key, text, err, sizeof err), -outside);
        if (!row->min) continue;
        snprintf(text, sizeof text, "%llu", (unsigned long long)row->min - outside);
        assert_int_equal(kl_config_set(&c, row->key, text, err, sizeof err), -outside);
    }
}

/* Help and error have each word. */
static void check_words(const struct kl_row *row) {
    char words[128], help[KL_ROW_TEXT], *rest = NULL;
    uint64_t n = row->min;
    struct kl_config c = {0};
    snprintf(words, sizeof words, "%s", row->words);
    kl_row_help(row, help);
    assert_int_equal(kl_config_set(&c, row->key, "neither", err, sizeof err), -1);
    for (char *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
        if (!strstr(help, w) && !(row->value && strstr(row->value, w))) print_error("%s: %s\n", row->key, w);
        assert_true(strstr(help, w) || (row->value && strstr(row->value, w)));
        assert_non_null(strstr(err, w));
        assert_int_equal(kl_config_set(&c, row->key, w, err + 256, sizeof err - 256), 0);
        if (row->kind == KL_KIND_WORD) assert_int_equal(((uint8_t *)&c)[row->field], n++);
    }
}

/* Key, variable and flag are one name; a default is a value that its own row takes. */
TEST(rows_hold_together) {
    for (uint8_t i = KL_POLICY_STRICT, policy; i <= KL_POLICY_OPTIMISTIC; i++)
        assert_true(kl_policy_of(kl_policy_name(i), &policy) && policy == i);
    for (const struct kl_row *row = kl_config_rows; kl_row_is(row); row++) {
        struct kl_config c = {0};
        char name[64] = "KEYLOCK_", text[KL_ROW_TEXT];
        kl_row_help(row, text);
        assert_true(strlen(text) < sizeof text - 1 && !strchr(text, '{') && !strchr(text, '|'));
        if (!row->key) continue;
        assert_ptr_equal(kl_config_row(row->key), row);
        for (size_t k = 0; k <= strlen(row->key); k++)
            name[8 + k] = (char)toupper((unsigned char)row->key[k]);
        assert_string_equal(row->variable, name);
        kl_row_shown(row, NULL, text);
        assert_true(*text);
        assert_true(!row->name == !row->by);
        if (row->standard) assert_int_equal(kl_config_set(&c, row->key, row->standard, err, sizeof err), 0);
        if (row->kind == KL_KIND_NUMBER) check_range(row);
        if (row->words) check_words(row);
    }
}

TEST(own_file_name) {
    char core[64];
    assert_true(kl_config_core_from_file_name("/x/fbneo_keylock_libretro.so", core, sizeof core));
    assert_string_equal(core, "fbneo_libretro.so");
    assert_false(kl_config_core_from_file_name("/x/keylock_libretro.so", core, sizeof core));
    assert_false(kl_config_core_from_file_name("/x/_keylock_libretro.so", core, sizeof core));
    assert_false(kl_config_core_from_file_name("/fbneo_keylock_libretro.so/tmp123.so", core, sizeof core));
    assert_false(kl_config_core_from_file_name("/x/fbneo_keylock_libretro.so", core, 8));
}
