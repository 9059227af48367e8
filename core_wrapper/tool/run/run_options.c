#include "core_wrapper/tool/run/run_options.h"

#include "net/engine/engine.h"
#include "net/session/command_words.h"
#include "core_wrapper/words/config.h"
#include "core_wrapper/record/corrupt.h"
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
    "  --core NAME_OR_PATH  the libretro core; a name is looked for in the usual core folders\n"
    "  --content FILE       the content that the core plays; it is not unpacked (no .zip for a core that "
    "reads none)\n"
    "  --frames N           frames to run\n"
    "  --input SOURCE       none (default); random:SEED, plausible play; any:SEED, the same with a keyboard, "
    "mice, sticks and\n"
    "                       touches; or a file of lines FRAME PORT MASK: from that\n"
    "                       frame on the port holds the buttons of the hexadecimal mask (1 B, 2 Y, 4 Select, "
    "8 Start,\n"
    "                       10 Up, 20 Down, 40 Left, 80 Right, 100 A, 200 X, 400 L, 800 R, 1000 L2, 2000 R2, "
    "4000 L3,\n"
    "                       8000 R3). In a room a frame is a sample of this machine, and port 0 is its first "
    "seat\n"
    "  --speed max|real     as fast as possible (default), or at the core's own rate\n"
    "  --hz RATE            calls a second, like a display of that rate (default: the core's rate at --speed "
    "real, else as\n"
    "                       many as go)\n"
    "  --wav FILE           writes the sound that the frontend gets\n"
    "  --hash-every H       alone: hashes after each frame f with (f+1) divisible by H (default 60 with "
    "--hash-out); in a\n"
    "                       room: the wish of its first member, and the relay settles the frames\n"
    "  --hash-out FILE      writes lines FRAME RAM STATE: XXH3-64 of system RAM and of the serialized state "
    "after that\n"
    "                       frame, as 16 hexadecimal digits; - for none\n"
    "  --told-out FILE      writes what the frontend was told last, as far as it lasts: picture, rate, "
    "rotation, options,\n"
    "                       rumble, lights; a line each\n"
    "  --record FILE        writes a recording (keylock replay, bisect): the core, its options, every input, "
    "and "
    "the\n"
    "                       hashes of each --hash-every\n"
    "  --states DIR         writes states for keylock blame. Alone: the state after each hashed frame, "
    "DIR/FRAME.state; in a\n"
    "                       room: the last states, when hashes differ\n"
    "  --corrupt FRAME[:[state:]OFFSET]\n"
    "                       plants a desync once: before that frame, on this machine only, turns over all "
    "bits of one byte,\n"
    "                       at OFFSET in system RAM, else or with state: in the serialized state (default: "
    "its "
    "middle)\n"
    "  --trace FILE         writes CSV, a line for each retro_run:\n"
    "                       wall_us,first,last,run,backlog,lead,spacing,stall,event\n"
    "  --system DIR         system folder (BIOS images; default: an empty one)\n"
    "  --save DIR           save folder; DIR/<content>.srm is loaded and stored (default: an empty one, "
    "dropped at the end)\n"
    "  --option KEY=VALUE   a core option; repeat for more\n"
    "  --device PORT:ID     the controller in a port, as the core numbers them "
    "(retro_set_controller_port_device); repeat\n"
    "                       for more. In a room the host's devices count for all\n"
    "  --clock virtual|host alone: the core's time and chance are virtual (default: equal in every run), or "
    "the host's\n"
    "  --epoch SECONDS      alone: the start of the virtual clock (default 946684800, 2000-01-01 UTC)\n"
    "  --seats K            alone: pads that get input (default 2); in a room: seats wanted, 0 to watch "
    "(default 1)\n"
    "  --spectate           watches a room, also one that plays: the same as --seats 0\n"
    "  --quiet              drops the core's messages below warnings\n"
    "\n"
    "In a room:\n" KLT_ROWS_RUN "  --command FRAME[+MS]:WORDS\n"
    "                       gives the room a command of keylock command once FRAME is next (and MS "
    "milliseconds later);\n"
    "                       repeat for more\n"
    "  --wait SECONDS       gives up if frame 0 has not come by then (default 0: never)\n"
    "  --wrapper PATH       keylock_libretro.so (default: beside this program, else in its lib folder); "
    "without --relay: runs\n"
    "                       alone, but through the wrapper\n"
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

enum {
    O_CORE = 256,
    O_CONTENT,
    O_FRAMES,
    O_INPUT,
    O_SPEED,
    O_HZ,
    O_WAV,
    O_HASH_EVERY,
    O_HASH_OUT,
    O_TOLD_OUT,
    O_TRACE,
    O_RECORD,
    O_STATES,
    O_CORRUPT,
    O_SYSTEM,
    O_SAVE,
    O_OPTION,
    O_DEVICE,
    O_CLOCK,
    O_EPOCH,
    O_SEATS,
    O_SPECTATE,
    O_QUIET,
    O_COMMAND,
    O_WAIT,
    O_WRAPPER
};

static const struct option own_longs[] = {{"core", required_argument, NULL, O_CORE},
                                          {"content", required_argument, NULL, O_CONTENT},
                                          {"frames", required_argument, NULL, O_FRAMES},
                                          {"input", required_argument, NULL, O_INPUT},
                                          {"speed", required_argument, NULL, O_SPEED},
                                          {"hz", required_argument, NULL, O_HZ},
                                          {"wav", required_argument, NULL, O_WAV},
                                          {"hash-every", required_argument, NULL, O_HASH_EVERY},
                                          {"hash-out", required_argument, NULL, O_HASH_OUT},
                                          {"trace", required_argument, NULL, O_TRACE},
                                          {"record", required_argument, NULL, O_RECORD},
                                          {"states", required_argument, NULL, O_STATES},
                                          {"corrupt", required_argument, NULL, O_CORRUPT},
                                          {"system", required_argument, NULL, O_SYSTEM},
                                          {"save", required_argument, NULL, O_SAVE},
                                          {"option", required_argument, NULL, O_OPTION},
                                          {"device", required_argument, NULL, O_DEVICE},
                                          {"clock", required_argument, NULL, O_CLOCK},
                                          {"epoch", required_argument, NULL, O_EPOCH},
                                          {"seats", required_argument, NULL, O_SEATS},
                                          {"spectate", no_argument, NULL, O_SPECTATE},
                                          {"quiet", no_argument, NULL, O_QUIET},
                                          {"command", required_argument, NULL, O_COMMAND},
                                          {"wait", required_argument, NULL, O_WAIT},
                                          {"wrapper", required_argument, NULL, O_WRAPPER},
                                          {"told-out", required_argument, NULL, O_TOLD_OUT},
                                          {NULL, 0, NULL, 0}};

static int choose(const char *option, const char *text, const char *no, const char *yes, bool *out) {
    *out = strcmp(text, yes) == 0;
    if (*out || strcmp(text, no) == 0) return 0;
    return tool_usage("--%s: expected %s or %s, got \"%s\"", option, no, yes, text);
}

static int set_corrupt(struct kl_run_options *o, const char *text) {
    struct kl_corrupt ignored;
    char why[256];
    o->corrupt = text;
    if (kl_corrupt_parse(&ignored, text, why, sizeof(why)) == 0) return 0;
    return tool_usage("--corrupt: %s", why);
}

static int add_option(struct kl_run_options *o, const char *text) {
    if (o->option_count == KLT_CORE_OPTIONS)
        return tool_usage("--option: expected at most %d of them, got more", KLT_CORE_OPTIONS);
    if (!strchr(text, '=') || text[0] == '=')
        return tool_usage("--option: expected KEY=VALUE, got \"%s\"", text);
    o->option[o->option_count++] = text;
    return 0;
}

static int add_device(struct kl_run_options *o, const char *text) {
    if (kl_headless_take_device(&o->devices, text) == 0) return 0;
    return tool_usage("--device: expected PORT:ID with a port from 0 to %d, got \"%s\"", KL_MAX_SEATS - 1,
                      text);
}

static int set_hz(struct kl_run_options *o, const char *text) {
    char *end;
    o->hz = strtod(text, &end);
    if (end != text && !*end && o->hz >= 1 && o->hz <= 1000) return 0;
    return tool_usage("--hz: expected 1 to 1000 calls a second, got \"%s\"", text);
}

/* "300:reset", "300+1500:resume". */
static int add_command(struct kl_run_options *o, const char *text) {
    struct kl_run_command *c = &o->command[o->command_count];
    struct kl_words words;
    char *end, err[KL_WORDS_MAX];
    unsigned long long frame, ms = 0;
    if (o->command_count == KLT_COMMANDS)
        return tool_usage("--command: expected at most %d of them, got more", KLT_COMMANDS);
    bool good = *text >= '0' && *text <= '9';
    frame = strtoull(text, &end, 10);
    if (good && *end == '+') {
        good = end[1] >= '0' && end[1] <= '9';
        ms = strtoull(end + 1, &end, 10);
    }
    if (!good || *end != ':' || frame > UINT32_MAX || ms > 1000000)
        return tool_usage("--command: expected FRAME[+MS]:WORDS, got \"%s\"", text);
    if (kl_words_parse(&words, end + 1, err, sizeof(err)) != 0)
        return tool_usage("--command %s: %s", text, err);
    *c = (struct kl_run_command){(uint32_t)frame, (uint32_t)ms, end + 1};
    o->command_count++;
    return 0;
}

/* As the wrapper would take it. */
static int checked(const char *option, const char *key, const char *text) {
    static struct kl_config scratch;
    char err[KL_WORDS_MAX * 2];
    if (kl_config_set(&scratch, key, text, err, sizeof(err)) == 0) return 0;
    const char *why = strstr(err, ": ");
    return tool_usage("--%s: %s", option, why ? why + 2 : err);
}

static int take(struct kl_run_options *o, int c) {
    switch (c) {
    case O_CORE: o->core = tool_path(optarg); return 0;
    case O_CONTENT: o->content = tool_path(optarg); return 0;
    case O_FRAMES: return tool_number("frames", optarg, 1, UINT32_MAX, &o->frames);
    case O_INPUT: o->input = optarg; return 0;
    case O_SPEED: return choose("speed", optarg, "max", "real", &o->real_speed);
    case O_HZ: return set_hz(o, optarg);
    case O_WAV: o->wav = tool_path(optarg); return 0;
    case O_HASH_EVERY:
        o->has_hash_every = true;
        return tool_number("hash-every", optarg, 0, 65535, &o->hash_every);
    case O_HASH_OUT: o->hash_out = tool_path(optarg); return 0;
    case O_TOLD_OUT: o->told_out = tool_path(optarg); return 0;
    case O_TRACE: o->trace = tool_path(optarg); return 0;
    case O_SYSTEM: o->system_dir = tool_path(optarg); return 0;
    case O_SAVE: o->save_dir = tool_path(optarg); return 0;
    case O_OPTION: return add_option(o, optarg);
    case O_DEVICE: return add_device(o, optarg);
    case O_CLOCK: o->has_clock = true; return choose("clock", optarg, "virtual", "host", &o->host_clock);
    case O_EPOCH: o->has_clock = true; return tool_number("epoch", optarg, 0, 4102444800u, &o->epoch_s);
    case O_SEATS: o->has_seats = true; return tool_number("seats", optarg, 0, KL_MAX_SEATS, &o->seats);
    case O_SPECTATE:
        o->has_seats = true;
        o->seats = 0;
        return 0;
    case O_QUIET: o->quiet = true; return 0;
    case O_COMMAND: return add_command(o, optarg);
    case O_RECORD: o->record = tool_path(optarg); return 0;
    case O_STATES: o->states = tool_path(optarg); return checked("states", "states", optarg);
    case O_CORRUPT: return set_corrupt(o, optarg);
    case O_WAIT: return tool_number("wait", optarg, 0, 1000000, &o->wait_s);
    case O_WRAPPER: o->wrapper = tool_path(optarg); return 0;
    default: return kl_forward_take(&o->settings, c, optarg) ? 0 : -1;
    }
}

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
    if (!o->core) return tool_usage("expected --core NAME_OR_PATH, got none");
    if (!o->frames) return tool_usage("expected --frames N, got none");
    if (link && (relay || kl_forward_value(&o->settings, "room")))
        return tool_usage("expected --link, or --relay and --room; got --link and %s",
                          relay ? "--relay" : "--room");
    if (!relay && !link) return check_alone(o);
    if (o->has_clock)
        return tool_usage(
            "expected no --clock and no --epoch in a room, whose clock the relay sets; got one");
    if (c->policy_set && c->params.policy == KL_POLICY_OPTIMISTIC && (!o->real_speed || one_a_keyframe))
        return tool_usage(
            "--policy optimistic: expected --speed real and --subframes on beside it, got another");
    return 0;
}

static void fill_in(struct kl_run_options *o) {
    if (!o->input) o->input = "none";
    o->in_room = kl_forward_value(&o->settings, "relay") || kl_forward_value(&o->settings, "link");
    if (!o->has_hash_every && (o->hash_out || o->states || o->record) && !o->in_room) o->hash_every = 60;
    if (!o->has_seats) o->seats = o->in_room ? 1 : 2;
}

int kl_run_options_parse(struct kl_run_options *o, int argc, char **argv) {
    struct option longs[KLT_FORWARD_LONGS];
    *o = (struct kl_run_options){.epoch_s = KLT_EPOCH_DEFAULT};
    kl_forward_longs(KL_BY_RUN, own_longs, longs);
    for (int c; (c = tool_next(argc, argv, "", longs)) != -1;)
        if (take(o, c) != 0) return -1;
    if (optind < argc) return tool_usage("expected options only, got \"%s\"", argv[optind]);
    if (check(o) != 0) return -1;
    fill_in(o);
    return 0;
}
