#include "net/relay/program/control.h"

#include <ctype.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/clock.h"
#include "net/platform/copies.h"
#include "net/platform/dir.h"
#include "net/platform/process.h"
#include "net/platform/wait.h"
#include "net/relay/log/relay_log.h"

/* --- answering --- */

/* --- names --- */

int kl_control_folder(const char *option, char out[KL_RELAY_PATH], char *err, size_t err_len) {
    const char *of_service = kl_environment_get("RUNTIME_DIRECTORY");
    *out = 0;
    if (!strcmp(option, "off")) return 0;
    if (!*option && (!of_service || !*of_service))
        return kl_dir_known(KL_DIR_RUN, "keylock-relay", out, KL_RELAY_PATH, err, err_len);
    snprintf(out, KL_RELAY_PATH, "%s", *option ? option : of_service);
    return 0;
}

bool kl_control_name(char out[KL_LOCAL_NAME_MAX], const char *folder, unsigned port, unsigned shard) {
    char name[64];
    snprintf(name, sizeof name, "keylock-relay-%u.%u", port, shard);
    return kl_local_private(out, folder, name);
}

/* --- questions --- */

static void free_answer(struct kl_control_answer *a) {
    kl_buffer_free(&a->text);
    *a = (struct kl_control_answer){0};
}

/* NULL: none has this id. */
static struct kl_control_answer *find_answer(struct kl_control *c, uint64_t id) {
    for (unsigned i = 0; i < KL_CONTROL_AT_ONCE; i++)
        if (c->answer[i].order && c->answer[i].id == id) return &c->answer[i];
    return NULL;
}

static struct kl_control_answer *take_answer(struct kl_control *c, uint64_t id) {
    struct kl_control_answer *a = c->answer;
    for (unsigned i = 1; i < KL_CONTROL_AT_ONCE; i++)
        if (c->answer[i].order < a->order) a = &c->answer[i];
    free_answer(a);
    a->id = id;
    a->order = ++c->asked;
    return a;
}

static void send_piece(struct kl_control *c, const struct kl_local_peer *to, struct kl_control_answer *a,
                       unsigned at) {
    char message[KL_LOCAL_BYTES];
    size_t head = (size_t)snprintf(message, sizeof message, KL_CONTROL_ANSWERS, (unsigned long long)a->id, at,
                                   a->text.len, c->shards);
    size_t len = a->text.len - at, most = sizeof message - head;
    if (len > most) len = most;
    if (len) memcpy(message + head, a->text.at + at, len);
    kl_local_answer(c->lines.fd, to, message, head + len);
    if (at + len == a->text.len) free_answer(a);
}

/* One message a call, so that the rooms have their turn. */
static bool read_question(struct kl_server_operator *self, struct kl_lobby *l,
                          const struct kl_hub_stats *network, uint64_t now_us) {
    struct kl_control *c = (struct kl_control *)self;
    char message[KL_CONTROL_HEAD + KL_CONSOLE_LINE];
    struct kl_local_peer from = {.len = 0};
    unsigned long long id;
    unsigned at;
    bool trusted = false, goes_on = true;
    int line = 0, n = kl_local_receive(self->fd, message, sizeof message - 1, &from, &trusted);
    if (n < 0 || (size_t)n >= sizeof message || !trusted) return true;
    message[n] = 0;
    for (char *b = message; b < message + n; b++)
        if (iscntrl((unsigned char)*b)) *b = ' ';
    if (sscanf(message, KL_CONTROL_ASKS, &id, &at, &line) != 2 || !line) return true;
    struct kl_control_answer *a = find_answer(c, id);
    if (!a && at == 0) {
        a = take_answer(c, id);
        goes_on = kl_console_obey(l, network, message + line, &a->text, now_us);
    }
    if (a && at <= a->text.len) send_piece(c, &from, a, at);
    if (goes_on || !c->parent) return goes_on;
    kl_copy_quit(&(struct kl_process){.id = c->parent}, KL_QUIT_KEY); /* and it ends this process, too */
    return true;
}

/* --- the socket --- */

void kl_control_open(struct kl_control *c, uint16_t port) {
    char name[KL_LOCAL_NAME_MAX] = "", why[256] = "";
    c->lines = (struct kl_server_operator){.fd = -1, .read = read_question};
    if (c->port) atomic_store(c->port, port);
    if (!*c->folder) return;
    if (!kl_control_name(name, c->folder, port, c->own))
        snprintf(why, sizeof why, "expected a whole path of at most %d bytes with the name",
                 KL_LOCAL_NAME_MAX - 1);
    else if (*name != '/' || kl_dir_make(c->folder, true, why, sizeof why) == 0)
        c->lines.fd = kl_local_open(name);
    if (c->lines.fd >= 0) return;
    if (!*why)
        snprintf(why, sizeof why, "%s",
                 c->lines.fd == KL_LOCAL_TAKEN ? "another relay has it" : strerror(errno));
    kl_log(KL_LOG_INFO, "no_control", "socket=\"%s\" reason=\"%s\"", *name ? name : c->folder, why);
    c->lines.fd = -1;
}

void kl_control_close(struct kl_control *c) {
    kl_local_close(c->lines.fd);
    for (unsigned i = 0; i < KL_CONTROL_AT_ONCE; i++)
        free_answer(&c->answer[i]);
}

/* --- asking --- */

/* The asking side of the relay's control sockets (control.h): one line for all processes that it concerns. */

#define ANSWER_MOST (64 * 1024 * 1024)

/* --- one process of the relay --- */

/* Sends the question and appends the next piece to out. whole: the length of the answer. 0, or an errno. */
static int fetch(struct kl_ctl *a, const char *name, unsigned long long id, struct kl_buffer *out,
                 size_t *whole) {
    char message[KL_LOCAL_BYTES], head[KL_CONTROL_HEAD];
    struct kl_local_peer from = {.len = 0};
    bool trusted = false;
    unsigned at = (unsigned)out->len;
    int n = snprintf(message, sizeof message, "keylock-ctl %016llx %u %s", id, at, a->line);
    int failed = kl_local_send(a->socket, name, message, (size_t)n);
    if (failed) return failed;
    const uint64_t until_us = kl_now_us() + a->wait_us;
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
static int ask(struct kl_ctl *a, unsigned shard, struct kl_buffer *out) {
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

unsigned kl_ctl_ask(struct kl_ctl *a, enum kl_console_verb verb, struct kl_buffer *out, int *failed) {
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

bool kl_ctl_refused(const struct kl_buffer *answer) {
    return answer->len &&
           !strncmp(answer->at + last_line(answer), KL_CONSOLE_ERROR, strlen(KL_CONSOLE_ERROR));
}
