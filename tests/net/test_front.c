/* The interface for frontends (keylock_api.h) against a real relay: rooms listed while nobody waits for them,
 * a game that goes into a room because the menu said so, and out of it again.
 * runs: waiting, test, 2 s */
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <libretro.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "net/platform/clock.h"
#include "core_wrapper/abi/the_match.h"
#include "core_wrapper/abi/keylock_api.h"
#include "core_wrapper/match/wanted_room.h"
#include "tests/net/net_hitch.h"
#include "tests/net/net_player.h"

const struct keylock_api *keylock_api(void);
#define MAX 64

static struct program relay, far;
static struct player other[2];
static char err[512], line[KEYLOCK_LINE];

static int begin(void **state) {
    (void)state;
    unsetenv("KEYLOCK_RELAY");
    relay = relay_start(NULL);
    far = proxy_start(relay.port, (const char *const[]){"--delay", "40", NULL});
    return relay.port && far.port ? 0 : -1;
}
static int end(void **state) {
    (void)state;
    program_stop(&far, SIGTERM);
    return program_stop(&relay, SIGTERM);
}

/* --- fields --- */

TEST(fields_are_checked) {
    static const char *const bad[][3] = {
        {"relay", "host:port", "relay: expected HOST or HOST:PORT"},
        {"room", "", "room: expected a name of 1 to 23 characters"},
        {"seats", "9", "seats: expected 0 (to watch) to 8"},
        {"policy", "lax", "policy: expected strict, bounded or optimistic"},
        {"link", "http://x/y", "link: this link is not one of Keylock's: expected"},
        {"colour", "red", "there is no key \"colour\""}};
    const struct keylock_api *api = keylock_api();
    assert_int_equal(api->version, KEYLOCK_API_VERSION);
    for (unsigned i = 0; i < COUNT(bad); i++) {
        assert_int_equal(api->check(bad[i][0], bad[i][1], err, sizeof err), -1);
        if (strncmp(err, bad[i][2], strlen(bad[i][2])) != 0) fail_msg("%s", err);
        assert_int_equal(api->check(bad[i][0], bad[i][1], NULL, 0), -1);
    }
    assert_int_equal(api->check("password", "", err, sizeof err), -1);
    assert_int_equal(api->check("relay", "relay.example.org:55435", err, sizeof err), 0);
}

TEST(a_wish_is_whole_or_none) {
    static struct kl_config c;
    const struct keylock_setting good[] = {{"mode", "room"}, {"relay", "h:7"}, {"room", "r"}},
                                 bad[] = {{"mode", "room"}, {"relay", "h"}, {"seats", "many"}},
                                 nowhere[] = {{"mode", "quick"}};
    const struct keylock_api *api = keylock_api();
    assert_int_equal(api->join(good, 3, err, sizeof err), 0);
    assert_int_equal(api->join(bad, 3, err, sizeof err), -1);
    assert_non_null(strstr(err, "seats: expected"));
    assert_int_equal(api->join(nowhere, 1, err, sizeof err), -1);
    assert_non_null(strstr(err, "relay: expected"));
    assert_int_equal(kl_wish_apply(&m->wish, &c, err, sizeof err), 0);
    assert_string_equal(c.host, "h");
    assert_int_equal(c.port, 7);
    assert_string_equal(c.room, "r");
    kl_wish_forget(&m->wish);
}

/* --- browsing --- */

static unsigned browse(const char *relays, struct keylock_room *room) {
    const struct keylock_api *api = keylock_api();
    bool asking = true;
    unsigned count = 0;
    hitch_watch(0);
    uint64_t from_us = kl_now_us(), still_us = hitch_us();
    assert_int_equal(api->browse(relays, err, sizeof err), 0);
    assert_in_time(kl_now_us() - from_us, 100000, still_us);
    while (asking && kl_now_us() < from_us + 10000000) {
        count = api->rooms(room, MAX, &asking, line);
        poll(NULL, 0, asking ? 5 : 0);
    }
    assert_false(asking);
    return count;
}

static void open_room(struct player *p, const char *name) {
    struct kl_hello h = hello_make("ann", name, 1, 2);
    player_open(p, &h, relay.port, 10);
    assert_true(player_joins(p));
}

TEST(rooms_come_by_ping) {
    static struct keylock_room room[MAX];
    char relays[128], near_us[64];
    open_room(&other[0], "b-room");
    open_room(&other[1], "a-room");
    snprintf(relays, sizeof relays, "127.0.0.1:%u, 127.0.0.1:%u 127.0.0.1:9", far.port, relay.port);
    snprintf(near_us, sizeof near_us, "127.0.0.1:%u", relay.port);
    assert_int_equal(browse(relays, room), 4);
    assert_string_equal(room[0].relay, near_us);
    assert_string_equal(room[0].name, "a-room");
    assert_string_equal(room[1].name, "b-room");
    assert_string_equal(room[2].name, "a-room");
    assert_true(room[0].ping_ms < room[2].ping_ms && room[2].ping_ms >= 75 &&
                room[3].ping_ms == room[2].ping_ms);
    assert_int_equal(room[0].players, 2);
    assert_int_equal(room[0].filled, 1);
    assert_true(room[0].open >= 1);
    assert_non_null(strstr(line, "127.0.0.1:9"));
    assert_int_equal(keylock_api()->browse("a b c d e f g h i", err, sizeof err), -1);
    assert_int_equal(keylock_api()->browse(" , ", err, sizeof err), -1);
    assert_int_equal(keylock_api()->browse("a:b", err, sizeof err), -1);
    for (unsigned i = 0; i < 2; i++)
        player_close(&other[i], 100);
}

/* Nobody waits for who is asked. */
TEST(browsing_ends_at_once) {
    char relays[64];
    struct program mute = proxy_start(relay.port, (const char *const[]){"--loss", "100", NULL});
    snprintf(relays, sizeof relays, "127.0.0.1:%u", mute.port);
    hitch_watch(0);
    uint64_t from_us = kl_now_us(), still_us = hitch_us();
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(keylock_api()->browse(relays, err, sizeof err), 0);
    keylock_api()->browse_end();
    assert_in_time(kl_now_us() - from_us, 300000, still_us);
    program_stop(&mute, SIGTERM);
}

/* --- a game --- */

static bool environment(unsigned cmd, void *data) {
    switch (cmd) {
    case RETRO_ENVIRONMENT_SET_PIXEL_FORMAT:
    case RETRO_ENVIRONMENT_SET_SYSTEM_AV_INFO: return true;
    case RETRO_ENVIRONMENT_GET_SAVE_DIRECTORY:
    case RETRO_ENVIRONMENT_GET_SYSTEM_DIRECTORY: *(const char **)data = relay_state(); return true;
    default: return false;
    }
}
static void video(const void *data, unsigned w, unsigned h, size_t pitch) {
    (void)data, (void)w, (void)h, (void)pitch;
}
static void sample(int16_t l, int16_t r) {
    (void)l, (void)r;
}
static size_t batch(const int16_t *data, size_t frames) {
    (void)data;
    return frames;
}
static void poll_input(void) {}
static int16_t input(unsigned port, unsigned device, unsigned index, unsigned id) {
    (void)port, (void)device, (void)index, (void)id;
    return 0;
}

static enum keylock_state run_until(enum keylock_state wanted) {
    enum keylock_state is = keylock_api()->state(line);
    for (unsigned i = 0; i < 500 && is != wanted; i++) {
        retro_run();
        usleep(10000);
        is = keylock_api()->state(line);
    }
    return is;
}

static bool load(void) {
    static const uint8_t bytes[1024] = "a game";
    struct retro_game_info game = {.path = "game.bin", .data = bytes, .size = sizeof bytes};
    retro_set_environment(environment);
    retro_set_video_refresh(video);
    retro_set_audio_sample(sample);
    retro_set_audio_sample_batch(batch);
    retro_set_input_poll(poll_input);
    retro_set_input_state(input);
    retro_init();
    return retro_load_game(&game);
}

static void chat_is_checked(const struct keylock_api *api) {
    char longest[96 + 2];
    memset(longest, 'a', sizeof longest);
    longest[97] = 0;
    assert_int_equal(api->say(longest, err, sizeof err), -1);
    assert_string_equal(err, "the line is too long: expected at most 96 bytes, got 97");
    assert_int_equal(api->say(longest, NULL, 0), -1);
    assert_int_equal(api->say(longest + 1, err, sizeof err), 0);
    assert_int_equal(api->say("", err, sizeof err), 0);
    assert_int_equal(api->say(" \t", err, sizeof err), 0);
    assert_string_equal(err, "the line is too long: expected at most 96 bytes, got 97");
}

TEST(a_game_goes_where_the_menu_says) {
    const struct keylock_api *api = keylock_api();
    char where[64], core[4096];
    const char *build = getenv("KL_BUILD");
    snprintf(where, sizeof where, "127.0.0.1:%u", relay.port);
    snprintf(core, sizeof core, "%s/cores/probe_core_libretro.so", build ? build : "build");
    const struct keylock_setting want[] = {{"core", core},     {"mode", "room"}, {"relay", where},
                                           {"room", "mine"},   {"name", "ann"},  {"players", "1"},
                                           {"password", "pw"}, {"seats", "1"}};
    assert_int_equal(api->state(line), KEYLOCK_IDLE);
    assert_int_equal(api->say("hello", err, sizeof err), -1);
    assert_string_equal(err, "you are in no room");
    assert_int_equal(api->join(want, COUNT(want), err, sizeof err), 0);
    assert_true(load());
    assert_int_equal(run_until(KEYLOCK_PLAYING), KEYLOCK_PLAYING);
    assert_string_equal(line, "room mine: playing, 1 of 1 seats taken");
    assert_int_equal(api->state(NULL), KEYLOCK_PLAYING);
    assert_true(KEYLOCK_IN_ROOM(KEYLOCK_PLAYING));
    assert_true(api->link(line, sizeof line));
    assert_non_null(strstr(line, "/mine?core=probe_core&game=game.bin&"));
    chat_is_checked(api);
    api->leave();
    assert_int_equal(api->say("hello", err, sizeof err), -1);
    assert_int_equal(api->state(line), KEYLOCK_ALONE);
    assert_false(api->link(line, sizeof line));
    for (unsigned i = 0; i < 200; i++)
        retro_run(); /* and does not come back */
    assert_int_equal(api->state(line), KEYLOCK_ALONE);
    retro_unload_game();
    retro_deinit();
    assert_int_equal(api->state(line), KEYLOCK_IDLE);
}

/* The core is closed and opened again when the menu wants another way to play; what it said of itself is kept
 * by the frontend. */
TEST(facts_of_the_core_outlive_it) {
    char core[4096], where[64];
    const char *build = getenv("KL_BUILD");
    struct retro_system_info told;
    Dl_info in;
    snprintf(where, sizeof where, "127.0.0.1:%u", relay.port);
    snprintf(core, sizeof core, "%s/cores/probe_core_libretro.so", build ? build : "build");
    setenv("KEYLOCK_CORE", core, 1);
    retro_set_environment(environment);
    retro_get_system_info(&told);
    const char *const text[] = {told.library_name, told.library_version, told.valid_extensions};
    for (unsigned i = 0; i < COUNT(text); i++)
        assert_true(!dladdr(text[i], &in) || !strstr(in.dli_fname, "probe_core"));
    const struct keylock_setting want[] = {{"mode", "room"}, {"relay", where}};
    assert_int_equal(keylock_api()->join(want, COUNT(want), err, sizeof err), 0);
    retro_set_environment(environment);
    assert_string_equal(told.valid_extensions, "probe|bin|nes");
    kl_wish_forget(&m->wish);
    unsetenv("KEYLOCK_CORE");
}

/* The same library, not unloaded: the wish of before is gone. */
TEST(a_wish_is_for_one_game) {
    char core[4096];
    const char *build = getenv("KL_BUILD");
    snprintf(core, sizeof core, "%s/cores/probe_core_libretro.so", build ? build : "build");
    setenv("KEYLOCK_CORE", core, 1);
    assert_true(load());
    assert_int_equal(keylock_api()->state(line), KEYLOCK_ALONE);
    retro_run();
    retro_unload_game();
    retro_deinit();
    unsetenv("KEYLOCK_CORE");
}

int main(void) {
    return run_all_tests(begin, end);
}
