/* Random numbers of the C runtime and of the system, as a core sees them: from the world's generator. */
#include <stdlib.h>
#include <windows.h>

#include "core_wrapper/world/world_private.h"

static int v_rand(struct kl_world *w) {
    return kl_world_rand_of(kl_world_draw(w), w->rand_use, RAND_MAX);
}
KL_TURNED(int, v_rand, (void))
static void v_srand(struct kl_world *w, unsigned seed) {
    kl_world_random_start(w, seed);
}
KL_TURNED(void, v_srand, (unsigned seed), seed)
static int v_rand_s(struct kl_world *w, unsigned *out) {
    *out = (unsigned)(kl_world_draw(w) >> 32);
    return 0;
}
KL_TURNED(int, v_rand_s, (unsigned *out), out)
static unsigned v_random_device(struct kl_world *w) {
    return (unsigned)(kl_world_draw(w) >> 32);
}
KL_TURNED(unsigned, v_random_device, (void))

static BOOLEAN v_RtlGenRandom(struct kl_world *w, void *buf, ULONG n) {
    kl_world_draw_bytes(w, buf, n);
    return TRUE;
}
KL_TURNED(BOOLEAN, v_RtlGenRandom, (void *buf, ULONG n), buf, n)
static BOOL v_ProcessPrng(struct kl_world *w, void *buf, size_t n) {
    kl_world_draw_bytes(w, buf, n);
    return TRUE;
}
KL_TURNED(BOOL, v_ProcessPrng, (void *buf, size_t n), buf, n)
static BOOL v_CryptGenRandom(struct kl_world *w, ULONG_PTR provider, DWORD n, BYTE *buf) {
    (void)provider;
    kl_world_draw_bytes(w, buf, n);
    return TRUE;
}
KL_TURNED(BOOL, v_CryptGenRandom, (ULONG_PTR provider, DWORD n, BYTE *buf), provider, n, buf)
static LONG v_BCryptGenRandom(struct kl_world *w, void *algorithm, UCHAR *buf, ULONG n, ULONG flags) {
    (void)algorithm, (void)flags;
    kl_world_draw_bytes(w, buf, n);
    return 0;
}
KL_TURNED(LONG, v_BCryptGenRandom, (void *algorithm, UCHAR *buf, ULONG n, ULONG flags), algorithm, buf, n,
          flags)

const struct kl_hook kl_world_random_hooks[] = {
    KL_HOOK("rand", v_rand),
    KL_HOOK("srand", v_srand),
    KL_HOOK("rand_s", v_rand_s),
    KL_SYSTEM_HOOK("SystemFunction036", v_RtlGenRandom),
    KL_SYSTEM_HOOK("RtlGenRandom", v_RtlGenRandom),
    KL_SYSTEM_HOOK("ProcessPrng", v_ProcessPrng),
    KL_SYSTEM_HOOK("CryptGenRandom", v_CryptGenRandom),
    KL_SYSTEM_HOOK("BCryptGenRandom", v_BCryptGenRandom),
    KL_SYSTEM_HOOK("?_Random_device@std@@YAIXZ", v_random_device),
    KL_HOOK_END,
};
