#include "net/transport/ask.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "net/engine/engine.h"
#include "net/platform/clock.h"
#include "net/platform/socket.h"
#include "net/platform/wait.h"

/* --- the thread --- */

int kl_asker_start(struct kl_asker *a, const char *name, void (*run)(void *arg), void *arg) {
    a->wake = kl_wake_open();
    if (a->wake < 0) return -1;
    if (kl_thread_start(&a->thread, name, run, arg) == 0) return 0;
    kl_socket_close(a->wake);
    return -1;
}

void kl_asker_poke(struct kl_asker *a) {
    kl_wake(a->wake);
}

void kl_asker_end(struct kl_asker *a) {
    a->leaving = true;
    kl_wake(a->wake);
    kl_thread_join(&a->thread);
    kl_socket_close(a->wake);
}

bool kl_asker_rest(struct kl_asker *a, uint64_t until_us) {
    if (!a->leaving && kl_wait_for(&a->wake, 1, until_us)) kl_wake_clear(a->wake);
    return !a->leaving;
}

static bool is_wanted(void *asker) {
    const struct kl_asker *a = asker;
    return !a || !a->leaving;
}

/* A bit for each socket that can be read; 0: the time is over, or it is to stop. */
static uint32_t wait_for_any(struct kl_asker *a, const int *s, unsigned count, uint64_t until_us) {
    int what[1 + KL_ASK_MANY] = {a ? a->wake : -1};
    memcpy(what + 1, s, count * sizeof *s);
    uint32_t readable = 0;
    while (readable <= 1 && is_wanted(a) && kl_now_us() < until_us) {
        readable = kl_wait_for(what, 1 + count, until_us);
        if (readable & 1) kl_wake_clear(a->wake);
    }
    return readable >> 1;
}

/* --- questions --- */

static int connect_to(struct kl_address to, uint16_t port) {
    int s = kl_socket_open();
    to.port = port;
    if (s >= 0 && kl_socket_connect(s, &to) == 0) return s;
    kl_socket_close(s);
    return -1;
}

/* All but one are closed; the first that there is, if nobody answers. */
static int keep_one(struct kl_asker *a, int *s, unsigned count) {
    int best = count > 1 ? kl_ask_first(a, s, count, KL_ASK_NEXT_MS) : -1, kept = -1;
    for (unsigned i = 0; i < count; i++) {
        if (kept < 0 && s[i] >= 0 && (best < 0 || (unsigned)best == i))
            kept = s[i];
        else
            kl_socket_close(s[i]);
    }
    return kept;
}

int kl_ask_open(struct kl_asker *a, const char *host, uint16_t port, char *err, size_t err_len) {
    struct kl_addresses to;
    char why[128] = "";
    int s[KL_ADDRESSES_MAX];
    if (kl_lookup(host, &to, is_wanted, a, why, sizeof why) != KL_LOOKUP_FOUND) {
        snprintf(err, err_len, "cannot find the relay %s: %s", host, why);
        return -1;
    }
    for (unsigned i = 0; i < to.count; i++)
        s[i] = connect_to(to.at[i], port);
    int kept = keep_one(a, s, to.count);
    if (kept < 0) snprintf(err, err_len, "cannot reach the relay %s", kl_host_port(host, port).text);
    return kept;
}

/* Whether these bytes are the answer to a question with this echo; fills out. */
typedef bool take_fn(void *out, const uint8_t *bytes, size_t len, const uint8_t *echo);

static bool take_pong(void *out, const uint8_t *bytes, size_t len, const uint8_t *echo) {
    struct kl_pong *pong = out;
    return kl_pong_read(pong, bytes, len) == 0 && memcmp(pong->echo, echo, sizeof pong->echo) == 0;
}

static bool take_rooms(void *out, const uint8_t *bytes, size_t len, const uint8_t *echo) {
    struct kl_rooms *rooms = out;
    return kl_rooms_read(rooms, bytes, len) == 0 && memcmp(rooms->echo, echo, sizeof rooms->echo) == 0;
}

static bool put(int s, struct kl_question *q) {
    uint8_t bytes[KL_LIST_BYTES];
    q->version = KL_PROTOCOL_VERSION;
    randombytes_buf(q->echo, sizeof q->echo);
    size_t len = kl_question_write(q, bytes);
    return kl_socket_send(s, NULL, bytes, len);
}

/* Asks once and waits KL_ASK_MS for that question's answer; other datagrams, such as late answers, are
 * ignored. Returns the RTT in ms; -1: no answer. */
static double ask(struct kl_asker *a, int s, struct kl_question *q, take_fn *take, void *out) {
    uint8_t bytes[KL_LIST_BYTES];
    uint64_t from_us = kl_now_us();
    if (!put(s, q)) return -1;
    while (wait_for_any(a, &s, 1, from_us + KL_ASK_MS * 1000)) {
        int got = kl_socket_receive(s, bytes, sizeof bytes, NULL);
        if (got < 0) return -1; /* nobody listens there */
        bool fits = (size_t)got <= sizeof bytes;
        if (fits && take(out, bytes, (size_t)got, q->echo)) return (double)(kl_now_us() - from_us) / 1000;
    }
    return -1;
}

double kl_ask_ping(struct kl_asker *a, int s, struct kl_pong *out) {
    struct kl_question q = {.kind = KL_STRANGER_PING};
    return ask(a, s, &q, take_pong, out);
}

double kl_ask_distance(struct kl_asker *a, int s, struct kl_pong *out) {
    double best_ms = -1;
    struct kl_pong pong;
    for (unsigned i = 0; i < KL_ASK_TRIES && is_wanted(a); i++) {
        double ms = kl_ask_ping(a, s, &pong);
        if (ms < 0) continue;
        *out = pong;
        if (best_ms < 0 || ms < best_ms) best_ms = ms;
    }
    return best_ms;
}

/* The first socket with its answer, or -1. Other datagrams are read and dropped. */
static int first_answer(const int *s, uint32_t readable, const struct kl_question *q, unsigned count) {
    uint8_t bytes[KL_LIST_BYTES];
    struct kl_pong pong;
    for (unsigned i = 0; i < count; i++) {
        int got = readable >> i & 1 ? kl_socket_receive(s[i], bytes, sizeof bytes, NULL) : -1;
        bool fits = got > 0 && (size_t)got <= sizeof bytes;
        if (fits && take_pong(&pong, bytes, (size_t)got, q[i].echo)) return (int)i;
    }
    return -1;
}

/* False: no way leads there. The first try may tell of an error before it. */
static bool ask_one(int s, struct kl_question *q) {
    *q = (struct kl_question){.kind = KL_STRANGER_PING};
    return s >= 0 && (put(s, q) || put(s, q));
}

int kl_ask_first(struct kl_asker *a, const int *s, unsigned count, unsigned next_ms) {
    struct kl_question q[KL_ASK_MANY];
    uint64_t until_us = 0;
    uint32_t readable;
    int found = -1;
    if (count > KL_ASK_MANY) count = KL_ASK_MANY;
    for (unsigned asked = 0; asked < count && found < 0 && is_wanted(a);) {
        uint64_t now_us = kl_now_us();
        bool sent = ask_one(s[asked], &q[asked]);
        asked++;
        until_us = now_us + (asked < count ? sent * next_ms : KL_ASK_MS) * UINT64_C(1000);
        while (found < 0 && (readable = wait_for_any(a, s, asked, until_us)))
            found = first_answer(s, readable, q, asked);
    }
    return found;
}

int kl_ask_rooms(struct kl_asker *a, int s, struct kl_rooms *piece,
                 bool (*show)(void *ctx, struct kl_rooms *piece), void *ctx) {
    struct kl_question q = {.kind = KL_STRANGER_LIST};
    for (unsigned i = 0; i < KL_ASK_PIECES && q.from != KL_ROOMS_END; i++, q.from = piece->next) {
        bool answered = false;
        for (unsigned t = 0; t < KL_ASK_TRIES && !answered && is_wanted(a); t++)
            answered = ask(a, s, &q, take_rooms, piece) >= 0;
        if (!answered) return -1;
        if (!show(ctx, piece)) return 0;
    }
    return 0;
}
