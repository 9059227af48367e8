#include "tests/lib/lobby_watchers.h"

#include "tests/unit/unit.h"

struct player watcher[WATCHERS];
char served[4096];
unsigned served_count;

struct player *watcher_at(unsigned peer) {
    for (unsigned i = 0; i < WATCHERS; i++)
        if (watcher[i].linked && watcher[i].peer == peer) return &watcher[i];
    return NULL;
}

/* It is a client of the game from now on. */
static void is_seated(struct player *w, const struct kl_welcome *m) {
    memcpy(w->token, m->token, sizeof w->token);
    kl_client_watch(&w->lock, false);
    kl_client_reseat(&w->lock, m->seats);
    kl_client_return(&w->lock, now_us);
}

void begin_watcher(struct player *w, const struct kl_welcome *m) {
    kl_client_init(&w->lock, &m->params, 0, w->held, HELD, now_us);
    kl_client_watch(&w->lock, true);
    w->pieces = w->pieces_done = 0;
    w->plays = true;
    w->turn_us = now_us;
}

static struct kl_msg *newest[PEERS_MAX][KL_MSG_LAST + 1]; /* by kind, which is 0 if none has come */

const struct kl_msg *got(unsigned peer, uint8_t kind) {
    const struct kl_msg *m = newest[peer][kind];
    return m && m->kind ? m : NULL;
}

void forget(unsigned peer, uint8_t kind) {
    if (newest[peer][kind]) newest[peer][kind]->kind = 0;
}

static void keep(unsigned peer, const struct kl_msg *m) {
    struct kl_msg **at = &newest[peer][m->kind];
    if (!*at) *at = malloc(sizeof **at);
    MUST(*at);
    **at = *m;
}

void hear_message(unsigned peer, const struct kl_msg *m) {
    struct player *w = watcher_at(peer);
    keep(peer, m);
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

void hear_update(unsigned peer, const uint8_t *body, size_t len) {
    struct player *w = watcher_at(peer);
    if (served_count < sizeof served) served[served_count++] = w ? 'w' : 'p';
    if (w)
        assert_int_equal(kl_client_receive(&w->lock, body, len, now_us), KL_OK);
    else
        listen_update(peer, body, len);
}

static void feed_watcher(struct player *w) {
    for (; w->pieces_done < w->pieces; w->pieces_done++) {
        const struct kl_past *piece = &w->piece[w->pieces_done % PIECES];
        int left = kl_client_history(&w->lock, piece->bytes, piece->len, now_us);
        assert_true(left >= 0);
        if (left > 0) return;
    }
}

void (*on_step)(void);

void go(uint64_t us) {
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

void says_loaded(unsigned i) {
    assert_non_null(got(watcher[i].peer, KL_MSG_PREPARE));
    ready(watcher[i].peer, "a");
}

void comes(unsigned i, unsigned seats) {
    struct kl_msg m = a_hello(AT_PEER + i, "room", seats, PLAYERS, "x");
    watcher[i] = (struct player){.peer = AT_PEER + i, .linked = true};
    enter(AT_PEER + i, &m);
}

void watches(unsigned i) {
    comes(i, 0);
    go(SECOND / 2);
    says_loaded(i);
}

void goes(unsigned i) {
    watcher[i].linked = watcher[i].plays = false;
}

void forget_watchers(void) {
    memset(watcher, 0, sizeof watcher);
    for (unsigned peer = 0; peer < PEERS_MAX; peer++)
        for (unsigned kind = 0; kind <= KL_MSG_LAST; kind++)
            forget(peer, (uint8_t)kind);
    on_step = NULL;
}

void begin_watched(void) {
    forget_watchers();
    start_room(KL_POLICY_BOUNDED);
    on_message = hear_message;
    on_update = hear_update;
}

int set_up_watched(void **state) {
    static struct kl_lobby_limits limits;
    (void)state;
    limits = limits_for_tests;
    limits.watchers = WATCHERS;
    open_lobby(&limits);
    return 0;
}

uint32_t behind(unsigned i) {
    return canon_end - watcher[i].lock.stats.next_run;
}
