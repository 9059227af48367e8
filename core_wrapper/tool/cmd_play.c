#include "tool.h"

#include "../config.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char help[] =
    "Usage: keylock play --core NAME_OR_PATH --content FILE [OPTIONS] [-- RETROARCH ARGUMENTS]\n"
    "\n"
    "Starts the RetroArch of this machine on the wrapper, locked to the other players of a room.\n"
    "\n"
    "  --core NAME_OR_PATH  the libretro core; a name is looked for in the usual core folders\n"
    "  --content FILE       what it plays\n"
    "  --relay HOST[:PORT]  the relay (default: none, play alone)\n"
    "  --room NAME          the room, made by the first who names it (default \"main\")\n"
    "  --players P          seats that must be filled before the game begins (default 2)\n"
    "  --seats K            seats wanted at this machine, 0 to watch (default 1)\n"
    "  --name NAME          what the others see (default: the user's name)\n"
    "  --spacing N          fixed spacing of 1 to 30 frames (default: follows the link)\n"
    "  --policy NAME        when a frame closes: strict (for all players), bounded (default: a player who is "
    "waited for "
    "too\n"
    "                       long is absent) or optimistic (by the clock); the host may change it in play\n"
    "  --budget MS          how long a bounded or optimistic room waits: 20 to 60000 (default 250)\n"
    "  --half-steps on|off  send what may be lost again after half a frame (default off)\n"
    "  --retroarch PATH     the RetroArch to start (default: the one on PATH)\n"
    "  --wrapper PATH       keylock_libretro.so (default: beside this program, else in its lib folder)\n"
    "\n"
    "RetroArch's settings are not changed: what the lock needs (it runs on behind a menu and without focus; "
    "no netplay,\n"
    "rewind or run-ahead of its own) is given for this run only, and RetroArch does not save its settings at "
    "its end.\n"
    "\n"
    "Exit status: RetroArch's own; 2 for wrong usage; 5 where RetroArch, the wrapper, the core or the "
    "content is missing.\n";

/* menu_pause_libretro and pause_nonactive: an open menu or another window's focus must not stop the emulator.
 * config_save_on_exit: else RetroArch would write these lines into the player's own settings. */
static const char settings[] = "menu_pause_libretro = \"false\"\n"
                               "pause_nonactive = \"false\"\n"
                               "rewind_enable = \"false\"\n"
                               "run_ahead_enabled = \"false\"\n"
                               "preemptive_frames_enable = \"false\"\n"
                               "netplay_start_as_spectator = \"false\"\n"
                               "netplay_public_announce = \"false\"\n"
                               "savestate_auto_load = \"false\"\n"
                               "fastforward_ratio = \"1.0\"\n"
                               "vrr_runloop_enable = \"false\"\n"
                               "config_save_on_exit = \"false\"\n";

struct play {
    const char *core, *content, *relay, *room, *name, *retroarch, *wrapper, *policy, *half_steps;
    uint64_t players, seats, spacing, budget_ms;
    char core_path[4096], wrapper_path[4096], retroarch_path[4096], content_path[4096], config_path[64];
};

enum {
    O_CORE = 256,
    O_CONTENT,
    O_RELAY,
    O_ROOM,
    O_PLAYERS,
    O_SEATS,
    O_NAME,
    O_SPACING,
    O_POLICY,
    O_BUDGET,
    O_HALF_STEPS,
    O_RETROARCH,
    O_WRAPPER,
    O_HELP
};

static const struct option longs[] = {{"core", required_argument, NULL, O_CORE},
                                      {"content", required_argument, NULL, O_CONTENT},
                                      {"relay", required_argument, NULL, O_RELAY},
                                      {"room", required_argument, NULL, O_ROOM},
                                      {"players", required_argument, NULL, O_PLAYERS},
                                      {"seats", required_argument, NULL, O_SEATS},
                                      {"name", required_argument, NULL, O_NAME},
                                      {"spacing", required_argument, NULL, O_SPACING},
                                      {"policy", required_argument, NULL, O_POLICY},
                                      {"budget", required_argument, NULL, O_BUDGET},
                                      {"half-steps", required_argument, NULL, O_HALF_STEPS},
                                      {"retroarch", required_argument, NULL, O_RETROARCH},
                                      {"wrapper", required_argument, NULL, O_WRAPPER},
                                      {"help", no_argument, NULL, O_HELP},
                                      {NULL, 0, NULL, 0}};

static int set_policy(struct play *p, const char *text) {
    uint8_t ignored;
    p->policy = text;
    if (kl_config_policy(text, &ignored)) return 0;
    return tool_fail(-1, "play", "--policy: expected strict, bounded or optimistic, got \"%s\"", text);
}

static int set_half_steps(struct play *p, const char *text) {
    p->half_steps = text;
    if (!strcmp(text, "on") || !strcmp(text, "off")) return 0;
    return tool_fail(-1, "play", "--half-steps: expected on or off, got \"%s\"", text);
}

static int take(struct play *p, int c, char **argv) {
    switch (c) {
    case O_CORE: p->core = optarg; return 0;
    case O_CONTENT: p->content = optarg; return 0;
    case O_RELAY: p->relay = optarg; return 0;
    case O_ROOM: p->room = optarg; return 0;
    case O_PLAYERS: return tool_number("play", "players", optarg, 1, 8, &p->players);
    case O_SEATS: return tool_number("play", "seats", optarg, 0, 8, &p->seats);
    case O_NAME: p->name = optarg; return 0;
    case O_SPACING: return tool_number("play", "spacing", optarg, 1, 30, &p->spacing);
    case O_POLICY: return set_policy(p, optarg);
    case O_BUDGET:
        return tool_number("play", "budget", optarg, KL_CONFIG_BUDGET_MIN_MS, KL_CONFIG_BUDGET_MAX_MS,
                           &p->budget_ms);
    case O_HALF_STEPS: return set_half_steps(p, optarg);
    case O_RETROARCH: p->retroarch = optarg; return 0;
    case O_WRAPPER: p->wrapper = optarg; return 0;
    default: return tool_bad_option(-1, "play", c, argv);
    }
}

/* ---- what must be there ---- */

static int find_on_path(const char *name, char *out, size_t cap) {
    const char *path = getenv("PATH");
    for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/usr/games"; *at;) {
        size_t len = strcspn(at, ":");
        int n = snprintf(out, cap, "%.*s/%s", (int)len, at, name);
        if (len && n > 0 && (size_t)n < cap && access(out, X_OK) == 0) return 0;
        at += len + (at[len] == ':');
    }
    return -1;
}

static int find_retroarch(struct play *p) {
    if (!p->retroarch && find_on_path("retroarch", p->retroarch_path, sizeof(p->retroarch_path)) == 0)
        return 0;
    if (!p->retroarch)
        return tool_fail(
            -1, "play",
            "no retroarch on PATH: install it (apt-get install retroarch) or name it with --retroarch");
    if (access(p->retroarch, X_OK) != 0)
        return tool_fail(-1, "play", "--retroarch %s: %s", p->retroarch, strerror(errno));
    snprintf(p->retroarch_path, sizeof(p->retroarch_path), "%s", p->retroarch);
    return 0;
}

static int find_wrapper(struct play *p) {
    char err[2048];
    const char *from = p->wrapper;
    if (!from) {
        if (tool_find_wrapper(p->wrapper_path, sizeof(p->wrapper_path), err, sizeof(err)) == 0) return 0;
        return tool_fail(-1, "play", "%s", err);
    }
    if (realpath(from, p->wrapper_path)) return 0;
    return tool_fail(-1, "play", "--wrapper %s: %s", from, strerror(errno));
}

/* Names everything that is missing, not only the first. */
static int find_all(struct play *p) {
    char err[2048], found[4096];
    int missing = 0;
    missing |= find_retroarch(p);
    missing |= find_wrapper(p);
    if (tool_find_core(p->core, found, sizeof(found), err, sizeof(err)) != 0)
        missing |= tool_fail(-1, "play", "%s", err);
    else if (!realpath(found, p->core_path))
        missing |= tool_fail(-1, "play", "cannot read the core %s: %s", found, strerror(errno));
    if (!realpath(p->content, p->content_path))
        missing |= tool_fail(-1, "play", "cannot read the content %s: %s", p->content, strerror(errno));
    return missing;
}

/* ---- handing over ---- */

static void export_room(const struct play *p) {
    const char *user = p->name ? p->name : getenv("USER");
    setenv("KEYLOCK_CORE", p->core_path, 1);
    setenv("DBUS_FATAL_WARNINGS", "0", 0); /* RetroArch 1.14 aborts where there is no session bus */
    if (!p->relay) {
        unsetenv("KEYLOCK_RELAY");
        return;
    }
    setenv("KEYLOCK_RELAY", p->relay, 1);
    setenv("KEYLOCK_ROOM", p->room ? p->room : "main", 1);
    setenv("KEYLOCK_NAME", user && *user ? user : "player", 1);
    setenv("KEYLOCK_SPEED", "real", 1);
    tool_export_number("KEYLOCK_PLAYERS", p->players);
    tool_export_number("KEYLOCK_SEATS", p->seats);
    tool_export_number("KEYLOCK_SPACING", p->spacing);
    if (p->policy) setenv("KEYLOCK_POLICY", p->policy, 1);
    if (p->half_steps) setenv("KEYLOCK_HALF_STEPS", p->half_steps, 1);
    if (p->budget_ms) tool_export_number("KEYLOCK_BUDGET_MS", p->budget_ms);
}

/* The settings live in memory that RetroArch inherits: nothing is left behind on any disk. */
static int make_config(struct play *p) {
    int fd = memfd_create("keylock.cfg", 0);
    if (fd < 0 || write(fd, settings, sizeof(settings) - 1) != (ssize_t)sizeof(settings) - 1)
        return tool_fail(-1, "play", "cannot make the settings for RetroArch: %s", strerror(errno));
    snprintf(p->config_path, sizeof(p->config_path), "/proc/self/fd/%d", fd);
    return 0;
}

/* RetroArch takes one --appendconfig, of files joined by '|', the later above the earlier: the player's own
 * file stands before ours. Returns the arguments, ended by NULL. */
static const char **make_arguments(const struct play *p, int count, char **given) {
    const char **args = calloc((size_t)count + 8, sizeof(*args));
    char *append = strdup(p->config_path);
    unsigned n = 0;
    if (!args || !append) return NULL;
    args[n++] = p->retroarch_path;
    args[n++] = "-L";
    args[n++] = p->wrapper_path;
    unsigned append_at = ++n; /* two places for --appendconfig and its value */
    n++;
    args[append_at - 1] = "--appendconfig";
    for (int i = 0; i < count; i++) {
        const char *theirs = strncmp(given[i], "--appendconfig=", 15) == 0 ? given[i] + 15 : NULL;
        if (!theirs && strcmp(given[i], "--appendconfig") == 0 && i + 1 < count) theirs = given[++i];
        if (!theirs) {
            args[n++] = given[i];
            continue;
        }
        char *joined = NULL;
        if (asprintf(&joined, "%s|%s", theirs, append) < 0) return NULL;
        free(append);
        append = joined;
    }
    args[append_at] = append;
    args[n++] = p->content_path;
    return args;
}

static int hand_over(struct play *p, int count, char **given) {
    export_room(p);
    if (make_config(p) != 0) return 1;
    const char **args = make_arguments(p, count, given);
    if (!args) return tool_fail(1, "play", "out of memory");
    execv(p->retroarch_path, (char *const *)args);
    return tool_fail(KLT_LOAD, "play", "cannot start %s: %s", p->retroarch_path, strerror(errno));
}

int cmd_play(int argc, char **argv) {
    static struct play play;
    struct play *p = &play;
    p->players = 2;
    p->seats = 1;
    for (int c; (c = getopt_long(argc, argv, ":", longs, NULL)) != -1;) {
        if (c == O_HELP) {
            fputs(help, stdout);
            return 0;
        }
        if (take(p, c, argv) != 0) return KLT_USAGE;
    }
    bool dashes = optind > 0 && strcmp(argv[optind - 1], "--") == 0;
    if (optind < argc && !dashes)
        return tool_fail(KLT_USAGE, "play", "expected RetroArch's arguments behind --, got \"%s\"",
                         argv[optind]);
    if (!p->core || !p->content)
        return tool_fail(KLT_USAGE, "play",
                         "expected --core NAME_OR_PATH and --content FILE; see keylock play --help");
    if (find_all(p) != 0) return KLT_LOAD;
    return hand_over(p, argc - optind, argv + optind);
}
