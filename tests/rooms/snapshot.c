/* Snapshots at a client: it makes them, gives one if asked, and loads what has come, as
 * core_wrapper/match/snapshot.c. */
#include "tests/rooms/fleet.h"
#include "tests/rooms/liar.h"

void shot_forget(struct client *c) {
    player_forget_snapshot(&c->p);
    c->load_us = c->give_us = c->back_us = 0;
}

static void tell_own(struct client *c) {
    uint32_t frame[KL_OWN_STATES_ALL];
    kl_participant_own_states(&c->p.participant, frame, kl_own_states_frames(&c->mine, frame));
}

void shot_keep(struct client *c) {
    uint8_t *bytes = malloc(sizeof c->machine.is);
    if (!bytes) fail("no memory");
    memcpy(bytes, &c->machine.is, sizeof c->machine.is);
    kl_own_states_keep(&c->mine, c->machine.next, bytes, sizeof c->machine.is, NULL);
    tell_own(c);
}

/* --- its own --- */

void shot_taken(struct client *c, uint32_t keyframe, uint8_t snapshot[SHOT_BYTES]) {
    snapshot[0] ^= liar_does(c, LIAR_STATE, keyframe);
    struct kl_state_said said = player_state(&c->p, keyframe, snapshot, SHOT_BYTES);
    if (!liar_does(c, LIAR_MUTE, keyframe)) kl_participant_say_state(&c->p.participant, &said);
}

static void look_for_ask(struct client *c) {
    struct kl_ask ask;
    if (!kl_participant_asked(&c->p.participant, &ask) || ask.keyframe != c->p.state_keyframe) return;
    if (liar_does(c, LIAR_KEEPS, ask.keyframe)) return;
    c->p.ask = ask;
    c->give_us = now_us + rng_range(&wire_rng, 1000, 60000);
}

/* One in four against a base does not fit: then the relay is to ask for the whole. */
static void give(struct client *c) {
    const uint32_t keyframe = c->p.ask.keyframe;
    bool based = player_has_base(&c->p);
    bool unfit = c->forges || (based && keyframe % 4 == 3) || liar_does(c, LIAR_UNFIT, keyframe);
    player_give_state(&c->p, based, unfit);
    c->give_us = 0;
    counts.based += based;
    counts.unfit += unfit;
}

/* --- the others' --- */

static void look_for_snapshot(struct client *c) {
    if (player_has_snapshot(&c->p)) c->load_us = now_us + rng_range(&wire_rng, 1000, 200000);
}

/* A liar's HEALED without any loading. */
static bool says_so_only(struct client *c, uint32_t keyframe, bool may_claim) {
    bool denies = liar_does(c, LIAR_DENY, keyframe), claims = may_claim && liar_does(c, LIAR_CLAIM, keyframe);
    struct kl_healed healed = {keyframe, c->machine.next, denies ? KL_HEALED_NOT : KL_HEALED_SAME};
    if (denies || claims) kl_participant_say_healed(&c->p.participant, &healed);
    return denies || claims;
}

static void load(struct client *c) {
    bool begins = c->p.offer.begin;
    if (!c->consents) fail("%s got a state of others without its consent", c->name);
    if (begins && !(c->p.participant.snapshot.begins &&
                    c->p.participant.snapshot.offer.keyframe == c->p.offer.keyframe)) {
        shot_forget(c); /* another is to come */
        return;
    }
    if (says_so_only(c, c->p.offer.keyframe, !begins)) {
        shot_forget(c);
        return;
    }
    uint32_t end = begins ? c->p.offer.keyframe : c->machine.next;
    if (!begins && c->p.offer.keyframe >= end) return; /* not run yet */
    uint8_t *snapshot = player_unpack(&c->p);
    if (!begins && c->p.offer.keyframe < c->machine.first)
        fail("%s is to run frames again that it does not have", c->name);
    if (!machine_load(&c->machine, snapshot, c->p.offer.keyframe, end))
        fail("%s: no snapshot of frame %u", c->name, c->p.offer.keyframe);
    free(snapshot);
    kl_own_states_clear(&c->mine);
    struct kl_healed healed = {c->p.offer.keyframe, end, KL_HEALED_SAME};
    story("%s loads frame %u", c->name, c->p.offer.keyframe);
    kl_participant_say_healed(&c->p.participant, &healed);
    if (begins) kl_participant_begun(&c->p.participant, c->p.offer.keyframe, 0);
    shot_forget(c);
    if (!begins) return;
    counts.begun++;
    c->machine.first = c->from = end;
    c->steady_us = now_us;
    if (is_wrong(c)) c->strike_us[c->strikes++ % 64] = now_us; /* as those were who gave it */
}

/* --- back to its own --- */

static void look_for_rewind(struct client *c) {
    if (!kl_participant_rewind(&c->p.participant, &c->p.rewind)) return;
    player_forget_snapshot(&c->p);
    c->load_us = 0;
    c->back_us = now_us + rng_range(&wire_rng, 1000, 200000);
}

static void go_back(struct client *c) {
    const struct kl_own_state *own = kl_own_states_find(&c->mine, c->p.rewind.keyframe);
    uint32_t end = c->p.rewind.lost ? c->p.rewind.keyframe : c->machine.next;
    struct kl_healed healed = {c->p.rewind.keyframe, end, own ? KL_HEALED_SAME : KL_HEALED_NOT};
    c->back_us = 0;
    if (says_so_only(c, c->p.rewind.keyframe, !c->p.rewind.lost)) return;
    story("%s goes back to frame %u for %u%s", c->name, own ? own->frame : 0, c->p.rewind.keyframe,
          c->p.rewind.lost ? ", and on from there" : "");
    if (own) {
        memcpy(&c->machine.is, own->bytes, sizeof c->machine.is);
        c->machine.next = own->frame;
        c->machine.was[own->frame] = c->machine.is;
        kl_own_states_after(&c->mine, own->frame);
        counts.rewound += !c->p.rewind.lost;
        counts.resumed += c->p.rewind.lost;
    }
    while (c->machine.next < end) {
        const struct kl_frame *f = fleet ? fleet_frame(c, c->machine.next) : &canon[c->machine.next];
        if (f->flags & KL_FRAME_HASH) shot_keep(c);
        machine_run(&c->machine, f, fleet ? NULL : canon_commands(f->number), NULL);
    }
    if (own && c->p.rewind.lost) kl_participant_begun(&c->p.participant, end, 0);
    kl_participant_say_healed(&c->p.participant, &healed);
}

void shot_step(struct client *c) {
    look_for_ask(c);
    look_for_snapshot(c);
    look_for_rewind(c);
    kl_own_states_agreed(&c->mine, c->p.participant.status.verdict.agreed);
    tell_own(c);
    if (c->back_us && now_us >= c->back_us) go_back(c);
    if (c->give_us && now_us >= c->give_us) give(c);
    if (c->load_us && now_us >= c->load_us) load(c);
}
