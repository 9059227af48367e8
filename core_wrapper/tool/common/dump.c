#include "core_wrapper/tool/common/dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- dumps --- */

#define HELD_LEAST 64 /* bytes: a shorter memory is found anywhere */

void kl_dump_free(struct kl_dump *d) {
    free(d->bytes);
    memset(d, 0, sizeof(*d));
}

/* --- comparing --- */

static bool same_memory(const struct kl_region *a, const struct kl_region *b) {
    bool state = strcmp(a->name, KLT_DUMP_STATE) == 0; /* its size may change */
    return strcmp(a->name, b->name) == 0 && a->mapped == b->mapped && a->start == b->start &&
           a->disconnect == b->disconnect && (state || a->len == b->len);
}

static bool grow(struct kl_differ *d, uint64_t len) {
    uint64_t was = d->region.len;
    if (len <= was && d->times) return true;
    uint32_t *times = realloc(d->times, (len ? len : 1) * sizeof(*times));
    if (times) d->times = times;
    uint8_t *a = times ? realloc(d->a, len ? len : 1) : NULL;
    if (a) d->a = a;
    uint8_t *b = a ? realloc(d->b, len ? len : 1) : NULL;
    if (b) d->b = b;
    if (!b) return false;
    if (len > was) memset(d->times + was, 0, (len - was) * sizeof(*times));
    if (was == 0) memset(d->times, 0, len * sizeof(*times));
    d->region.len = len;
    return true;
}

static bool one_constant(const uint8_t *p, uint64_t len) {
    return len < 2 || memcmp(p, p + 1, len - 1) == 0;
}

/* The first place of those bytes within the others, NULL if there is none: each place is looked at whose sum
 * is theirs, a polynomial that one step forward changes by the byte that goes and the byte that comes. */
static const uint8_t *find(const uint8_t *in, uint64_t in_len, const uint8_t *what, uint64_t len) {
    const uint64_t base = UINT64_C(0x100000001b3);
    uint64_t wanted = 0, sum = 0, first = 1;
    if (len > in_len) return NULL;
    for (uint64_t i = 0; i < len; i++) {
        wanted = wanted * base + what[i];
        sum = sum * base + in[i];
        if (i) first *= base;
    }
    for (const uint8_t *last = in + (in_len - len);; in++) {
        if (sum == wanted && memcmp(in, what, len) == 0) return in;
        if (in == last) return NULL;
        sum = (sum - *in * first) * base + in[len];
    }
}

/* Most savestates hold the memories as they lie there: then offsets of the one tell those of the other. */
static void find_held(struct kl_differ *d, const struct kl_region *memory, const struct kl_region *state) {
    const uint8_t *found;
    if (d->held || memory->len < HELD_LEAST || one_constant(memory->ptr, memory->len)) return;
    found = find(state->ptr, state->len, memory->ptr, memory->len);
    d->held = found != NULL;
    if (found) d->held_at = (uint64_t)(found - state->ptr);
}

static bool differ_add(struct kl_differ *d, const struct kl_region *a, const struct kl_region *b,
                       uint32_t frame) {
    uint64_t len = a->len < b->len ? a->len : b->len;
    bool any = a->len != b->len;
    if (!grow(d, len)) return false;
    d->len_a = a->len;
    d->len_b = b->len;
    d->sizes += any;
    for (uint64_t i = 0; i < len; i++) {
        if (a->ptr[i] == b->ptr[i]) continue;
        any = true;
        if (d->times[i]++) continue;
        d->bytes++;
        d->a[i] = a->ptr[i];
        d->b[i] = b->ptr[i];
    }
    if (!any) return true;
    if (d->moments++ == 0) d->first = frame;
    d->last = frame;
    return true;
}

static bool same_memories(const struct kl_dump *a, const struct kl_dump *b) {
    bool same = a->count == b->count;
    for (unsigned i = 0; same && i < a->count; i++)
        same = same_memory(&a->at[i], &b->at[i]);
    return same;
}

int kl_comparison_add(struct kl_comparison *c, const struct kl_dump *a, const struct kl_dump *b,
                      uint32_t frame, char *err, size_t err_len) {
    if (c->moments == 0) {
        c->count = a->count;
        for (unsigned i = 0; i < a->count; i++) {
            c->at[i].region = a->at[i];
            c->at[i].region.ptr = NULL;
            c->at[i].region.len = 0;
        }
    }
    if (!same_memories(a, b) || c->count != a->count) {
        snprintf(err, err_len, "the two do not show the same memories (%u and %u): expected the same core",
                 a->count, b->count);
        return -1;
    }
    bool any = false;
    for (unsigned i = 0; i < c->count; i++) {
        uint32_t before = c->at[i].moments;
        if (!differ_add(&c->at[i], &a->at[i], &b->at[i], frame)) {
            snprintf(err, err_len, "out of memory");
            return -1;
        }
        any |= c->at[i].moments != before;
        if (i + 1 == c->count) continue;
        find_held(&c->at[i], &a->at[i], &a->at[c->count - 1]);
        find_held(&c->at[i], &b->at[i], &b->at[c->count - 1]);
    }
    c->moments++;
    if (any && c->differing++ == 0) c->first = frame;
    return 0;
}

void kl_comparison_free(struct kl_comparison *c) {
    for (unsigned i = 0; i < c->count; i++) {
        free(c->at[i].times);
        free(c->at[i].a);
        free(c->at[i].b);
        free(c->at[i].hidden);
    }
    memset(c, 0, sizeof(*c));
}

/* --- ranges --- */

static bool shows(const struct kl_differ *d, uint64_t i) {
    return d->times[i] && !(d->hidden && d->hidden[i]);
}

bool kl_differ_next(const struct kl_differ *d, uint64_t from, struct kl_range *out) {
    uint64_t i = from, len = d->region.len;
    while (i < len && !shows(d, i))
        i++;
    if (i >= len) return false;
    *out = (struct kl_range){i, i, d->times[i], d->times[i]};
    for (; i < len && shows(d, i); i++) {
        out->to = i;
        if (d->times[i] < out->least) out->least = d->times[i];
        if (d->times[i] > out->most) out->most = d->times[i];
    }
    return true;
}

unsigned kl_differ_ranges(const struct kl_differ *d) {
    struct kl_range r = {0};
    unsigned n = 0;
    for (uint64_t from = 0; kl_differ_next(d, from, &r); from = r.to + 1)
        n++;
    return n;
}

uint64_t kl_comparison_hide(struct kl_comparison *c) {
    uint64_t hidden = 0;
    struct kl_differ *state = c->count ? &c->at[c->count - 1] : NULL;
    if (!state || !state->region.len) return 0;
    if (!state->hidden) state->hidden = calloc(1, state->region.len);
    for (unsigned i = 0; state->hidden && i + 1 < c->count; i++) {
        const struct kl_differ *d = &c->at[i];
        for (uint64_t k = 0; d->held && k < d->region.len && d->held_at + k < state->region.len; k++)
            state->hidden[d->held_at + k] = 1;
    }
    for (uint64_t k = 0; state->hidden && k < state->region.len; k++)
        hidden += state->hidden[k] && state->times[k];
    return hidden;
}

/* --- regions --- */

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
