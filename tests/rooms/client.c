/* A player's program around the real client (net/client/participant.h): what the wrapper and the network
 * thread do, without threads, files and sockets. It feeds the participant, does what the participant wants,
 * and runs the frames on a small machine. */
#include "net/client/participant_parts.h"
#include "tests/rooms/fleet.h"
#include "tests/rooms/liar.h"

struct client client[CLIENTS];
uint32_t start_bytes = 4;

bool is_playing(const struct client *c) {
    return c->state == IN && c->session && c->loaded && !c->participant.snapshot.begins;
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
    struct kl_participant_config config = {.relay = "relay:1",
                                           .offers = KL_CIPHER_CHACHA20,
                                           .fresh = fresh,
                                           .seat = c->key,
                                           .heap = {malloc, free},
                                           .held = c->held,
                                           .held_frames = HELD};
    memcpy(config.token, c->token, sizeof config.token);
    config.hello.seats_wanted = c->seats_wanted;
    config.hello.consent = c->consents ? KL_CONSENT_ROOM : KL_CONSENT_NONE;
    snprintf(config.hello.name, sizeof config.hello.name, "%s", c->name);
    snprintf(config.hello.room, sizeof config.hello.room, "room");
    config.hello.params = c->params;
    kl_facts_add(&config.hello.facts, "content", "x");
    kl_participant_init(&c->participant, &config);
    kl_participant_begin(&c->participant, now_us);
    c->state = ENTERING;
    c->number_here = c->participant.dial.number;
    if (fleet) fleet_enters(c);
    c->session = 0;
    c->crashed = false;
    c->steady_us = c->turn_us = now_us;
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
    if (c->state != OFF && !c->crashed) kl_participant_free(&c->participant);
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
    bool kept = c->participant.joined && !c->watches;
    memcpy(c->token, c->participant.status.welcome.token, sizeof c->token);
    if (!kept) {
        over(c);
        return;
    }
    kl_participant_free(&c->participant);
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
    kl_participant_leave(&c->participant, now_us);
}

void client_hung_up(struct client *c) {
    c->session = 0;
    if (c->state != OFF && !c->crashed) kl_participant_hung_up(&c->participant, true, now_us);
}

void client_order(struct client *c, uint8_t kind, const uint8_t *data, size_t len) {
    (void)kl_participant_order(&c->participant, kind, data, len);
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
    const struct kl_participant_status *st = &c->participant.status;
    if (c->participant.said_bye || c->participant.leaving || c->forges || c->lies) return true;
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
    c->put_out += c->participant.joined && c->participant.status.refused == KL_REFUSE_DESYNC;
    story("%s: over: %s", c->name, c->participant.status.reason);
    if (!may_end(c))
        fail("%s is out: %u %s", c->name, c->participant.status.refused, c->participant.status.reason);
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
    const struct kl_dial *d = &c->participant.dial;
    if (c->number_here != d->number) {
        if (c->session) wire_break(c->session, rng_range(&wire_rng, 0, 6000000));
        c->session = 0;
        c->number_here = d->number;
        if (fleet) fleet_dials(c);
        c->connected_us = c->dead_us = 0;
        shot_forget(c);
    }
    if (d->s.stage == KL_DIAL_ANSWERED) {
        kl_participant_connecting(&c->participant, true);
        c->connected_us = now_us + rng_range(&wire_rng, 2000, 180000);
    }
    if (d->s.stage != KL_DIAL_CONNECTING || now_us < c->connected_us || now_us < c->cut_us) return;
    if (fleet && !fleet_connects(c)) return;
    c->session = wire_open(c, fleet ? fleet_relay(c) : 0, d->s.outcome.keys.binding);
    kl_participant_connected(&c->participant);
}

static bool hears(const struct client *c) {
    return c->state != OFF && !c->crashed && !kl_participant_is_over(&c->participant);
}

void client_hears(struct client *c, const uint8_t *bytes, size_t len) {
    struct kl_text notice;
    if (!hears(c)) return;
    kl_participant_heard(&c->participant, now_us);
    kl_participant_message(&c->participant, bytes, len, now_us);
    if (fleet) follow(c); /* a refusal begins another session: the end of this one means nothing then */
    if (kl_participant_welcomed(&c->participant)) c->steady_us = now_us;
    while (kl_participant_notice(&c->participant, &notice)) {
        story("%s hears: %s", c->name, notice.text);
        c->file_lines += strstr(notice.text, "'s file file ") != NULL;
        if (notice.code == KL_NOTICE_PLAY_ON && answers(c)) c->agree_us = now_us + ANSWER_US;
    }
    if (memcmp(&c->verdict, &c->participant.status.verdict, sizeof c->verdict) == 0) return;
    c->verdict = c->participant.status.verdict;
    c->any_verdict = true;
}

void client_update(struct client *c, const uint8_t *body, size_t len) {
    if (!hears(c)) return;
    kl_participant_heard(&c->participant, now_us);
    if (len) kl_participant_update(&c->participant, body, len, now_us);
}

void client_stranger(struct client *c, unsigned relay, const uint8_t *bytes, size_t len) {
    if (!hears(c)) return;
    if (fleet)
        fleet_answers(c, relay, bytes, len);
    else
        kl_participant_stranger(&c->participant, bytes, len, now_us);
}

/* --- playing --- */

static void hash(struct client *c, uint32_t label) {
    struct kl_hash h = {.frame = label + (uint32_t)liar_is(c, LIAR_LABEL),
                        .has = KL_HASH_RAM | KL_HASH_STATE};
    h.ram = h.state = c->machine.is ^ (c->forges && label % 5 != 0);
    if (liar_does(c, LIAR_HASH, label)) h.ram = h.state ^= liar_does(c, LIAR_OWN, label) ? c->number + 2 : 1;
    kl_participant_hash(&c->participant, &h);
}

static void run_frame(struct client *c) {
    struct kl_frame f;
    uint8_t snapshot[SHOT_BYTES];
    if (!kl_participant_take(&c->participant, &f)) fail("%s: no frame where one was planned", c->name);
    if (f.number != c->machine.next) fail("%s: frame %u comes behind %u", c->name, f.number, c->machine.next);
    const struct kl_commands *set =
        f.flags & KL_FRAME_COMMANDS ? kl_participant_commands(&c->participant, f.number) : NULL;
    bool begun_here = c->from && f.number == c->from; /* hashed and partly obeyed before the snapshot */
    if (f.flags & KL_FRAME_HASH && !begun_here) {
        hash(c, f.number - 1);
        shot_keep(c);
    }
    fleet ? fleet_ran(c, &f) : canon_check(c->name, &f, set);
    if (begun_here)
        machine_run_behind(&c->machine, f.number);
    else if (machine_run(&c->machine, &f, set, snapshot))
        shot_taken(c, f.number, snapshot);
}

static void take_turn(struct client *c) {
    struct kl_plan plan = kl_participant_plan(&c->participant, c->turn_frames, now_us);
    uint32_t n = c->participant.lock.stats.next_sample;
    struct kl_input in[KL_MAX_SEATS] = {{.joypad = (uint16_t)((n / 7 + c->number) * 0x9e37)}};
    for (uint32_t i = 0; i < plan.samples; i++)
        (void)kl_participant_sample(&c->participant, in, now_us);
    for (uint32_t i = 0; i < plan.runs; i++)
        run_frame(c);
    c->turn_us += 16667;
}

static uint8_t start_byte(uint32_t i) {
    return (uint8_t)(i * 0x9e3779b9u >> 24);
}

/* The wrapper's part: the participant asks, the machine answers. */
static void load(struct client *c) {
    enum kl_participant_phase phase = c->participant.status.phase;
    struct kl_facts facts = {0};
    if (phase == KL_PARTICIPANT_SEND_START) {
        uint8_t *start = malloc(start_bytes);
        if (!start) fail("no memory");
        for (uint32_t i = 0; i < start_bytes; i++)
            start[i] = start_byte(i);
        kl_participant_give_start(&c->participant, start, start_bytes);
    }
    bool anew = phase == KL_PARTICIPANT_FETCHING || phase == KL_PARTICIPANT_LOAD;
    if (anew && c->loaded) begin_anew(c);
    if (phase != KL_PARTICIPANT_LOAD) return;
    if (attack_is_quiet(c)) return;
    if (!c->loaded_us) c->loaded_us = now_us + rng_range(&wire_rng, 5000, 400000);
    if (now_us < c->loaded_us) return;
    bool same = c->participant.start_len == start_bytes;
    for (uint32_t i = 0; same && i < start_bytes; i++)
        same = c->participant.start[i] == start_byte(i);
    if (!same) fail("%s gets other start data", c->name);
    c->loaded = true;
    kl_facts_add(&facts, "system", "a");
    kl_participant_ready(&c->participant, &facts);
}

/* --- a step: the network thread's turn --- */

static void send(struct client *c) {
    static struct kl_msg m;
    uint8_t bytes[KL_MSG_MAX], init[KL_INIT_BYTES], kind;
    struct kl_channels room;
    size_t got;
    while (kl_dial_send(&c->participant.dial, init))
        fleet ? fleet_init(c, init) : wire_stranger(c, 0, init, sizeof init);
    for (unsigned i = 0; i < KL_BURST_MAX; i++)
        if ((got = kl_participant_send(&c->participant, now_us, &kind, bytes, KL_DATAGRAM_MAX)) > 0)
            wire_datagram(c->session, bytes, got);
    while (wire_room(c->session, &room), kl_participant_say(&c->participant, &room, now_us, &m)) {
        int len = kl_msg_encode(&m, bytes, sizeof bytes);
        if (len < 0) fail("%s says something that cannot be encoded", c->name);
        if (kl_msg_is_bulk(m.kind))
            wire_say_bulk(c->session, bytes, (size_t)len);
        else
            wire_say(c->session, bytes, (size_t)len);
    }
}

static void sync(struct client *c) {
    const struct kl_participant_status *st = &c->participant.status;
    bool was_in = c->state == IN, watched = c->watches;
    c->state = !c->participant.joined ? ENTERING : st->phase == KL_PARTICIPANT_RETURNING ? LOST : IN;
    c->watches = c->participant.joined && st->welcome.client == KL_WATCHER;
    c->host = c->participant.joined && st->welcome.host;
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
        kl_participant_hung_up(&c->participant, false, now_us);
    }
    kl_participant_turn(&c->participant, now_us);
    agree(c);
    if (kl_participant_is_over(&c->participant)) {
        end(c);
        return;
    }
    follow(c);
    load(c);
    sync(c);
    for (; now_us >= c->turn_us;)
        take_turn(c);
    shot_step(c);
    if (attack_is_on()) files_step(c);
    send(c);
}
