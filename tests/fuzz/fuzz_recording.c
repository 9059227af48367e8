/* A recording as `keylock bisect` and `replay` read it. The first byte, modulo 3, is 0: the bytes after it
 * are the file. 1: blocks of u8 type, u16 length and body, which get their checks here. 2: packed frames of
 * u32 unpacked bytes, u16 length and zstd frame, which get theirs. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "core_wrapper/record/recording.h"

static size_t seal(uint8_t *out, const uint8_t *data, size_t size) {
    struct kl_klr_place p = kl_klr_begin();
    memcpy(out, kl_klr_magic, KL_KLR_MAGIC);
    while (size >= 3) {
        uint8_t type = data[0], *to = out + p.at;
        size_t len = data[1] | (size_t)data[2] << 8;
        if (len > size - 3) len = size - 3;
        struct kl_klr_around a = kl_klr_around(&p, type, data + 3, (uint32_t)len);
        memcpy(to, a.before, sizeof a.before);
        memcpy(to + sizeof a.before, data + 3, len);
        memcpy(to + sizeof a.before + len, a.check, sizeof a.check);
        data += 3 + len;
        size -= 3 + len;
    }
    return p.at;
}

static size_t seal_packed(uint8_t *out, const uint8_t *data, size_t size) {
    struct kl_klr_place p = kl_klr_begin();
    for (p.at = 0; size >= 6;) {
        uint8_t *to = out + p.at;
        size_t len = data[4] | (size_t)data[5] << 8;
        if (len > size - 6) len = size - 6;
        struct kl_writer w = kl_writer(to, 24);
        kl_write_u32(&w, 0x184D2A5Bu);
        kl_write_u32(&w, 16);
        kl_write_u32(&w, 0);
        kl_write_u32(&w, 0);
        kl_write_u32(&w, (uint32_t)len);
        kl_write_bytes(&w, data, 4);
        memcpy(to + 24, data + 6, len);
        kl_klr_check(&p, 0, to + 16, 8 + len, p.check);
        memcpy(to + 8, p.check, sizeof p.check);
        p.at += 24 + len;
        data += 6 + len;
        size -= 6 + len;
    }
    return p.at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct kl_recording r;
    char err[300] = "";
    if (size == 0) return 0;
    uint8_t *bytes = malloc(KL_KLR_MAGIC + size * (KL_KLR_AROUND + 1));
    MUST(bytes);
    size_t len = size - 1;
    switch (data[0] % 3) {
    case 1: len = seal(bytes, data + 1, len); break;
    case 2: len = seal_packed(bytes, data + 1, len); break;
    default: memcpy(bytes, data + 1, len);
    }
    int result = kl_recording_parse(&r, bytes, len, "fuzz", err, sizeof err);
    if (result < 0) MUST(err[0] && memchr(err, 0, sizeof err));
    for (unsigned i = 1; i < r.inputs; i++)
        MUST(r.input[i - 1].frame <= r.input[i].frame && r.input[i].seat < KL_MAX_SEATS);
    for (unsigned i = 1; i < r.hashes; i++)
        MUST(r.hash[i - 1].label < r.hash[i].label);
    for (unsigned i = 1; i < r.marks; i++)
        MUST(r.mark[i - 1] < r.mark[i]);
    for (unsigned i = 1; i < r.deeds; i++)
        MUST(r.deed[i - 1].frame <= r.deed[i].frame);
    kl_recording_at(&r, r.frames);
    kl_recording_at(&r, 0);
    kl_recording_free(&r);
    return 0;
}
