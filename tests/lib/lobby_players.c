#include "tests/lib/lobby_players.h"

#include "tests/unit/unit.h"

#include <sodium.h>

#include "net/engine/command.h"
#include "net/engine/frames.h"
#include "net/session/handshake.h"

const uint8_t secret[32] = {1, 2, 3};
static const uint8_t start[] = "save";
#define START_BYTES 4

uint8_t fixed_spacing;
struct lobby_player player[PLAYERS], watcher[WATCHERS];
bool spoils;
uint32_t state_bytes, snapshot_at;
unsigned ordered, heard_early, served_count;
struct kl_verdict verdict;
char served[4096];
void (*on_frame)(struct lobby_player *l, const struct kl_frame *f);
void (*on_step)(void);

static struct lobby_player *each(unsigned i) {
    return i < PLAYERS ? &player[i] : &watcher[i - PLAYERS];
}
/* for (EVERYBODY) each(n) */
#define EVERYBODY                                                                                            \
    unsigned n = 0;                                                                                          \
    n < PLAYERS + WATCHERS;                                                                                  \
    n++

/* NULL: nobody is there. */
static struct lobby_player *player_at(unsigned peer) {
    for (EVERYBODY)
        if (each(n)->linked && each(n)->peer == peer) return each(n);
    return NULL;
}

static struct lobby_player *of(struct player *p) {
    return (struct lobby_player *)p; /* its first member */
}

static bool is_watcher(const struct lobby_player *l) {
    return l >= watcher && l < watcher + WATCHERS;
}

/* --- the network --- */

static void look_for_requests(struct lobby_player *l) {
    struct kl_participant *s = &l->p.participant;
    if (kl_participant_asked(s, &l->p.ask)) l->to_give = true;
    if (player_has_snapshot(&l->p)) l->to_load = true;
    if (!kl_participant_rewind(s, &l->p.rewind)) return;
    l->rewinds++;
    l->back_to = l->p.rewind.keyframe;
    l->to_go_back = true;
}

void listen_message(unsigned peer, const struct kl_msg *m) {
    struct lobby_player *l = player_at(peer);
    if (m->kind == KL_MSG_VERDICT) verdict = m->verdict;
    for (unsigned i = 0; m->kind == KL_MSG_VERDICT && i < PLAYERS; i++)
        heard_early += player[i].late_by_us && m->verdict.frame > player[i].said_label;
    if (!l) return;
    l->pieces += m->kind == KL_MSG_HISTORY;
    l->offers += m->kind == KL_MSG_OFFER;
    if (m->kind == KL_MSG_OFFER || m->kind == KL_MSG_REWIND) l->to_load = l->to_go_back = false;
    kl_participant_heard(&l->p.participant, now_us);
    kl_participant_take_message(&l->p.participant, m, now_us);
    look_for_requests(l);
}

void listen_update(unsigned peer, const uint8_t *body, size_t len) {
    struct lobby_player *l = player_at(peer);
    if (served_count < sizeof served) served[served_count++] = l && is_watcher(l) ? 'w' : 'p';
    if (!l) return;
    struct kl_update u;
    assert_int_equal(kl_update_open(&u, body, len), KL_OK);
    kl_participant_heard(&l->p.participant, now_us);
    kl_participant_update(&l->p.participant, body, len, now_us);
}

static void send_init(struct player *p, const uint8_t init[KL_INIT_BYTES]) {
    (void)p, (void)init; /* open_session() answers those that are awaited */
}

static bool is_heard(const struct lobby_player *l) {
    return l->linked && !inbox[l->peer].hung_up;
}

static void send_datagram(struct player *p, const uint8_t *body, size_t len) {
    if (is_heard(of(p))) say_datagram(of(p)->peer, body, len);
}

static void room_of(struct player *p, struct kl_channels *room) {
    const struct kl_participant_snapshot *s = &p->participant.snapshot;
    bool half = of(p)->halts && s->given && s->given_sent >= s->given_len / 2;
    *room = (struct kl_channels){.bulk_room = half ? 0 : 4000};
}

static void say_message(struct player *p, const struct kl_msg *m) {
    if (is_heard(of(p))) say(of(p)->peer, m);
}

/* The real handshake, in no time. */
static void open_session(struct lobby_player *l, unsigned peer) {
    static struct kl_hs_relay doorman;
    static uint32_t number;
    const uint8_t address[KL_HS_ADDRESS] = {192, 0, 2, 1, (uint8_t)peer};
    struct kl_participant *s = &l->p.participant;
    uint8_t init[KL_INIT_BYTES], reply[KL_STRANGER_MAX];
    struct kl_hs_request req;
    struct kl_session_keys keys;
    size_t len;
    struct kl_keypair own = {.secret = {5}};
    kl_keypair_complete(&own);
    kl_hs_relay_begin(&doorman, &own, KL_CIPHER_CHACHA20, now_us);
    kl_participant_turn(s, now_us);
    while (kl_dial_send(&s->dial, init)) {
        if (kl_hs_relay_receive(&doorman, now_us, address, init, sizeof init, &req, reply, &len) ==
            KL_HS_WANTS)
            MUST(kl_hs_relay_answer(&doorman, &req, ++number, &keys, reply, &len) == KL_OK);
        kl_participant_stranger(s, reply, len, now_us);
    }
    MUST(s->dial.s.stage == KL_DIAL_ANSWERED);
    kl_participant_connecting(s, true);
    l->peer = peer;
    l->linked = true;
    connect_peer(peer);
    memcpy(inbox[peer].binding, keys.binding, sizeof inbox[peer].binding);
    kl_participant_connected(s);
    l->p.turn_us = now_us;
}

/* --- its machine --- */

static void press(struct player *p, uint32_t n, struct kl_input in[KL_MAX_SEATS]) {
    const struct lobby_player *l = of(p);
    in->joypad = (uint16_t)((n / 5 + l->peer) * 0x9e37);
    if (!l->mashes) return;
    for (unsigned i = 0; i < 4; i++)
        in->stick[i] = (int16_t)(n * 7919 * (i + 1));
    in->mouse_x = (int16_t)(n * 31), in->gun_x = (int16_t)(n * 17), in->touch[0].x = (int16_t)n;
}

/* The machine's number, and then what zstd packs to less than a third. */
void state_of_machine(const struct lobby_player *l, uint8_t out[PLAYER_STATE_BYTES]) {
    for (size_t n = 0; n < state_bytes; n++)
        out[n] = n % 3000 < 2000 ? 0 : (uint8_t)(n * n / 77);
    memcpy(out, &l->machine, sizeof l->machine);
    if (l->state) memcpy(out, l->state, state_bytes);
}

static void say_late(struct lobby_player *l) {
    l->late_us = 0;
    l->said_label = l->late.frame;
    kl_participant_hash(&l->p.participant, &l->late);
}

void say_hash(struct lobby_player *l, uint32_t label) {
    struct kl_hash h = {.frame = label, .has = KL_HASH_STATE | (l->no_ram ? 0 : KL_HASH_RAM)};
    h.state = l->machine;
    h.ram = l->no_ram ? 0 : l->machine;
    h.picture = l->machine << 8 | l->picture;
    if (l->picture) h.has |= KL_HASH_PICTURE;
    l->late = h;
    l->late_us = now_us + l->late_by_us;
    if (!l->late_by_us) say_late(l);
}

static void say_state(struct lobby_player *l) {
    static uint8_t state[PLAYER_STATE_BYTES];
    state_of_machine(l, state);
    struct kl_state_said said = player_state(&l->p, snapshot_at, l->no_state ? NULL : state, state_bytes);
    if (l->copies) {
        state_of_machine(&player[0], state);
        crypto_generichash(said.hash, sizeof said.hash, state, state_bytes, NULL, 0);
    }
    said.hash[0] ^= l->false_state;
    if (l->states) kl_participant_say_state(&l->p.participant, &said);
}

/* The commands of the frames in canon. */
#define ORDERS 256
static struct kl_commands order_at[ORDERS];
static unsigned orders;

static void run_frame(struct player *p, const struct kl_frame *f, const struct kl_commands *set) {
    struct lobby_player *l = of(p);
    bool begun_here = l->begun && f->number == l->begun; /* hashed before the snapshot */
    if (on_frame) on_frame(l, f);
    if (l->begun && !l->first_run) l->first_run = f->number;
    if (f->flags & KL_FRAME_HASH && !begun_here) {
        l->own[f->number % OWN] = l->machine;
        if (l->says) say_hash(l, f->number - 1);
    }
    for (unsigned i = 0; set && i < set->count; i++) {
        if (set->at[i].kind != KL_COMMAND_SNAPSHOT || begun_here) continue;
        MUST(set->at[i].client == KL_RELAY_CLIENT);
        ordered += l == player;
        snapshot_at = set->keyframe;
        say_state(l);
    }
    if (set && f->number >= canon_end) {
        MUST(orders < ORDERS);
        order_at[orders++] = *set;
    }
    MUST(canon_run(f));
}

struct kl_digest digest_of(const uint8_t *room_id, uint32_t have) {
    static uint8_t bytes[KL_INTERVAL_BYTES];
    struct kl_frames_from from = {
        .ring = canon, .places = FRAMES, .sets = order_at, .set_count = orders, .for_digest = true};
    struct kl_digest d = {0};
    while (d.end < have && canon[d.end].spacing && d.end + canon[d.end].spacing <= have) {
        struct kl_writer w = kl_writer(bytes, sizeof bytes);
        kl_frames_write(&w, &from, d.end, canon[d.end].spacing);
        assert_false(w.failed);
        kl_digest_next(&d, room_id, bytes, (size_t)(w.at - bytes), d.end + canon[d.end].spacing);
    }
    return d;
}

/* --- snapshots and own states --- */

static void say_healed(struct lobby_player *l, uint32_t from, uint8_t how) {
    struct kl_healed healed = {from, l->p.participant.lock.stats.next_run, how};
    l->loaded += how == KL_HEALED_SAME;
    kl_participant_say_healed(&l->p.participant, &healed);
    if (l->at_once) l->machine += 100 + l->loaded;
}

static void load(struct lobby_player *l) {
    const struct kl_offer *o = &l->p.offer;
    if (!o->begin && o->keyframe >= l->p.participant.lock.stats.next_run) return; /* not run yet */
    uint8_t *state = player_unpack(&l->p);
    l->to_load = false;
    if (!l->unable) memcpy(&l->machine, state, sizeof l->machine);
    free(state);
    say_healed(l, o->keyframe, l->unable ? KL_HEALED_NOT : KL_HEALED_SAME);
    player_forget_snapshot(&l->p);
    if (!o->begin || l->unable) return;
    l->begun = o->keyframe;
    l->first_run = 0;
    kl_participant_begun(&l->p.participant, o->keyframe, 0);
}

static void go_back(struct lobby_player *l) {
    l->to_go_back = false;
    if (l->has_own) l->machine = l->own[l->back_to % OWN];
    say_healed(l, l->back_to, l->has_own ? KL_HEALED_SAME : KL_HEALED_NOT);
}

static void do_what_is_owed(struct lobby_player *l) {
    if (l->to_give && l->gives && l->states) {
        l->to_give = false;
        player_give_state(&l->p, player_has_base(&l->p), spoils);
        spoils = false;
    }
    if (l->to_load && l->loads) load(l);
    if (l->to_go_back && l->loads) go_back(l);
    if (l->late_us && now_us >= l->late_us) say_late(l);
}

/* --- steps --- */

/* All that its program does until now. */
static void step_player(struct lobby_player *l) {
    struct kl_participant *s = &l->p.participant;
    if (!l->plays || !l->linked || kl_participant_is_over(s)) return;
    if (inbox[l->peer].hung_up) kl_participant_hung_up(s, true, now_us);
    if (now_us % SECOND < STEP_US) kl_participant_heard(s, now_us); /* ENet's ping */
    kl_participant_turn(s, now_us);
    player_give_start(&l->p, start, START_BYTES);
    player_turns(&l->p, now_us);
    do_what_is_owed(l);
    player_send(&l->p, now_us);
}

void play(uint64_t us) {
    for (uint64_t end_us = now_us + us; now_us < end_us; now_us += STEP_US) {
        run();
        for (EVERYBODY)
            step_player(each(n));
        if (on_step) on_step();
    }
}

/* --- in and out --- */

/* Its program begins anew, and opens a session; nothing is said yet. */
static void begin_program(struct lobby_player *l, unsigned peer, struct kl_participant_config *config) {
    if (l->p.participant.dial.number) kl_participant_free(&l->p.participant);
    player_forget_snapshot(&l->p);
    l->begun = l->first_run = 0;
    l->pieces = l->offers = 0;
    l->to_give = l->to_load = l->to_go_back = l->mashes = false;
    l->late_us = 0;
    l->plays = true;
    l->p.most = FAST;
    player_begin(&l->p, config, now_us);
    open_session(l, peer);
}

void enter_room(struct lobby_player *l, unsigned peer, unsigned whose, const struct kl_msg *hello) {
    static const struct player_world world = {press,         run_frame, send_init,
                                              send_datagram, room_of,   say_message};
    player_world = &world;
    struct kl_participant_config config = {.hello = hello->hello, .seat = *seat_key(whose)};
    begin_program(l, peer, &config);
    player_send(&l->p, now_us);
}

void load_start(struct lobby_player *l) {
    MUST(l->p.participant.status.phase == KL_PARTICIPANT_LOAD);
    player_load_start(&l->p, start, START_BYTES);
    player_send(&l->p, now_us);
}

static void reset(struct lobby_player *l) {
    memset(&l->peer, 0, sizeof *l - offsetof(struct lobby_player, peer));
    l->gives = l->loads = l->has_own = true;
    l->machine = 7;
}

void start_room(enum kl_policy policy) {
    canon_end = orders = ordered = heard_early = snapshot_at = 0;
    memset(&verdict, 0, sizeof verdict);
    spoils = false;
    state_bytes = 5000;
    on_message = listen_message;
    on_update = listen_update;
    on_frame = NULL;
    on_step = NULL;
    kl_lobby_set_secret(lobby, secret);
    for (EVERYBODY)
        reset(each(n));
    for (unsigned i = 0; i < PLAYERS; i++) {
        struct kl_msg m = a_hello(i, "room", 1, PLAYERS, "x");
        m.hello.params.policy = (uint8_t)policy;
        m.hello.params.wait_budget_ms = 250;
        m.hello.params.spacing_fixed = fixed_spacing;
        enter_room(&player[i], i, i, &m);
    }
    player_give_start(&player[0].p, start, START_BYTES);
    player_send(&player[0].p, now_us);
    for (unsigned i = 0; i < PLAYERS; i++)
        load_start(&player[i]);
}

void begin_machines(void) {
    start_room(KL_POLICY_BOUNDED);
    for (EVERYBODY)
        each(n)->says = each(n)->states = true;
    play(3 * SECOND);
    assert_true(verdict.complete && !verdict.differs);
}

int set_up_watched(void **state) {
    static struct kl_lobby_limits limits;
    (void)state;
    limits = limits_for_tests;
    limits.watchers = WATCHERS;
    open_lobby(&limits);
    return 0;
}

void cut(unsigned who) {
    struct lobby_player *l = &player[who];
    l->linked = false;
    lose(l->peer);
    kl_participant_hung_up(&l->p.participant, false, now_us);
}

struct kl_msg prepare_return(struct lobby_player *l, unsigned peer) {
    struct kl_participant *s = &l->p.participant;
    struct kl_msg m;
    if (s->status.phase != KL_PARTICIPANT_RETURNING) kl_participant_hung_up(s, false, now_us);
    player_forget_snapshot(&l->p);
    l->to_give = l->to_load = l->to_go_back = false;
    open_session(l, peer);
    MUST(kl_participant_say(s, &(struct kl_channels){0}, now_us, &m) && m.kind == KL_MSG_RETURN);
    return m;
}

void come_back(unsigned who, unsigned peer) {
    struct kl_msg m = prepare_return(&player[who], peer);
    say(peer, &m);
    assert_non_null(heard(peer, KL_MSG_WELCOME));
}

void come_back_with_nothing(unsigned who, unsigned peer) {
    struct lobby_player *l = &player[who];
    struct kl_participant_config config = {
        .fresh = true, .seat = l->p.participant.seat, .hello = l->p.participant.hello};
    memcpy(config.token, l->p.participant.status.welcome.token, sizeof config.token);
    begin_program(l, peer, &config);
    player_send(&l->p, now_us);
    assert_non_null(heard(peer, KL_MSG_PREPARE));
    play(SECOND); /* it loads */
    load_start(l);
}

uint8_t join_late(unsigned who, unsigned peer, unsigned seats) {
    struct kl_msg m = a_hello(peer, "room", seats, PLAYERS, "x");
    enter_room(&player[who], peer, peer, &m);
    assert_non_null(heard(peer, KL_MSG_PREPARE));
    play(SECOND); /* it loads */
    load_start(&player[who]);
    return player[who].p.participant.lock.seats;
}

void vanish(unsigned who) {
    player[who].linked = player[who].plays = false;
}

void leave(unsigned who) {
    bye(player[who].peer);
    vanish(who);
    play(3 * SECOND);
}

void comes(unsigned i, unsigned seats) {
    struct kl_msg m = a_hello(AT_PEER + i, "room", seats, PLAYERS, "x");
    enter_room(&watcher[i], AT_PEER + i, AT_PEER + i, &m);
}

void watches(unsigned i) {
    comes(i, 0);
    play(SECOND / 2);
    load_start(&watcher[i]);
}

void goes(unsigned i) {
    watcher[i].linked = watcher[i].plays = false;
}

uint32_t behind(unsigned i) {
    return canon_end - watcher[i].p.participant.lock.stats.next_run;
}

/* --- expectations --- */

void mash(void) {
    for (unsigned i = 0; i < PLAYERS; i++)
        player[i].mashes = true;
}

bool presses_lately(unsigned seat) {
    bool pressed = false;
    for (uint32_t f = canon_end - 60; f < canon_end; f++)
        pressed = pressed || canon[f].in[seat].joypad;
    return pressed;
}

void expect_all_at_the_end(void) {
    for (unsigned i = 0; i < PLAYERS; i++) {
        const struct kl_client *c = &player[i].p.participant.lock;
        if (!player[i].linked) continue;
        if (c->stats.next_run + 60 < canon_end)
            print_error("player %u has run %u of %u\n", i, c->stats.next_run, canon_end);
        assert_true(c->stats.next_run + 60 >= canon_end);
        assert_int_equal(c->standing, KL_STANDING_IN);
    }
}

void expect_in_sync(unsigned healed) {
    for (unsigned i = 1; i < PLAYERS; i++)
        if (player[i].linked) assert_int_equal(player[i].machine, player[0].machine);
    assert_true(verdict.complete);
    assert_int_equal(verdict.differs, 0);
    assert_int_equal(verdict.healed, healed);
    assert_int_equal(the_room()->heal.phase, KL_HEAL_NONE);
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
    for (EVERYBODY) {
        if (each(n)->linked) kl_participant_hung_up(&each(n)->p.participant, false, now_us);
        each(n)->linked = false;
    }
}

struct kl_lobby_room *make_again(void) {
    return kl_lobby_restore(lobby, &ticket, start, START_BYTES, now_us, why, sizeof why);
}

void adopt(struct kl_lobby_room *r, uint32_t end) {
    for (uint32_t f = r->lock.next_close; f < end; f++)
        assert_int_equal(kl_lobby_restore_frame(r, &canon[f], NULL), KL_OK);
}

void play_and_die(enum kl_policy policy) {
    start_room(policy);
    play(10 * SECOND);
    open_ticket(&ticket);
    new_relay();
    play(SECOND); /* nobody there */
}
