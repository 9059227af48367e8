#include "core_wrapper/tool/common/dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list {
    struct kl_region *at;
    unsigned count;
};

static bool known(const struct list *l, const uint8_t *ptr, uint64_t len) {
    for (unsigned i = 0; i < l->count; i++)
        if (ptr < l->at[i].ptr + l->at[i].len && l->at[i].ptr < ptr + len) return true;
    return false;
}

/* A mirror repeats listed memory; only the part beyond that counts. */
static void add(struct list *l, struct kl_region r) {
    for (unsigned i = 0; i < l->count && r.len; i++) {
        uint8_t *from = l->at[i].ptr, *end = from + l->at[i].len;
        if (r.ptr < from || r.ptr >= end) continue;
        uint64_t again = (uint64_t)(end - r.ptr);
        if (again > r.len) again = r.len;
        r.ptr += again;
        r.start += again;
        r.len -= again;
    }
    if (r.len && l->count < KLT_REGIONS && !known(l, r.ptr, r.len)) l->at[l->count++] = r;
}

static const struct {
    unsigned id;
    const char *name;
} plain[] = {{RETRO_MEMORY_SYSTEM_RAM, "system RAM"},
             {RETRO_MEMORY_VIDEO_RAM, "video RAM"},
             {RETRO_MEMORY_SAVE_RAM, "save RAM"},
             {RETRO_MEMORY_RTC, "clock"}};

/* Few cores set the flags, so a region within one of the plain memories counts as that memory. */
static const char *kind_of(const struct kl_core *core, const struct retro_memory_descriptor *d) {
    const uint8_t *at = (const uint8_t *)d->ptr + d->offset;
    for (unsigned i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        size_t len = core->get_memory_size(plain[i].id);
        const uint8_t *from = len ? core->get_memory_data(plain[i].id) : NULL;
        if (from && at >= from && at < from + len) return plain[i].name;
    }
    if (d->flags & RETRO_MEMDESC_SYSTEM_RAM) return "system RAM";
    if (d->flags & RETRO_MEMDESC_VIDEO_RAM) return "video RAM";
    if (d->flags & RETRO_MEMDESC_SAVE_RAM) return "save RAM";
    return "memory";
}

static void add_descriptor(struct list *l, const struct kl_core *core,
                           const struct retro_memory_descriptor *d) {
    struct kl_region r = {.mapped = true, .start = d->start, .disconnect = d->disconnect, .len = d->len};
    if (!d->ptr || !d->len || (d->flags & RETRO_MEMDESC_CONST)) return;
    r.ptr = (uint8_t *)d->ptr + d->offset;
    if (d->addrspace && *d->addrspace)
        snprintf(r.name, sizeof(r.name), "%s (%.16s)", kind_of(core, d), d->addrspace);
    else
        snprintf(r.name, sizeof(r.name), "%s", kind_of(core, d));
    add(l, r);
}

static int by_address(const void *a, const void *b) {
    const struct retro_memory_descriptor *const *x = a, *const *y = b;
    if ((*x)->start != (*y)->start) return (*x)->start < (*y)->start ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

unsigned kl_regions_find(struct kl_region out[KLT_REGIONS], const struct kl_core *core,
                         const struct retro_memory_map *map) {
    struct list l = {out, 0};
    if (map && map->descriptors) {
        const struct retro_memory_descriptor *sorted[256];
        unsigned n = 0;
        for (unsigned i = 0; i < map->num_descriptors && n < 256; i++)
            sorted[n++] = &map->descriptors[i];
        if (n > 1) qsort(sorted, n, sizeof(sorted[0]), by_address);
        for (unsigned i = 0; i < n; i++)
            add_descriptor(&l, core, sorted[i]);
    }
    for (unsigned i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        struct kl_region r = {.len = core->get_memory_size(plain[i].id)};
        r.ptr = r.len ? core->get_memory_data(plain[i].id) : NULL;
        snprintf(r.name, sizeof(r.name), "%s", plain[i].name);
        if (r.ptr) add(&l, r);
    }
    return l.count;
}

/* A guest address has lines that the memory is not wired to (libretro.h, retro_memory_descriptor.disconnect):
 * an offset is the address without them, so they are put back in as zeros. */
uint64_t kl_region_address(const struct kl_region *r, uint64_t offset) {
    for (unsigned bit = 0; bit < 63; bit++) {
        if (!(r->disconnect >> bit & 1)) continue;
        uint64_t low = offset & ((UINT64_C(1) << bit) - 1);
        offset = (offset - low) << 1 | low;
    }
    return r->start + offset;
}
