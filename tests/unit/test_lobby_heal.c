/* Out of sync in the lobby, and back: three who play, one of whom says other hashes. net/PROTOCOL.md §7,
 * Healing. */
#include "lobby_players.h"

#include <sodium.h>
#include <zstd.h>

#include "lobby_hashes.h"
#include "net/engine/command.h"

#define BYTES 5000

/* A machine is one number, which its hashes and its state are made of. */
static uint64_t machine[PLAYERS];
static bool gives[PLAYERS], loads[PLAYERS],
    at_once[PLAYERS]; /* at_once: goes wrong again when it is healed */
static bool no_ram;
static uint32_t keyframe;
enum { OWED = 100 };
static bool commits[PLAYERS], reveals[PLAYERS], lies[PLAYERS];
static bool false_state[PLAYERS]; /* what it says of its state is not so */
static bool mute[PLAYERS];        /* it says nothing of it */
static uint64_t commits_late_us[PLAYERS];
static struct kl_msg late[PLAYERS];
static uint64_t late_us[PLAYERS]; /* when that goes; 0: nothing */
static struct kl_msg owed[PLAYERS][OWED];
static unsigned owes[PLAYERS];
static uint32_t committed[PLAYERS]; /* the newest label that it has committed to */
static bool any_open;
static uint32_t open_to;
static unsigned reveals_heard, too_early;
static unsigned offers[PLAYERS], loaded[PLAYERS];
static struct kl_verdict verdict;

static struct kl_lobby_room *room(void) {
    return lobby->room[0];
}

static void state_of_machine(unsigned who, uint8_t out[BYTES]) {
    memset(out, 0, BYTES);
    memcpy(out, &machine[who], sizeof machine[who]);
}

static void say_hash(unsigned who, uint32_t label) {
    struct kl_msg m = {.kind = KL_MSG_HASH, .hash = {.frame = label, .has_state = true, .has_ram = !no_ram}};
    m.hash.state = m.hash.ram = machine[who];
    if (no_ram) m.hash.ram = 0;
    m.nonce[0] = (uint8_t)label;
    if (!commits[who]) return;
    struct kl_msg c = commitment_to(player[who].peer, &m);
    committed[who] = label;
    if (commits_late_us[who]) {
        late[who] = c;
        late_us[who] = now_us + commits_late_us[who];
    } else {
        say(player[who].peer, &c);
    }
    owed[who][owes[who]++ % OWED] = m;
}

static void say_owed(void) {
    for (unsigned i = 0; i < PLAYERS; i++) {
        unsigned kept = 0;
        if (late_us[i] && now_us >= late_us[i]) {
            late_us[i] = 0;
            if (player[i].linked) say(player[i].peer, &late[i]);
        }
        if (late_us[i]) continue;
        for (unsigned n = 0; n < owes[i]; n++) {
            struct kl_msg m = owed[i][n];
            bool open = any_open && m.hash.frame <= open_to;
            if (open && reveals[i] && player[i].linked) {
                if (lies[i]) m.hash.ram++;
                say(player[i].peer, &m);
            } else if (!open)
                owed[i][kept++] = m;
        }
        owes[i] = kept;
    }
}

static void say_state(unsigned who) {
    static uint8_t bytes[BYTES];
    struct kl_msg m = {.kind = KL_MSG_STATE, .state = {.keyframe = keyframe, .bytes = BYTES, .has = true}};
    state_of_machine(who, bytes);
    crypto_generichash(m.state.hash, sizeof m.state.hash, bytes, BYTES, NULL, 0);
    m.state.hash[0] ^= false_state[who];
    if (!mute[who]) say(player[who].peer, &m);
}

static void obey(struct player *p, const struct kl_frame *f) {
    unsigned who = (unsigned)(p - player);
    if (f->flags & KL_FRAME_HASH) say_hash(who, f->number - 1);
    const struct kl_commands *set =
        f->flags & KL_FRAME_COMMANDS ? kl_client_commands(&p->lock, f->number) : NULL;
    for (unsigned i = 0; set && i < set->count; i++) {
        if (set->at[i].kind != KL_COMMAND_SNAPSHOT) continue;
        keyframe = set->keyframe;
        say_state(who);
    }
}

static bool to_give[PLAYERS], to_load[PLAYERS];

static void listen(unsigned peer, const struct kl_msg *m) {
    struct player *p = at_peer(peer);
    listen_message(peer, m);
    if (!p) return;
    if (m->kind == KL_MSG_VERDICT) verdict = m->verdict;
    if (m->kind == KL_MSG_REVEAL) {
        any_open = true;
        open_to = m->reveal.frame;
        reveals_heard++;
        for (unsigned i = 0; i < PLAYERS; i++)
            if (player[i].linked && committed[i] < open_to) too_early++;
    }
    if (m->kind == KL_MSG_ASK) to_give[p - player] = true;
    if (m->kind == KL_MSG_OFFER) offers[p - player]++;
    if (m->kind == KL_MSG_SNAPSHOT) {
        uint8_t bytes[BYTES];
        assert_int_equal(ZSTD_decompress(bytes, BYTES, m->shot.piece.bytes, m->shot.piece.len), BYTES);
        if (loads[p - player]) memcpy(&machine[p - player], bytes, sizeof machine[0]);
        to_load[p - player] = true;
    }
}

static void give_state(unsigned who) {
    uint8_t bytes[BYTES];
    struct kl_msg m = {.kind = KL_MSG_GIVE, .shot.keyframe = keyframe};
    state_of_machine(who, bytes);
    size_t n = ZSTD_compress(m.shot.piece.bytes, sizeof m.shot.piece.bytes, bytes, BYTES, 1);
    assert_false(ZSTD_isError(n));
    m.shot.piece.len = (uint16_t)n;
    m.shot.piece.total = (uint32_t)n;
    say(player[who].peer, &m);
}

static void say_healed(unsigned who) {
    struct kl_msg m = {.kind = KL_MSG_HEALED,
                       .healed = {.keyframe = keyframe, .next = player[who].lock.stats.next_run}};
    loaded[who]++;
    say(player[who].peer, &m);
    if (at_once[who]) machine[who] += 100 + loaded[who];
}

static void go_on(uint64_t us) {
    for (uint64_t end_us = now_us + us; now_us < end_us;) {
        play(20000);
        say_owed();
        for (unsigned i = 0; i < PLAYERS; i++) {
            if (to_give[i] && gives[i] && player[i].linked) to_give[i] = false, give_state(i);
            if (to_load[i] && loads[i] && player[i].linked) to_load[i] = false, say_healed(i);
        }
    }
}

static void begin(void) {
    no_ram = false;
    memset(&verdict, 0, sizeof verdict);
    any_open = false;
    reveals_heard = too_early = 0;
    memset(committed, 0, sizeof committed);
    for (unsigned i = 0; i < PLAYERS; i++) {
        machine[i] = 7;
        gives[i] = loads[i] = true;
        at_once[i] = to_give[i] = to_load[i] = false;
        offers[i] = loaded[i] = 0;
        commits[i] = reveals[i] = true;
        lies[i] = false_state[i] = mute[i] = false;
        commits_late_us[i] = late_us[i] = 0;
        owes[i] = 0;
    }
    start_room(KL_POLICY_BOUNDED);
    on_message = listen;
    on_frame = obey;
    go_on(3 * SECOND);
    assert_true(verdict.complete && !verdict.differs);
}

static void expect_in_sync(unsigned healed) {
    for (unsigned i = 1; i < PLAYERS; i++)
        if (player[i].linked) assert_int_equal(machine[i], machine[0]);
    assert_true(verdict.complete);
    assert_int_equal(verdict.differs, 0);
    assert_int_equal(verdict.healed, healed);
    assert_int_equal(room()->heal.phase, KL_HEAL_NONE);
}

static void gone(unsigned who) {
    bye(player[who].peer);
    player[who].linked = player[who].plays = false;
    go_on(SECOND);
}

static void two_against_one(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    uint64_t from_us = now_us;
    while (verdict.differs == 0)
        go_on(20000);
    assert_true(now_us - from_us < 1200000); /* with the next hash */
    from_us = now_us;
    while (room()->heal.count == 0 && now_us < from_us + 5 * SECOND)
        go_on(20000);
    assert_true(now_us - from_us < 1 * SECOND);
    go_on(2 * SECOND);
    expect_in_sync(1);
    assert_int_equal(offers[0] + offers[2], 0);
    assert_int_equal(machine[1], 7);
    assert_non_null(strstr(heard(player[0].peer, KL_MSG_NOTICE)->text.text, "back in sync: p1"));
    expect_all_at_the_end();
    machine[2] = 9; /* and another time somebody else */
    go_on(4 * SECOND);
    expect_in_sync(2);
}

/* Its own hashes of before do not start it all again. */
static void while_it_heals_the_wrong_one_is_not_heard(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    loads[1] = false;
    go_on(4 * SECOND);
    assert_true(room()->member[1].heal.loads);
    assert_true(verdict.complete && !verdict.differs); /* of the others */
    assert_int_equal(verdict.healed, 0);
    assert_int_equal(offers[1], 1);
    machine[1] = 7;
    loads[1] = true;
    go_on(2 * SECOND);
    expect_in_sync(1);
}

static void on_a_tie_the_host(void **unused) {
    (void)unused;
    for (unsigned wrong = 0; wrong < 2; wrong++) {
        begin();
        gone(2);
        machine[wrong] = 8;
        go_on(4 * SECOND);
        assert_int_equal(offers[0], 0);
        assert_int_equal(offers[1], 1);
        expect_in_sync(1);
        assert_int_equal(machine[1], wrong ? 7 : 8);
        tear_down(NULL);
        set_up(NULL);
    }
}

static void or_whom_he_appoints(void **unused) {
    (void)unused;
    begin();
    gone(2);
    order(1, KL_COMMAND_JUDGE, 1); /* not his to say */
    assert_false(room()->heal.judged);
    order(0, KL_COMMAND_JUDGE, 9);
    assert_false(room()->heal.judged);
    order(0, KL_COMMAND_JUDGE, 1);
    machine[0] = 8;
    go_on(4 * SECOND);
    expect_in_sync(1);
    assert_int_equal(machine[0], 7);
    order(0, KL_COMMAND_JUDGE, 0xff);
    assert_false(room()->heal.judged);
}

static void alone_three_times_within_a_minute(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    at_once[1] = true;
    go_on(12 * SECOND);
    assert_int_equal(loaded[1], 2);
    expect_refusal(player[1].peer, KL_REFUSE_DESYNC, "out of sync with all others three times");
    player[1].linked = player[1].plays = false;
    go_on(2 * SECOND);
    expect_in_sync(3); /* what differed is over, and everybody hears so */
    assert_int_equal(verdict.first, 0);
}

/* One a minute is no crime. */
static void seldom_enough(void **unused) {
    (void)unused;
    begin();
    for (unsigned i = 0; i < 4; i++) {
        machine[1] = 8;
        go_on(35 * SECOND);
        expect_in_sync(i + 1);
    }
}

static void nobody_is_put_out_on_a_tie(void **unused) {
    (void)unused;
    begin();
    gone(2);
    machine[1] = 8;
    at_once[1] = true;
    go_on(20 * SECOND);
    assert_false(inbox[player[1].peer].hung_up);
    assert_int_equal(loaded[1], 2);
    assert_true(room()->heal.hopeless);
    assert_int_equal(verdict.differs, 1);
    at_once[1] = false;
    order(0, KL_COMMAND_DESYNC, KL_DESYNC_HEAL); /* the host tries again */
    go_on(4 * SECOND);
    expect_in_sync(3);
}

/* Some cores' states do not hold all, and then loading one does not help; running all from the beginning
 * does.
 */
static void states_that_do_not_hold_all(void **unused) {
    (void)unused;
    begin();
    no_ram = true;
    machine[1] = 8;
    at_once[1] = true;
    for (uint64_t end_us = now_us + 20 * SECOND; !room()->member[1].heal.anew && now_us < end_us;)
        go_on(20000);
    assert_int_equal(loaded[1], 2);
    assert_int_equal(room()->member[1].state, KL_MEMBER_LOADING);
    assert_non_null(
        strstr(heard(player[1].peer, KL_MSG_NOTICE)->text.text, "p1 runs all from the beginning"));
    assert_false(inbox[player[1].peer].hung_up || room()->heal.states_hopeless);
    assert_int_equal(room()->heal.phase, KL_HEAL_NONE);
}

/* Where that is not kept, nothing is to be done; and nobody is put out for it. */
static void states_that_never_agree(void **unused) {
    (void)unused;
    begin();
    kl_lobby_start_free(room());
    no_ram = true;
    machine[1] = 8;
    at_once[1] = true;
    go_on(20 * SECOND);
    assert_false(inbox[player[1].peer].hung_up);
    assert_int_equal(loaded[1], 2);
    assert_true(room()->heal.states_hopeless);
    assert_false(room()->heal.hopeless);
    at_once[1] = no_ram = false;
    machine[1] = 9; /* now it is RAM: that is healed */
    while (room()->member[1].heal.strike_us[0] && now_us < room()->member[1].heal.strike_us[0] + 60 * SECOND)
        go_on(SECOND);
    go_on(4 * SECOND);
    assert_int_equal(machine[1], 7);
}

static void who_cannot_load(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    loads[1] = false;
    go_on(14 * SECOND);
    const struct kl_msg *m = heard(player[0].peer, KL_MSG_NOTICE);
    assert_non_null(m);
    assert_true(offers[1] >= 2); /* tried again */
    assert_int_equal(room()->heal.count, 0);
}

static void who_leaves_meanwhile(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    loads[1] = false;
    go_on(3 * SECOND);
    assert_true(room()->member[1].heal.loads);
    gone(1);
    go_on(2 * SECOND);
    assert_int_equal(room()->heal.phase, KL_HEAL_NONE);
    expect_in_sync(1); /* with him the difference */
}

/* He holds up himself alone. */
static void who_never_loads_keeps_nobody_from_it(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    loads[1] = false;
    go_on(3 * SECOND);
    assert_true(room()->member[1].heal.loads);
    machine[2] = 9;
    go_on(3 * SECOND);
    assert_true(room()->member[1].heal.loads); /* still the first time */
    assert_int_equal(offers[1], 1);
    assert_int_equal(offers[2], 1);
    assert_int_equal(machine[2], 7);
    assert_int_equal(room()->heal.count, 1);
}

/* However long he is given for it: what he spends loading is no time in sync. */
static void who_never_loads_is_put_out(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    loads[1] = false;
    for (unsigned tries = 1; tries <= 2; tries++) {
        for (uint64_t end_us = now_us + 10 * SECOND; !room()->member[1].heal.loads && now_us < end_us;)
            go_on(20000);
        assert_int_equal(offers[1], tries);
        room()->member[1].heal.by_us += 30 * SECOND; /* as for a large state */
        go_on(35 * SECOND);
        assert_true(room()->member[1].heal.loads);
        go_on(6 * SECOND);
    }
    go_on(4 * SECOND);
    expect_refusal(player[1].peer, KL_REFUSE_DESYNC, "out of sync with all others three times");
    player[1].linked = player[1].plays = false;
}

/* Whose link breaks each time before he has it is out of sync once. */
static void who_is_cut_off_while_it_heals(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    loads[1] = false;
    for (unsigned peer = 11; peer < 11 + 4; peer++) {
        while (!room()->member[1].heal.loads)
            go_on(20000);
        owes[1] = 0;
        to_load[1] = false;
        come_back(1, peer);
    }
    loads[1] = true;
    go_on(5 * SECOND);
    assert_false(inbox[14].hung_up);
    assert_int_equal(machine[1], 7);
    expect_in_sync(1);
}

/* He decides where nobody is more than half: so he is waited for, though he has no seat, and a slow link. */
static void the_host_watches(void **unused) {
    (void)unused;
    begin();
    order(0, KL_COMMAND_SEAT, 0);
    go_on(2 * SECOND);
    assert_int_equal(room()->member[0].seats, 0);
    assert_int_equal(room()->host, 0);
    commits_late_us[0] = 300000;
    machine[1] = 8;
    machine[2] = 9;
    go_on(4 * SECOND);
    expect_in_sync(1);
    assert_int_equal(machine[1], 7);
}

/* In sync, and yet one of two says another state: the host is right. */
static void false_word_on_the_state(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    false_state[2] = true;
    go_on(4 * SECOND);
    expect_in_sync(1);
    assert_int_equal(machine[1], 7);
}

/* Nor is silence: the next time it is there. */
static void no_word_on_the_state(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    mute[0] = mute[2] = true;
    while (room()->shot.failures == 0)
        go_on(20000);
    mute[0] = mute[2] = false;
    assert_int_equal(room()->member[1].state, KL_MEMBER_PLAYING);
    go_on(4 * SECOND);
    expect_in_sync(1);
    assert_int_equal(offers[1], 1);
}

/* Where the host is the one who is out of sync, nobody knows which of two is true: so neither is loaded. */
static void without_a_state_all_is_run_again(void **unused) {
    (void)unused;
    begin();
    machine[0] = 8;
    false_state[2] = true;
    while (!heard(player[0].peer, KL_MSG_NOTICE) ||
           !strstr(heard(player[0].peer, KL_MSG_NOTICE)->text.text, "runs all from the beginning")) {
        go_on(20000);
        assert_true(now_us < 3600 * SECOND);
    }
    assert_int_equal(offers[0], 0);
    assert_int_equal(room()->member[0].state, KL_MEMBER_LOADING);
    assert_int_equal(room()->heal.phase, KL_HEAL_NONE);
    assert_int_equal(room()->heal.count, 1);
}

static void nobody_gives(void **unused) {
    (void)unused;
    begin();
    gives[0] = gives[2] = false;
    machine[1] = 8;
    go_on(14 * SECOND);
    assert_int_equal(offers[1], 0);
    gives[0] = gives[2] = true;
    go_on(4 * SECOND);
    expect_in_sync(1);
}

/* Who waits for a snapshot to begin with orders one as soon as one is done: what healing had ordered is
 * looked at all the same. One against one, another's would be no word on who is right. */
static void who_else_wants_a_snapshot(void **unused) {
    (void)unused;
    begin();
    gone(2);
    gives[0] = false;
    machine[1] = 8;
    while (room()->shot.phase != KL_SHOT_GIVING)
        play(STEP_US), say_owed();
    assert_int_equal(room()->heal.phase, KL_HEAL_WAITING);
    give_state(0);
    while (room()->shot.phase != KL_SHOT_NONE)
        run();
    assert_int_equal(room()->heal.phase, KL_HEAL_WAITING); /* it has not seen it yet */
    (void)kl_lobby_snapshot_order(room(), 0, now_us);
    run();
    assert_int_equal(offers[1], 1);
    assert_true(kl_lobby_snapshot_order(room(), 0, now_us));
    gives[0] = true;
    go_on(4 * SECOND);
    assert_int_equal(machine[1], 7);
    expect_in_sync(1);
}

static void policies(void **unused) {
    (void)unused;
    begin();
    order(1, KL_COMMAND_DESYNC, KL_DESYNC_IGNORE); /* not his to say */
    assert_int_equal(room()->params.desync, KL_DESYNC_HEAL);
    order(0, KL_COMMAND_DESYNC, KL_DESYNC_IGNORE);
    machine[1] = 8;
    go_on(3 * SECOND);
    assert_int_equal(verdict.differs, 1);
    assert_int_equal(offers[1], 0);
    order(0, KL_COMMAND_DESYNC, KL_DESYNC_HEAL); /* mends what is */
    go_on(4 * SECOND);
    expect_in_sync(1);
    order(0, KL_COMMAND_DESYNC, KL_DESYNC_PAUSE);
    machine[1] = 8;
    go_on(3 * SECOND);
    assert_true(room()->lock.paused);
    uint32_t frame = room()->lock.next_close;
    order(0, KL_COMMAND_PAUSE, 0);
    go_on(3 * SECOND);
    assert_true(room()->lock.next_close > frame + 100); /* once is enough */
    order(0, KL_COMMAND_DESYNC, KL_DESYNC_HEAL);
    go_on(4 * SECOND);
    expect_in_sync(2);
}

static void what_nobody_asked_for(void **unused) {
    (void)unused;
    begin();
    struct kl_msg m = {.kind = KL_MSG_HEALED, .healed = {.keyframe = 60, .next = 100}};
    say(player[1].peer, &m);
    assert_false(inbox[player[1].peer].hung_up);
    assert_int_equal(room()->heal.count, 0);
    go_on(2 * SECOND);
    expect_in_sync(0);
    m.healed.next = 1000000; /* of a relay before this one, which had more */
    say(player[1].peer, &m);
    m.healed.keyframe = 999999;
    say(player[1].peer, &m);
    assert_false(inbox[player[1].peer].hung_up);
    go_on(2 * SECOND);
    expect_in_sync(0);
}

/* --- commitments -------------------------------------------------------------------------------------------
 */

/* Nobody says a hash before all who play are bound to theirs: not with the slowest of them either. */
static void nothing_is_revealed_before_all_have_committed(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    go_on(4 * SECOND);
    expect_in_sync(1);
    assert_true(reveals_heard > 5);
    assert_int_equal(too_early, 0);
}

static void who_says_another_hash_than_it_committed_to(void **unused) {
    (void)unused;
    begin();
    lies[1] = true;
    go_on(2 * SECOND);
    expect_refusal(player[1].peer, KL_REFUSE_PROTOCOL, "are not those that you had committed to");
    player[1].linked = player[1].plays = false;
    go_on(3 * SECOND);
    expect_in_sync(0);
}

/* Silence has no vote, and is nobody's fault: the others are compared. */
static void who_does_not_reveal(void **unused) {
    (void)unused;
    begin();
    reveals[1] = false;
    machine[1] = 8;
    go_on(5 * SECOND);
    assert_false(inbox[player[1].peer].hung_up);
    assert_false(verdict.complete);
    assert_int_equal(verdict.differs, 0);
    assert_true(room()->member[1].owes);
    machine[2] = 9; /* one against one, as far as is known: the host is right */
    go_on(3 * SECOND);
    assert_int_equal(machine[2], 7);
    assert_int_equal(offers[1], 0);
    assert_int_equal(room()->heal.count, 1);
    reveals[1] = true; /* what it held back is told now, and looked at */
    go_on(5 * SECOND);
    assert_false(room()->member[1].owes);
    expect_in_sync(2);
}

static void who_does_not_commit(void **unused) {
    (void)unused;
    begin();
    commits[1] = false;
    unsigned before = reveals_heard;
    go_on(5 * SECOND);
    assert_true(reveals_heard > before + 2); /* it holds nothing up */
    assert_false(verdict.complete);
    machine[2] = 9;
    go_on(4 * SECOND);
    assert_int_equal(machine[2], 7);
    assert_int_equal(room()->heal.count, 1);
    commits[1] = true;
    go_on(2 * SECOND);
    expect_in_sync(1);
}

/* What nobody was bound to is no word, true or not: neither compared, nor complete with it. */
static void who_reveals_what_it_has_not_committed_to(void **unused) {
    (void)unused;
    begin();
    commits[1] = false;
    go_on(2 * SECOND);
    struct kl_msg m = {.kind = KL_MSG_HASH, .hash = {.has_state = true, .has_ram = true, .ram = 1}};
    for (unsigned i = 0; i < 3; i++) {
        m.hash.frame = committed[0];
        say(player[1].peer, &m);
        go_on(SECOND);
    }
    assert_int_equal(verdict.differs, 0);
    assert_false(verdict.complete);
    assert_false(inbox[player[1].peer].hung_up);
    commits[1] = true;
    go_on(2 * SECOND);
    expect_in_sync(0);
}

/* What was not revealed in a session is committed to anew in the next. */
static void who_comes_back(void **unused) {
    (void)unused;
    begin();
    reveals[1] = false;
    go_on(SECOND);
    cut(1);
    for (unsigned i = 0; i < owes[1]; i++)
        owed[1][i].nonce[1] = 77; /* and its nonces are others */
    owes[1] = 0;
    go_on(SECOND);
    reveals[1] = true;
    come_back(1, 11);
    assert_int_equal(heard(11, KL_MSG_REVEAL)->reveal.frame, open_to);
    go_on(4 * SECOND);
    assert_false(inbox[11].hung_up);
    expect_in_sync(0);
}

/* A newer session of whom it is about: what the old one was sent is not waited for. */
static void who_comes_back_before_he_is_missed(void **unused) {
    (void)unused;
    begin();
    machine[1] = 8;
    loads[1] = false;
    while (!room()->member[1].heal.loads)
        go_on(20000);
    to_load[1] = false;
    owes[1] = 0;
    come_back(1, 11);
    assert_false(room()->member[1].heal.loads);
    to_load[1] = false;
    loads[1] = true;
    go_on(5 * SECOND);
    expect_in_sync(1);
}

/* Who takes a place has not said what was said there before. */
static void whose_place_it_was(void **unused) {
    (void)unused;
    begin();
    reveals[2] = false;
    machine[1] = 8;
    while (room()->heal.phase != KL_HEAL_FOUND) /* and the third is waited for */
        go_on(20000);
    cut(1);
    player[1].plays = false;
    room()->seat_time_s = 0;
    while (room()->member[1].here)
        play(STEP_US);
    struct kl_msg m = a_hello(12, "room", 1, PLAYERS, "x");
    connect_peer(12);
    say(12, &m);
    assert_int_equal(heard(12, KL_MSG_WELCOME)->welcome.client, 1);
    play(1500000);
    assert_null(heard(12, KL_MSG_OFFER));
    assert_int_equal(room()->member[1].heal.strike_us[0], 0);
    assert_int_equal(room()->heal.phase, KL_HEAL_NONE);
}

/* Verdicts that are held back for who takes nothing do not keep the relay awake. */
static void held_back(void **unused) {
    (void)unused;
    begin();
    reveals[2] = false;
    go_on(1200000);
    inbox[1].pending = KL_VERDICTS_UNDER_WAY + 1;
    go_on(4 * SECOND);
    for (unsigned i = 0; i < 250; i++) {
        run();
        assert_true(kl_lobby_due_us(lobby) > now_us);
        now_us += 1000;
    }
}

/* Before a keyframe comes nobody honest can have hashed what stands before it. Who makes the room stand still
 * there, and speaks at once, makes all others late; that decides nothing. */
static void who_speaks_while_the_room_stands(void **unused) {
    (void)unused;
    fixed_spacing = 30;
    begin();
    fixed_spacing = 0;
    do {
        order(0, KL_COMMAND_PAUSE, 0);
        go_on(300000);
        order(0, KL_COMMAND_PAUSE, 1);
        go_on(2 * SECOND);
        assert_true(room()->lock.paused);
    } while (room()->lock.next_close % 60 != 0); /* until the next keyframe is one that will be marked */
    machine[1] = 8;
    say_hash(1, room()->lock.next_close - 1);
    say(player[1].peer, &owed[1][--owes[1]]);
    go_on(1500000);
    assert_true(any_open && open_to == room()->lock.next_close - 1);
    order(0, KL_COMMAND_PAUSE, 0);
    go_on(5 * SECOND);
    assert_int_equal(offers[0] + offers[2], 0);
    assert_int_equal(machine[0], 7);
    expect_in_sync(1); /* with the next hash he is found out */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two_against_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(while_it_heals_the_wrong_one_is_not_heard, set_up, tear_down),
        cmocka_unit_test_setup_teardown(on_a_tie_the_host, set_up, tear_down),
        cmocka_unit_test_setup_teardown(or_whom_he_appoints, set_up, tear_down),
        cmocka_unit_test_setup_teardown(alone_three_times_within_a_minute, set_up, tear_down),
        cmocka_unit_test_setup_teardown(seldom_enough, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nobody_is_put_out_on_a_tie, set_up, tear_down),
        cmocka_unit_test_setup_teardown(states_that_do_not_hold_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(states_that_never_agree, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_cannot_load, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_leaves_meanwhile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_never_loads_keeps_nobody_from_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_never_loads_is_put_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_is_cut_off_while_it_heals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_host_watches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(false_word_on_the_state, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_word_on_the_state, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_state_all_is_run_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nobody_gives, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_else_wants_a_snapshot, set_up, tear_down),
        cmocka_unit_test_setup_teardown(policies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_nobody_asked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_revealed_before_all_have_committed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_says_another_hash_than_it_committed_to, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_does_not_reveal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_does_not_commit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_reveals_what_it_has_not_committed_to, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_comes_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_comes_back_before_he_is_missed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(whose_place_it_was, set_up, tear_down),
        cmocka_unit_test_setup_teardown(held_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_speaks_while_the_room_stands, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
