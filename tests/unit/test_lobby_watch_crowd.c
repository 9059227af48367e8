/* test_lobby_watch_crowd.c - a hundred watch, and nobody who plays notices: with them and without, the same
 * UPDATEs go to the players at the same microsecond, so leads and late frames are the same by count; and in
 * every turn of the relay the players of all its rooms come first. The watchers only read: what they cost is
 * the relay's. net/ROOMS.md §7, Watching. */
#include "tests/unit/unit.h"
#include "tests/lib/lobby_players.h"

#include "net/engine/wire.h"

#define CROWD    100
#define CROWD_AT 100 /* the first of them */
#define WAY_US   25000
#define JITTER   8000  /* µs at most, by a generator of each link's own */
#define SPIKE    30000 /* µs more, once in 128; one in 64 is lost */
#define LATER    256   /* datagrams under way */

/* --- watchers that only read --- */

static struct reader {
    bool here, prepared;
    uint32_t have;
    uint64_t say_us;
} reader[CROWD];

static struct reader *reader_at(unsigned peer) {
    return peer >= CROWD_AT && peer < CROWD_AT + CROWD && reader[peer - CROWD_AT].here
               ? &reader[peer - CROWD_AT]
               : NULL;
}

static void come(unsigned i) {
    struct kl_msg m = a_hello(CROWD_AT + i, "room", 0, PLAYERS, "x");
    reader[i] = (struct reader){.here = true, .say_us = now_us + i * 1000};
    connect_peer(CROWD_AT + i);
    speak(CROWD_AT + i, &m);
}

static void read_on(unsigned i) {
    struct reader *w = &reader[i];
    uint8_t body[KL_DATAGRAM_MAX];
    if (!w->here || now_us < w->say_us) return;
    w->say_us = now_us + 100000;
    struct kl_msg m = {.kind = KL_MSG_READY};
    kl_facts_add(&m.ready.facts, "system", "a");
    if (w->prepared) speak(CROWD_AT + i, &m);
    w->prepared = false;
    struct kl_ctrl c = {.stamp = (uint32_t)now_us, .frame_acked = w->have};
    size_t len = kl_ctrl_write(&c, NULL, 0, body, sizeof body);
    assert_true(len > 0);
    kl_lobby_datagram(lobby, CROWD_AT + i, body, len, 0, 0, now_us);
}

/* --- links of the players --- */

static struct way {
    uint32_t random;
    uint64_t last_us;
    unsigned put, got;
    struct later {
        uint64_t at_us;
        size_t len;
        uint8_t body[KL_DATAGRAM_MAX];
    } later[LATER];
} up[PLAYERS], down[PLAYERS];

static void put(struct way *w, const uint8_t *body, size_t len) {
    assert_true(w->put - w->got < LATER);
    w->random = w->random * 1664525 + 1013904223;
    uint64_t at_us = now_us + WAY_US + (w->random >> 16) % JITTER + (w->random >> 25 == 1) * SPIKE;
    if (w->random >> 26 == 1) return;
    struct later *l = &w->later[w->put++ % LATER];
    w->last_us = at_us > w->last_us ? at_us : w->last_us;
    *l = (struct later){.at_us = w->last_us, .len = len};
    memcpy(l->body, body, len);
}

static const struct later *due(struct way *w) {
    const struct later *l = &w->later[w->got % LATER];
    if (w->got == w->put || now_us < l->at_us) return NULL;
    w->got++;
    return l;
}

/* --- the players' datagrams --- */

static uint64_t digest; /* of what went to them, and when */
static unsigned updates, spacing_changes, order_breaks, most_at_once;
static uint16_t spacing;
static char before; /* the receiver of the last datagram of this turn: p plays, w watches */
static unsigned at_once;

static void mix(uint64_t v) {
    digest = (digest ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    digest ^= digest >> 29;
}

/* All but the mark, which is of the room's random number. */
static void note_update(unsigned peer, const uint8_t *body, size_t len) {
    struct kl_update u;
    struct kl_frame f;
    assert_int_equal(kl_update_open(&u, body, len), KL_OK);
    mix(now_us), mix(peer), mix(len), mix(u.stamp), mix(u.echo), mix(u.hold_us), mix(u.next_sample);
    mix(u.presence), mix(u.waiting_for), mix(u.away), mix((uint64_t)u.due_us), mix(u.first), mix(u.count);
    for (uint32_t i = 0; i < u.count && kl_update_frame(&u, &f); i++) {
        mix(f.number), mix(f.keyframe), mix(f.spacing);
        for (unsigned s = 0; s < PLAYERS; s++)
            mix(f.in[s].joypad);
    }
    updates++;
}

static void hear_datagram(unsigned peer, const uint8_t *body, size_t len) {
    bool watches = reader_at(peer);
    order_breaks += before == 'w' && !watches;
    before = watches ? 'w' : 'p';
    at_once += watches;
    if (peer >= PLAYERS) return;
    note_update(peer, body, len);
    put(&down[peer], body, len);
}

static void hear(unsigned peer, const struct kl_msg *m) {
    struct kl_frames f;
    struct reader *w = reader_at(peer);
    if (w && m->kind == KL_MSG_PREPARE) w->prepared = true;
    if (w && m->kind == KL_MSG_HISTORY && kl_piece_open(&f, m->past.bytes, m->past.len) == KL_OK)
        w->have = f.first + f.count;
    if (!w) listen_message(peer, m);
}

static void step_far(unsigned i) {
    struct lobby_player *p = &player[i];
    struct kl_participant *is = &p->p.participant;
    uint8_t buf[KL_DATAGRAM_MAX], kind;
    const struct later *l;
    size_t len;
    while ((l = due(&down[i])))
        kl_participant_update(is, l->body, l->len, now_us);
    player_turns(&p->p, now_us);
    spacing_changes += i == 0 && is->lock.stats.spacing != spacing;
    if (i == 0) spacing = is->lock.stats.spacing;
    while (now_us >= kl_client_send_at(&is->lock) &&
           (len = kl_participant_send(is, now_us, &kind, buf, sizeof buf)) > 0)
        put(&up[i], buf, len);
    while ((l = due(&up[i])))
        kl_lobby_datagram(lobby, i, l->body, l->len, 0, 0, now_us);
}

static void turn_of_the_relay(void) {
    before = 'p';
    at_once = 0;
    run();
    if (at_once > most_at_once) most_at_once = at_once;
}

static void go(uint64_t us) {
    for (uint64_t end_us = now_us + us; now_us < end_us; now_us += 1000) {
        turn_of_the_relay();
        for (unsigned i = 0; i < PLAYERS; i++)
            step_far(i);
        for (unsigned i = 0; i < CROWD; i++)
            read_on(i);
    }
}

static void begin(void) {
    static struct kl_lobby_limits limits;
    limits = limits_for_tests;
    limits.peers = 600; /* a quarter of them may watch */
    limits.watchers = CROWD;
    reopen(&limits);
    memset(reader, 0, sizeof reader);
    memset(up, 0, sizeof up);
    memset(down, 0, sizeof down);
    for (unsigned i = 0; i < PLAYERS; i++)
        up[i].random = 10 + i, down[i].random = 20 + i;
    before = 'p';
    digest = updates = spacing_changes = order_breaks = most_at_once = spacing = 0;
    start_room(KL_POLICY_BOUNDED);
    on_message = hear;
    on_update = hear_datagram;
}

struct seen {
    uint64_t digest, lead_sum, lead_count, late, stalls;
    unsigned updates, spacing_changes;
};

/* Two minutes, in which so many come after ten seconds. */
static struct seen play_watched_by(unsigned crowd) {
    begin();
    go(10 * SECOND);
    for (unsigned i = 0; i < crowd; i++)
        come(i);
    go(110 * SECOND);
    unsigned caught_up = 0;
    for (unsigned i = 0; i < crowd; i++)
        caught_up += reader[i].have + 60 > the_room()->lock.next_close;
    assert_int_equal(caught_up, crowd);
    struct seen s = {.digest = digest, .updates = updates, .spacing_changes = spacing_changes};
    for (unsigned i = 0; i < PLAYERS; i++) {
        const struct kl_client_stats *is = &player[i].p.participant.lock.stats;
        s.lead_sum += is->lead_sum, s.lead_count += is->lead_count;
        s.late += is->late_frames, s.stalls += is->stalls;
    }
    print_message("%u watch: lead %.3f frames, %u changes, %llu of %llu frames late, %u UPDATEs\n", crowd,
                  (double)s.lead_sum / (double)s.lead_count, s.spacing_changes, (unsigned long long)s.late,
                  (unsigned long long)s.lead_count, s.updates);
    return s;
}

TEST_WITH(players_notice_nothing, set_up, tear_down) {
    struct seen alone = play_watched_by(0), watched = play_watched_by(CROWD);
    assert_true(alone.updates > 10000);
    assert_true(alone.lead_sum > alone.lead_count && alone.late > 10 && alone.spacing_changes >= 2);
    assert_int_equal(watched.lead_sum, alone.lead_sum);
    assert_int_equal(watched.lead_count, alone.lead_count);
    assert_int_equal(watched.late, alone.late);
    assert_int_equal(watched.stalls, alone.stalls);
    assert_int_equal(watched.spacing_changes, alone.spacing_changes);
    assert_int_equal(watched.updates, alone.updates);
    assert_true(watched.digest == alone.digest);
}

/* Those of another room as well, which the relay has later in its list. */
TEST_WITH(players_come_first, set_up, tear_down) {
    begin();
    for (unsigned i = 10; i < 12; i++)
        hello(i, "other", 1, 2, "x");
    give(10, "save");
    ready(10, "a"), ready(11, "a");
    go(2 * SECOND);
    for (unsigned i = 0; i < CROWD; i++)
        come(i);
    inbox[10].datagrams = 0;
    go(10 * SECOND);
    assert_true(inbox[10].datagrams > 90); /* it says nothing, so it gets ten a second */
    assert_int_equal(order_breaks, 0);
    assert_in_range(most_at_once, 10, 16);
}
