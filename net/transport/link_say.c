/* What a client says of its machine, and in which order. net/PROTOCOL.md §7, Commitments and Healing.
 *
 * HEALED and STATE go before every COMMIT and HASH that waits: the relay does not look at hashes of a client
 * that is being healed, and one that it has not looked at does not come again. */
#include <string.h>

#include "net/session/commit.h"
#include "net/transport/link_state.h"

static bool next_of_snapshot(struct kl_link_shot *s, struct kl_msg *m) {
    bool some = s->healed_wanted || s->state_wanted;
    if (s->healed_wanted) {
        *m = (struct kl_msg){.kind = KL_MSG_HEALED, .healed = s->healed};
        s->healed_wanted = false;
    } else if (s->state_wanted) {
        *m = (struct kl_msg){.kind = KL_MSG_STATE, .state = s->state};
        s->state_wanted = false;
    }
    return some;
}

static struct kl_msg hash_message(const struct kl_link_shared *s, uint32_t n) {
    struct kl_msg m = {.kind = KL_MSG_HASH, .hash = s->hash[n % KL_LINK_HASHES]};
    memcpy(m.nonce, s->nonce[n % KL_LINK_HASHES], sizeof m.nonce);
    return m;
}

static void commit_to(const struct kl_link_shared *s, const struct kl_msg *said, uint32_t frame,
                      struct kl_msg *m) {
    *m = (struct kl_msg){.kind = KL_MSG_COMMIT, .commit = {.kind = said->kind, .frame = frame}};
    const struct kl_welcome *w = &s->status.welcome;
    (void)kl_commit_make(said, w->room_id, w->client, m->commit.commitment);
}

/* Each is committed to at once, and said when the relay has everybody's commitment. */
static bool next_hash(struct kl_link_shared *s, struct kl_msg *m) {
    bool watches = s->status.welcome.client == KL_WATCHER; /* its word counts for nothing */
    if (watches && s->hash_got != s->hash_put) {
        *m = hash_message(s, s->hash_got++);
        s->hash_committed = s->hash_got;
        return true;
    }
    if (s->hash_committed != s->hash_put) {
        struct kl_msg said = hash_message(s, s->hash_committed++);
        commit_to(s, &said, said.hash.frame, m);
        return true;
    }
    if (s->hash_got == s->hash_put) return false;
    struct kl_msg said = hash_message(s, s->hash_got);
    if (!s->any_reveal || said.hash.frame > s->reveal) return false;
    *m = said;
    s->hash_got++;
    return true;
}

bool kl_link_next_word(struct kl_link_shared *s, bool may_hash, struct kl_msg *m) {
    if (!s->joined) return false;
    return next_of_snapshot(&s->shot, m) || (may_hash && next_hash(s, m));
}
