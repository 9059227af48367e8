/* lobby_watchers.h - people who watch the room of lobby_players.h from outside the game, the engine the real
 * one on their side as well. Include once. */
#ifndef TEST_LOBBY_WATCHERS_H
#define TEST_LOBBY_WATCHERS_H

#include "tests/unit/lobby_players.h"

#define WATCHERS 6
#define AT_PEER  20 /* the first of them */

static struct player watcher[WATCHERS];
static char served[4096]; /* who got datagrams, in order: 'p' plays, 'w' watches */
static unsigned served_count;

static inline struct kl_lobby_room *the_room(void) {
    return kl_lobby_find(lobby, "room");
}

static inline struct player *watcher_at(unsigned peer) {
    for (unsigned i = 0; i < WATCHERS; i++)
        if (watcher[i].linked && watcher[i].peer == peer) return &watcher[i];
    return NULL;
}

/* It is a client of the game from now on. */
static inline void is_seated(struct player *w, const struct kl_welcome *m) {
    memcpy(w->token, m->token, sizeof w->token);
    kl_client_watch(&w->lock, false);
    kl_client_reseat(&w->lock, m->seats);
    kl_client_return(&w->lock, now_us);
}

static inline void begin_watcher(struct player *w, const struct kl_welcome *m) {
    kl_client_init(&w->lock, &m->params, 0, w->held, HELD, now_us);
    kl_client_watch(&w->lock, true);
    w->pieces = w->pieces_done = 0;
    w->plays = true;
    w->turn_us = now_us;
}

static struct kl_msg newest[PEERS][KL_MSG_REWIND + 1]; /* by kind; kind 0: none has come */

static inline const struct kl_msg *got(unsigned peer, uint8_t kind) {
    return newest[peer][kind].kind ? &newest[peer][kind] : NULL;
}

static inline void hear_message(unsigned peer, const struct kl_msg *m) {
    struct player *w = watcher_at(peer);
    newest[peer][m->kind] = *m;
    if (!w) {
        listen_message(peer, m);
        return;
    }
    if (m->kind == KL_MSG_WELCOME && w->plays) is_seated(w, &m->welcome);
    if (m->kind == KL_MSG_WELCOME && !w->plays) begin_watcher(w, &m->welcome);
    if (m->kind == KL_MSG_SEAT) kl_client_reseat(&w->lock, m->seat.seats);
    if (m->kind == KL_MSG_HISTORY) {
        assert_true(w->pieces - w->pieces_done < PIECES);
        w->piece[w->pieces++ % PIECES] = m->past;
    }
}

static inline void hear_update(unsigned peer, const uint8_t *body, size_t len) {
    struct player *w = watcher_at(peer);
    if (served_count < sizeof served) served[served_count++] = w ? 'w' : 'p';
    if (w)
        assert_int_equal(kl_client_receive(&w->lock, body, len, now_us), KL_OK);
    else
        listen_update(peer, body, len);
}

static inline void feed_watcher(struct player *w) {
    for (; w->pieces_done < w->pieces; w->pieces_done++) {
        const struct kl_past *piece = &w->piece[w->pieces_done % PIECES];
        int left = kl_client_history(&w->lock, piece->bytes, piece->len, now_us);
        assert_true(left >= 0);
        if (left > 0) return;
    }
}

static void (*on_step)(void);

static inline void go(uint64_t us) {
    for (uint64_t end_us = now_us + us; now_us < end_us; now_us += STEP_US) {
        run();
        for (unsigned i = 0; i < PLAYERS; i++)
            step_player(&player[i]);
        for (unsigned i = 0; i < WATCHERS; i++) {
            if (!watcher[i].plays) continue;
            feed_watcher(&watcher[i]);
            step_player(&watcher[i]);
        }
        if (on_step) on_step();
    }
}

/* A watcher's word that it has loaded, where it has been asked to. */
static inline void loads(unsigned i) {
    assert_non_null(got(watcher[i].peer, KL_MSG_PREPARE));
    ready(watcher[i].peer, "a");
}

static inline void comes(unsigned i, unsigned seats) {
    struct kl_msg m = a_hello(AT_PEER + i, "room", seats, PLAYERS, "x");
    watcher[i] = (struct player){.peer = AT_PEER + i, .linked = true};
    connect_peer(AT_PEER + i);
    say(AT_PEER + i, &m);
}

static inline void watches(unsigned i) {
    comes(i, 0);
    go(SECOND / 2);
    loads(i);
}

static inline void goes(unsigned i) {
    watcher[i].linked = watcher[i].plays = false;
}

static inline void begin(void) {
    memset(watcher, 0, sizeof watcher);
    memset(newest, 0, sizeof newest);
    on_step = NULL;
    start_room(KL_POLICY_BOUNDED);
    on_message = hear_message;
    on_update = hear_update;
}

static inline int set_up_watched(void **state) {
    static struct kl_lobby_limits limits;
    (void)state;
    limits = limits_for_tests;
    limits.watchers = WATCHERS;
    open_lobby(&limits);
    return 0;
}

static inline uint32_t behind(unsigned i) {
    return canon_end - watcher[i].lock.stats.next_run;
}

static inline bool told(unsigned peer, const char *text) {
    const struct inbox *in = &inbox[peer];
    for (unsigned i = 0; i < in->count && i < QUEUE; i++)
        if (in->msg[i].kind == KL_MSG_NOTICE && strstr(in->msg[i].text.text, text)) return true;
    return false;
}

#endif
