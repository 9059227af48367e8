/* Snapshots at a client: what it says of its own and gives where it is asked, what it is offered and loads,
 * as core_wrapper/snapshot.c and net/transport/link_snapshot.c do it. */
#include <sodium.h>
#include <zstd.h>

#include "core_wrapper/snapshot_pack.h"
#include "tests/rooms/rooms.h"

void shot_forget(struct client *c) {
    free(c->coming);
    c->coming = NULL;
    c->have = 0;
    c->load_us = c->give_us = 0;
    c->begins = false;
}

/* --- its own ----------------------------------------------------------------------------------------------
 */

void shot_taken(struct client *c, uint32_t keyframe, const uint8_t shot[SHOT_BYTES]) {
    struct kl_msg m = {.kind = KL_MSG_STATE,
                       .state = {.keyframe = keyframe, .bytes = SHOT_BYTES, .has = true}};
    memcpy(c->shot_before, c->shot, SHOT_BYTES);
    memcpy(c->shot, shot, SHOT_BYTES);
    crypto_generichash(m.state.hash, sizeof m.state.hash, c->shot, SHOT_BYTES, NULL, 0);
    c->before_keyframe = c->shot_keyframe;
    c->shot_keyframe = keyframe;
    client_say(c, &m);
}

void shot_asked(struct client *c, const struct kl_ask *ask) {
    if (ask->keyframe != c->shot_keyframe) return;
    c->ask = *ask;
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
    bool unfit = based && c->ask.keyframe % 4 == 3;
    c->shot[0] ^= unfit;
    uint8_t *packed = based ? kl_snapshot_pack_against(c->shot_before, SHOT_BYTES, c->shot, SHOT_BYTES, len)
                            : kl_snapshot_pack(c->shot, SHOT_BYTES, len);
    c->shot[0] ^= unfit;
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
    for (uint32_t at = 0; at < len;) {
        struct kl_msg m = {
            .kind = KL_MSG_GIVE,
            .shot = {c->shot_keyframe, {.offset = at, .total = (uint32_t)len}, .based = based}};
        m.shot.piece.len = (uint16_t)(len - at < KL_BULK_MAX ? len - at : KL_BULK_MAX);
        memcpy(m.shot.piece.bytes, packed + at, m.shot.piece.len);
        at += m.shot.piece.len;
        client_say(c, &m);
    }
    free(packed);
}

/* --- the others' ------------------------------------------------------------------------------------------
 */

void shot_offered(struct client *c, const struct kl_offer *o) {
    if (o->begin ? c->load != LOADED : c->begins)
        return; /* of before it began anew; or nothing to mend yet */
    shot_forget(c);
    c->offer = *o;
    c->coming = malloc(o->packed);
    if (!c->coming) fail("no memory");
    if (!o->begin) return;
    story("%s is to begin with frame %u", c->name, o->keyframe);
    c->begins = c->begun = true;
    c->tags_put = 0;
    kl_client_begin_at(&c->lock, o->keyframe, o->interval, now_us);
}

void shot_comes(struct client *c, const struct kl_shot_piece *p) {
    if (!c->coming || p->keyframe != c->offer.keyframe || p->piece.offset != c->have) return;
    memcpy(c->coming + c->have, p->piece.bytes, p->piece.len);
    c->have += p->piece.len;
    if (c->have == c->offer.packed) c->load_us = now_us + rng_range(&wire_rng, 1000, 200000);
}

static void load(struct client *c) {
    static uint8_t shot[SHOT_BYTES];
    uint8_t hash[KL_SNAPSHOT_HASH];
    bool begins = c->begins;
    uint32_t end = begins ? c->offer.keyframe : c->machine.next;
    if (!begins && c->offer.keyframe >= end) return; /* not run yet */
    size_t len = ZSTD_decompress(shot, sizeof shot, c->coming, c->have);
    if (ZSTD_isError(len) || len != SHOT_BYTES || len != c->offer.bytes)
        fail("%s: a snapshot of %zu bytes", c->name, len);
    crypto_generichash(hash, sizeof hash, shot, len, NULL, 0);
    if (memcmp(hash, c->offer.hash, sizeof hash) != 0) fail("%s: another snapshot than was offered", c->name);
    if (!begins && c->offer.keyframe < c->machine.first)
        fail("%s is to run frames again that it does not have", c->name);
    if (!machine_load(&c->machine, shot, c->offer.keyframe, end))
        fail("%s: no snapshot of frame %u", c->name, c->offer.keyframe);
    struct kl_msg m = {.kind = KL_MSG_HEALED, .healed = {c->offer.keyframe, end, KL_HEALED_SAME}};
    story("%s loads frame %u", c->name, c->offer.keyframe);
    client_say(c, &m);
    shot_forget(c);
    if (!begins) return;
    counts.begun++;
    c->machine.first = c->from = end;
    c->steady_us = now_us;
    if (is_wrong(c)) c->strike_us[c->strikes++ % 64] = now_us; /* as those were who gave it */
    kl_client_go(&c->lock);
}

void shot_step(struct client *c) {
    if (c->give_us && now_us >= c->give_us) give(c);
    if (c->load_us && now_us >= c->load_us) load(c);
}
