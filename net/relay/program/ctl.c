/* `keylock-relay ctl WORD...`: one line of the operator's for a running relay, in all its processes. */
#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/engine/engine.h"
#include "net/platform/options.h"
#include "net/platform/dir.h"
#include "net/relay/program/control.h"
#include "net/transport/link.h"

#define ANSWER_US 5000000 /* for a piece */

enum { EXIT_DONE, EXIT_REFUSED, EXIT_BAD_USAGE, EXIT_NO_RELAY };

/* clang-format off: a line here is a line there */
static const char help_begin[] =
    "Usage: keylock-relay ctl [OPTION]... WORD...\n"
    "Gives the operator's words to a relay of this user that runs on this machine, "
    "root's to any user's, and prints\n"
    "the answer. `keylock-relay ctl help` asks the relay for its words.\n"
    "\n";
static const char help_end[] = "  -h, --help     prints this text\n"
                               "  -V, --version  prints version and protocol\n"
                               "\n"
                               "Exit status:\n"
                               "  0  done\n"
                               "  1  the relay has refused it\n"
                               "  2  wrong usage\n"
                               "  3  no relay answers\n";
/* clang-format on */

static int complain(int status, const char *format, ...) __attribute__((format(__printf__, 2, 3)));
static int complain(int status, const char *format, ...) {
    va_list rest;
    va_start(rest, format);
    fputs("keylock-relay ctl: ", stderr);
    vfprintf(stderr, format, rest);
    va_end(rest);
    fputs(status == EXIT_BAD_USAGE ? "; see keylock-relay ctl --help\n" : "\n", stderr);
    return status;
}

/* --- an answer --- */

static int print_answer(const struct kl_buffer *all) {
    if (!all->len) return EXIT_DONE;
    const bool refused = kl_ctl_refused(all);
    FILE *to = refused ? stderr : stdout;
    bool good = fwrite(all->at, 1, all->len, to) == all->len && fflush(to) == 0;
    return refused || !good ? EXIT_REFUSED : EXIT_DONE;
}

static int give(struct kl_ctl *a, enum kl_console_verb verb) {
    struct kl_buffer all = {0};
    int failed, status = EXIT_NO_RELAY;
    unsigned answered = kl_ctl_ask(a, verb, &all, &failed);
    if (answered) status = print_answer(&all);
    if (!answered)
        complain(status, "no relay of port %u answers in %s: %s", a->port, a->folder, strerror(failed));
    else if (failed)
        status = complain(EXIT_NO_RELAY, "%u of %u processes of the relay answer", answered, a->shards);
    kl_buffer_free(&all);
    return status;
}

/* --- the relay --- */

static bool is_there(int socket, const char *folder, unsigned port) {
    char name[KL_LOCAL_NAME_MAX];
    return kl_control_name(name, folder, port, 0) && kl_local_send(socket, name, "", 0) == 0;
}

/* The port of the one relay that has its sockets in the folder. 0: more than one, with a line said. */
static unsigned find_port(int socket, const char *folder) {
    struct kl_dir_list list;
    char ports[256] = "";
    unsigned count = 0, found = KL_DEFAULT_PORT, port;
    (void)kl_dir_list(&list, folder, ".0", NULL, 0);
    for (unsigned i = 0; i < list.count; i++) {
        if (sscanf(list.name[i], "keylock-relay-%u.0", &port) != 1 || !is_there(socket, folder, port))
            continue;
        size_t n = strlen(ports);
        snprintf(ports + n, sizeof ports - n, " %u", port);
        found = port;
        count++;
    }
    kl_dir_list_free(&list);
    if (count <= 1) return found;
    complain(EXIT_BAD_USAGE, "expected --port with one of%s, got none: more than one relay runs", ports);
    return 0;
}

static int start(struct kl_ctl *a, char *const *words) {
    struct kl_console_line parsed;
    char line[KL_CONSOLE_LINE];
    if (!*words) return complain(EXIT_BAD_USAGE, "expected a word for the relay, got none");
    if (!kl_console_join(line, words))
        return complain(EXIT_BAD_USAGE, "expected a line of at most %d bytes, got more", KL_CONSOLE_LINE - 1);
    kl_console_parse(&parsed, line);
    if (parsed.verb == KL_CONSOLE_NOTHING)
        return complain(EXIT_BAD_USAGE, "expected a word for the relay, got none");
    if (parsed.verb == KL_CONSOLE_BAD) {
        /* The line's own message names what came, or begins with the word for what was expected. */
        const char *usage = strstr(parsed.room, "expected: ");
        if (usage != parsed.room) return complain(EXIT_BAD_USAGE, "%s", parsed.room);
        return complain(EXIT_BAD_USAGE, "expected %s, got \"%.200s\"", usage + strlen("expected: "), line);
    }
    a->line = line;
    a->socket = kl_local_open(NULL);
    if (a->socket < 0) return complain(EXIT_NO_RELAY, "no socket: %s", strerror(errno));
    if (!a->port) a->port = find_port(a->socket, a->folder);
    int status = a->port ? give(a, parsed.verb) : EXIT_BAD_USAGE;
    kl_local_close(a->socket);
    return status;
}

/* --- the command line --- */

#define HELP_COLUMN 17

#define KL_ROWS_OF struct kl_ctl
static const struct kl_row rows[] = {
    KL_ROW_NUMBER("port", "N", port, 1, 65535, "the relay's port (of the relay that runs, if there is one)"),
    KL_ROW_STRING("control", "DIR", folder, "the folder of its sockets, as for the relay"),
    {.name = NULL},
};

static int show_help(void) {
    fputs(help_begin, stdout);
    kl_rows_help(rows, 0, NULL, HELP_COLUMN, true, stdout);
    return fputs(help_end, stdout) < 0 || fflush(stdout) != 0;
}

int kl_ctl(int argc, char **argv) {
    static const struct kl_table tables[] = {{.rows = rows}, {.rows = NULL}};
    struct kl_ctl a = {.wait_us = ANSWER_US, .folder = ""};
    char folder[KL_RELAY_PATH], err[256], why[KL_ROW_TEXT];
    switch (kl_tables_parse(tables, &a, argc, argv, true, "one of its options", why)) {
    case KL_LINE_HELP: return show_help();
    case KL_LINE_VERSION:
        return printf("keylock-relay %s, protocol %d\n", KL_VERSION, KL_PROTOCOL_VERSION) < 0 ||
               fflush(stdout) != 0;
    case KL_LINE_BAD: return complain(EXIT_BAD_USAGE, "%s", why);
    case KL_LINE_DONE: break;
    }
    if (kl_control_folder(a.folder, folder, err, sizeof err) != 0) return complain(EXIT_NO_RELAY, "%s", err);
    if (!*folder) return complain(EXIT_BAD_USAGE, "--control: expected a folder, got \"off\"");
    if (sodium_init() < 0) return complain(EXIT_NO_RELAY, "no random numbers");
    a.folder = folder;
    return start(&a, argv + optind);
}
