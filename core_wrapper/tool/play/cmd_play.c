#include "net/platform/wait.h"
#include "net/platform/process.h"
#include "core_wrapper/tool/play/host_here.h"
#include "core_wrapper/tool/play/play_replay.h"
#include "core_wrapper/tool/setup/place.h"
#include "core_wrapper/tool/setup/relay_list.h"
#include "net/platform/file.h"
#include "core_wrapper/tool/play/invited.h"
#include "core_wrapper/tool/common/tool.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* clang-format off: a line here is a line there */
const char cmd_play_help[] =
    "Usage: keylock play LINK [OPTIONS] [-- RETROARCH ARGUMENTS]\n"
    "       keylock play --ask -- LINK\n"
    "       keylock play [LINK] --core NAME_OR_PATH --content FILE [OPTIONS] [-- RETROARCH ARGUMENTS]\n"
    "       keylock play --challenge RELAY/NAME --content DIR [OPTIONS]: a challenge, alone\n"
    "\n"
    "Starts this machine's RetroArch on the wrapper, in lock with the other players of a room.\n"
    "\n"
    "  LINK                 an invitation, as the host's keylock play wrote it: relay and room, core and "
    "game. "
    "Core and game\n"
    "                       are looked for among yours. With a fingerprint, no other relay is "
    "accepted\n"
    "@0\n"
    "\n"
    "A setting without an option comes from KEYLOCK_* in the environment, else from keylock.cfg in "
    "RetroArch's system\n"
    "folder. Spacing, policy, budget and desync are for rooms made here; the host may change them in play.\n"
    "\n"
    "RetroArch's own settings stay as they are. The lock needs a RetroArch that runs on behind a menu and "
    "without focus,\n"
    "without netplay, rewind or run-ahead of its own. These settings are given for this run only, and "
    "RetroArch does not\n"
    "save its settings at the end.\n"
    "\n"
    "Exit status:\n"
    "  2  wrong usage\n"
    "  5  RetroArch, the wrapper, the core or the content is missing\n"
    "  else RetroArch's own\n";
/* clang-format on */

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
                               "config_save_on_exit = \"false\"\n"
                               "vrr_runloop_enable = \"false\"\n"
                               "fastforward_ratio = \"1.0\"\n";
static const char replay_settings[] = "rewind_enable = \"false\"\n"
                                      "run_ahead_enabled = \"false\"\n"
                                      "preemptive_frames_enable = \"false\"\n"
                                      "savestate_auto_load = \"false\"\n"
                                      "config_save_on_exit = \"false\"\n";

struct play {
    bool host_here, replays, waits; /* waits: until RetroArch has ended */
    bool begins;                    /* replays, and a room may begin there */
    enum kl_map_port map_port;
    const char *core, *content, *retroarch, *wrapper, *relays;
    bool ask;
    struct kl_forward settings;
    char core_path[4096], wrapper_path[4096], retroarch_path[4096], content_path[4096], config_path[64];
    char ascii[3][4096]; /* wrapper, config and content for RetroArch's command line */
};

static const char *value_of(const struct play *p, const char *key) {
    return kl_forward_value(&p->settings, key);
}

static const char *path_of(const struct play *p, const char *flag) {
    return value_of(p, flag) ? tool_path((char *)value_of(p, flag)) : NULL;
}

static void take_flags(struct play *p) {
    const char *map_port = value_of(p, "map-port");
    if (map_port) p->map_port = strcmp(map_port, "on") ? KL_MAP_OFF : KL_MAP_ON;
    p->core = path_of(p, "core");
    p->content = path_of(p, "content");
    p->retroarch = path_of(p, "retroarch");
    p->wrapper = path_of(p, "wrapper");
    p->relays = path_of(p, "relays");
    p->ask = value_of(p, "ask");
    p->host_here = value_of(p, "host-here");
    if (value_of(p, "spectate")) kl_forward_set(&p->settings, "mode", "spectate");
}

/* A link stands before RetroArch's arguments, without an option's name. 1: it was one; 0: it was not. */
static int take_link(struct play *p, char *text) {
    if (strncasecmp(text, "keylock:", 8) != 0) return 0;
    kl_forward_set(&p->settings, "link", text);
    return 1;
}

static int check_link(const struct play *p) {
    if (!value_of(p, "link") || (!value_of(p, "relay") && !value_of(p, "room"))) return 0;
    return tool_usage("expected a link, or --relay and --room; got a link and %s",
                      value_of(p, "relay") ? "--relay" : "--room");
}

/* The room is on the relay here, and the player has a seat in it or none (--seats 0). */
static int check_host_here(const struct play *p) {
    static const char *const others[] = {"relay", "relays", "link", "mode"};
    if (!p->host_here && p->map_port != KL_MAP_ASK)
        return tool_usage("expected --map-port with --host-here, got it alone");
    for (unsigned i = 0; p->host_here && i < sizeof others / sizeof *others; i++)
        if (value_of(p, others[i])) return tool_usage("expected --host-here or --%s, got both", others[i]);
    return 0;
}

/* The nearest of a list becomes the relay, as if the player had named it. */
static int choose_relay(struct play *p) {
    static struct kl_relay_list list;
    static char nearest[KLT_RELAY_BYTES];
    static const char *const others[] = {"relay", "link"};
    char err[1024];
    if (!p->relays) return 0;
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        if (value_of(p, others[i])) return tool_usage("expected --relays or --%s, got both", others[i]);
    if (kl_relay_list_nearest(&list, p->relays, nearest, sizeof nearest, err, sizeof err) != 0)
        return tool_fail(KLT_USAGE, "play", "%s", err);
    fprintf(stderr, "The nearest relay of %s is %s: %.1f ms.\n", p->relays, nearest, list.relay[0].ms);
    kl_forward_set(&p->settings, "relay", nearest);
    return 0;
}

/* Takes core and game of an invitation, as far as the player has not named them. */
static int accept_link(struct play *p, const char *link) {
    static char core[4096];
    char err[2 * KLT_PATH];
    struct kl_url url;
    if (kl_url_parse(link, &url, err, sizeof err) != 0) return tool_usage("%s", err);
    if (p->ask && !kl_invited_agreed(&url))
        return tool_fail(KLT_FAILED, "play", "not played: you did not agree");
    if (!kl_invited_find(&url, p->core ? NULL : core, p->content ? NULL : p->content_path, err, sizeof err))
        return tool_fail(KLT_LOAD, "play", "%s", err);
    if (!p->core && *core) p->core = core;
    if (!p->content && p->content_path[0]) p->content = p->content_path;
    return 0;
}

/* --- needed files --- */

static int find_retroarch(struct play *p) {
    if (!p->retroarch && kl_place_program(p->retroarch_path, sizeof(p->retroarch_path))) return 0;
    if (!p->retroarch)
        return tool_fail(-1, "play", "no RetroArch to start, expected %s. %s Or name it with --retroarch",
                         kl_place_words.looked, kl_place_words.get_retroarch);
    if (!kl_file_runnable(p->retroarch))
        return tool_fail(-1, "play", "--retroarch %s: expected a program", p->retroarch);
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
    if (kl_file_real(from, p->wrapper_path, sizeof(p->wrapper_path))) return 0;
    return tool_fail(-1, "play", "--wrapper %s: %s", from, strerror(errno));
}

/* A name means a core of RetroArch's own folder first, if its settings can be read, then of the usual ones.
 */
static int find_core(const char *name, char out[KLT_PATH], char *err, size_t err_len) {
    static struct kl_place place[KL_PLACES];
    int places = strchr(name, '/') ? 0 : kl_place_find(place, err, err_len);
    bool found = places > 0 && kl_place_core(place, places, name, out);
    for (int i = 0; i < places; i++)
        kl_place_free(&place[i]);
    return found ? 0 : tool_find_core(name, out, KLT_PATH, err, err_len);
}

/* Names everything that is missing, not only the first. */
static int find_all(struct play *p) {
    char err[2 * KLT_PATH], found[KLT_PATH];
    int missing = 0;
    missing |= find_retroarch(p);
    missing |= find_wrapper(p);
    if (find_core(p->core, found, err, sizeof(err)) != 0)
        missing |= tool_fail(-1, "play", "%s. Install it: %s", err, kl_place_words.get_core);
    else if (!kl_file_real(found, p->core_path, sizeof(p->core_path)))
        missing |= tool_fail(-1, "play", "cannot read the core %s: %s", found, strerror(errno));
    if (!p->content_path[0] && !kl_file_real(p->content, p->content_path, sizeof(p->content_path)))
        missing |= tool_fail(-1, "play", "cannot read the content %s: %s", p->content, strerror(errno));
    else if (kl_file_kind(p->content_path) == KL_FILE_IS_DIR)
        missing |= tool_fail(-1, "play", "the content %s: expected a file, got a folder", p->content_path);
    return missing;
}

/* --- handing over --- */

/* The settings live in memory that RetroArch inherits: nothing is left behind on any disk. */
static int make_config(struct play *p) {
    char err[512];
    const char *text = p->replays && !p->begins ? replay_settings : settings;
    if (kl_file_hand_down(text, strlen(text), p->config_path, sizeof(p->config_path), err, sizeof(err)) == 0)
        return 0;
    return tool_fail(-1, "play", "%s", err);
}

/* RetroArch for Windows takes its arguments for ASCII. */
static int write_ascii(struct play *p) {
    const char *path[] = {p->wrapper_path, p->config_path, p->content_path};
    for (size_t i = 0; i < sizeof path / sizeof *path; i++)
        if (!kl_file_ascii_path(p->ascii[i], sizeof p->ascii[i], path[i]))
            return tool_fail(
                -1, "play",
                "RetroArch cannot be told of %s: move it to a path of plain letters (a to z), or load "
                "the game in RetroArch's menu",
                path[i]);
    return 0;
}

/* RetroArch takes one --appendconfig, of files joined by '|', the later above the earlier: the player's own
 * file stands before ours. Returns the arguments, ended by NULL. */
static const char **make_arguments(const struct play *p, int count, char **given) {
    const char **args = calloc((size_t)count + 8, sizeof(*args));
    char *append = strdup(p->ascii[1]);
    unsigned n = 0;
    if (!args || !append) return NULL;
    args[n++] = p->retroarch_path;
    args[n++] = "-L";
    args[n++] = p->ascii[0];
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
    args[n++] = p->ascii[2];
    return args;
}

static int host_here(const struct play *p, const char *const *args) {
    struct kl_host_here here;
    int code = kl_host_here_open(&here, value_of(p, "room"), p->map_port);
    if (code == KLT_OK) code = kl_host_here_play(&here, p->retroarch_path, args);
    kl_host_here_close(&here);
    return code;
}

static int hand_over(struct play *p, int count, char **given) {
    if (value_of(p, "relay") || value_of(p, "room")) kl_environment_set("KEYLOCK_LINK", NULL);
    kl_forward_export(&p->settings);
    kl_environment_set("KEYLOCK_CORE", p->core_path);
    kl_environment_set("KEYLOCK_SPEED", "real");
    tool_export_usual("DBUS_FATAL_WARNINGS", "0"); /* RetroArch 1.14 aborts without a session bus */
    tool_export_usual("KEYLOCK_INVITE", "on");
    char own[4096];
    if (kl_process_own_path(own, sizeof own) == 0) tool_export_usual("KEYLOCK_LEARN", own);
    if (make_config(p) != 0) return 1;
    if (write_ascii(p) != 0) return KLT_LOAD;
    const char **args = make_arguments(p, count, given);
    if (!args) return tool_fail(1, "play", "out of memory");
    if (p->host_here) return host_here(p, args);
    char err[KLT_PATH + 64];
    if (p->waits) {
        struct kl_host_here alone = {.quit = kl_wake_at_quit(), .router.channel = -1, .game.channel = -1};
        int code = kl_host_here_play(&alone, p->retroarch_path, args);
        kl_host_here_close(&alone);
        return code;
    }
    kl_process_become(p->retroarch_path, args, err, sizeof(err));
    return tool_fail(KLT_LOAD, "play", "%s", err);
}

/* The terminal that a desktop has opened for a link closes with this program. */
static int wait_for_enter(const struct play *p, int code) {
    char line[16];
    if (!p->ask) return code;
    fputs("Press Enter.\n", stderr);
    if (!fgets(line, sizeof line, stdin)) return code;
    return code;
}

int kl_play_replay(const struct kl_play_replay *w, int count, char **given) {
    static struct play play;
    struct play *p = &play;
    p->replays = true;
    p->waits = w->run;
    p->begins = w->room;
    p->core = w->core;
    p->content = w->content;
    p->retroarch = w->retroarch;
    p->wrapper = w->wrapper;
    if (find_all(p) != 0) return KLT_LOAD;
    kl_environment_set("KEYLOCK_RELAY", w->relay);
    kl_environment_set("KEYLOCK_LINK", NULL);
    kl_environment_set("KEYLOCK_REPLAY", w->recording);
    kl_environment_set("KEYLOCK_TAKE_OVER_ROOM", w->room);
    if (w->run) kl_environment_set("KEYLOCK_RECORD", w->run);
    return hand_over(p, count, given);
}

int cmd_play(int argc, char **argv) {
    static struct play play;
    struct play *p = &play;
    static const struct kl_table tables[] = {KLT_FORWARD(struct play, settings, KL_BY_PLAY), {.rows = NULL}};
    tool_parse(argc, argv, false, tables, p);
    take_flags(p);
    int linked = optind < argc ? take_link(p, argv[optind]) : 0;
    if (check_link(p) != 0 || check_host_here(p) != 0) return KLT_USAGE;
    if (p->ask && (!linked || argc - optind != 1))
        return tool_usage("--ask: expected one link behind it, got %s", linked ? "more" : "none");
    bool dashes = optind > 0 && strcmp(argv[optind - 1], "--") == 0;
    optind += linked;
    if (optind < argc && !dashes)
        return tool_usage("expected RetroArch's arguments behind --, got \"%s\"", argv[optind]);
    if (value_of(p, "link")) {
        int code = accept_link(p, value_of(p, "link"));
        if (code != 0) return wait_for_enter(p, code);
    }
    if (!p->core || !p->content)
        return tool_usage("expected --core NAME_OR_PATH and --content FILE, got %s", p->core ? "only --core"
                                                                                     : p->content
                                                                                         ? "only --content"
                                                                                         : "neither");
    if (find_all(p) != 0) return wait_for_enter(p, KLT_LOAD);
    if (choose_relay(p) != 0) return KLT_USAGE;
    return hand_over(p, argc - optind, argv + optind);
}
