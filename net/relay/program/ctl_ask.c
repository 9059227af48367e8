/* The asking side of the relay's control sockets (control.h): one line for all processes that it concerns. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/platform/clock.h"
#include "net/platform/wait.h"
#include "net/relay/program/control.h"

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
