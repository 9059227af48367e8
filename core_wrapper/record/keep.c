#include "core_wrapper/record/keep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/dir.h"

static bool has_room(const struct kl_keep *k, size_t len) {
    size_t sum = len;
    for (unsigned i = 0; i < k->count; i++)
        sum += k->slot[i].len;
    return k->count < 2 || (k->count < KL_KEEP_SLOTS && sum <= KL_KEEP_BYTES);
}

void kl_keep_add(struct kl_keep *k, uint32_t frame, uint64_t chance, const void *bytes, size_t len) {
    if (!k->dir[0] || !len) return;
    while (!has_room(k, len))
        k->count--; /* the oldest; its memory serves the next */
    struct kl_kept s = k->slot[k->count];
    if (s.cap < len) {
        uint8_t *grown = realloc(s.bytes, len);
        if (!grown) return;
        s.bytes = grown;
        s.cap = len;
    }
    memcpy(s.bytes, bytes, len);
    s.len = len;
    s.frame = frame;
    s.chance = chance;
    memmove(&k->slot[1], &k->slot[0], k->count * sizeof k->slot[0]);
    k->slot[0] = s;
    k->count++;
}

int kl_keep_write(struct kl_keep *k, const struct kl_origin *origin, char *err, size_t err_len) {
    char path[4128];
    int written = 0;
    if (!k->dir[0]) return 0;
    if (kl_dir_make(k->dir, false, err, err_len) != 0) return -1;
    for (unsigned i = 0; i < k->count; i++) {
        struct kl_origin o = *origin;
        o.has_frame = true;
        o.frame = k->slot[i].frame;
        o.chance = k->slot[i].chance;
        kl_statefile_name(path, sizeof path, k->dir, o.frame);
        if (kl_statefile_write(path, &o, k->slot[i].bytes, k->slot[i].len, err, err_len) != 0) return -1;
        written++;
    }
    k->count = 0;
    return written;
}

void kl_keep_free(struct kl_keep *k) {
    for (unsigned i = 0; i < KL_KEEP_SLOTS; i++)
        free(k->slot[i].bytes);
    memset(k, 0, sizeof *k);
}
