#include "core_wrapper/tool/run_options.h"

#include "net/engine/engine.h"
#include "core_wrapper/command_words.h"
#include "core_wrapper/config.h"
#include "core_wrapper/corrupt.h"
#include "core_wrapper/tool/tool.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: keylock run --core NAME_OR_PATH --content FILE --frames N [OPTIONS]\n"
    "\n"
    "Runs a core for N frames without screen or sound: alone, or with --relay in a room through the "
    "wrapper.\n"
    "\n"
    "  --core NAME_OR_PATH  the libretro core; a name is looked for in the usual core folders\n"
    "  --content FILE       what it plays (not unpacked: no .zip for cores that read none)\n"
    "  --frames N           frames to run\n"
    "  --input SOURCE       none (default); random:SEED, plausible play; or a file of lines FRAME PORT MASK: "
    "from that\n"
    "                       frame on the port holds the buttons of the hexadecimal mask (1 B, 2 Y, 4 Select, "
    "8 Start,\n"
    "                       10 Up, 20 Down, 40 Left, 80 Right, 100 A, 200 X, 400 L, 800 R, 1000 L2, 2000 "
    "R2,\n"
    "                       4000 L3, 8000 R3). In a room a frame is a sample of ours, and port 0 our first "
    "seat\n"
    "  --speed max|real     as fast as it goes (default), or at the core's own rate\n"
    "  --hz RATE            at --speed real: calls a second, as a display of that rate would make them "
    "(default: the "
    "core's)\n"
    "  --wav FILE           the sound that the frontend is given\n"
    "  --hash-every H       alone: hash after each frame f where (f+1) is divisible by H (default 60 with "
    "--hash-out);\n"
    "                       in a room: the first member's wish, the relay settles the frames\n"
    "  --hash-out FILE      lines FRAME RAM STATE: XXH3-64 of system RAM and of the serialized state after "
    "that frame,\n"
    "                       16 hexadecimal digits, - for none\n"
    "  --record FILE        a recording: what is played with, every input, hashes of RAM after every frame, "
    "of the state "
    "where\n"
    "                       --hash-every has them; for keylock bisect\n"
    "  --states DIR         alone: the state after each hashed frame, DIR/FRAME.state; in a room: the last "
    "ones, when "
    "the\n"
    "                       hashes turn out to differ; for keylock blame\n"
    "  --corrupt FRAME[:OFFSET]\n"
    "                       plants a desync: before that frame, on this machine only, all bits of one byte "
    "are turned "
    "over,\n"
    "                       at OFFSET in system RAM, else in the serialized state (default: its middle)\n"
    "  --trace FILE         CSV, one line per retro_run: "
    "wall_us,first,last,run,backlog,lead,spacing,stall,event\n"
    "  --system DIR         system folder (BIOS images; default: an empty one)\n"
    "  --save DIR           save folder; DIR/<content>.srm is loaded and stored (default: an empty one, "
    "dropped after)\n"
    "  --option KEY=VALUE   a core option; repeat for more\n"
    "  --device PORT:ID     the controller in a port, as the core numbers them "
    "(retro_set_controller_port_device);\n"
    "                       repeat for more. In a room the host's count for everybody\n"
    "  --clock virtual|host alone: what the core sees of time and chance: virtual (default), equal in every "
    "run, or the\n"
    "                       host's\n"
    "  --epoch SECONDS      alone: where the virtual clock starts (default 946684800, 2000-01-01 UTC)\n"
    "  --seats K            pads that get input, alone (default 2); in a room seats wanted, 0 to watch "
    "(default 1)\n"
    "  --spectate           watches a room, also one that plays: the same as --seats 0\n"
    "  --quiet              drop what the core says below warnings\n"
    "\n"
    "In a room:\n"
    "  --relay HOST[:PORT]  the relay\n"
    "  --link LINK          keylock://HOST[:PORT]/ROOM[#FINGERPRINT] instead of --relay and --room\n"
    "  --password TEXT|-    of the room: set by who makes it, proved by the others; -: the first line of "
    "standard input\n"
    "  --password-file FILE the same: the file's first line\n"
    "  --unlisted           a room that this makes is not told to strangers\n"
    "  --seat-time S        a room that this makes keeps the seat of who is cut off, 1 to 3600 s (default: "
    "the relay's)\n"
    "  --insecure-lan       without encryption, where the relay was started so, too\n"
    "  --room NAME          the room, made by the first who names it (default \"main\")\n"
    "  --players P          seats that must be filled before frame 0 (default 2)\n"
    "  --name NAME          what the others see (default: the user's name)\n"
    "  --spacing N          fixed spacing of 1 to 30 frames (default: follows the link)\n"
    "  --subframes on|off   a sample a frame (default), or one a keyframe\n"
    "  --policy NAME        when a frame closes: strict (for all players; the default at --speed max), "
    "bounded (a "
    "player\n"
    "                       who is waited for too long is absent; the default at --speed real) or optimistic "
    "(by "
    "the\n"
    "                       clock; --speed real)\n"
    "  --budget MS          how long a bounded or optimistic room waits: 20 to 60000 (default 250)\n"
    "  --half-steps on|off  send what may be lost again after half a frame (default off; off said by a\n"
    "                       joiner: not to and from here, whatever the room has)\n"
    "  --command FRAME[+MS]:WORDS\n"
    "                       a command for the room once FRAME is next (and MS milliseconds later), as "
    "keylock "
    "command\n"
    "                       has them; repeat for more\n"
    "  --wait SECONDS       give up when frame 0 has not come by then (default 0: never)\n"
    "  --wrapper PATH       keylock_libretro.so (default: beside this program, else in its lib folder); "
    "without --relay:\n"
    "                       run alone, but through the wrapper\n"
    "\n"
    "The last line on standard output is a JSON object: frames, ram, state (hashes after the last frame, "
    "null for none),\n"
    "stalls, longest_stall_ms, lead_frames_avg, rtt_ms, wall_s, fps, desync_frame (where hashes last "
    "differed first), "
    "healed (how often), state_only (verdicts with equal RAM and unequal states), …\n"
    "\n"
    "Exit status:\n"
    "  0  N frames ran, in a room in sync\n"
    "  1  interrupted, or the core asked to stop before\n"
    "  2  wrong usage\n"
    "  3  desync: hashes differ between the members of the room, and were not healed\n"
    "  4  the relay was not reached, refused us, closed the room, or gave no verdict on the last frame in "
    "time\n"
    "  5  core or content could not be loaded\n"
    "  6  a hash, trace or save file, or standard output, could not be written\n";

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
    O_RELAY,
    O_LINK,
    O_PASSWORD,
    O_PASSWORD_FILE,
    O_UNLISTED,
    O_SEAT_TIME,
    O_INSECURE_LAN,
    O_ROOM,
    O_PLAYERS,
    O_NAME,
    O_SPACING,
    O_SUBFRAMES,
    O_POLICY,
    O_BUDGET,
    O_HALF_STEPS,
    O_COMMAND,
    O_WAIT,
    O_WRAPPER,
    O_HELP
};

static const struct option longs[] = {{"core", required_argument, NULL, O_CORE},
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
                                      {"relay", required_argument, NULL, O_RELAY},
                                      {"link", required_argument, NULL, O_LINK},
                                      {"password", required_argument, NULL, O_PASSWORD},
                                      {"password-file", required_argument, NULL, O_PASSWORD_FILE},
                                      {"unlisted", no_argument, NULL, O_UNLISTED},
                                      {"seat-time", required_argument, NULL, O_SEAT_TIME},
                                      {"insecure-lan", no_argument, NULL, O_INSECURE_LAN},
                                      {"room", required_argument, NULL, O_ROOM},
                                      {"players", required_argument, NULL, O_PLAYERS},
                                      {"name", required_argument, NULL, O_NAME},
                                      {"spacing", required_argument, NULL, O_SPACING},
                                      {"subframes", required_argument, NULL, O_SUBFRAMES},
                                      {"policy", required_argument, NULL, O_POLICY},
                                      {"budget", required_argument, NULL, O_BUDGET},
                                      {"half-steps", required_argument, NULL, O_HALF_STEPS},
                                      {"command", required_argument, NULL, O_COMMAND},
                                      {"wait", required_argument, NULL, O_WAIT},
                                      {"wrapper", required_argument, NULL, O_WRAPPER},
                                      {"help", no_argument, NULL, O_HELP},
                                      {NULL, 0, NULL, 0}};

static int choose(const char *option, const char *text, const char *no, const char *yes, bool *out) {
    *out = strcmp(text, yes) == 0;
    if (*out || strcmp(text, no) == 0) return 0;
    return tool_fail(-1, "run", "--%s: expected %s or %s, got \"%s\"", option, no, yes, text);
}

/* Off is more than nothing: it counts for a joiner of a room with half steps. */
static int set_half_steps(struct kl_run_options *o, const char *text) {
    bool on;
    o->half_steps = text;
    return choose("half-steps", text, "off", "on", &on);
}

static int set_corrupt(struct kl_run_options *o, const char *text) {
    struct kl_corrupt ignored;
    char why[256];
    o->corrupt = text;
    if (kl_corrupt_parse(&ignored, text, why, sizeof(why)) == 0) return 0;
    return tool_fail(-1, "run", "--corrupt: %s", why);
}

static int add_option(struct kl_run_options *o, const char *text) {
    if (o->option_count == KLT_CORE_OPTIONS)
        return tool_fail(-1, "run", "--option: expected at most %d of them", KLT_CORE_OPTIONS);
    if (!strchr(text, '=') || text[0] == '=')
        return tool_fail(-1, "run", "--option: expected KEY=VALUE, got \"%s\"", text);
    o->option[o->option_count++] = text;
    return 0;
}

static int add_device(struct kl_run_options *o, const char *text) {
    if (kl_headless_take_device(&o->devices, text) == 0) return 0;
    return tool_fail(-1, "run", "--device: expected PORT:ID with a port from 0 to %d, got \"%s\"",
                     KL_MAX_SEATS - 1, text);
}

static int set_hz(struct kl_run_options *o, const char *text) {
    char *end;
    o->hz = strtod(text, &end);
    if (end != text && !*end && o->hz >= 1 && o->hz <= 1000) return 0;
    return tool_fail(-1, "run", "--hz: expected 1 to 1000 calls a second, got \"%s\"", text);
}

static int set_policy(struct kl_run_options *o, const char *text) {
    uint8_t ignored;
    if (!kl_config_policy(text, &ignored))
        return tool_fail(-1, "run", "--policy: expected strict, bounded or optimistic, got \"%s\"", text);
    o->policy = text;
    return 0;
}

/* "300:reset", "300+1500:resume". */
static int add_command(struct kl_run_options *o, const char *text) {
    struct kl_run_command *c = &o->command[o->command_count];
    struct kl_words words;
    char *end, err[KL_WORDS_MAX];
    unsigned long frame, ms = 0;
    if (o->command_count == KLT_COMMANDS)
        return tool_fail(-1, "run", "--command: expected at most %d of them", KLT_COMMANDS);
    bool good = *text >= '0' && *text <= '9';
    frame = strtoul(text, &end, 10);
    if (good && *end == '+') {
        good = end[1] >= '0' && end[1] <= '9';
        ms = strtoul(end + 1, &end, 10);
    }
    if (!good || *end != ':' || frame > UINT32_MAX || ms > 1000000)
        return tool_fail(-1, "run", "--command: expected FRAME[+MS]:WORDS, got \"%s\"", text);
    if (kl_words_parse(&words, end + 1, err, sizeof(err)) != 0)
        return tool_fail(-1, "run", "--command %s: %s", text, err);
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
    return tool_fail(-1, "run", "--%s: %s", option, why ? why + 2 : err);
}

static int take(struct kl_run_options *o, int c, char **argv) {
    switch (c) {
    case O_CORE: o->core = optarg; return 0;
    case O_CONTENT: o->content = optarg; return 0;
    case O_FRAMES: return tool_number("run", "frames", optarg, 1, UINT32_MAX, &o->frames);
    case O_INPUT: o->input = optarg; return 0;
    case O_SPEED: return choose("speed", optarg, "max", "real", &o->real_speed);
    case O_HZ: return set_hz(o, optarg);
    case O_WAV: o->wav = optarg; return 0;
    case O_HASH_EVERY:
        o->has_hash_every = true;
        return tool_number("run", "hash-every", optarg, 0, 65535, &o->hash_every);
    case O_HASH_OUT: o->hash_out = optarg; return 0;
    case O_TRACE: o->trace = optarg; return 0;
    case O_SYSTEM: o->system_dir = optarg; return 0;
    case O_SAVE: o->save_dir = optarg; return 0;
    case O_OPTION: return add_option(o, optarg);
    case O_DEVICE: return add_device(o, optarg);
    case O_CLOCK: o->has_clock = true; return choose("clock", optarg, "virtual", "host", &o->host_clock);
    case O_EPOCH:
        o->has_clock = true;
        return tool_number("run", "epoch", optarg, 0, 4102444800u, &o->epoch_s);
    case O_SEATS: o->has_seats = true; return tool_number("run", "seats", optarg, 0, KL_MAX_SEATS, &o->seats);
    case O_SPECTATE:
        o->has_seats = true;
        o->seats = 0;
        return 0;
    case O_QUIET: o->quiet = true; return 0;
    case O_RELAY: o->relay = optarg; return 0;
    case O_LINK: o->link = optarg; return checked("link", "link", optarg);
    case O_PASSWORD:
        o->password = tool_take_password(optarg);
        return checked("password", "password", o->password);
    case O_PASSWORD_FILE: o->password_file = optarg; return checked("password-file", "password_file", optarg);
    case O_UNLISTED: o->unlisted = true; return 0;
    case O_SEAT_TIME:
        return tool_number("run", "seat-time", optarg, 1, KL_CONFIG_SEAT_TIME_MAX, &o->seat_time_s);
    case O_INSECURE_LAN: o->insecure_lan = true; return 0;
    case O_ROOM: o->room = optarg; return 0;
    case O_PLAYERS: return tool_number("run", "players", optarg, 1, KL_MAX_SEATS, &o->players);
    case O_NAME: o->name = optarg; return 0;
    case O_SPACING: return tool_number("run", "spacing", optarg, KL_SPACING_MIN, KL_SPACING_MAX, &o->spacing);
    case O_SUBFRAMES: return choose("subframes", optarg, "on", "off", &o->subframes_off);
    case O_POLICY: return set_policy(o, optarg);
    case O_BUDGET:
        return tool_number("run", "budget", optarg, KL_CONFIG_BUDGET_MIN_MS, KL_CONFIG_BUDGET_MAX_MS,
                           &o->budget_ms);
    case O_HALF_STEPS: return set_half_steps(o, optarg);
    case O_COMMAND: return add_command(o, optarg);
    case O_RECORD: o->record = optarg; return 0;
    case O_STATES: o->states = optarg; return checked("states", "states", optarg);
    case O_CORRUPT: return set_corrupt(o, optarg);
    case O_WAIT: return tool_number("run", "wait", optarg, 0, 1000000, &o->wait_s);
    case O_WRAPPER: o->wrapper = optarg; return 0;
    case O_HELP: o->help = true; return 0;
    default: return tool_bad_option(-1, "run", c, argv);
    }
}

static int check(const struct kl_run_options *o) {
    bool room = o->relay || o->link;
    if (!o->core) return tool_fail(-1, "run", "expected --core NAME_OR_PATH; see keylock run --help");
    if (!o->frames) return tool_fail(-1, "run", "expected --frames N; see keylock run --help");
    if (o->hz > 0 && !o->real_speed) return tool_fail(-1, "run", "--hz needs --speed real");
    if (o->link && (o->relay || o->room))
        return tool_fail(-1, "run",
                         "a link names relay and room: expected no --relay and no --room beside it");
    if (room && o->has_clock)
        return tool_fail(-1, "run",
                         "--clock and --epoch are for a run alone: in a room the relay sets the clock");
    if (!room && (o->room || o->spacing || o->wait_s))
        return tool_fail(-1, "run", "--room, --spacing and --wait need --relay HOST[:PORT]");
    if (!room && (o->password || o->password_file || o->unlisted || o->seat_time_s || o->insecure_lan))
        return tool_fail(-1, "run",
                         "--password, --unlisted, --seat-time and --insecure-lan need --relay HOST[:PORT]");
    if (!room && (o->policy || o->budget_ms || o->half_steps || o->command_count))
        return tool_fail(-1, "run",
                         "--policy, --budget, --half-steps and --command need --relay HOST[:PORT]");
    if (o->policy && !strcmp(o->policy, "optimistic") && (!o->real_speed || o->subframes_off))
        return tool_fail(
            -1, "run",
            "--policy optimistic closes frames by the clock: expected --speed real and --subframes on");
    return 0;
}

static void fill_in(struct kl_run_options *o) {
    if (!o->input) o->input = "none";
    o->in_room = o->relay || o->link;
    if (!o->has_hash_every && (o->hash_out || o->states || o->record) && !o->in_room) o->hash_every = 60;
    if (!o->has_seats) o->seats = o->in_room ? 1 : 2;
    if (!o->room) o->room = "main";
}

int kl_run_options_parse(struct kl_run_options *o, int argc, char **argv) {
    *o = (struct kl_run_options){.epoch_s = KLT_EPOCH_DEFAULT, .players = 2};
    for (int c; (c = getopt_long(argc, argv, ":", longs, NULL)) != -1 && !o->help;)
        if (take(o, c, argv) != 0) return -1;
    if (o->help) {
        fputs(help, stdout);
        return 0;
    }
    if (optind < argc) return tool_fail(-1, "run", "expected options only, got \"%s\"", argv[optind]);
    if (check(o) != 0) return -1;
    fill_in(o);
    return 0;
}
