#include "core_wrapper/tool/common/tool.h"
#include "core_wrapper/words/config.h"

#include "net/platform/clock.h"
#include "net/platform/local.h"
#include "net/platform/wait.h"
#include "net/session/command_words.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MS 400 /* many frames: a frontend that runs has answered by then */
#define WRAPPERS  16  /* in play on this machine, to choose from */

/* clang-format off: a line here is a line there */
const char cmd_command_help[] =
    "Usage: keylock command [--pid PID] WORDS\n"
    "\n"
    "Gives a command to the room that this user plays on this machine. It takes effect at the same frame on "
    "every\n"
    "player's machine.\n"
    "\n"
    "  pause | resume             the game stands still; goes on. If machines differ, resume agrees to play "
    "on\n"
    "  reset                      resets the emulated machine\n"
    "  again                      asks for a rematch, or agrees to what is asked: the same as reset; "
    "outside, tries "
    "the room again\n"
    "  ahead                      your presses show at once on this screen, or no longer\n"
    "  leave                      leaves the room, or the way to one; the game goes on for the player alone\n"
    "  save | load                every machine keeps its state, as the room's one saved state; all load it "
    "again\n"
    "  option KEY=VALUE           sets a core option\n"
    "  disk N | next | previous   puts disk N in, counted from 1; 0 takes it out\n"
    "  chat                       opens a line of chat on this machine's screen\n"
    "  say TEXT                   shows a line on every screen\n"
    "  report TEXT                writes into the relay's recording that something was wrong here; once a "
    "minute\n"
    "  policy NAME [BUDGET_MS] [spacing N]\n"
    "                             sets strict, bounded or optimistic (host only)\n"
    "  lead-max N                 the longest spacing that follows the link, 1 to 30 frames (host only)\n"
    "  budget MS                  how long a bounded or optimistic room waits (host only)\n"
    "  spacing N                  fixes the spacing at 1 to 30 frames; 0 follows the link (host only)\n"
    "  swap [A B]                 players A and B change places; 1 and 2 if none is named (host only)\n"
    "  give A NAME                NAME plays as player A; the former player A gets NAME's place (host only)\n"
    "  watch                      you give up your seat, or your place in the queue, and watch\n"
    "  play                       you take a free seat, or wait in the queue for one\n"
    "  next                       a player hands on the seat to the first of the queue; others: as play\n"
    "  queue                      tells who plays, and who waits for a seat\n"
    "  places N                   the game has N seats, 1 to 8, so more players can join (host only)\n"
    "  delay SECONDS              watchers from outside see the game SECONDS later, 0 to 300 (host only)\n"
    "  watchers                   lists the watchers from outside the game (host only)\n"
    "  voice off|on|push          you hear the players with voice on, and they hear you; push: while you "
    "hold the "
    "hot key\n"
    "                             talk\n"
    "  talk                       is for a hot key: with voice push you are heard while you hold it\n"
    "  mute NAME | A              a player is not heard on this machine any more, or again\n"
    "  volume PERCENT NAME | A    a player is heard on this machine at so many percent, 0 to 200\n"
    "  voice none|players|all     lets nobody hear voices, the players, or watchers without delay, too (host "
    "only)\n"
    "  host NAME | A              makes another player the host, by name or number (host only)\n"
    "  lock                       closes the room to newcomers (host only)\n"
    "  unlock                     opens the room again (host only)\n"
    "  kick NAME | A              puts a player out of the room (host only)\n"
    "  ban NAME | A               puts a player out, and keeps the player out (host only)\n"
    "  desync heal|pause|ignore   sets the room's action when hashes differ (host only)\n"
    "  panel                      turns the panel on this machine's screen on or off\n"
    "\n"
    "@0\n"
    "\n"
    "Exit status:\n"
    "  0  the command was taken\n"
    "  1  the command was refused\n"
    "  2  wrong usage\n"
    "  4  no room is played on this machine\n"
    "A frontend that stands still (in its menu, in a pause) gives the command to the room when it goes on.\n";
/* clang-format on */

/* --- rooms on this machine --- */

static int choose(long *out) {
    long pid[WRAPPERS];
    unsigned n = kl_local_find(KL_CONTROL_NAME, pid, WRAPPERS);
    if (n == 0)
        return tool_fail(KLT_ROOM, "command",
                         "expected a running room of this user on this machine, found none");
    *out = pid[0];
    if (n == 1) return KLT_OK;
    char list[256] = "";
    for (unsigned i = 0; i < n; i++)
        snprintf(list + strlen(list), sizeof(list) - strlen(list), " %ld", pid[i]);
    return tool_usage("expected --pid with one of%s, got none: more than one is in play", list);
}

/* --- asking --- */

/* Not all of these have words in Windows's C library. */
static int explain_unsent(long pid, int failed) {
    switch (failed) {
    case EAGAIN:
        return tool_fail(KLT_FAILED, "command", "process %ld stands still, and too many wait there already",
                         pid);
    case EACCES: return tool_fail(KLT_ROOM, "command", "process %ld belongs to another user", pid);
    case ECONNREFUSED: return tool_fail(KLT_ROOM, "command", "process %ld plays in no room", pid);
    default: return tool_fail(KLT_FAILED, "command", "cannot ask process %ld: %s", pid, strerror(failed));
    }
}

static int command(long pid, const char *words) {
    char name[KL_LOCAL_NAME_MAX], line[1024];
    struct kl_local_peer from = {.len = 0};
    bool trusted = false;
    snprintf(name, sizeof(name), KL_CONTROL_NAME "%ld", pid);
    int fd = kl_local_open(NULL);
    if (fd < 0) return tool_fail(KLT_FAILED, "command", "no socket: %s", strerror(errno));
    int failed = kl_local_send(fd, name, words, strlen(words));
    if (failed) {
        kl_local_close(fd);
        return explain_unsent(pid, failed);
    }
    bool answered = kl_wait_for(&fd, 1, kl_now_us() + ANSWER_MS * 1000) != 0;
    int n = answered ? kl_local_receive(fd, line, sizeof(line) - 1, &from, &trusted) : 0;
    kl_local_close(fd);
    if (!answered) /* it lies in the wrapper's socket, which it reads when it is called */
        return printf("taken; the game stands still: the room gets the command when the game goes on\n") < 0
                   ? KLT_OUTPUT
                   : KLT_OK;
    /* anybody may have taken the name before: an answer of another user's process is none */
    if (n < 0 || (!trusted && !kl_local_is_root()))
        return tool_fail(KLT_ROOM, "command", "process %ld belongs to another user", pid);
    line[(size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1] = 0;
    if (!strncmp(line, "ok ", 3)) return puts(line + 3) < 0 ? KLT_OUTPUT : KLT_OK;
    return tool_fail(KLT_FAILED, "command", "%s", !strncmp(line, "error ", 6) ? line + 6 : line);
}

/* --- the command line --- */

static int join_words(char *out, size_t cap, char **words) {
    size_t used = 0;
    for (; *words; words++) {
        int n = snprintf(out + used, cap - used, "%s%s", used ? " " : "", *words);
        if (n < 0 || (size_t)n >= cap - used)
            return tool_usage("expected at most %zu bytes of words, got more", cap - 1);
        used += (size_t)n;
    }
    return 0;
}

int cmd_command(int argc, char **argv) {
    static const struct kl_row rows[] = {{.name = "pid",
                                          .value = "PID",
                                          .kind = KL_KIND_NUMBER,
                                          .size = sizeof(uint64_t),
                                          .min = 1,
                                          .max = INT32_MAX,
                                          .help = "the process, if several are in play"},
                                         {.name = NULL}};
    static const struct kl_table tables[] = {{.rows = rows}, {.rows = NULL}};
    char words[KL_WORDS_MAX], err[KL_WORDS_MAX];
    struct kl_words parsed;
    uint64_t number = 0;
    tool_parse(argc, argv, true, tables, &number); /* in order: the words may have dashes */
    if (optind == argc) return tool_usage("expected " KL_WORDS_HELP "; got nothing");
    if (join_words(words, sizeof(words), argv + optind) != 0) return KLT_USAGE;
    if (kl_words_parse(&parsed, words, err, sizeof(err)) != 0) return tool_usage("%s", err);
    long pid = (long)number;
    int code = pid ? KLT_OK : choose(&pid);
    return code == KLT_OK ? command(pid, words) : code;
}
