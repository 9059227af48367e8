#include "tests/lib/lobby_players.h"

#include "tests/unit/unit.h"

#include "tests/lib/engine_turn.h"

const uint8_t secret[32] = {1, 2, 3};

uint8_t fixed_spacing;

struct player player[PLAYERS];

struct player *at_peer(unsigned peer) {
    for (unsigned i = 0; i < PLAYERS; i++)
        if (player[i].linked && player[i].peer == peer) return &player[i];
    return NULL;
}

void listen_message(unsigned peer, const struct kl_msg *m) {
    struct player *p = at_peer(peer);
    if (!p) return;
    switch (m->kind) {
    case KL_MSG_WELCOME:
        memcpy(p->token, m->welcome.token, KL_TOKEN_BYTES);
        memcpy(p->room_id, m->welcome.room_id, KL_ROOM_ID_BYTES);
        break;
    case KL_MSG_HISTORY:
        assert_true(p->pieces < PIECES);
        p->piece[p->pieces++] = m->past;
        break;
    case KL_MSG_SEAT: kl_client_reseat(&p->lock, m->seat.seats); break;
    default: break;
    }
}

void listen_update(unsigned peer, const uint8_t *body, size_t len) {
    struct player *p = at_peer(peer);
    if (p && p->plays) assert_int_equal(kl_client_receive(&p->lock, body, len, now_us), KL_OK);
}

void (*on_frame)(struct player *p, const struct kl_frame *f);

static void press(void *ctx, uint32_t n, struct kl_input in[KL_MAX_SEATS]) {
    const struct player *p = ctx;
    uint32_t who = (uint32_t)(p - player);
    in->joypad = (uint16_t)((n / 5 + who) * 0x9e37);
    if (!p->mashes) return;
    for (unsigned i = 0; i < 4; i++)
        in->stick[i] = (int16_t)(n * 7919 * (i + 1));
    in->mouse_x = (int16_t)(n * 31), in->gun_x = (int16_t)(n * 17), in->touch[0].x = (int16_t)n;
}

/* The commands of the frames in canon. */
#define ORDERS 256
static struct kl_commands order_at[ORDERS];
static unsigned orders;

static void run_frame(void *ctx, const struct kl_frame *f) {
    struct player *p = ctx;
    if (on_frame) on_frame(p, f);
    if (f->flags & KL_FRAME_COMMANDS && f->number >= canon_end) {
        MUST(orders < ORDERS);
        order_at[orders++] = *kl_client_commands(&p->lock, f->number);
    }
    MUST(canon_run(f));
}

static void send_input(void *ctx, const uint8_t *body, size_t len) {
    const struct player *p = ctx;
    if (p->linked) say_datagram(p->peer, body, len);
}

static struct engine_player engine_of(struct player *p) {
    return (struct engine_player){&p->lock, p, press, run_frame, send_input};
}

void turn(struct player *p) {
    struct engine_player e = engine_of(p);
    engine_turn(&e, now_us, p->most ? p->most : 400);
    p->turn_us += 16667;
}

static void feed_history(struct player *p) {
    while (p->pieces_done < p->pieces) {
        const struct kl_past *piece = &p->piece[p->pieces_done];
        int left = kl_client_history(&p->lock, piece->bytes, piece->len, now_us);
        assert_true(left >= 0);
        if (left > 0) return; /* no place: after the next turn */
        p->pieces_done++;
    }
}

void step_player(struct player *p) {
    struct engine_player e = engine_of(p);
    if (!p->plays) return;
    feed_history(p);
    while (now_us >= p->turn_us)
        turn(p);
    engine_send(&e, now_us);
}

void play(uint64_t us) {
    for (uint64_t end_us = now_us + us; now_us < end_us; now_us += STEP_US) {
        run();
        for (unsigned i = 0; i < PLAYERS; i++)
            step_player(&player[i]);
    }
}

void begin_client(struct player *p) {
    const struct kl_welcome *w = &heard(p->peer, KL_MSG_WELCOME)->welcome;
    kl_client_init(&p->lock, &w->params, w->seats, p->held, HELD, now_us);
    p->plays = true;
    p->turn_us = now_us;
}

void start_room(enum kl_policy policy) {
    memset(player, 0, sizeof player);
    canon_end = orders = 0;
    on_message = listen_message;
    on_update = listen_update;
    on_frame = NULL;
    kl_lobby_set_secret(lobby, secret);
    for (unsigned i = 0; i < PLAYERS; i++) {
        struct kl_msg m = a_hello(i, "room", 1, PLAYERS, "x");
        m.hello.params.policy = (uint8_t)policy;
        m.hello.params.wait_budget_ms = 250;
        m.hello.params.spacing_fixed = fixed_spacing;
        player[i].peer = i;
        player[i].linked = true;
        enter(i, &m);
    }
    give(0, "save");
    for (unsigned i = 0; i < PLAYERS; i++)
        begin_client(&player[i]);
    for (unsigned i = 0; i < PLAYERS; i++)
        ready(i, "a");
}

void cut(unsigned who) {
    player[who].linked = false;
    lose(player[who].peer);
}

static size_t coded(uint32_t first, uint32_t count, uint8_t bytes[KL_INTERVAL_BYTES]) {
    struct kl_frames_from from = {
        .ring = canon, .places = FRAMES, .sets = order_at, .set_count = orders, .for_digest = true};
    struct kl_writer w;
    kl_writer_init(&w, bytes, KL_INTERVAL_BYTES);
    if (count) kl_frames_write(&w, &from, first, count);
    assert_false(w.failed);
    return (size_t)(w.at - bytes);
}

struct kl_digest digest_of(const uint8_t *room_id, uint32_t have) {
    static uint8_t bytes[KL_INTERVAL_BYTES];
    struct kl_digest d = {0};
    while (d.end < have && canon[d.end].spacing && d.end + canon[d.end].spacing <= have) {
        uint32_t end = d.end + canon[d.end].spacing;
        kl_digest_next(&d, room_id, bytes, coded(d.end, canon[d.end].spacing, bytes), end);
    }
    return d;
}

struct kl_msg prepare_return(unsigned who, unsigned peer) {
    struct player *p = &player[who];
    p->peer = peer;
    p->linked = true;
    connect_peer(peer);
    kl_client_return(&p->lock, now_us);
    struct kl_msg m = a_return(who, peer, "room", p->token);
    m.back.have = kl_client_have(&p->lock);
    static uint8_t bytes[KL_INTERVAL_BYTES];
    struct kl_digest d = digest_of(p->room_id, m.back.have);
    m.back.intervals = d.intervals;
    memcpy(m.back.digest, d.digest, sizeof m.back.digest);
    kl_digest_open(&d, p->room_id, bytes, coded(d.end, m.back.have - d.end, bytes), m.back.open);
    return m;
}

void come_back(unsigned who, unsigned peer) {
    struct kl_msg m = prepare_return(who, peer);
    say(peer, &m);
    assert_non_null(heard(peer, KL_MSG_WELCOME));
}

void come_back_with_nothing(unsigned who, unsigned peer) {
    struct player *p = &player[who];
    uint8_t token[KL_TOKEN_BYTES];
    memcpy(token, p->token, sizeof token);
    *p = (struct player){.peer = peer, .linked = true};
    connect_peer(peer);
    struct kl_msg m = a_return(who, peer, "room", token);
    m.back.fresh = true;
    kl_facts_add(&m.back.facts, "content", "x");
    say(peer, &m);
    assert_non_null(heard(peer, KL_MSG_PREPARE));
    begin_client(p);
    kl_client_return(&p->lock, now_us);
    play(SECOND); /* it loads */
    ready(peer, "a");
}

uint8_t join_late(unsigned who, unsigned peer, unsigned seats) {
    struct player *p = &player[who];
    struct kl_msg m = a_hello(peer, "room", seats, PLAYERS, "x");
    *p = (struct player){.peer = peer, .linked = true};
    enter(peer, &m);
    assert_non_null(heard(peer, KL_MSG_PREPARE));
    begin_client(p);
    play(SECOND); /* it loads */
    ready(peer, "a");
    return p->lock.seats;
}

void mash(void) {
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].mashes = true;
}

void vanish(unsigned who) {
    player[who].linked = player[who].plays = false;
}

void leave(unsigned who) {
    bye(player[who].peer);
    vanish(who);
    play(3 * SECOND);
}

bool presses_lately(unsigned seat) {
    bool pressed = false;
    for (uint32_t f = canon_end - 60; f < canon_end; f++)
        pressed = pressed || canon[f].in[seat].joypad;
    return pressed;
}

void expect_all_at_the_end(void) {
    for (unsigned i = 0; i < PLAYERS; i++) {
        if (!player[i].linked) continue;
        uint32_t run = player[i].lock.stats.next_run;
        if (run + 60 < canon_end) print_error("player %u has run %u of %u\n", i, run, canon_end);
        assert_true(run + 60 >= canon_end);
        assert_int_equal(player[i].lock.standing, KL_STANDING_IN);
    }
}

void open_ticket(struct kl_lobby_ticket *t) {
    const struct kl_lobby_past *past = &the_room()->past;
    assert_int_equal(kl_lobby_ticket_open(t, secret, past->ticket, past->ticket_len), KL_OK);
}

/* --- the relay dies --- */

struct kl_lobby_ticket ticket;
char why[200];

void new_relay(void) {
    kl_lobby_destroy(lobby);
    void (*listen)(unsigned, const struct kl_msg *) = on_message;
    void (*update)(unsigned, const uint8_t *, size_t) = on_update;
    open_newborn(&limits_for_tests, now_us);
    on_message = listen;
    on_update = update;
    kl_lobby_set_secret(lobby, secret);
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].linked = false;
}

struct kl_lobby_room *make_again(void) {
    return kl_lobby_restore(lobby, &ticket, (const uint8_t *)"save", 4, now_us, why, sizeof why);
}

void adopt(struct kl_lobby_room *r, uint32_t end) {
    for (uint32_t f = r->lock.next_close; f < end; f++)
        assert_int_equal(kl_lobby_restore_frame(r, &canon[f], NULL), KL_OK);
}

void play_so_long_and_die(enum kl_policy policy, unsigned seconds, bool mashing) {
    start_room(policy);
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].mashes = mashing;
    play(seconds * SECOND);
    open_ticket(&ticket);
    new_relay();
    play(SECOND); /* nobody there */
}

void play_and_die(enum kl_policy policy) {
    play_so_long_and_die(policy, 10, false);
}
