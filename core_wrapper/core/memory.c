#include "core_wrapper/core/memory.h"

#include <stdlib.h>
#include <string.h>

#define CONSTANT_MAX (4u << 20) /* larger ROMs are not shown */

/* --- views --- */

static void add_view(struct kl_memory *m, const struct kl_core *core, unsigned id, bool save) {
    size_t size = core->get_memory_size(id);
    const void *data = core->get_memory_data(id);
    if (!size || !data || m->views == KL_MEMORY_VIEWS) return;
    uint8_t *bytes = malloc(size);
    if (!bytes) return;
    memcpy(bytes, data, size);
    m->view[m->views].id = id;
    m->view[m->views].save = save;
    m->view[m->views].size = size;
    m->view[m->views].bytes = bytes;
    m->views++;
}

void kl_memory_make(struct kl_memory *m, const struct kl_core *core, const unsigned *extra, unsigned extras) {
    add_view(m, core, RETRO_MEMORY_SAVE_RAM, true);
    add_view(m, core, RETRO_MEMORY_RTC, true);
    add_view(m, core, RETRO_MEMORY_SYSTEM_RAM, false);
    add_view(m, core, RETRO_MEMORY_VIDEO_RAM, false);
    for (unsigned i = 0; i < extras; i++)
        add_view(m, core, extra[i], true);
}

void *kl_memory_data(const struct kl_memory *m, unsigned id) {
    for (unsigned i = 0; i < m->views; i++)
        if (m->view[i].id == id) return m->view[i].bytes;
    return NULL;
}

size_t kl_memory_size(const struct kl_memory *m, unsigned id) {
    for (unsigned i = 0; i < m->views; i++)
        if (m->view[i].id == id) return m->view[i].size;
    return 0;
}

/* --- the memory map --- */

/* Bytes behind a descriptor's pointer and offset; 0 if unknown. libretro.h, retro_memory_descriptor. */
static size_t bytes_behind(const struct retro_memory_descriptor *d) {
    if (!d->ptr) return 0;
    if (d->len) return d->len;
    size_t low = d->select ? (d->select & (~d->select + 1)) - 1 : 0; /* bits below the lowest selected one */
    unsigned lines = (unsigned)__builtin_popcountll(low & ~d->disconnect);
    return low ? (size_t)1 << lines : 0;
}

static bool same_layout(const struct kl_memory *m, const struct retro_memory_map *map) {
    if (!m->inner || m->count != map->num_descriptors) return false;
    for (unsigned i = 0; i < m->count; i++) {
        const struct retro_memory_descriptor *a = &m->inner[i], *b = &map->descriptors[i];
        const char *space = b->addrspace ? b->addrspace : "";
        if (a->flags != b->flags || a->offset != b->offset || a->start != b->start ||
            a->select != b->select || a->disconnect != b->disconnect || a->len != b->len ||
            !a->ptr != !b->ptr || strcmp(a->addrspace, space))
            return false;
        for (unsigned k = 0; k < i; k++)
            if ((m->inner[k].ptr == a->ptr) != (map->descriptors[k].ptr == b->ptr)) return false;
    }
    return true;
}

static int find_region(const struct kl_memory *m, const void *from) {
    for (unsigned r = 0; r < m->regions; r++)
        if (m->region[r].from == from) return (int)r;
    return -1;
}

static void add_to_region(struct kl_memory *m, const struct retro_memory_descriptor *d) {
    size_t len = bytes_behind(d), end = d->offset + len;
    bool constant = d->flags & RETRO_MEMDESC_CONST;
    if (!len || (constant && len > CONSTANT_MAX)) return;
    int r = find_region(m, d->ptr);
    if (r < 0 && m->regions == KL_MEMORY_REGIONS) return;
    if (r < 0) {
        r = (int)m->regions++;
        m->region[r].from = d->ptr;
        m->region[r].to = NULL;
        m->region[r].first = d->offset;
        m->region[r].end = end;
        m->region[r].constant = constant;
    }
    if (d->offset < m->region[r].first) m->region[r].first = d->offset;
    if (end > m->region[r].end) m->region[r].end = end;
    m->region[r].constant = m->region[r].constant && constant;
}

static void copy_regions(struct kl_memory *m, bool constants) {
    for (unsigned r = 0; r < m->regions; r++)
        if (m->attached && m->region[r].to && (constants || !m->region[r].constant))
            memcpy(m->region[r].to + m->region[r].first, m->region[r].from + m->region[r].first,
                   m->region[r].end - m->region[r].first);
}

/* The same layout again; only the addresses of the core's bytes have changed. */
static void repoint(struct kl_memory *m, const struct retro_memory_map *map) {
    struct retro_memory_descriptor *old = m->inner;
    const void *was[KL_MEMORY_REGIONS];
    for (unsigned r = 0; r < m->regions; r++)
        was[r] = m->region[r].from;
    for (unsigned i = 0; i < m->count; i++) {
        for (unsigned r = 0; r < m->regions; r++)
            if (was[r] == old[i].ptr) m->region[r].from = map->descriptors[i].ptr;
        old[i].ptr = map->descriptors[i].ptr;
    }
    copy_regions(m, true);
}

/* The frontend may still point into the old copies: they stay. */
static bool build(struct kl_memory *m, const struct retro_memory_map *map) {
    unsigned n = map->num_descriptors;
    struct retro_memory_descriptor *inner = calloc(n + 1, sizeof *inner),
                                   *shown = calloc(n + 1, sizeof *shown);
    if (!inner || !shown) return false;
    m->inner = inner;
    m->shown = shown;
    m->count = n;
    m->regions = 0;
    for (unsigned i = 0; i < n; i++) {
        inner[i] = map->descriptors[i];
        inner[i].addrspace = strdup(inner[i].addrspace ? inner[i].addrspace : "");
        add_to_region(m, &inner[i]);
    }
    for (unsigned r = 0; r < m->regions; r++)
        m->region[r].to = calloc(1, m->region[r].end);
    for (unsigned i = 0; i < n; i++) {
        shown[i] = inner[i];
        int r = bytes_behind(&inner[i]) ? find_region(m, inner[i].ptr) : -1;
        bool covered = r >= 0 && inner[i].offset + bytes_behind(&inner[i]) <= m->region[r].end;
        shown[i].ptr = covered ? m->region[r].to : NULL;
    }
    copy_regions(m, true);
    return true;
}

bool kl_memory_map(struct kl_memory *m, const struct retro_memory_map *map) {
    if (!map || (map->num_descriptors && !map->descriptors)) return false;
    m->attached = true;
    if (!same_layout(m, map)) return build(m, map);
    repoint(m, map);
    return false;
}

struct retro_memory_map kl_memory_shown(const struct kl_memory *m) {
    return (struct retro_memory_map){.descriptors = m->shown, .num_descriptors = m->count};
}

struct retro_memory_map kl_memory_inner(const struct kl_memory *m) {
    return (struct retro_memory_map){.descriptors = m->inner, .num_descriptors = m->attached ? m->count : 0};
}

static void *core_saves(const struct kl_memory *m, const struct kl_core *core, unsigned i) {
    void *data = m->view[i].save ? core->get_memory_data(m->view[i].id) : NULL;
    return data && core->get_memory_size(m->view[i].id) >= m->view[i].size ? data : NULL;
}

void kl_memory_give_saves(const struct kl_memory *m, const struct kl_core *core) {
    for (unsigned i = 0; i < m->views; i++) {
        void *data = core_saves(m, core, i);
        if (data) memcpy(data, m->view[i].bytes, m->view[i].size);
    }
}

void kl_memory_take_saves(struct kl_memory *m, const struct kl_core *core) {
    for (unsigned i = 0; i < m->views; i++) {
        const void *data = core_saves(m, core, i);
        if (data) memcpy(m->view[i].bytes, data, m->view[i].size);
    }
}

void kl_memory_refresh(struct kl_memory *m, const struct kl_core *core) {
    for (unsigned i = 0; i < m->views; i++) {
        if (m->view[i].save) continue;
        const void *data = core->get_memory_data(m->view[i].id);
        if (data && core->get_memory_size(m->view[i].id) >= m->view[i].size)
            memcpy(m->view[i].bytes, data, m->view[i].size);
    }
    copy_regions(m, false);
}

void kl_memory_detach(struct kl_memory *m) {
    m->attached = false;
}

void kl_memory_drop(struct kl_memory *m) {
    for (unsigned i = 0; i < m->regions; i++)
        free(m->region[i].to);
    for (unsigned i = 0; i < m->count; i++)
        free((char *)m->inner[i].addrspace);
    free(m->inner);
    free(m->shown);
    kl_memory_free(m);
}

void kl_memory_free(struct kl_memory *m) {
    for (unsigned i = 0; i < m->views; i++)
        free(m->view[i].bytes);
    m->views = 0;
    kl_memory_detach(m);
    m->inner = NULL;
    m->count = 0;
    m->regions = 0;
}
