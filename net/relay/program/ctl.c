/* `keylock-relay ctl WORD...`: one line of the operator's for a running relay, in all its processes. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/engine/engine.h"
#include "net/platform/clock.h"
#include "net/platform/dir_list.h"
#include "net/platform/dir.h"
#include "net/platform/wait.h"
#include "net/relay/program/control.h"
#include "net/transport/link.h"

#define ANSWER_US   5000000 /* for a piece */
#define ANSWER_MOST (64 * 1024 * 1024)

enum { EXIT_DONE, EXIT_REFUSED, EXIT_BAD_USAGE, EXIT_NO_RELAY };

/* clang-format off: a line here is a line there */
static const char help[] = "Usage: keylock-relay ctl [OPTION]... WORD...\n"
                           "Gives the operator's words to a relay of this user that runs on this machine, "
                           "root's to any user's, and prints\n"
                           "the answer. `keylock-relay ctl help` asks the relay for its words.\n"
                           "\n"
                           "  --port N       the relay's port (of the relay that runs, if there is one)\n"
                           "  --control DIR  the folder of its sockets, as for the relay\n"
                           "  -h, --help     prints this text\n"
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

/* --- one process of the relay --- */

struct asked {
    const char *folder;
    unsigned port;
    const char *line;
    int socket;
    unsigned shards; /* 0: no process has said yet */
};

/* Sends the question and appends the next piece to out. whole: the length of the answer. 0, or an errno. */
static int fetch(struct asked *a, const char *name, unsigned long long id, struct kl_buffer *out,
                 size_t *whole) {
    char message[KL_LOCAL_BYTES], head[KL_CONTROL_HEAD];
    struct kl_local_peer from = {.len = 0};
    bool trusted = false;
    unsigned at = (unsigned)out->len;
    int n = snprintf(message, sizeof message, "keylock-ctl %016llx %u %s", id, at, a->line);
    int failed = kl_local_send(a->socket, name, message, (size_t)n);
    if (failed) return failed;
    const uint64_t until_us = kl_now_us() + ANSWER_US;
    while (kl_now_us() < until_us) { /* anybody may send to this socket, but knows no id */
        if (!kl_wait_for(&a->socket, 1, until_us)) continue;
        n = kl_local_receive(a->socket, message, sizeof message, &from, &trusted);
        if (n < 0 || (size_t)n > sizeof message) continue;
        const char *end = memchr(message, '\n', (size_t)n);
        if (!end || end - message >= KL_CONTROL_HEAD) continue;
        unsigned long long of;
        unsigned from_at, shards;
        snprintf(head, sizeof head, "%.*s", (int)(end - message), message);
        if (sscanf(head, "keylock-ctl %16llx %u %zu %u", &of, &from_at, whole, &shards) != 4 || of != id ||
            from_at != at || (!trusted && !kl_local_is_root()))
            continue;
        kl_buffer_add_bytes(out, end + 1, (size_t)(message + n - end - 1));
        a->shards = shards;
        return out->failed || *whole > ANSWER_MOST ? ENOMEM : out->len == at && *whole > at ? EPROTO : 0;
    }
    return ETIMEDOUT;
}

/* The whole answer of one process, in an empty out. 0, or an errno. */
static int ask(struct asked *a, unsigned shard, struct kl_buffer *out) {
    char name[KL_LOCAL_NAME_MAX];
    unsigned long long id;
    size_t whole = 0;
    if (!kl_control_name(name, a->folder, a->port, shard)) return ENAMETOOLONG;
    randombytes_buf(&id, sizeof id);
    int failed;
    do
        failed = fetch(a, name, id, out, &whole);
    while (!failed && out->len < whole);
    return failed;
}

/* --- all of them --- */

/* The beginning of a text's last line. */
static size_t last_line(const struct kl_buffer *t) {
    size_t at = t->len ? t->len - 1 : 0;
    while (at > 0 && t->at[at - 1] != '\n')
        at--;
    return at;
}

/* a with each number that is behind a = the sum of that of b, which has the same words. */
static void add_sums(struct kl_buffer *to, const char *a, const char *b) {
    while (*a) {
        char *a_end, *b_end;
        kl_buffer_add_bytes(to, a, 1);
        b += *b != 0;
        if (*a++ != '=' || !isdigit((unsigned char)*a) || !isdigit((unsigned char)*b)) continue;
        kl_buffer_add(to, "%llu", strtoull(a, &a_end, 10) + strtoull(b, &b_end, 10));
        a = a_end;
        b = b_end;
    }
}

/* Lists one below the other, and their counts in one. */
static void join_answers(enum kl_console_verb verb, struct kl_buffer *all, const struct kl_buffer *one) {
    struct kl_buffer sum = {0};
    size_t all_last = verb == KL_CONSOLE_STATUS ? 0 : last_line(all), one_last = 0;
    if (verb != KL_CONSOLE_STATUS) one_last = last_line(one);
    if (all->len == 0) {
        kl_buffer_add_bytes(all, one->at, one->len);
        return;
    }
    kl_buffer_add_bytes(&sum, all->at, all_last);
    kl_buffer_add_bytes(&sum, one->at, one_last);
    add_sums(&sum, all->at + all_last, one->at + one_last);
    kl_buffer_free(all);
    *all = sum;
}

static bool is_in_another(const struct kl_buffer *answer) {
    return answer->len && !strncmp(answer->at, KL_CONSOLE_NO_ROOM, strlen(KL_CONSOLE_NO_ROOM));
}

static bool is_of_all(enum kl_console_verb verb) {
    return verb == KL_CONSOLE_ROOMS || verb == KL_CONSOLE_STATUS;
}

/* The answer of all processes that a line concerns, in an empty out. Returns the number of those that
 * answered; *failed: an errno of one that did not, or 0. */
static unsigned ask_all(struct asked *a, enum kl_console_verb verb, struct kl_buffer *out, int *failed) {
    unsigned answered = 0;
    *failed = 0;
    for (unsigned i = 0; i < (a->shards ? a->shards : KL_SHARDS_MAX); i++) {
        struct kl_buffer one = {0};
        int why = ask(a, i, &one);
        if (why && (!*failed || i < a->shards)) *failed = why;
        if (!why) answered++;
        if (!why && !is_of_all(verb)) kl_buffer_clear(out); /* the others say: no such room */
        if (!why) join_answers(verb, out, &one);
        kl_buffer_free(&one);
        if (why == ETIMEDOUT && !a->shards) break;
        if (why || is_of_all(verb) || (verb >= KL_CONSOLE_WHO && is_in_another(out))) continue;
        *failed = 0;
        break;
    }
    return answered;
}

static int print_answer(const struct kl_buffer *all) {
    if (!all->len) return EXIT_DONE;
    const bool refused = !strncmp(all->at + last_line(all), KL_CONSOLE_ERROR, strlen(KL_CONSOLE_ERROR));
    FILE *to = refused ? stderr : stdout;
    bool good = fwrite(all->at, 1, all->len, to) == all->len && fflush(to) == 0;
    return refused || !good ? EXIT_REFUSED : EXIT_DONE;
}

static int give(struct asked *a, enum kl_console_verb verb) {
    struct kl_buffer all = {0};
    int failed, status = EXIT_NO_RELAY;
    unsigned answered = ask_all(a, verb, &all, &failed);
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
    char ignored[256], ports[256] = "";
    unsigned count = 0, found = KL_DEFAULT_PORT, port;
    (void)kl_dir_list(&list, folder, ".0", ignored, sizeof ignored);
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

/* The line's own message names what came, or begins with the word for what was expected. */
static int complain_about(const struct kl_console_line *bad, const char *line) {
    const char *usage = strstr(bad->room, "expected: ");
    if (usage != bad->room) return complain(EXIT_BAD_USAGE, "%s", bad->room);
    return complain(EXIT_BAD_USAGE, "expected %s, got \"%.200s\"", usage + strlen("expected: "), line);
}

static int start(struct asked *a, char *const *words) {
    struct kl_console_line parsed;
    char line[KL_CONSOLE_LINE];
    if (!*words) return complain(EXIT_BAD_USAGE, "expected a word for the relay, got none");
    if (!kl_console_join(line, words))
        return complain(EXIT_BAD_USAGE, "expected a line of at most %d bytes, got more", KL_CONSOLE_LINE - 1);
    kl_console_parse(&parsed, line);
    if (parsed.verb == KL_CONSOLE_NOTHING)
        return complain(EXIT_BAD_USAGE, "expected a word for the relay, got none");
    if (parsed.verb == KL_CONSOLE_BAD) return complain_about(&parsed, line);
    a->line = line;
    a->socket = kl_local_open(NULL);
    if (a->socket < 0) return complain(EXIT_NO_RELAY, "no socket: %s", strerror(errno));
    if (!a->port) a->port = find_port(a->socket, a->folder);
    int status = a->port ? give(a, parsed.verb) : EXIT_BAD_USAGE;
    kl_local_close(a->socket);
    return status;
}

/* --- the command line --- */

static int read_port(const char *value, unsigned *out) {
    char *end;
    long port = strtol(value, &end, 10);
    if (end == value || *end || port < 1 || port > 65535) return -1;
    *out = (unsigned)port;
    return 0;
}

static int refuse(int option, const char *word) {
    const char *equals = strchr(word, '=');
    if (option == ':') return complain(EXIT_BAD_USAGE, "%s: expected a value, got none", word);
    if (optopt && equals)
        return complain(EXIT_BAD_USAGE, "%.*s: expected no value, got \"%s\"", (int)(equals - word), word,
                        equals + 1);
    return complain(EXIT_BAD_USAGE, "expected one of its options, got \"%s\"", word);
}

int kl_ctl(int argc, char **argv) {
    static const struct option names[] = {{"port", required_argument, NULL, 'p'},
                                          {"control", required_argument, NULL, 'c'},
                                          {"help", no_argument, NULL, 'h'},
                                          {"version", no_argument, NULL, 'V'},
                                          {0}};
    struct asked a = {0};
    char folder[KL_RELAY_PATH], err[256];
    const char *control = "";
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "+:hV", names, NULL)) != -1) {
        switch (option) {
        case 'h': return fputs(help, stdout) < 0 || fflush(stdout) != 0;
        case 'V':
            return printf("keylock-relay %s, protocol %d\n", KL_VERSION, KL_PROTOCOL_VERSION) < 0 ||
                   fflush(stdout) != 0;
        case 'c': control = optarg; break;
        case 'p':
            if (read_port(optarg, &a.port) == 0) break;
            return complain(EXIT_BAD_USAGE, "--port: expected a number from 1 to 65535, got \"%.64s\"",
                            optarg);
        default: return refuse(option, argv[optind - 1]);
        }
    }
    if (kl_control_folder(control, folder, err, sizeof err) != 0) return complain(EXIT_NO_RELAY, "%s", err);
    if (!*folder) return complain(EXIT_BAD_USAGE, "--control: expected a folder, got \"off\"");
    if (sodium_init() < 0) return complain(EXIT_NO_RELAY, "no random numbers");
    a.folder = folder;
    return start(&a, argv + optind);
}
