#include "net/engine/voice.h"

#include "net/engine/wire.h"

size_t kl_voice_write(const struct kl_voice *v, bool down, uint8_t out[KL_VOICE_DATAGRAM]) {
    struct kl_writer w = kl_writer(out, KL_VOICE_DATAGRAM);
    if (down) kl_write_u8(&w, v->client);
    kl_write_u8(&w, v->flags);
    kl_write_u16(&w, v->number);
    kl_write_bytes(&w, v->bytes, v->len);
    return w.failed ? 0 : (size_t)(w.at - out);
}

int kl_voice_read(struct kl_voice *v, bool down, const uint8_t *body, size_t len) {
    struct kl_reader r = kl_reader(body, len);
    *v = (struct kl_voice){.client = down ? kl_read_u8(&r) : 0};
    v->flags = kl_read_u8(&r);
    v->number = kl_read_u16(&r);
    size_t left = kl_reader_left(&r);
    if (r.failed || left > KL_VOICE_WIRE || v->client >= KL_MAX_CLIENTS || v->flags & ~KL_VOICE_FLAGS)
        return KL_E_MALFORMED;
    if (left == 0 && !(v->flags & KL_VOICE_LAST)) return KL_E_MALFORMED;
    v->len = (uint8_t)left;
    kl_read_into(&r, v->bytes, left);
    return KL_OK;
}
