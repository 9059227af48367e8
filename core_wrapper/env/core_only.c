#include "core_wrapper/env/core_only.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Two calls that replace each other have one number here. */
static unsigned kind_of(unsigned cmd) {
    return cmd == RETRO_ENVIRONMENT_SET_DISK_CONTROL_EXT_INTERFACE
               ? RETRO_ENVIRONMENT_SET_DISK_CONTROL_INTERFACE
               : cmd;
}

/* --- shapes --- */

static uint64_t mix(uint64_t h, uint64_t v) {
    return XXH3_64bits_withSeed(&v, sizeof v, h);
}

static uint64_t shape_of_map(const struct retro_memory_map *map) {
    uint64_t h = mix(0, map->num_descriptors);
    for (unsigned i = 0; i < map->num_descriptors; i++) {
        const struct retro_memory_descriptor *d = &map->descriptors[i];
        const char *space = d->addrspace ? d->addrspace : "";
        unsigned same = 0; /* the first descriptor of the same memory */
        while (map->descriptors[same].ptr != d->ptr)
            same++;
        const uint64_t numbers[] = {d->flags, d->offset, d->start, d->select, d->disconnect, d->len, same};
        for (unsigned k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
            h = mix(h, numbers[k]);
        h = XXH3_64bits_withSeed(space, strlen(space), h);
    }
    return h;
}

static uint64_t shape_of_disk(const struct retro_disk_control_ext_callback *d) {
    const bool has[] = {d->set_eject_state, d->get_eject_state,     d->get_image_index, d->set_image_index,
                        d->get_num_images,  d->replace_image_index, d->add_image_index, d->set_initial_image,
                        d->get_image_path,  d->get_image_label};
    uint64_t h = 0;
    for (unsigned i = 0; i < sizeof has / sizeof has[0]; i++)
        h |= (uint64_t)has[i] << i;
    return h;
}

/* Fills in the pointers and the plain shape. False: nothing is declared. */
static bool take(struct kl_core_only_at *a, const void *data, struct retro_memory_map map) {
    if (!data) return false;
    switch (a->cmd) {
    case RETRO_ENVIRONMENT_SET_KEYBOARD_CALLBACK:
        a->is.key_event = ((const struct retro_keyboard_callback *)data)->callback;
        return a->is.key_event != NULL;
    case RETRO_ENVIRONMENT_SET_FRAME_TIME_CALLBACK:
        a->is.frame_time = *(const struct retro_frame_time_callback *)data;
        a->plain = (uint64_t)a->is.frame_time.reference;
        return a->is.frame_time.callback != NULL;
    case RETRO_ENVIRONMENT_SET_DISK_CONTROL_INTERFACE:
        memcpy(&a->is.disk, data, sizeof(struct retro_disk_control_callback));
        a->plain = shape_of_disk(&a->is.disk);
        return true;
    case RETRO_ENVIRONMENT_SET_DISK_CONTROL_EXT_INTERFACE:
        memcpy(&a->is.disk, data, sizeof a->is.disk);
        a->plain = shape_of_disk(&a->is.disk);
        return true;
    case RETRO_ENVIRONMENT_SET_MEMORY_MAPS:
        a->is.map = map;
        a->plain = shape_of_map(&map);
        return map.num_descriptors > 0;
    default: return true;
    }
}

/* --- noting --- */

/* The place of a new one: behind the others, or that of the oldest that is not in force. */
static struct kl_core_only_at *place(struct kl_core_only *o) {
    unsigned i = 0;
    if (o->count < KL_CORE_ONLY) return &o->at[o->count++];
    while (i + 1 < o->count && o->at[i].in_force)
        i++;
    memmove(&o->at[i], &o->at[i + 1], (o->count - i - 1) * sizeof o->at[0]);
    return &o->at[o->count - 1];
}

void kl_core_only_note(struct kl_core_only *o, unsigned cmd, const char *name, const void *data,
                       struct retro_memory_map map) {
    struct kl_core_only_at a;
    unsigned alike = 0;
    memset(&a, 0, sizeof a); /* compared as bytes below */
    a.cmd = cmd;
    a.name = name;
    for (unsigned i = 0; i < o->count; i++)
        if (kind_of(o->at[i].cmd) == kind_of(cmd)) o->at[i].in_force = false;
    if (!take(&a, data, map)) return;
    for (unsigned i = 0; i < o->count; i++) {
        struct kl_core_only_at *b = &o->at[i];
        if (b->cmd != cmd || b->plain != a.plain) continue;
        /* a map of the same layout is the same one: only the addresses of its bytes have changed */
        bool same = cmd == RETRO_ENVIRONMENT_SET_MEMORY_MAPS || !memcmp(&a.is, &b->is, sizeof a.is);
        if (same) {
            b->is = a.is;
            b->in_force = true;
            return;
        }
        alike++;
    }
    a.shape = mix(a.plain, alike);
    a.in_force = true;
    *place(o) = a;
}

/* --- names --- */

static int by_call(const void *a, const void *b) {
    unsigned x = (*(const struct kl_core_only_at *const *)a)->cmd & 0xffff,
             y = (*(const struct kl_core_only_at *const *)b)->cmd & 0xffff;
    return (x > y) - (x < y);
}

unsigned kl_core_only_names(const struct kl_core_only *o, struct kl_core_only_name names[KL_CORE_ONLY]) {
    const struct kl_core_only_at *in_force[KL_CORE_ONLY];
    unsigned n = 0;
    for (unsigned i = 0; i < o->count; i++)
        if (o->at[i].in_force) in_force[n++] = &o->at[i];
    qsort(in_force, n, sizeof in_force[0], by_call);
    for (unsigned i = 0; i < n; i++) {
        snprintf(names[i].name, sizeof names[i].name, "%s", in_force[i]->name);
        names[i].shape = in_force[i]->shape;
    }
    return n;
}

static int find_name(const struct kl_core_only *o, const struct kl_core_only_name *n) {
    for (unsigned i = 0; i < o->count; i++)
        if (o->at[i].shape == n->shape && !strncmp(o->at[i].name, n->name, KL_CORE_ONLY_NAME - 1))
            return (int)i;
    return -1;
}

const char *kl_core_only_lacks(const struct kl_core_only *o, const struct kl_core_only_name *names,
                               unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (find_name(o, &names[i]) < 0) return names[i].name;
    return NULL;
}

void kl_core_only_force(struct kl_core_only *o, const struct kl_core_only_name *names, unsigned count) {
    for (unsigned i = 0; i < o->count; i++)
        o->at[i].in_force = false;
    for (unsigned i = 0; i < count; i++) {
        int k = find_name(o, &names[i]);
        if (k >= 0) o->at[k].in_force = true;
    }
}

const struct kl_core_only_at *kl_core_only_find(const struct kl_core_only *o, unsigned cmd) {
    for (unsigned i = 0; i < o->count; i++)
        if (o->at[i].in_force && kind_of(o->at[i].cmd) == kind_of(cmd)) return &o->at[i];
    return NULL;
}
