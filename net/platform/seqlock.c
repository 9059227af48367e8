#include "net/platform/seqlock.h"

#include <string.h>

#define TRIES 16

void kl_seqlock_write(kl_seqlock *lock, void *record, const void *from, size_t bytes) {
    uint32_t turn = atomic_load_explicit(lock, memory_order_relaxed) & ~1U;
    atomic_store_explicit(lock, turn + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    memcpy(record, from, bytes);
    atomic_store_explicit(lock, turn + 2, memory_order_release);
}

bool kl_seqlock_read(const kl_seqlock *lock, void *out, const void *record, size_t bytes) {
    for (unsigned i = 0; i < TRIES; i++) {
        uint32_t turn = atomic_load_explicit(lock, memory_order_acquire);
        if (turn & 1) continue;
        memcpy(out, record, bytes);
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(lock, memory_order_relaxed) == turn) return true;
    }
    return false;
}
