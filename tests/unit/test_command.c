/* Each command's effect on the core at its keyframe. The core and the frontend are stand-ins. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "core_wrapper/match/match.h"
#include "core_wrapper/match/command.h"
#include "net/session/command_words.h"
#include "tests/lib/unset_core.h"

static struct kl_match match;

static unsigned resets, saves, loads;
static size_t state_size;
static uint8_t machine[64]; /* the whole state of the core */
static bool refuses;
static char shown[512]; /* the newest line on the screen */
static char disks[128]; /* the disk's history: "o" open, a digit, "c" closed */

static bool front(unsigned cmd, void *data) {
    if (cmd != RETRO_ENVIRONMENT_SET_MESSAGE) return false;
    snprintf(shown, sizeof shown, "%s", ((const struct retro_message *)data)->msg);
    return true;
}

static void reset(void) {
    resets++;
}
static size_t serialize_size(void) {
    return state_size;
}
static bool serialize(void *data, size_t size) {
    saves++;
    if (refuses) return false;
    memcpy(data, machine, size);
    return true;
}
static bool unserialize(const void *data, size_t size) {
    loads++;
    if (refuses) return false;
    memcpy(machine, data, size);
    return true;
}

static void *no_memory(unsigned id) {
    return (void)id, NULL;
}
static size_t no_bytes(unsigned id) {
    return (void)id, 0;
}

static bool eject(bool out) {
    strcat(disks, out ? "o" : "c");
    return true;
}
static bool insert(unsigned i) {
    snprintf(disks + strlen(disks), 8, "%u", i);
    return true;
}
static unsigned images(void) {
    return 3;
}

static int set_up(void **state) {
    (void)state;
    static const struct retro_variable options[] = {{"speed", "Speed; normal|fast"}, {NULL, NULL}};
    kl_command_end(&match);
    kl_world_release(match.emu.world);
    memset(&match, 0, sizeof match);
    kl_match_init(&match);
    match.emu.world = kl_world_take(); /* the slot keeps the session's files */
    match.control.socket = -1;
    match.front.call.environment = front;
    match.emu.core.reset = reset;
    match.emu.core.serialize_size = serialize_size;
    match.emu.core.serialize = serialize;
    match.emu.core.unserialize = unserialize;
    match.emu.core.get_memory_data = no_memory;
    match.emu.core.get_memory_size = no_bytes;
    match.status.welcome.params =
        (struct kl_params){.policy = KL_POLICY_BOUNDED, .clocked = true, .subframes = true};
    match.status.roster.count = 1;
    match.status.roster.member[0] = (struct kl_member){.client = 2, .seats = 1, .name = "ann"};
    assert_true(kl_options_declare(&match.emu.options, RETRO_ENVIRONMENT_SET_VARIABLES, options));
    match.emu.options.updated = false;
    resets = saves = loads = 0;
    state_size = sizeof machine;
    refuses = false;
    shown[0] = disks[0] = 0;
    kl_command_begin(&match);
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    kl_command_end(&match);
    kl_options_free(&match.emu.options);
    return 0;
}

/* As ann's words come to all. */
static void obey(const char *words, uint32_t frame) {
    struct kl_words w;
    char err[300];
    assert_int_equal(kl_words_parse(&w, words, err, sizeof err), 0);
    struct kl_command c = {.client = 2, .kind = w.order.kind, .len = w.order.len};
    memcpy(c.data, w.order.data, w.order.len);
    match.play.run.number = frame;
    kl_command_obey(&match, &match.play.run, &c);
}

TEST_WITH(reset_is_the_cores, set_up, tear_down) {
    match.emu.lasting.motor[0][RETRO_RUMBLE_STRONG] = 1000;
    obey("reset", 77);
    assert_int_equal(resets, 1);
    assert_int_equal(match.emu.lasting.motor[0][RETRO_RUMBLE_STRONG], 0);
    assert_string_equal(shown, "ann (1): reset");
}

/* As the room gives it, where it names what was saved at that keyframe. */
static void back(uint32_t to, uint32_t frame) {
    struct kl_command c = {.client = 2, .kind = KL_COMMAND_LOAD, .len = KL_LOAD_BYTES};
    memcpy(c.data, &to, sizeof to); /* little-endian, as this machine */
    match.play.run.number = frame;
    kl_command_obey(&match, &match.play.run, &c);
}

TEST_WITH(the_slot, set_up, tear_down) {
    back(0, 5);
    assert_int_equal(loads, 0);
    assert_string_equal(shown, "ann (1): the saved state of frame 0 was replaced: load again");
    memset(machine, 1, sizeof machine);
    obey("save", 10);
    memset(machine, 2, sizeof machine);
    back(10, 20);
    assert_int_equal(machine[0], 1);
    assert_string_equal(shown, "ann (1): loaded the state of frame 10");
    obey("save", 25);
    memset(machine, 3, sizeof machine);
    back(10, 26); /* given before the second save was known */
    assert_int_equal(machine[0], 3);
    assert_string_equal(shown, "ann (1): the saved state of frame 10 was replaced: load again");
    obey("load", 27); /* a number that names nothing */
    assert_int_equal(machine[0], 3);
    refuses = true;
    back(25, 50);
    assert_non_null(strstr(shown, "refused the saved state"));
}

/* A state that differs between machines could never be gone back to. */
TEST_WITH(bytes_that_a_core_never_set_are_saved_as_zeros, set_up, tear_down) {
    const uint8_t zeros[sizeof machine] = {0};
    match.emu.core.serialize = write_unset;
    leave_on_the_stack(0x11);
    obey("save", 10);
    memset(machine, 2, sizeof machine);
    back(10, 20);
    assert_memory_equal(machine, zeros, sizeof zeros);
}

/* The others have a state of frame 30 now: to go back to that of frame 10 here would be out of sync. */
TEST_WITH(a_save_that_fails_leaves_nothing, set_up, tear_down) {
    obey("save", 10);
    refuses = true;
    obey("save", 30);
    assert_non_null(strstr(shown, "no state saved"));
    refuses = false;
    back(10, 40);
    back(30, 41);
    assert_int_equal(loads, 0);
    assert_string_equal(shown, "ann (1): out of sync: no saved state of frame 30 on this machine");
}

TEST_WITH(a_core_that_cannot_save, set_up, tear_down) {
    state_size = 0;
    obey("save", 10);
    assert_int_equal(saves, 0);
    assert_non_null(strstr(shown, "no state saved: the core gave none"));
    kl_command_begin(&match); /* a new game: an empty slot */
    back(10, 11);
    assert_int_equal(loads, 0);
}

TEST_WITH(options, set_up, tear_down) {
    obey("option speed=fast", 12);
    assert_string_equal(kl_options_get(&match.emu.options, "speed"), "fast");
    assert_true(match.emu.options.updated);
    assert_string_equal(shown, "ann (1): option speed = fast");
    match.emu.options.updated = false;
    obey("option speed=warp", 13);
    assert_string_equal(kl_options_get(&match.emu.options, "speed"), "fast");
    obey("option colour=red", 14);
    assert_non_null(strstr(shown, "has no option"));
    assert_false(match.emu.options.updated);
}

TEST_WITH(a_disk_is_seen_to_be_out, set_up, tear_down) {
    obey("disk 2", 100);
    assert_string_equal(shown, "ann (1): no disk swapped: this core has no disks");
    match.emu.told.disk_control.set_eject_state = eject;
    match.emu.told.disk_control.set_image_index = insert;
    match.emu.told.disk_control.get_num_images = images;
    obey("disk 2", 100);
    assert_string_equal(disks, "o");
    for (uint32_t f = 101; f < 160; f++)
        kl_emulator_tray(&match.emu, f);
    assert_string_equal(disks, "o");
    for (uint32_t f = 160; f < 300; f++)
        kl_emulator_tray(&match.emu, f);
    assert_string_equal(disks, "o1c");
    obey("disk 0", 300);
    kl_emulator_tray(&match.emu, 400);
    assert_string_equal(disks, "o1co3c"); /* the index past the last: no disk */
    obey("disk 9", 500);
    kl_emulator_tray(&match.emu, 600);
    assert_string_equal(disks, "o1co3co3c");
}

TEST_WITH(swaps, set_up, tear_down) {
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        assert_int_equal(kl_command_seat(&match, s), s);
    obey("swap 1 2", 10);
    assert_int_equal(kl_command_seat(&match, 0), 1);
    assert_int_equal(kl_command_seat(&match, 1), 0);
    obey("swap 2 3", 11); /* whoever plays player 2 now, and player 3 */
    assert_int_equal(kl_command_seat(&match, 0), 2);
    assert_int_equal(kl_command_seat(&match, 1), 0);
    assert_int_equal(kl_command_seat(&match, 2), 1);
    kl_command_begin(&match);
    assert_int_equal(kl_command_seat(&match, 0), 0);
}

/* --- giving --- */

static char answer[300];

static int fit(const char *words, struct kl_words *w) {
    answer[0] = 0;
    if (kl_words_parse(w, words, answer, sizeof answer) != 0) fail_msg("%s: %s", words, answer);
    return kl_command_fit(&match, w, answer, sizeof answer);
}
static void taken(const char *words, unsigned a, unsigned b) {
    struct kl_words w;
    if (fit(words, &w) != 0) fail_msg("%s: %s", words, answer);
    assert_int_equal(w.order.data[0], a);
    assert_int_equal(w.order.data[1], b);
}
static void refused(const char *words, const char *why) {
    struct kl_words w;
    if (fit(words, &w) == 0) fail_msg("\"%s\" was taken", words);
    assert_string_equal(answer, why);
}

/* ann is the host; dora watches. */
static void four_here(void) {
    static const struct kl_member here[] = {
        {.client = 2, .seats = 1, .host = true, .name = "ann"},
        {.client = 0, .seats = 2, .name = "bob"},
        {.client = 5, .seats = 4, .name = "carl"},
        {.client = 3, .seats = 0, .name = "dora"},
        {.client = 4, .seats = 128, .state = KL_MEMBER_GONE, .name = "eve"}};
    memcpy(match.status.roster.member, here, sizeof here);
    match.status.roster.count = COUNT(here);
    match.status.welcome.client = 2;
    match.status.welcome.host = true;
}

/* Players name seats as they are played; the roster knows whose pads have which seat. */
TEST_WITH(masks_go_back_to_pads, set_up, tear_down) {
    assert_int_equal(kl_command_pads(&match, 0x05), 0x05);
    obey("swap 1 2", 10);
    assert_int_equal(kl_command_pads(&match, 1), 2);
    assert_int_equal(kl_command_pads(&match, 2), 1);
    assert_int_equal(kl_command_pads(&match, 4), 4);
    obey("swap 2 3", 11); /* pads 1 2 3 play 3 1 2 */
    assert_int_equal(kl_command_pads(&match, 1), 2);
    assert_int_equal(kl_command_pads(&match, 2), 4);
    assert_int_equal(kl_command_pads(&match, 4), 1);
    assert_int_equal(kl_command_pads(&match, 0x83), 0x86);
    kl_command_begin(&match);
    assert_int_equal(kl_command_pads(&match, 1), 1);
}

TEST_WITH(swaps_are_of_played_seats, set_up, tear_down) {
    four_here();
    taken("swap 1 3", 0, 2);
    taken("swap 3 4", 2, 3);
    refused("swap 4 5", "both seats are free: nothing to swap");
    refused("swap 7 8", "both seats are free: nothing to swap"); /* eve is gone */
    obey("swap 3 6", 10);
    refused("swap 3 4", "both seats are free: nothing to swap");
    taken("swap 6 4", 5, 3);
}

TEST_WITH(a_seat_is_given_by_name, set_up, tear_down) {
    four_here();
    taken("give 1 carl", 0, 2);
    obey("swap 3 6", 10); /* carl plays as player 6 */
    taken("give 1 carl", 0, 5);
    refused("give 6 carl", "carl is already player 6");
    match.status.roster.member[1].seats = 2 | 8; /* bob plays as 2 and 4 */
    refused("give 4 bob", "bob is already player 4");
    taken("give 1 bob", 0, 1);
    refused("give 1 dora", "dora watches: only a player can get another seat");
    refused("give 1 eve", "nobody in this room is called \"eve\"");
    match.status.welcome.host = false;
    refused("give 1 carl", "only the host of the room can do that");
}

TEST_WITH(a_host_is_made_by_name_or_seat, set_up, tear_down) {
    four_here();
    taken("host dora", 3, 0);
    taken("host 2", 0, 0);
    obey("swap 2 3", 10);
    taken("host 2", 5, 0);
    refused("host 4", "nobody plays as player 4");
    refused("host 9", "nobody in this room is called \"9\"");
    strcpy(match.status.roster.member[3].name, "2"); /* a number is a number, not somebody's name */
    taken("host 2", 5, 0);
    strcpy(match.status.roster.member[3].name, "BOB");
    refused("kick Bob", "bob (3) and BOB (watches): give the number");
    taken("kick bob (3)", 0, 0);
    taken("kick bob (watches)", 3, 0);
}

TEST_WITH(values_that_are_not_named_stay, set_up, tear_down) {
    struct kl_words w;
    four_here();
    match.command.params.wait_budget_ms = 250;
    match.play.next_frame = 1000;
    assert_int_equal(fit("spacing 4", &w), 0);
    assert_memory_equal(w.order.data, ((uint8_t[]){KL_POLICY_BOUNDED, 250, 0, 4}), 4);
    match.play.next_frame = 1010; /* the room has not done it yet */
    assert_int_equal(fit("policy strict", &w), 0);
    assert_memory_equal(w.order.data, ((uint8_t[]){KL_POLICY_STRICT, 250, 0, 4}), 4);
    assert_int_equal(fit("budget 100", &w), 0);
    assert_memory_equal(w.order.data, ((uint8_t[]){KL_POLICY_STRICT, 100, 0, 4}), 4);
    match.play.next_frame = 2000; /* nor will it */
    assert_int_equal(fit("spacing 0", &w), 0);
    assert_memory_equal(w.order.data, ((uint8_t[]){KL_POLICY_BOUNDED, 250, 0, 0}), 4);
}

static unsigned in_now;
static unsigned disk_in(void) {
    return in_now;
}

TEST_WITH(disks_step, set_up, tear_down) {
    four_here();
    refused("disk next", "this core has no disks to swap");
    match.emu.told.disk_control.get_num_images = images;
    refused("disk next", "this core does not tell its disk: name a number");
    match.emu.told.disk_control.get_image_index = disk_in;
    in_now = 0;
    taken("disk next", 1, 0);
    taken("disk previous", 2, 0);
    in_now = 2;
    taken("disk next", 0, 0);
    in_now = 3; /* none */
    taken("disk next", 0, 0);
    taken("disk previous", 2, 0);
    taken("disk 3", 2, 0);
    refused("disk 4", "expected a disk from 1 to 3 (0: none), got 4");
}

TEST_WITH(impossible_commands_are_refused_at_once, set_up, tear_down) {
    struct kl_words w;
    four_here();
    refused("load", "the room has no saved state: save first");
    assert_int_equal(fit("save", &w), 0);
    obey("save", 0x1234);
    assert_int_equal(fit("load", &w), 0);
    assert_int_equal(w.order.len, KL_LOAD_BYTES);
    assert_memory_equal(w.order.data, ((uint8_t[]){0x34, 0x12, 0, 0}), KL_LOAD_BYTES);
    refuses = true;
    obey("save", 70);
    refused("load", "this core could not save the state of frame 70");
    match.play.no_states = true; /* as the hashes found */
    refused("save", "this core has no savestates");
}

TEST_WITH(policies, set_up, tear_down) {
    obey("policy optimistic 300", 10);
    assert_int_equal(match.command.params.policy, KL_POLICY_OPTIMISTIC);
    assert_int_equal(match.command.params.wait_budget_ms, 300);
    assert_string_equal(shown, "ann (1): policy optimistic, 300 ms");
    obey("policy strict", 11);
    assert_string_equal(shown, "ann (1): policy strict");
    obey("policy strict spacing 5", 12);
    assert_int_equal(match.command.params.spacing_fixed, 5);
    assert_string_equal(shown, "ann (1): policy strict, spacing 5");
    obey("policy bounded 100", 12);
    assert_string_equal(shown, "ann (1): policy bounded, 100 ms, spacing follows the link");
    obey("policy strict", 12);
    match.command.params.subframes = false; /* the relay passes over it there, so do we */
    obey("policy optimistic 300", 12);
    assert_int_equal(match.command.params.policy, KL_POLICY_STRICT);
}

TEST_WITH(talk, set_up, tear_down) {
    obey("say hello", 9);
    assert_string_equal(shown, "ann (1): hello");
    struct kl_command c = {.client = KL_RELAY_CLIENT, .kind = KL_COMMAND_CHAT, .len = 3, .data = "a\nb"};
    match.play.run.number = 10;
    kl_command_obey(&match, &match.play.run, &c);
    assert_string_equal(shown, "relay: a?b");
    c.client = 7;
    match.play.run.number = 11;
    kl_command_obey(&match, &match.play.run, &c);
    assert_string_equal(shown, "client 7: a?b");
}

/* Before the game, and of things that others decide, there is an answer and nothing else. */
TEST_WITH(not_now, set_up, tear_down) {
    assert_int_equal(kl_command_do(&match, "reset", answer, sizeof answer), -1);
    assert_string_equal(answer, "the game has not begun");
    assert_int_equal(kl_command_do(&match, "jump", answer, sizeof answer), -1);
    assert_non_null(strstr(answer, "expected"));
    struct kl_command c = {.client = 2, .kind = 200, .len = 3};
    match.play.run.number = 5;
    kl_command_obey(&match, &match.play.run, &c); /* of a later version */
    assert_string_equal(shown, "");
    assert_int_equal(resets, 0);
}

/* Its core alone changes, and nothing is told. */
TEST_WITH(ahead_of_the_lock_nothing_of_the_room_changes, set_up, tear_down) {
    struct kl_core_run was = match.play.run;
    struct kl_params room = match.command.params;
    match.play.run.how = KL_RUN_AHEAD;
    obey("reset", 10);
    assert_int_equal(resets, 1);
    obey("swap 1 2", 11);
    assert_int_equal(match.play.run.plays[0], 1);
    obey("policy strict", 12);
    assert_memory_equal(&match.command.params, &room, sizeof room);
    obey("save", 13);
    assert_false(match.slot.any);
    struct kl_command load = {.client = 2, .kind = KL_COMMAND_LOAD, .len = KL_LOAD_BYTES, .data = {13}};
    assert_false(kl_command_obey(&match, &match.play.run, &load));
    struct kl_command snapshot = {.client = KL_RELAY_CLIENT, .kind = KL_COMMAND_SNAPSHOT};
    assert_true(kl_command_obey(&match, &match.play.run, &snapshot));
    assert_int_equal(loads, 0);
    match.profile.load_own = true;
    assert_true(kl_command_obey(&match, &match.play.run, &snapshot));
    assert_int_equal(loads, 1);
    refuses = true;
    assert_false(kl_command_obey(&match, &match.play.run, &snapshot));
    assert_false(match.snapshots.own.taken);
    assert_string_equal(shown, "");
    match.play.run = was;
}
