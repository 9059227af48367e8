/* A recording as `keylock bisect` and `replay` read it. The first byte is even: the bytes after it are the
 * file. Odd: blocks of u8 type, u16 length and body, which get their checks here. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct kl_recording r;
    char err[300] = "";
    if (size == 0) return 0;
    bool sealed = data[0] & 1;
    uint8_t *bytes = malloc(KL_KLR_MAGIC + size * (KL_KLR_AROUND + 1));
    MUST(bytes);
    size_t len = size - 1;
    if (sealed)
        len = seal(bytes, data + 1, size - 1);
    else
        memcpy(bytes, data + 1, len);
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
