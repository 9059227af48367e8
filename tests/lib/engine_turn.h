/* engine_turn.h - a frontend's turn with the engine's half of a client: its plan is asked for, samples are
 * given, and frames are run. For players without a participant (net/client). */
#ifndef TEST_ENGINE_TURN_H
#define TEST_ENGINE_TURN_H

#include "net/engine/lock_client.h"

struct engine_player {
    struct kl_client *client;
    void *ctx;                                                                   /* of the functions below */
    void (*press)(void *ctx, uint32_t sample, struct kl_input in[KL_MAX_SEATS]); /* in: neutral at first */
    void (*run)(void *ctx, const struct kl_frame *f);                            /* NULL: nothing is done */
    void (*send)(void *ctx, const uint8_t *body, size_t len);
};

/* Runs at most most_frames. Fails (must.h) if a frame of the plan is not there. */
void engine_turn(const struct engine_player *p, uint64_t now_us, uint32_t most_frames);
/* Sends all that is due. */
void engine_send(const struct engine_player *p, uint64_t now_us);

#endif
