/* The struct as bytes. The emulator's side is in outside_core.c. */
#include "core_wrapper/env/outside.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void kl_outside_free(struct kl_outside *o) {
    free(o->own);
    memset(o, 0, sizeof *o);
}

/* --- writing --- */

/* A seat's key as one number. */
#define KEY_OF_SEAT 512
_Static_assert(KL_KEY_CODES <= KEY_OF_SEAT, "a number names one key");

static void write_keys(struct kl_writer *w, const struct kl_key_set held[KL_MAX_SEATS]) {
    unsigned count = 0;
    for (unsigned i = 0; i < KL_MAX_SEATS * KEY_OF_SEAT; i++)
        count += kl_key_in(&held[i / KEY_OF_SEAT], i % KEY_OF_SEAT);
    kl_write_var(w, count);
    for (unsigned i = 0; i < KL_MAX_SEATS * KEY_OF_SEAT; i++)
        if (kl_key_in(&held[i / KEY_OF_SEAT], i % KEY_OF_SEAT)) kl_write_u16(w, (uint16_t)i);
}

static void write_lasting(struct kl_writer *w, const struct kl_lasting *l) {
    for (unsigned port = 0; port < KL_MAX_SEATS; port++) {
        kl_write_u16(w, l->motor[port][RETRO_RUMBLE_STRONG]);
        kl_write_u16(w, l->motor[port][RETRO_RUMBLE_WEAK]);
    }
    for (unsigned i = 0; i < KL_LASTING_LIGHTS; i++)
        kl_write_u16(w, l->light[i]);
}

size_t kl_outside_bound(const struct kl_outside *o) {
    return KL_OUTSIDE_BYTES + o->options_len;
}

void kl_outside_write(struct kl_writer *w, const struct kl_outside *o) {
    kl_write_u16(w, o->base_width);
    kl_write_u16(w, o->base_height);
    kl_write_u16(w, o->max_width);
    kl_write_u16(w, o->max_height);
    kl_write_u32(w, o->aspect_e6);
    kl_write_u32(w, o->fps_uhz);
    kl_write_u32(w, o->rate_mhz);
    kl_write_u8(w, o->format);
    kl_write_u8(w, o->rotation);
    kl_write_u8(w, o->supports);
    kl_write_u8(w, o->quirks);
    kl_write_string(w, o->platform);
    for (unsigned p = 0; p < KL_MAX_SEATS; p++)
        kl_write_u32(w, o->device[p]);
    kl_write_u32(w, o->subsystem);
    kl_write_u16(w, o->disk);
    kl_write_u16(w, o->disks);
    kl_write_u8(w, o->ejected);
    kl_write_u8(w, o->tray.open);
    kl_write_u32(w, o->tray.frame);
    kl_write_u16(w, o->tray.index);
    write_keys(w, o->held);
    write_lasting(w, &o->lasting);
    kl_write_u8(w, o->only_count);
    for (unsigned i = 0; i < o->only_count; i++) {
        kl_write_string(w, o->only[i].name);
        kl_write_u64(w, o->only[i].shape);
    }
    kl_write_u8(w, o->updated);
    kl_write_bytes(w, o->options, o->options_len);
}

/* --- reading --- */

static uint8_t read_up_to(struct kl_reader *r, uint8_t most) {
    uint8_t v = kl_read_u8(r);
    if (v > most) r->failed = true;
    return v;
}

static uint32_t read_between(struct kl_reader *r, uint32_t least, uint32_t most) {
    uint32_t v = kl_read_u32(r);
    if (v < least || v > most) r->failed = true;
    return v;
}

static uint16_t read_size(struct kl_reader *r) {
    uint16_t v = kl_read_u16(r);
    if (v < 1 || v > KL_OUTSIDE_SIZE_MAX) r->failed = true;
    return v;
}

static void read_keys(struct kl_reader *r, struct kl_key_set held[KL_MAX_SEATS]) {
    unsigned count = (unsigned)kl_read_var(r, KL_MAX_SEATS * KL_KEY_CODES), next = 0;
    for (unsigned i = 0; i < count && !r->failed; i++) {
        unsigned key = kl_read_u16(r), code = key % KEY_OF_SEAT;
        if (key < next || key >= KL_MAX_SEATS * KEY_OF_SEAT || code == 0 || code >= KL_KEY_CODES)
            r->failed = true;
        if (!r->failed) kl_key_put(&held[key / KEY_OF_SEAT], code, true);
        next = key + 1;
    }
}

static void read_lasting(struct kl_reader *r, struct kl_lasting *l) {
    for (unsigned port = 0; port < KL_MAX_SEATS; port++) {
        l->motor[port][RETRO_RUMBLE_STRONG] = kl_read_u16(r);
        l->motor[port][RETRO_RUMBLE_WEAK] = kl_read_u16(r);
    }
    for (unsigned i = 0; i < KL_LASTING_LIGHTS; i++)
        l->light[i] = kl_read_u16(r);
}

static void read_only(struct kl_reader *r, struct kl_outside *o) {
    o->only_count = read_up_to(r, KL_CORE_ONLY);
    for (unsigned i = 0; i < o->only_count && !r->failed; i++) {
        kl_read_string(r, o->only[i].name, sizeof o->only[i].name);
        o->only[i].shape = kl_read_u64(r);
    }
    if (r->failed) o->only_count = 0;
}

void kl_outside_read(struct kl_reader *r, struct kl_outside *o) {
    memset(o, 0, sizeof *o);
    o->base_width = read_size(r);
    o->base_height = read_size(r);
    o->max_width = read_size(r);
    o->max_height = read_size(r);
    o->aspect_e6 = read_between(r, 0, KL_OUTSIDE_ASPECT_MAX);
    o->fps_uhz = read_between(r, KL_FPS_MIN, KL_FPS_MAX);
    o->rate_mhz = read_between(r, KL_OUTSIDE_RATE_MIN, KL_OUTSIDE_RATE_MAX);
    o->format = read_up_to(r, RETRO_PIXEL_FORMAT_RGB565);
    o->rotation = read_up_to(r, 3);
    o->supports = read_up_to(r, KL_SUPPORT_NO_GAME | KL_SUPPORT_ACHIEVEMENTS);
    o->quirks = read_up_to(r, 127);
    kl_read_string(r, o->platform, sizeof o->platform);
    for (unsigned p = 0; p < KL_MAX_SEATS; p++)
        o->device[p] = kl_read_u32(r);
    o->subsystem = kl_read_u32(r);
    o->disk = kl_read_u16(r);
    o->disks = kl_read_u16(r);
    o->ejected = read_up_to(r, 1);
    o->tray.open = read_up_to(r, 1);
    o->tray.frame = kl_read_u32(r);
    o->tray.index = kl_read_u16(r);
    read_keys(r, o->held);
    read_lasting(r, &o->lasting);
    read_only(r, o);
    o->updated = read_up_to(r, 1);
    o->options = r->at;
    kl_options_skip(r);
    o->options_len = r->failed ? 0 : (size_t)(r->at - o->options);
}

/* --- comparing --- */

struct list {
    char *at, *end;
    bool any;
};

__attribute__((format(__printf__, 2, 3))) static void add(struct list *l, const char *format, ...) {
    size_t left = (size_t)(l->end - l->at);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(l->at, left, format, args);
    va_end(args);
    if (n > 0) l->at += (size_t)n < left ? (size_t)n : left - 1;
    l->any = true;
}

static void name_numbers(struct list *l, const char *name, double here, double there) {
    if (here != there) add(l, "%s%s %.9g, there %.9g", l->any ? "; " : "", name, here, there);
}

static void name_texts(struct list *l, const char *name, const char *here, const char *there) {
    if (strcmp(here, there) != 0) add(l, "%s%s \"%s\", there \"%s\"", l->any ? "; " : "", name, here, there);
}

static bool has_only(const struct kl_outside *o, const struct kl_core_only_name *n) {
    for (unsigned i = 0; i < o->only_count; i++)
        if (o->only[i].shape == n->shape && !strcmp(o->only[i].name, n->name)) return true;
    return false;
}

static void name_declarations(struct list *l, const struct kl_outside *here, const struct kl_outside *there) {
    for (unsigned i = 0; i < here->only_count; i++)
        if (!has_only(there, &here->only[i])) name_texts(l, "declared", here->only[i].name, "");
    for (unsigned i = 0; i < there->only_count; i++)
        if (!has_only(here, &there->only[i])) name_texts(l, "declared", "", there->only[i].name);
}

bool kl_outside_differs(const struct kl_outside *here, const struct kl_outside *there, char *what,
                        size_t cap) {
    struct list l = {what, what + cap, false};
    char key[KL_OPTIONS_KEY_MAX];
    *what = 0;
#define NUMBER(name, field, unit) name_numbers(&l, name, here->field / (unit), there->field / (unit))
    NUMBER("width", base_width, 1.0);
    NUMBER("height", base_height, 1.0);
    NUMBER("largest width", max_width, 1.0);
    NUMBER("largest height", max_height, 1.0);
    NUMBER("aspect", aspect_e6, 1e6);
    NUMBER("fps", fps_uhz, 1e6);
    NUMBER("sample rate", rate_mhz, 1e3);
    NUMBER("pixel format", format, 1.0);
    NUMBER("rotation", rotation, 1.0);
    NUMBER("support flags", supports, 1.0);
    NUMBER("quirks", quirks, 1.0);
    name_texts(&l, "states of", here->platform, there->platform);
    for (unsigned p = 0; p < KL_MAX_SEATS; p++)
        NUMBER("device in a port", device[p], 1.0);
    NUMBER("subsystem", subsystem, 1.0);
    NUMBER("disk", disk, 1.0);
    NUMBER("disks", disks, 1.0);
    NUMBER("disk taken out", ejected, 1.0);
    NUMBER("tray open", tray.open, 1.0);
    NUMBER("tray closes", tray.frame, 1.0);
    NUMBER("disk to come", tray.index, 1.0);
#undef NUMBER
    if (memcmp(here->held, there->held, sizeof here->held) != 0)
        name_texts(&l, "keys held", "these", "others");
    if (memcmp(&here->lasting, &there->lasting, sizeof here->lasting) != 0)
        name_texts(&l, "motors and lights", "these", "others");
    name_declarations(&l, here, there);
    name_numbers(&l, "option changed", here->updated, there->updated);
    if (kl_options_differ(here->options, here->options_len, there->options, there->options_len, key))
        name_texts(&l, "options", key, "another");
    return l.any;
}
