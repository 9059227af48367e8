/* A snapshot as it comes: packed, whole or in slices against another, from another player's machine (the
 * relay looks at it, in pieces), and unpacked (a client's head of it; the state itself is for the core). */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <zstd.h>

#include "net/engine/msg.h"
#include "net/relay/heal/rebase.h"
#include "net/relay/heal/unpack.h"
#include "core_wrapper/match/snapshot_form.h"

#define BYTES 4096

/* Slices against a base: what comes of them, if it is what was said, unpacks to just that. */
static void look_at_slices(const uint8_t *data, size_t size) {
    static uint8_t base[FUZZ_BASE], packed[2 * FUZZ_BASE], whole[2 * FUZZ_BASED], hash[32];
    fuzz_base(base);
    size_t base_len = ZSTD_compress(packed, sizeof packed, base, sizeof base, 1);
    struct kl_rebase *u =
        kl_rebase_begin(packed, (uint32_t)base_len, sizeof base, FUZZ_BASED, whole, sizeof whole);
    MUST(u);
    for (size_t have = 0; have < size && !kl_rebase_failed(u);) {
        have += size - have < 64 ? size - have : 64;
        while (kl_rebase_step(u, data, (uint32_t)have))
            ;
    }
    MUST(kl_rebase_good(u, (uint32_t)size, hash) == 0);
    kl_rebase_free(u);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct kl_snapshot_view v;
    char key[KL_SNAPSHOT_KEY_MAX], value[KL_SNAPSHOT_VALUE_MAX];
    unsigned count = 0;
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
    unsigned options = v.options;
    while (kl_snapshot_option(&v, key, value)) {
        MUST(strlen(key) < sizeof key && strlen(value) < sizeof value);
        count++;
    }
    MUST(count == options);
    return 0;
}
