#include "core_wrapper/core/statehash.h"

#include <stdlib.h>
#include <string.h>
#define XXH_STATIC_LINKING_ONLY /* for a state on the stack; its layout is fixed since 0.8 */
#include <xxhash.h>

/* More than any core's state: a size above it is an error of the core. */
#define STATE_MAX ((size_t)1 << 30)

static bool overlaps(const struct kl_ram *ram, const uint8_t *ptr, size_t len) {
    for (unsigned i = 0; i < ram->count; i++) {
        const uint8_t *p = ram->piece[i].ptr;
        if (ptr < p + ram->piece[i].len && p < ptr + len) return true;
    }
    return false;
}

static void add_to_layout(struct kl_ram *ram, uint64_t start, uint64_t len, bool readable) {
    uint8_t bytes[17] = {[16] = readable};
    for (unsigned i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(start >> 8 * i);
        bytes[8 + i] = (uint8_t)(len >> 8 * i);
    }
    ram->layout = (uint32_t)XXH3_64bits_withSeed(bytes, sizeof bytes, ram->layout);
}

/* Adds the part of [ptr, ptr+len) that is not there yet, because mirrors show the same memory at several
 * guest addresses. */
static void add_piece(struct kl_ram *ram, uint64_t start, uint8_t *ptr, size_t offset, size_t len) {
    if (!ptr) {
        add_to_layout(ram, start, len, false);
        return;
    }
    ptr += offset;
    for (unsigned i = 0; i < ram->count && len; i++) {
        uint8_t *p = ram->piece[i].ptr, *end = p + ram->piece[i].len;
        if (ptr >= p && ptr < end) {
            size_t known = (size_t)(end - ptr);
            len = known < len ? len - known : 0;
            ptr = end;
        }
    }
    if (len && ram->count < KL_RAM_PIECES && !overlaps(ram, ptr, len)) {
        ram->piece[ram->count].ptr = ptr;
        ram->piece[ram->count].len = len;
        ram->count++;
        add_to_layout(ram, start, len, true);
    }
}

static int by_guest_address(const void *a, const void *b) {
    const struct retro_memory_descriptor *const *x = a, *const *y = b;
    if ((*x)->start != (*y)->start) return (*x)->start < (*y)->start ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

void kl_ram_find(struct kl_ram *ram, const struct kl_core *c, const struct retro_memory_map *map) {
    ram->count = ram->layout = 0;
    if (map && map->descriptors) {
        const struct retro_memory_descriptor *sorted[256];
        unsigned n = 0;
        for (unsigned i = 0; i < map->num_descriptors && n < 256; i++) {
            const struct retro_memory_descriptor *d = &map->descriptors[i];
            if ((d->flags & RETRO_MEMDESC_SYSTEM_RAM) && d->len) sorted[n++] = d;
        }
        if (n > 1) qsort(sorted, n, sizeof(sorted[0]), by_guest_address);
        for (unsigned i = 0; i < n; i++)
            add_piece(ram, sorted[i]->start, sorted[i]->ptr, sorted[i]->offset, sorted[i]->len);
    }
    if (ram->layout) return;
    void *data = c->get_memory_data(RETRO_MEMORY_SYSTEM_RAM);
    size_t len = c->get_memory_size(RETRO_MEMORY_SYSTEM_RAM);
    if (len) add_piece(ram, 0, data, 0, len);
}

bool kl_ram_hash(const struct kl_ram *ram, uint64_t *out) {
    XXH3_state_t state;
    if (ram->count == 0) return false;
    if (ram->count == 1) {
        *out = XXH3_64bits(ram->piece[0].ptr, ram->piece[0].len);
        return true;
    }
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset(&state);
    for (unsigned i = 0; i < ram->count; i++)
        XXH3_64bits_update(&state, ram->piece[i].ptr, ram->piece[i].len);
    *out = XXH3_64bits_digest(&state);
    return true;
}

static bool take_state(const struct kl_core *c, struct kl_statehash_buffer *buf) {
    buf->size = 0;
    size_t size = c->serialize_size();
    if (size == 0 || size > STATE_MAX) return false;
    if (size > buf->cap) {
        uint8_t *bigger = realloc(buf->data, size);
        if (!bigger) return false;
        buf->data = bigger;
        buf->cap = size;
    }
    memset(buf->data, 0, size); /* bytes that a core never writes are then the same everywhere */
    if (!kl_core_serialize(c, buf->data, size)) return false;
    buf->size = size;
    return true;
}

void kl_statehash_take(struct kl_statehash *out, const struct kl_core *c, const struct kl_ram *ram,
                       struct kl_statehash_buffer *buf) {
    memset(out, 0, sizeof(*out));
    out->has_ram = kl_ram_hash(ram, &out->ram);
    out->has_state = take_state(c, buf);
    if (!out->has_state) return;
    out->state = XXH3_64bits(buf->data, buf->size);
    out->state_bytes = buf->size;
}

void kl_statehash_buffer_free(struct kl_statehash_buffer *buf) {
    free(buf->data);
    memset(buf, 0, sizeof(*buf));
}
