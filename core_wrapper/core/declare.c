#include "core_wrapper/core/declare.h"

#include <stdlib.h>
#include <string.h>

#include "net/platform/buffer.h"

#define MOST 4096 /* entries of any list: more is a core gone wrong */

static char *dup_or_null(const char *s) {
    return s ? strdup(s) : NULL;
}
static const char *text(const char *s) {
    return s ? s : "\1";
}

/* True if `now` (malloced, NULL without memory) differs from d's text; d keeps it then. */
static bool differs(struct kl_declared *d, char *now) {
    if (!now || (d->text && !strcmp(d->text, now))) {
        free(now);
        return false;
    }
    free(d->text);
    d->text = now;
    return true;
}

/* --- controllers: ends with types NULL --- */

static unsigned count_controllers(const struct retro_controller_info *data) {
    unsigned n = 0;
    while (n < MOST && data[n].types)
        n++;
    return n;
}

static char *write_controllers(const struct retro_controller_info *data, unsigned n) {
    struct kl_buffer out = {0};
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < data[i].num_types; k++)
            kl_buffer_add(&out, "%u %u %s\n", i, data[i].types[k].id, text(data[i].types[k].desc));
    return kl_buffer_take(&out);
}

bool kl_declare_controllers(struct kl_declared *d, const struct retro_controller_info *data) {
    if (!data) return false;
    unsigned n = count_controllers(data);
    if (!differs(d, write_controllers(data, n))) return false;
    struct retro_controller_info *copy = calloc(n + 1, sizeof *copy);
    for (unsigned i = 0; copy && i < n; i++) {
        struct retro_controller_description *types = calloc(data[i].num_types + 1, sizeof *types);
        for (unsigned k = 0; types && k < data[i].num_types; k++) {
            types[k].id = data[i].types[k].id;
            types[k].desc = dup_or_null(data[i].types[k].desc);
        }
        copy[i].types = types;
        copy[i].num_types = types ? data[i].num_types : 0;
    }
    d->copy = copy;
    return copy != NULL;
}

bool kl_declared_device(const struct kl_declared *d, unsigned port, unsigned device) {
    const struct retro_controller_info *all = d->copy;
    if (device <= RETRO_DEVICE_POINTER) return true;
    for (unsigned i = 0; all && all[i].types && i <= port; i++)
        for (unsigned k = 0; i == port && k < all[i].num_types; k++)
            if (all[i].types[k].id == device) return true;
    return false;
}

/* --- subsystems: ends with ident NULL --- */

static unsigned count_subsystems(const struct retro_subsystem_info *data) {
    unsigned n = 0;
    while (n < MOST && data[n].ident)
        n++;
    return n;
}

static char *write_subsystems(const struct retro_subsystem_info *data, unsigned n) {
    struct kl_buffer out = {0};
    for (unsigned i = 0; i < n; i++) {
        kl_buffer_add(&out, "%u %s|%s\n", data[i].id, text(data[i].ident), text(data[i].desc));
        for (unsigned k = 0; k < data[i].num_roms; k++) {
            const struct retro_subsystem_rom_info *r = &data[i].roms[k];
            kl_buffer_add(&out, " %s|%s|%d%d%d", text(r->desc), text(r->valid_extensions), r->need_fullpath,
                          r->block_extract, r->required);
            for (unsigned m = 0; m < r->num_memory; m++)
                kl_buffer_add(&out, " %s:%u", text(r->memory[m].extension), r->memory[m].type);
        }
    }
    return kl_buffer_take(&out);
}

static void copy_rom(struct retro_subsystem_rom_info *to, const struct retro_subsystem_rom_info *from) {
    *to = *from;
    to->desc = dup_or_null(from->desc);
    to->valid_extensions = dup_or_null(from->valid_extensions);
    struct retro_subsystem_memory_info *memory = calloc(from->num_memory + 1, sizeof *memory);
    for (unsigned m = 0; memory && m < from->num_memory; m++) {
        memory[m].type = from->memory[m].type;
        memory[m].extension = dup_or_null(from->memory[m].extension);
    }
    to->memory = memory;
    if (!memory) to->num_memory = 0;
}

bool kl_declare_subsystems(struct kl_declared *d, const struct retro_subsystem_info *data) {
    if (!data) return false;
    unsigned n = count_subsystems(data);
    if (!differs(d, write_subsystems(data, n))) return false;
    struct retro_subsystem_info *copy = calloc(n + 1, sizeof *copy);
    for (unsigned i = 0; copy && i < n; i++) {
        copy[i] = data[i];
        copy[i].desc = dup_or_null(data[i].desc);
        copy[i].ident = dup_or_null(data[i].ident);
        struct retro_subsystem_rom_info *roms = calloc(data[i].num_roms + 1, sizeof *roms);
        for (unsigned k = 0; roms && k < data[i].num_roms; k++)
            copy_rom(&roms[k], &data[i].roms[k]);
        copy[i].roms = roms;
        if (!roms) copy[i].num_roms = 0;
    }
    d->copy = copy;
    return copy != NULL;
}

/* --- input descriptors: ends with description NULL --- */

static char *write_descriptors(const struct retro_input_descriptor *data, unsigned n) {
    struct kl_buffer out = {0};
    for (unsigned i = 0; i < n; i++)
        kl_buffer_add(&out, "%u %u %u %u %s\n", data[i].port, data[i].device, data[i].index, data[i].id,
                      data[i].description);
    return kl_buffer_take(&out);
}

bool kl_declare_descriptors(struct kl_declared *d, const struct retro_input_descriptor *data) {
    if (!data) return false;
    unsigned n = 0;
    while (n < MOST && data[n].description)
        n++;
    if (!differs(d, write_descriptors(data, n))) return false;
    struct retro_input_descriptor *copy = calloc(n + 1, sizeof *copy);
    for (unsigned i = 0; copy && i < n; i++) {
        copy[i] = data[i];
        copy[i].description = strdup(data[i].description);
    }
    d->copy = copy;
    return copy != NULL;
}

/* --- content overrides: ends with extensions NULL --- */

static char *write_overrides(const struct retro_system_content_info_override *data, unsigned n) {
    struct kl_buffer out = {0};
    for (unsigned i = 0; i < n; i++)
        kl_buffer_add(&out, "%s %d%d\n", data[i].extensions, data[i].need_fullpath, data[i].persistent_data);
    return kl_buffer_take(&out);
}

bool kl_declare_overrides(struct kl_declared *d, const struct retro_system_content_info_override *data) {
    if (!data) return false;
    unsigned n = 0;
    while (n < MOST && data[n].extensions)
        n++;
    if (!differs(d, write_overrides(data, n))) return false;
    struct retro_system_content_info_override *copy = calloc(n + 1, sizeof *copy);
    for (unsigned i = 0; copy && i < n; i++) {
        copy[i] = data[i];
        copy[i].extensions = strdup(data[i].extensions);
    }
    d->copy = copy;
    return copy != NULL;
}
