/* A snapshot as it comes: packed, whole or in slices against another, from another player's machine (the
 * relay looks at it, in pieces), and unpacked (a client's head of it; the state itself is for the core). */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <zstd.h>

#include "net/engine/msg.h"
#include "net/relay/heal/unpack.h"
#include "core_wrapper/match/snapshot_form.h"

#define BYTES 4096

/* Slices against a base: what comes of them, if it is what was said, unpacks to just that. */
static void look_at_slices(const uint8_t *data, size_t size) {
    static uint8_t base[FUZZ_BASE], packed[2 * FUZZ_BASE], whole[2 * FUZZ_BASED], hash[32];
    fuzz_base(base);
    size_t base_len = ZSTD_compress(packed, sizeof packed, base, sizeof base, 1);
    struct kl_unpack *u =
        kl_unpack_begin_slices(packed, (uint32_t)base_len, sizeof base, FUZZ_BASED, whole, sizeof whole);
    MUST(u);
    for (size_t have = 0; have < size && !kl_unpack_failed(u);) {
        have += size - have < 64 ? size - have : 64;
        while (kl_unpack_step(u, data, (uint32_t)have))
            ;
    }
    MUST(kl_unpack_good(u, (uint32_t)size, hash) == 0);
    kl_unpack_free(u);
}

static void look_at_packed(const uint8_t *data, size_t size) {
    static const uint8_t hash[32];
    struct kl_unpack *u = kl_unpack_begin(BYTES);
    MUST(u);
    for (size_t have = 0; have < size && !kl_unpack_failed(u);) {
        have += size - have < 64 ? size - have : 64;
        while (kl_unpack_step(u, data, (uint32_t)have))
            ;
    }
    MUST(!kl_unpack_good(u, (uint32_t)size, hash));
    kl_unpack_free(u);
}

/* An outside that is read has bounded values, and is the same again once it is written. */
static void look_at_outside(const struct kl_outside *o) {
    static uint8_t bytes[KL_OUTSIDE_BYTES + KL_OPTIONS_BYTES];
    static struct kl_outside again;
    struct kl_options options = {0};
    char what[256];
    MUST(o->base_width >= 1 && o->max_height <= KL_OUTSIDE_SIZE_MAX && o->fps_uhz >= KL_FPS_MIN &&
         o->rate_mhz <= KL_OUTSIDE_RATE_MAX && o->format <= RETRO_PIXEL_FORMAT_RGB565 && o->rotation < 4);
    MUST(o->options_len <= KL_OPTIONS_BYTES);
    struct kl_writer w = kl_writer(bytes, sizeof bytes);
    kl_outside_write(&w, o);
    MUST(!w.failed && (size_t)(w.at - bytes) <= kl_outside_bound(o));
    struct kl_reader r = kl_reader(bytes, (size_t)(w.at - bytes));
    kl_outside_read(&r, &again);
    MUST(!r.failed && kl_reader_left(&r) == 0 && !kl_outside_differs(o, &again, what, sizeof what));
    MUST(kl_options_read(&options, o->options, o->options_len));
    kl_options_free(&options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct kl_snapshot_view v;
    if (size == 0) return 0;
    if ((data[0] & 3) == 3) {
        look_at_slices(data + 1, size - 1);
        return 0;
    }
    if (data[0] & 1) {
        look_at_packed(data + 1, size - 1);
        return 0;
    }
    if (kl_snapshot_open(&v, data + 1, size - 1) != KL_OK) return 0;
    MUST(v.state_len > 0 && v.state + v.state_len == data + size);
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        MUST(v.head.plays[s] < KL_MAX_SEATS);
    look_at_outside(&v.outside);
    return 0;
}
