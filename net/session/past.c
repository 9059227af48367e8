#include "net/session/past.h"

#define FRAME_BYTES 2048 /* of one frame and its commands: a datagram holds it */

void kl_digest_begin(struct kl_digest *d, const uint8_t tag[16]) {
    static const uint8_t none[16];
    crypto_generichash_init(&d->state, NULL, 0, 16);
    crypto_generichash_update(&d->state, tag ? tag : none, 16);
}

void kl_digest_frame(struct kl_digest *d, const struct kl_frame *f, const struct kl_commands *commands) {
    uint8_t bytes[FRAME_BYTES];
    struct kl_writer w;
    struct kl_frames_from from = {.ring = f, .places = 1, .sets = commands, .set_count = commands ? 1 : 0};
    kl_writer_init(&w, bytes, sizeof bytes);
    kl_frames_write(&w, &from, f->number, 1);
    crypto_generichash_update(&d->state, bytes, w.failed ? 0 : (size_t)(w.at - bytes));
}

void kl_digest_end(struct kl_digest *d, uint8_t out[16]) {
    crypto_generichash_final(&d->state, out, 16);
}
