#include "tests/lib/lobby_machines.h"

#include "tests/unit/unit.h"

#include <zstd.h>

uint64_t machine[PLAYERS], picture[PLAYERS];
bool no_ram, no_states;
bool gives[PLAYERS], loads[PLAYERS], at_once[PLAYERS], says[PLAYERS];
uint64_t late_by_us[PLAYERS];
bool false_state[PLAYERS], copies[PLAYERS], mute[PLAYERS], has_own[PLAYERS];
uint32_t keyframe;
struct kl_verdict verdict;
unsigned heard_early;
unsigned offers[PLAYERS], rewinds[PLAYERS], loaded[PLAYERS];
uint32_t back_to[PLAYERS];
uint64_t own[PLAYERS][10000];
struct kl_msg late[PLAYERS]; /* HASH, of a late one */
uint64_t late_us[PLAYERS];   /* when it goes; 0: nothing waits */
static uint32_t said_label[PLAYERS];
bool to_give[PLAYERS];
bool to_load[PLAYERS];
static bool to_go_back[PLAYERS];

void state_of_machine(unsigned who, uint8_t out[BYTES]) {
    memset(out, 0, BYTES);
    memcpy(out, &machine[who], sizeof machine[who]);
}

static void say_late(unsigned who) {
    late_us[who] = 0;
    said_label[who] = late[who].hash.frame;
    if (player[who].linked) say(player[who].peer, &late[who]);
}

void say_hash(unsigned who, uint32_t label) {
    struct kl_msg m = {.kind = KL_MSG_HASH,
                       .hash = {.frame = label, .has = KL_HASH_STATE | (no_ram ? 0 : KL_HASH_RAM)}};
    m.hash.state = m.hash.ram = machine[who];
    if (no_ram) m.hash.ram = 0;
    m.hash.picture = machine[who] << 8 | picture[who];
    if (picture[who]) m.hash.has |= KL_HASH_PICTURE;
    if (!says[who]) return;
    late[who] = m;
    late_us[who] = now_us + late_by_us[who];
    if (!late_by_us[who]) say_late(who);
}

static void say_state(unsigned who) {
    static uint8_t bytes[BYTES];
    state_of_machine(copies[who] ? 0 : who, bytes);
    struct kl_msg m = a_state(keyframe, no_states ? NULL : bytes, BYTES);
    m.state.hash[0] ^= false_state[who];
    if (!mute[who]) say(player[who].peer, &m);
}

static void obey(struct player *p, const struct kl_frame *f) {
    unsigned who = (unsigned)(p - player);
    if (f->flags & KL_FRAME_HASH) {
        own[who][f->number % 10000] = machine[who];
        say_hash(who, f->number - 1);
    }
    uint32_t ordered = snapshot_ordered(p, f);
    if (ordered == UINT32_MAX) return;
    keyframe = ordered;
    say_state(who);
}

static void listen(unsigned peer, const struct kl_msg *m) {
    struct player *p = at_peer(peer);
    listen_message(peer, m);
    if (!p) return;
    if (m->kind == KL_MSG_VERDICT) verdict = m->verdict;
    for (unsigned i = 0; m->kind == KL_MSG_VERDICT && i < PLAYERS; i++)
        heard_early += late_by_us[i] && m->verdict.frame > said_label[i];
    if (m->kind == KL_MSG_ASK) to_give[p - player] = true;
    if (m->kind == KL_MSG_OFFER) offers[p - player]++;
    if (m->kind == KL_MSG_REWIND) {
        rewinds[p - player]++;
        back_to[p - player] = m->rewind.keyframe;
        to_go_back[p - player] = true;
    }
    if (m->kind == KL_MSG_SNAPSHOT) {
        uint8_t bytes[BYTES];
        assert_int_equal(ZSTD_decompress(bytes, BYTES, m->snapshot.piece.bytes, m->snapshot.piece.len),
                         BYTES);
        if (loads[p - player]) memcpy(&machine[p - player], bytes, sizeof machine[0]);
        to_load[p - player] = true;
    }
}

void give_state(unsigned who) {
    uint8_t bytes[BYTES], packed[BYTES];
    state_of_machine(who, bytes);
    uint32_t len = pack_state(bytes, BYTES, packed, sizeof packed);
    give_packed(player[who].peer, (struct kl_snapshot_piece){.keyframe = keyframe}, packed, 0, len, len);
}

static void say_healed(unsigned who) {
    struct kl_msg m = {.kind = KL_MSG_HEALED,
                       .healed = {.keyframe = keyframe, .next = player[who].lock.stats.next_run}};
    loaded[who]++;
    say(player[who].peer, &m);
    if (at_once[who]) machine[who] += 100 + loaded[who];
}

static void go_back(unsigned who) {
    struct kl_msg m = {.kind = KL_MSG_HEALED,
                       .healed = {back_to[who], player[who].lock.stats.next_run, KL_HEALED_NOT}};
    if (has_own[who]) {
        m.healed.how = KL_HEALED_SAME;
        machine[who] = own[who][back_to[who] % 10000];
        loaded[who]++;
    }
    say(player[who].peer, &m);
    if (at_once[who]) machine[who] += 100 + loaded[who];
}

void go_on(uint64_t us) {
    for (uint64_t end_us = now_us + us; now_us < end_us;) {
        play(20000);
        for (unsigned i = 0; i < PLAYERS; i++)
            if (late_us[i] && now_us >= late_us[i]) say_late(i);
        for (unsigned i = 0; i < PLAYERS; i++) {
            if (to_give[i] && gives[i] && player[i].linked) to_give[i] = false, give_state(i);
            if (to_load[i] && loads[i] && player[i].linked) to_load[i] = false, say_healed(i);
            if (to_go_back[i] && loads[i] && player[i].linked) to_go_back[i] = false, go_back(i);
        }
    }
}

void begin_machines(void) {
    no_ram = no_states = false;
    memset(&verdict, 0, sizeof verdict);
    heard_early = 0;
    memset(said_label, 0, sizeof said_label);
    for (unsigned i = 0; i < PLAYERS; i++) {
        machine[i] = 7;
        picture[i] = 0;
        gives[i] = loads[i] = true;
        at_once[i] = to_give[i] = to_load[i] = to_go_back[i] = false;
        offers[i] = rewinds[i] = loaded[i] = 0;
        has_own[i] = true;
        says[i] = true;
        false_state[i] = copies[i] = mute[i] = false;
        late_by_us[i] = late_us[i] = 0;
    }
    start_room(KL_POLICY_BOUNDED);
    on_message = listen;
    on_frame = obey;
    go_on(3 * SECOND);
    assert_true(verdict.complete && !verdict.differs);
}

void expect_in_sync(unsigned healed) {
    for (unsigned i = 1; i < PLAYERS; i++)
        if (player[i].linked) assert_int_equal(machine[i], machine[0]);
    assert_true(verdict.complete);
    assert_int_equal(verdict.differs, 0);
    assert_int_equal(verdict.healed, healed);
    assert_int_equal(the_room()->heal.phase, KL_HEAL_NONE);
}

void machine_leaves(unsigned who) {
    bye(player[who].peer);
    vanish(who);
    go_on(SECOND);
}
