/* Snapshots at a client: it makes them, gives one if asked, and loads what has come, as
 * core_wrapper/match/snapshot.c. */
#include <sodium.h>
#include <zstd.h>

#include "core_wrapper/core/snapshot_pack.h"
#include "tests/rooms/fleet.h"
#include "tests/rooms/liar.h"

void shot_forget(struct client *c) {
    free(c->coming);
    c->coming = NULL;
    c->load_us = c->give_us = c->back_us = 0;
}

static void tell_own(struct client *c) {
    uint32_t frame[KL_OWN_STATES_ALL];
    kl_participant_own_states(&c->participant, frame, kl_own_states_frames(&c->mine, frame));
}

void shot_keep(struct client *c) {
    uint8_t *bytes = malloc(sizeof c->machine.is);
    if (!bytes) fail("no memory");
    memcpy(bytes, &c->machine.is, sizeof c->machine.is);
    kl_own_states_keep(&c->mine, c->machine.next, bytes, sizeof c->machine.is, NULL);
    tell_own(c);
}

/* --- its own --- */

void shot_taken(struct client *c, uint32_t keyframe, const uint8_t snapshot[SHOT_BYTES]) {
    struct kl_state_said said = {.keyframe = keyframe, .bytes = SHOT_BYTES, .has = true};
    memcpy(c->shot_before, c->snapshot, SHOT_BYTES);
    memcpy(c->snapshot, snapshot, SHOT_BYTES);
    c->snapshot[0] ^= liar_does(c, LIAR_STATE, keyframe);
    crypto_generichash(said.hash, sizeof said.hash, c->snapshot, SHOT_BYTES, NULL, 0);
    c->before_keyframe = c->shot_keyframe;
    c->shot_keyframe = keyframe;
    if (!liar_does(c, LIAR_MUTE, keyframe)) kl_participant_say_state(&c->participant, &said);
}

static void look_for_ask(struct client *c) {
    struct kl_ask ask;
    if (!kl_participant_asked(&c->participant, &ask) || ask.keyframe != c->shot_keyframe) return;
    if (liar_does(c, LIAR_KEEPS, ask.keyframe)) return;
    c->ask = ask;
    c->give_us = now_us + rng_range(&wire_rng, 1000, 60000);
}

static bool has_base(const struct client *c) {
    uint8_t hash[KL_SNAPSHOT_HASH];
    if (!c->ask.based || c->ask.base != c->before_keyframe) return false;
    crypto_generichash(hash, sizeof hash, c->shot_before, SHOT_BYTES, NULL, 0);
    return memcmp(hash, c->ask.hash, sizeof hash) == 0;
}

/* One in four against a base is not so: then the relay is to ask for the whole. */
static uint8_t *pack(struct client *c, bool based, size_t *len) {
    bool unfit =
        c->forges || (based && c->ask.keyframe % 4 == 3) || liar_does(c, LIAR_UNFIT, c->ask.keyframe);
    c->snapshot[0] ^= unfit;
    uint8_t *packed = based
                          ? kl_snapshot_pack_against(c->shot_before, SHOT_BYTES, c->snapshot, SHOT_BYTES, len)
                          : kl_snapshot_pack(c->snapshot, SHOT_BYTES, len);
    c->snapshot[0] ^= unfit;
    if (!packed) fail("no memory");
    counts.based += based;
    counts.unfit += unfit;
    return packed;
}

static void give(struct client *c) {
    size_t len;
    bool based = has_base(c);
    uint8_t *packed = pack(c, based, &len);
    c->give_us = 0;
    kl_participant_give_snapshot(&c->participant, c->shot_keyframe, based, packed, (uint32_t)len);
}

/* --- the others' --- */

static void look_for_snapshot(struct client *c) {
    struct kl_offer offer;
    uint8_t *packed;
    if (!kl_participant_snapshot(&c->participant, &offer, &packed)) return;
    free(c->coming);
    c->coming = packed;
    c->offer = offer;
    c->load_us = now_us + rng_range(&wire_rng, 1000, 200000);
}

/* A liar's HEALED without any loading. */
static bool says_so_only(struct client *c, uint32_t keyframe, bool may_claim) {
    bool denies = liar_does(c, LIAR_DENY, keyframe), claims = may_claim && liar_does(c, LIAR_CLAIM, keyframe);
    struct kl_healed healed = {keyframe, c->machine.next, denies ? KL_HEALED_NOT : KL_HEALED_SAME};
    if (denies || claims) kl_participant_say_healed(&c->participant, &healed);
    return denies || claims;
}

static void load(struct client *c) {
    static uint8_t snapshot[SHOT_BYTES];
    uint8_t hash[KL_SNAPSHOT_HASH];
    bool begins = c->offer.begin;
    if (!c->consents) fail("%s got a state of others without its consent", c->name);
    if (begins &&
        !(c->participant.snapshot.begins && c->participant.snapshot.offer.keyframe == c->offer.keyframe)) {
        shot_forget(c); /* another is to come */
        return;
    }
    if (says_so_only(c, c->offer.keyframe, !begins)) {
        shot_forget(c);
        return;
    }
    uint32_t end = begins ? c->offer.keyframe : c->machine.next;
    if (!begins && c->offer.keyframe >= end) return; /* not run yet */
    size_t len = ZSTD_decompress(snapshot, sizeof snapshot, c->coming, c->offer.packed);
    if (ZSTD_isError(len) || len != SHOT_BYTES || len != c->offer.bytes)
        fail("%s: a snapshot of %zu bytes", c->name, len);
    crypto_generichash(hash, sizeof hash, snapshot, len, NULL, 0);
    if (memcmp(hash, c->offer.hash, sizeof hash) != 0) fail("%s: another snapshot than was offered", c->name);
    if (!begins && c->offer.keyframe < c->machine.first)
        fail("%s is to run frames again that it does not have", c->name);
    if (!machine_load(&c->machine, snapshot, c->offer.keyframe, end))
        fail("%s: no snapshot of frame %u", c->name, c->offer.keyframe);
    kl_own_states_clear(&c->mine);
    struct kl_healed healed = {c->offer.keyframe, end, KL_HEALED_SAME};
    story("%s loads frame %u", c->name, c->offer.keyframe);
    kl_participant_say_healed(&c->participant, &healed);
    if (begins) kl_participant_begun(&c->participant, c->offer.keyframe, 0);
    shot_forget(c);
    if (!begins) return;
    counts.begun++;
    c->machine.first = c->from = end;
    c->steady_us = now_us;
    if (is_wrong(c)) c->strike_us[c->strikes++ % 64] = now_us; /* as those were who gave it */
}

/* --- back to its own --- */

static void look_for_rewind(struct client *c) {
    if (!kl_participant_rewind(&c->participant, &c->rewind)) return;
    free(c->coming);
    c->coming = NULL;
    c->load_us = 0;
    c->back_us = now_us + rng_range(&wire_rng, 1000, 200000);
}

static void go_back(struct client *c) {
    const struct kl_own_state *own = kl_own_states_find(&c->mine, c->rewind.keyframe);
    uint32_t end = c->rewind.lost ? c->rewind.keyframe : c->machine.next;
    struct kl_healed healed = {c->rewind.keyframe, end, own ? KL_HEALED_SAME : KL_HEALED_NOT};
    c->back_us = 0;
    if (says_so_only(c, c->rewind.keyframe, !c->rewind.lost)) return;
    story("%s goes back to frame %u for %u%s", c->name, own ? own->frame : 0, c->rewind.keyframe,
          c->rewind.lost ? ", and on from there" : "");
    if (own) {
        memcpy(&c->machine.is, own->bytes, sizeof c->machine.is);
        c->machine.next = own->frame;
        c->machine.was[own->frame] = c->machine.is;
        kl_own_states_after(&c->mine, own->frame);
        counts.rewound += !c->rewind.lost;
        counts.resumed += c->rewind.lost;
    }
    while (c->machine.next < end) {
        const struct kl_frame *f = fleet ? fleet_frame(c, c->machine.next) : &canon[c->machine.next];
        if (f->flags & KL_FRAME_HASH) shot_keep(c);
        machine_run(&c->machine, f, fleet ? NULL : canon_commands(f->number), NULL);
    }
    if (own && c->rewind.lost) kl_participant_begun(&c->participant, end, 0);
    kl_participant_say_healed(&c->participant, &healed);
}

void shot_step(struct client *c) {
    look_for_ask(c);
    look_for_snapshot(c);
    look_for_rewind(c);
    kl_own_states_agreed(&c->mine, c->participant.status.verdict.agreed);
    tell_own(c);
    if (c->back_us && now_us >= c->back_us) go_back(c);
    if (c->give_us && now_us >= c->give_us) give(c);
    if (c->load_us && now_us >= c->load_us) load(c);
}
