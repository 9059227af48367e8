#include "core_wrapper/tool/run/run.h"

#include "net/engine/engine.h"
#include "net/session/command_words.h"
#include "core_wrapper/words/config.h"
#include "core_wrapper/record/desync.h"
#include "core_wrapper/tool/common/tool.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off: a line here is a line there */
const char cmd_run_help[] =
    "Usage: keylock run --core NAME_OR_PATH --content FILE --frames N [OPTIONS]\n"
    "\n"
    "Runs a core for N frames without screen or sound: alone, or with --relay in a room through the "
    "wrapper.\n"
    "\n"
    "@0\n"
    "@1\n"
    "\n"
    "In a room:\n"
    "@2\n"
    "@3\n"
    "\n"
    "The last line on standard output is a JSON object: frames, ram and state (hashes after the last frame, "
    "null for none),\n"
    "stalls, longest_stall_ms, lead_frames_avg, rtt_ms, wall_s, fps, desync_frame (the first frame of the "
    "last desync),\n"
    "healed (how often), state_only (verdicts with equal RAM and unequal states), turned and left (the "
    "core's imports of\n"
    "time and chance), exit, error, …\n"
    "\n"
    "Exit status:\n"
    "  0  N frames ran, and a room stayed in sync\n"
    "  1  interrupted, or the core asked to stop before\n"
    "  2  wrong usage\n"
    "  3  desync: hashes differ between the members of the room, and were not healed\n"
    "  4  the relay did not answer, refused, closed the room, or gave no verdict on the last frame in time\n"
    "  5  core or content could not be loaded\n"
    "  6  a hash, trace or save file, or standard output, could not be written\n";
/* clang-format on */

static bool take_corrupt(const struct kl_row *row, void *field, const char *text, char why[KL_ROW_TEXT]) {
    struct kl_corrupt ignored;
    (void)row;
    *(const char **)field = text;
    return kl_corrupt_parse(&ignored, text, why, KL_ROW_TEXT) == 0;
}

static bool take_hz(const struct kl_row *row, void *hz, const char *text, char why[KL_ROW_TEXT]) {
    char *end;
    double rate = strtod(text, &end);
    (void)row, (void)why;
    *(double *)hz = rate;
    return end != text && !*end && rate >= 1 && rate <= 1000;
}

static bool take_spectate(const struct kl_row *row, void *options, const char *text, char why[KL_ROW_TEXT]) {
    (void)row, (void)text, (void)why;
    ((struct kl_run_options *)options)->seats = 0;
    return true;
}

/* "300:reset", "300+1500:resume". */
static bool take_command(const struct kl_row *row, void *options, const char *text, char why[KL_ROW_TEXT]) {
    struct kl_run_options *o = options;
    struct kl_words words;
    char *end, err[KL_WORDS_MAX];
    unsigned long long ms = 0;
    (void)row;
    if (o->command_count == KLT_COMMANDS) {
        snprintf(why, KL_ROW_TEXT, "expected at most %d of them, got more", KLT_COMMANDS);
        return false;
    }
    bool good = *text >= '0' && *text <= '9';
    unsigned long long frame = strtoull(text, &end, 10);
    if (good && *end == '+') {
        good = end[1] >= '0' && end[1] <= '9';
        ms = strtoull(end + 1, &end, 10);
    }
    if (!good || *end != ':' || frame > UINT32_MAX || ms > 1000000) return false;
    if (kl_words_parse(&words, end + 1, err, sizeof(err)) != 0) {
        snprintf(why, KL_ROW_TEXT, "%.200s: %s", text, err);
        return false;
    }
    o->command[o->command_count++] = (struct kl_run_command){(uint32_t)frame, (uint32_t)ms, end + 1};
    return true;
}

#define KL_ROWS_OF struct kl_run_options

static const struct kl_row rows[] = {
    KL_ROW_NUMBER("frames", "N", frames, 1, UINT32_MAX, "frames to run"),
    KL_ROW_STRING(
        "input", "SOURCE", machine.input,
        "none (default); random:SEED, plausible play; any:SEED, the same with a keyboard, mice, sticks "
        "and touches; or a file of lines FRAME PORT MASK: from that frame on the port holds the buttons "
        "of the hexadecimal mask (1 B, 2 Y, 4 Select, 8 Start, 10 Up, 20 Down, 40 Left, 80 Right, 100 "
        "A, 200 X, 400 L, 800 R, 1000 L2, 2000 R2, 4000 L3, 8000 R3). In a room a frame is a sample of "
        "this machine, and port 0 is its first seat"),
    {.name = "speed",
     .value = "max|real",
     .kind = KL_KIND_SWITCH,
     KL_ROW_FIELD(real_speed),
     .words = "max real",
     .want = "max or real",
     .shown = "none",
     .help = "as fast as possible (default), or at the core's own rate"},
    {.name = "hz",
     .value = "RATE",
     .take = take_hz,
     KL_ROW_FIELD(hz),
     .want = "1 to 1000 calls a second",
     .help = "calls a second, like a display of that rate (default: the core's rate at --speed real, else as "
             "many as go)"},
    KL_ROW_PATH("wav", "FILE", wav, "writes the sound that the frontend gets"),
    KL_ROW_NUMBER(
        "hash-every", "H", hash_every, 0, 65535,
        "alone: hashes after each frame f with (f+1) divisible by H (default 60 with --hash-out); in a "
        "room: the wish of its first member, and the relay settles the frames",
        KL_ROW_SAID(has_hash_every)),
    KL_ROW_PATH("hash-out", "FILE", hash_out,
                "writes lines FRAME RAM STATE: XXH3-64 of system RAM and of the serialized state after that "
                "frame, as 16 hexadecimal digits; - for none"),
    KL_ROW_PATH(
        "told-out", "FILE", told_out,
        "writes what the frontend was told last, as far as it lasts: picture, rate, rotation, options, "
        "rumble, lights; a line each"),
    KL_ROW_PATH("record", "FILE", record,
                "writes a recording (keylock replay, bisect): the core, its options, every input, and the "
                "hashes of each --hash-every"),
    KL_ROW_PATH(
        "states", "DIR", states,
        "writes states for keylock blame. Alone: the state after each hashed frame, DIR/FRAME.state; in "
        "a room: the last states, when hashes differ"),
    {.name = "corrupt",
     .value = "FRAME[:[state:]OFFSET]",
     .take = take_corrupt,
     KL_ROW_FIELD(machine.corrupt),
     .help =
         "plants a desync once: before that frame, on this machine only, turns over all bits of one byte, at "
         "OFFSET in system RAM, else or with state: in the serialized state (default: its middle)"},
    KL_ROW_PATH(
        "trace", "FILE", trace,
        "writes CSV, a line for each retro_run: wall_us,first,last,run,backlog,lead,spacing,stall,event"),
    KL_ROW_NUMBER("seats", "K", seats, 0, KL_MAX_SEATS,
                  "alone: pads that get input (default 2); in a room: seats wanted, 0 to watch (default 1)",
                  KL_ROW_SAID(has_seats)),
    {.name = "spectate",
     .take = take_spectate,
     KL_ROW_SAID(has_seats),
     .help = "watches a room, also one that plays: the same as --seats 0"},
    KL_ROW_SWITCH("quiet", quiet, "drops the core's messages below warnings"),
    {.name = NULL},
};
static const struct kl_row room_rows[] = {
    {.name = "command",
     .value = "FRAME[+MS]:WORDS",
     .take = take_command,
     .want = "FRAME[+MS]:WORDS",
     .help = "gives the room a command of keylock command once FRAME is next (and MS milliseconds later); "
             "repeat for more"},
    KL_ROW_NUMBER("wait", "SECONDS", wait_s, 0, 1000000,
                  "gives up if frame 0 has not come by then (default 0: never)"),
    KL_ROW_PATH("voice-in", "FILE", voice_in,
                "a WAV file (48000 Hz, 16 bits, one channel) in place of the microphone, with --voice on"),
    KL_ROW_PATH("voice-out", "FILE", voice_out,
                "a WAV file in place of the loudspeaker, with --voice on: writes what the others say"),
    KL_ROW_PATH(
        "wrapper", "PATH", wrapper,
        "keylock_libretro.so (default: beside this program, else in its lib folder); without --relay: "
        "runs alone, but through the wrapper"),
    {.name = NULL},
};

static bool any(const struct kl_run_options *o, const char *const keys[]) {
    while (*keys && !kl_forward_value(&o->settings, *keys))
        keys++;
    return *keys;
}

static int check_alone(const struct kl_run_options *o) {
    static const char *const place[] = {"room", "spacing", NULL},
                             *const rules[] = {"policy", "budget_ms", "half_steps", "economy", NULL},
                             *const door[] = {"password",  "password_file", "unlisted",
                                              "seat_time", "insecure_lan",  NULL};
    if (o->wait_s || any(o, place))
        return tool_usage("expected --relay HOST[:PORT] beside --room, --spacing and --wait; got none");
    if (any(o, door))
        return tool_usage("expected --relay HOST[:PORT] beside --password, --unlisted, --seat-time and "
                          "--insecure-lan; got none");
    if (o->command_count || any(o, rules))
        return tool_usage(
            "expected --relay HOST[:PORT] beside --policy, --budget, --half-steps, --economy and --command; "
            "got none");
    return 0;
}

static int check(const struct kl_run_options *o) {
    const struct kl_config *c = &o->settings.config;
    bool relay = kl_forward_value(&o->settings, "relay"), link = kl_forward_value(&o->settings, "link");
    bool one_a_keyframe = kl_forward_value(&o->settings, "subframes") && !c->params.subframes;
    if (!o->machine.core) return tool_usage("expected --core NAME_OR_PATH, got none");
    if (!o->frames) return tool_usage("expected --frames N, got none");
    if (link && (relay || kl_forward_value(&o->settings, "room")))
        return tool_usage("expected --link, or --relay and --room; got --link and %s",
                          relay ? "--relay" : "--room");
    if (!relay && !link) return check_alone(o);
    if (o->machine.has_clock || o->machine.has_epoch)
        return tool_usage(
            "expected no --clock and no --epoch in a room, whose clock the relay sets; got one");
    if (c->policy_set && c->params.policy == KL_POLICY_OPTIMISTIC && (!o->real_speed || one_a_keyframe))
        return tool_usage(
            "--policy optimistic: expected --speed real and --subframes on beside it, got another");
    return 0;
}

int kl_run_options_parse(struct kl_run_options *o, int argc, char **argv) {
    static const struct kl_table tables[] = {
        {kl_machine_rows, KLT_OF_RUN, offsetof(struct kl_run_options, machine), 0, NULL},
        {.rows = rows},
        KLT_FORWARD(struct kl_run_options, settings, KL_BY_RUN),
        {.rows = room_rows},
        {.rows = NULL}};
    *o = (struct kl_run_options){.machine.epoch_s = KLT_EPOCH_DEFAULT};
    tool_parse(argc, argv, false, tables, o);
    if (optind < argc) return tool_usage("expected options only, got \"%s\"", argv[optind]);
    if (check(o) != 0) return -1;
    if (!o->machine.input) o->machine.input = "none";
    o->in_room = kl_forward_value(&o->settings, "relay") || kl_forward_value(&o->settings, "link");
    if (!o->has_hash_every && (o->hash_out || o->states || o->record) && !o->in_room) o->hash_every = 60;
    if (!o->has_seats) o->seats = o->in_room ? 1 : 2;
    return 0;
}
