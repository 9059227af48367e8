#include "tests/lib/player.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "core_wrapper/core/snapshot_pack.h"
#include "tests/lib/must.h"

const struct player_world *player_world;

void player_begin(struct player *p, struct kl_participant_config *config, uint64_t now_us) {
    config->relay = "relay:1";
    config->offers = KL_CIPHER_CHACHA20;
    config->held = p->held;
    config->held_frames = PLAYER_HELD;
    kl_participant_init(&p->participant, config);
    kl_participant_begin(&p->participant, now_us);
    p->turn_us = now_us;
}

/* --- a frontend's turn --- */

static void run_frame(struct player *p) {
    struct kl_frame f;
    MUST(kl_participant_take(&p->participant, &f));
    bool some = f.flags & KL_FRAME_COMMANDS;
    player_world->run(p, &f, some ? kl_participant_commands(&p->participant, f.number) : NULL);
}

void player_turns(struct player *p, uint64_t now_us) {
    for (; now_us >= p->turn_us; p->turn_us += 16667) {
        struct kl_plan plan = kl_participant_plan(&p->participant, p->most, now_us);
        struct kl_input in[KL_MAX_SEATS] = {0};
        player_world->press(p, p->participant.lock.stats.next_sample, in);
        for (uint32_t i = 0; i < plan.samples; i++)
            (void)kl_participant_sample(&p->participant, in, now_us); /* refused if the window is full */
        for (uint32_t i = 0; i < plan.runs; i++)
            run_frame(p);
    }
}

/* --- the network thread's --- */

void player_send(struct player *p, uint64_t now_us) {
    static struct kl_msg m;
    uint8_t bytes[KL_DATAGRAM_MAX], init[KL_INIT_BYTES], kind;
    struct kl_channels room;
    size_t len;
    while (kl_dial_send(&p->participant.dial, init))
        player_world->send_init(p, init);
    for (unsigned i = 0; i < KL_BURST_MAX; i++)
        if ((len = kl_participant_send(&p->participant, now_us, &kind, bytes, sizeof bytes)) > 0)
            player_world->send(p, bytes, len);
    while (player_world->room(p, &room), kl_participant_say(&p->participant, &room, now_us, &m))
        player_world->say(p, &m);
}

/* --- start data --- */

void player_give_start(struct player *p, const uint8_t *start, size_t len) {
    if (p->participant.status.phase != KL_PARTICIPANT_SEND_START) return;
    uint8_t *copy = malloc(len);
    MUST(copy);
    memcpy(copy, start, len);
    MUST(kl_participant_give_start(&p->participant, copy, len));
}

void player_load_start(struct player *p, const uint8_t *start, size_t len) {
    struct kl_facts facts = {0};
    if (p->participant.status.phase != KL_PARTICIPANT_LOAD) return;
    MUST(p->participant.start_len == len && memcmp(p->participant.start, start, len) == 0);
    kl_facts_add(&facts, "system", "a");
    kl_participant_ready(&p->participant, &facts);
}

/* --- snapshots --- */

struct kl_state_said player_state(struct player *p, uint32_t keyframe, const uint8_t *state, size_t len) {
    struct kl_state_said said = {.keyframe = keyframe, .bytes = (uint32_t)len, .has = state != NULL};
    p->before_keyframe = p->state_keyframe;
    p->state_keyframe = keyframe;
    if (!state) return (struct kl_state_said){.keyframe = keyframe};
    MUST(len <= PLAYER_STATE_BYTES);
    memcpy(p->state_before, p->state, len);
    memcpy(p->state, state, len);
    p->state_bytes = (uint32_t)len;
    crypto_generichash(said.hash, sizeof said.hash, p->state, len, NULL, 0);
    return said;
}

bool player_has_base(const struct player *p) {
    uint8_t hash[KL_SNAPSHOT_HASH];
    if (!p->ask.based || p->ask.base != p->before_keyframe) return false;
    crypto_generichash(hash, sizeof hash, p->state_before, p->state_bytes, NULL, 0);
    return memcmp(hash, p->ask.hash, sizeof hash) == 0;
}

void player_give_state(struct player *p, bool based, bool spoils) {
    size_t len, bytes = p->state_bytes;
    p->state[0] ^= spoils;
    uint8_t *packed = based ? kl_snapshot_pack_against(p->state_before, bytes, p->state, bytes, &len)
                            : kl_snapshot_pack(p->state, bytes, &len);
    p->state[0] ^= spoils;
    MUST(packed);
    kl_participant_give_snapshot(&p->participant, p->state_keyframe, based, packed, (uint32_t)len);
}

bool player_has_snapshot(struct player *p) {
    struct kl_offer offer;
    uint8_t *packed;
    if (!kl_participant_snapshot(&p->participant, &offer, &packed)) return false;
    free(p->coming);
    p->coming = packed;
    p->offer = offer;
    return true;
}

uint8_t *player_unpack(const struct player *p) {
    uint8_t *state = kl_snapshot_unpack(p->coming, p->offer.packed, p->offer.bytes, p->offer.hash);
    MUST(state);
    return state;
}

void player_forget_snapshot(struct player *p) {
    free(p->coming);
    p->coming = NULL;
}
