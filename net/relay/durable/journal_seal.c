#include <string.h>

#include "net/relay/durable/journal_private.h"
#include "net/relay/room/lobby_room.h"
#include "net/session/proof.h"

#define SEAL_US 60000000

bool kl_journal_seals(const struct kl_lobby_room *r, uint32_t end, uint64_t now_us) {
    const struct kl_journal_room *j = &r->journal;
    bool due = j->sealed_us ? now_us >= j->sealed_us + SEAL_US : end >= KL_JOURNAL_FRAMES;
    return r->lobby->signer.signs && due;
}

void kl_journal_seal(const struct kl_lobby_room *r, const struct kl_digest *frames, struct kl_proof *out) {
    struct kl_klr_hash agreed = kl_journal_said_agreed(r->journal.said);
    struct kl_proof_match of = {.epoch_s = r->start.epoch_s};
    memcpy(of.room_id, r->id, sizeof of.room_id);
    memcpy(of.identity, r->identity, sizeof of.identity);
    memcpy(of.start, r->start.hash, sizeof of.start);
    *out = (struct kl_proof){.intervals = frames->intervals, .end = frames->end};
    memcpy(out->digest, frames->digest, sizeof out->digest);
    if (agreed.has && agreed.label < frames->end) {
        out->label = agreed.label;
        out->has = agreed.has;
        out->ram = agreed.ram;
        out->state = agreed.state;
        out->picture = agreed.picture;
    }
    kl_proof_sign(out, &of, &r->lobby->signer);
}
