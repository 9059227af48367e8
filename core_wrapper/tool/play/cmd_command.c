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
    "@1\n"
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

static void show_commands(unsigned column) {
    char effect[KL_ROW_TEXT];
    for (const struct kl_words_row *row = kl_words_rows; row->form; row++) {
        bool all = !strcmp(row->allowed, "all");
        snprintf(effect, sizeof(effect), "%s%s%s%s", row->effect, all ? "" : " (", all ? "" : row->allowed,
                 all ? "" : " only)");
        kl_help_line(stdout, row->form, column, effect);
    }
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
    static const struct kl_table tables[] = {{.rows = rows}, {.rows = NULL, .show = show_commands}};
    char words[KL_WORDS_MAX], err[KL_WORDS_MAX];
    struct kl_words parsed;
    uint64_t number = 0;
    tool_parse(argc, argv, true, tables, &number); /* in order: the words may have dashes */
    if (optind == argc) return tool_usage("expected the words of a command, got nothing");
    if (join_words(words, sizeof(words), argv + optind) != 0) return KLT_USAGE;
    if (kl_words_parse(&parsed, words, err, sizeof(err)) != 0) return tool_usage("%s", err);
    long pid = (long)number;
    int code = pid ? KLT_OK : choose(&pid);
    return code == KLT_OK ? command(pid, words) : code;
}
