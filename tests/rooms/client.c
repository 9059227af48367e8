/* A virtual player in a room with fates: its wire, its frames on a small machine, its crashes. */
#include "net/client/participant_parts.h"
#include "tests/rooms/fleet.h"
#include "tests/rooms/liar.h"

struct client client[CLIENTS];
uint32_t start_bytes = 4;

bool is_playing(const struct client *c) {
    return c->state == IN && c->session && c->loaded && !c->p.participant.snapshot.begins;
}

bool is_wrong(const struct client *c) {
    return c->machine.next <= canon_end && c->machine.is != truth.was[c->machine.next];
}

/* --- in and out --- */

/* Nothing is known any more, a game begins at frame 0. */
static void begin_anew(struct client *c) {
    machine_begin(&c->machine);
    if (!c->watches) c->strike_us[c->strikes++ % 64] = now_us;
    c->loaded = false;
    c->loaded_us = 0;
    c->from = 0;
    shot_forget(c);
    kl_own_states_clear(&c->mine);
}

static void begin_participant(struct client *c, bool fresh) {
    struct kl_participant_config config = {.fresh = fresh, .seat = c->key};
    memcpy(config.token, c->token, sizeof config.token);
    config.hello.seats_wanted = c->seats_wanted;
    config.hello.consent = c->consents ? KL_CONSENT_ROOM : KL_CONSENT_NONE;
    snprintf(config.hello.name, sizeof config.hello.name, "%s", c->name);
    snprintf(config.hello.room, sizeof config.hello.room, "room");
    config.hello.params = c->params;
    kl_facts_add(&config.hello.facts, "content", "x");
    player_begin(&c->p, &config, now_us);
    c->state = ENTERING;
    c->number_here = c->p.participant.dial.number;
    if (fleet) fleet_enters(c);
    c->session = 0;
    c->crashed = false;
    c->steady_us = now_us;
    c->host = c->watches = false;
    c->connected_us = c->dead_us = 0;
    begin_anew(c);
}

void client_enter_again(struct client *c) {
    memset(c->token, 0, sizeof c->token);
    c->cut_us = c->hurt_us = 0;
    begin_participant(c, false);
}

void client_enter(struct client *c) {
    uint8_t seed[KL_SEAT_SEED] = {(uint8_t)rng_next(&wire_rng), (uint8_t)rng_next(&wire_rng),
                                  (uint8_t)c->number};
    kl_seat_from_seed(&c->key, seed);
    client_enter_again(c);
}

static void over(struct client *c) {
    if (c->state != OFF && !c->crashed) kl_participant_free(&c->p.participant);
    c->session = 0;
    c->state = OFF;
    c->watches = c->crashed = false;
    shot_forget(c);
    kl_own_states_clear(&c->mine);
}

void client_lose(struct client *c, uint64_t back_us, bool fresh) {
    wire_break(c->session, rng_range(&wire_rng, 0, 6000000));
    c->session = 0;
    c->cut_us = now_us + back_us;
    c->hurt_us = c->steady_us = now_us;
    c->dead_us = now_us + rng_range(&wire_rng, 5000000, 10000000);
    shot_forget(c);
    if (!fresh) return;
    bool kept = c->p.participant.joined && !c->watches;
    memcpy(c->token, c->p.participant.status.welcome.token, sizeof c->token);
    if (!kept) {
        over(c);
        return;
    }
    kl_participant_free(&c->p.participant);
    c->crashed = true;
    c->state = LOST;
}

/* The process of the relay is gone; its next one answers nobody before that time. */
void client_relay_died(struct client *c, uint64_t up_us) {
    if (c->session) wire_detach(c->session);
    c->session = 0;
    if (c->cut_us < up_us) c->cut_us = up_us;
    c->hurt_us = c->steady_us = now_us;
    c->dead_us = now_us + rng_range(&wire_rng, 5000000, 10000000);
}

void client_leave(struct client *c) {
    kl_participant_leave(&c->p.participant, now_us);
}

void client_hung_up(struct client *c) {
    c->session = 0;
    if (c->state != OFF && !c->crashed) kl_participant_hung_up(&c->p.participant, true, now_us);
}

void client_order(struct client *c, uint8_t kind, const uint8_t *data, size_t len) {
    (void)kl_participant_order(&c->p.participant, kind, data, len);
}

/* Three times within a minute, and it was this one each time, or those who were wrong were more: nobody else
 * is put out. */
static bool deserves_it(const struct client *c) {
    unsigned count = doubts_since(75 * SECOND);
    if (c->watches && (count || rewritten)) return true; /* its replay is not their game */
    for (uint32_t i = 0; i < c->strikes && i < 64; i++)
        count += c->strike_us[i] + 75 * SECOND > now_us;
    return count >= 3;
}

static bool may_end(const struct client *c) {
    const struct kl_participant_status *st = &c->p.participant.status;
    if (c->p.participant.said_bye || c->p.participant.leaving || c->forges || c->lies) return true;
    if (fleet) return fleet_may_end(c);
    if (attack_is_on()) return c->spare && st->refused == KL_REFUSE_FULL;
    if (st->refused == KL_REFUSE_DESYNC) return deserves_it(c);
    if (strstr(st->reason, "is closed to you for")) return true; /* all live at one address */
    if (st->refused == KL_REFUSE_SEAT && fate_keeps_seat(c)) return false;
    if (strstr(st->reason, "nothing has come")) return false;
    if (st->refused)
        return st->refused == KL_REFUSE_SEAT || st->refused == KL_REFUSE_FULL ||
               st->refused == KL_REFUSE_STARTED || st->refused == KL_REFUSE_CLOSED;
    if (strstr(st->reason, "the game that was watched is over")) return true;
    bool lost = strstr(st->reason, "does not answer") || strstr(st->reason, "did not answer") ||
                strstr(st->reason, "no answer") || strstr(st->reason, "does not greet");
    return lost && c->hurt_us && now_us < c->hurt_us + 75 * SECOND;
}

static void end(struct client *c) {
    c->put_out += c->p.participant.joined && c->p.participant.status.refused == KL_REFUSE_DESYNC;
    story("%s: over: %s", c->name, c->p.participant.status.reason);
    if (!may_end(c))
        fail("%s is out: %u %s", c->name, c->p.participant.status.refused, c->p.participant.status.reason);
    if (c->session) wire_detach(c->session);
    over(c);
}

/* --- the question whether to play on --- */

#define ANSWER_US (2 * SECOND) /* for a player to read it and press a key */

/* A machine with false hashes has nobody that answers. */
static bool answers(const struct client *c) {
    return !c->forges && !liar_is(c, LIAR_ASLEEP) && !attack_stands();
}

static void agree(struct client *c) {
    static const uint8_t on = 0;
    if (!c->agree_us || now_us < c->agree_us) return;
    c->agree_us = 0;
    client_order(c, KL_COMMAND_PAUSE, &on, 1);
}

/* --- messages and datagrams that come --- */

/* Does with the wire what the participant has decided. */
static void follow(struct client *c) {
    const struct kl_dial *d = &c->p.participant.dial;
    if (c->number_here != d->number) {
        if (c->session) wire_break(c->session, rng_range(&wire_rng, 0, 6000000));
        c->session = 0;
        c->number_here = d->number;
        if (fleet) fleet_dials(c);
        c->connected_us = c->dead_us = 0;
        shot_forget(c);
    }
    if (d->s.stage == KL_DIAL_ANSWERED) {
        kl_participant_connecting(&c->p.participant, true);
        c->connected_us = now_us + rng_range(&wire_rng, 2000, 180000);
    }
    if (d->s.stage != KL_DIAL_CONNECTING || now_us < c->connected_us || now_us < c->cut_us) return;
    if (fleet && !fleet_connects(c)) return;
    c->session = wire_open(c, fleet ? fleet_relay(c) : 0, d->s.outcome.keys.binding);
    kl_participant_connected(&c->p.participant);
}

static bool hears(const struct client *c) {
    return c->state != OFF && !c->crashed && !kl_participant_is_over(&c->p.participant);
}

void client_hears(struct client *c, const uint8_t *bytes, size_t len) {
    struct kl_text notice;
    if (!hears(c)) return;
    kl_participant_heard(&c->p.participant, now_us);
    kl_participant_message(&c->p.participant, bytes, len, now_us);
    if (fleet) follow(c); /* a refusal begins another session: the end of this one means nothing then */
    if (kl_participant_welcomed(&c->p.participant)) c->steady_us = now_us;
    while (kl_participant_notice(&c->p.participant, &notice)) {
        story("%s hears: %s", c->name, notice.text);
        c->file_lines += strstr(notice.text, "'s file file ") != NULL;
        if (notice.code == KL_NOTICE_PLAY_ON && answers(c)) c->agree_us = now_us + ANSWER_US;
    }
    if (memcmp(&c->verdict, &c->p.participant.status.verdict, sizeof c->verdict) == 0) return;
    c->verdict = c->p.participant.status.verdict;
    c->any_verdict = true;
}

void client_update(struct client *c, const uint8_t *body, size_t len) {
    if (!hears(c)) return;
    kl_participant_heard(&c->p.participant, now_us);
    if (len) kl_participant_update(&c->p.participant, body, len, now_us);
}

void client_stranger(struct client *c, unsigned relay, const uint8_t *bytes, size_t len) {
    if (!hears(c)) return;
    if (fleet)
        fleet_answers(c, relay, bytes, len);
    else
        kl_participant_stranger(&c->p.participant, bytes, len, now_us);
}

/* --- playing --- */

static void hash(struct client *c, uint32_t label) {
    struct kl_hash h = {.frame = label + (uint32_t)liar_is(c, LIAR_LABEL),
                        .has = KL_HASH_RAM | KL_HASH_STATE};
    h.ram = h.state = c->machine.is ^ (c->forges && label % 5 != 0);
    if (liar_does(c, LIAR_HASH, label)) h.ram = h.state ^= liar_does(c, LIAR_OWN, label) ? c->number + 2 : 1;
    kl_participant_hash(&c->p.participant, &h);
}

static struct client *client_of(struct player *p) {
    return (struct client *)p; /* its first member */
}

static void run_frame(struct player *p, const struct kl_frame *f, const struct kl_commands *set) {
    struct client *c = client_of(p);
    uint8_t snapshot[SHOT_BYTES];
    if (f->number != c->machine.next)
        fail("%s: frame %u comes behind %u", c->name, f->number, c->machine.next);
    bool begun_here = c->from && f->number == c->from; /* hashed and partly obeyed before the snapshot */
    if (f->flags & KL_FRAME_HASH && !begun_here) {
        hash(c, f->number - 1);
        shot_keep(c);
    }
    fleet ? fleet_ran(c, f) : canon_check(c->name, f, set);
    if (begun_here)
        machine_run_behind(&c->machine, f->number);
    else if (machine_run(&c->machine, f, set, snapshot))
        shot_taken(c, f->number, snapshot);
}

static void press(struct player *p, uint32_t sample, struct kl_input in[KL_MAX_SEATS]) {
    in->joypad = (uint16_t)((sample / 7 + client_of(p)->number) * 0x9e37);
}

static uint8_t *make_start(void) {
    uint8_t *start = malloc(start_bytes);
    if (!start) fail("no memory");
    for (uint32_t i = 0; i < start_bytes; i++)
        start[i] = (uint8_t)(i * 0x9e3779b9u >> 24);
    return start;
}

/* The wrapper's part: the participant asks, the machine answers. */
static void load(struct client *c) {
    enum kl_participant_phase phase = c->p.participant.status.phase;
    bool anew = phase == KL_PARTICIPANT_FETCHING || phase == KL_PARTICIPANT_LOAD;
    if (anew && c->loaded) begin_anew(c);
    bool gives = phase == KL_PARTICIPANT_SEND_START;
    bool loads = phase == KL_PARTICIPANT_LOAD && !attack_is_quiet(c);
    if (loads && !c->loaded_us) c->loaded_us = now_us + rng_range(&wire_rng, 5000, 400000);
    loads = loads && now_us >= c->loaded_us;
    if (!gives && !loads) return;
    uint8_t *start = make_start();
    if (gives) player_give_start(&c->p, start, start_bytes);
    if (loads) player_load_start(&c->p, start, start_bytes);
    c->loaded = c->loaded || loads;
    free(start);
}

/* --- a step: the network thread's turn --- */

static void send_init(struct player *p, const uint8_t init[KL_INIT_BYTES]) {
    struct client *c = client_of(p);
    fleet ? fleet_init(c, init) : wire_stranger(c, 0, init, KL_INIT_BYTES);
}
static void send_datagram(struct player *p, const uint8_t *body, size_t len) {
    wire_datagram(client_of(p)->session, body, len);
}
static void room_of(struct player *p, struct kl_channels *room) {
    wire_room(client_of(p)->session, room);
}
static void say(struct player *p, const struct kl_msg *m) {
    uint8_t bytes[KL_MSG_MAX];
    int len = kl_msg_encode(m, bytes, sizeof bytes);
    if (len < 0) fail("%s says something that cannot be encoded", client_of(p)->name);
    (kl_msg_is_bulk(m->kind) ? wire_say_bulk : wire_say)(client_of(p)->session, bytes, (size_t)len);
}

void client_world_begin(void) {
    static const struct player_world world = {press, run_frame, send_init, send_datagram, room_of, say};
    player_world = &world;
}

static void sync(struct client *c) {
    const struct kl_participant_status *st = &c->p.participant.status;
    bool was_in = c->state == IN, watched = c->watches;
    c->state = !c->p.participant.joined ? ENTERING : st->phase == KL_PARTICIPANT_RETURNING ? LOST : IN;
    c->watches = c->p.participant.joined && st->welcome.client == KL_WATCHER;
    c->host = c->p.participant.joined && st->welcome.host;
    if (c->watches != watched || (c->state == IN && !was_in)) c->steady_us = now_us;
    counts.watched += c->watches && !watched;
}

void client_step(struct client *c) {
    liar_step(c);
    if (c->state == OFF) return;
    if (c->crashed) {
        if (now_us >= c->cut_us) begin_participant(c, true);
        return;
    }
    if (c->dead_us && now_us >= c->dead_us) { /* ENet has given up */
        c->dead_us = 0;
        kl_participant_hung_up(&c->p.participant, false, now_us);
    }
    kl_participant_turn(&c->p.participant, now_us);
    agree(c);
    if (kl_participant_is_over(&c->p.participant)) {
        end(c);
        return;
    }
    follow(c);
    load(c);
    sync(c);
    player_turns(&c->p, now_us);
    shot_step(c);
    if (attack_is_on()) files_step(c);
    player_send(&c->p, now_us);
}
