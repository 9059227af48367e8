/* lobby_hashes.h - clients of a lobby who commit to what they say, and say it. Include after lobby_net.h. */
#ifndef TEST_LOBBY_HASHES_H
#define TEST_LOBBY_HASHES_H

#include "net/relay/lobby_room.h"
#include "net/session/commit.h"

/* The frame that a message is about. */
static inline uint32_t frame_of(const struct kl_msg *said) {
    return said->hash.frame;
}

static inline struct kl_msg commitment_to(unsigned peer, const struct kl_msg *said) {
    const struct kl_lobby_client *c = &lobby->client[peer];
    struct kl_msg m = {.kind = KL_MSG_COMMIT, .commit = {.kind = said->kind, .frame = frame_of(said)}};
    assert_int_equal(c->state, KL_CLIENT_MEMBER);
    assert_int_equal(kl_commit_make(said, c->room->id, (uint8_t)c->member, m.commit.commitment), KL_OK);
    return m;
}

/* Without waiting for REVEAL, which a relay takes. */
static inline void commit_and_say(unsigned peer, const struct kl_msg *said) {
    struct kl_msg m = commitment_to(peer, said);
    say(peer, &m);
    say(peer, said);
}

#endif
