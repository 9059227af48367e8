#include "core_wrapper/frame/picture.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* --- the picture --- */

#define SIDE_MAX 8192u

static bool grow(uint8_t **buffer, size_t *cap, size_t bytes) {
    if (bytes <= *cap) return true;
    uint8_t *more = realloc(*buffer, bytes);
    if (!more) return false;
    *buffer = more;
    *cap = bytes;
    return true;
}

void kl_picture_init(struct kl_picture *p, bool can_dupe, unsigned base_width, unsigned base_height) {
    p->can_dupe = can_dupe;
    p->shown = p->painted = false;
    p->width = base_width < SIDE_MAX ? base_width : SIDE_MAX;
    p->height = base_height < SIDE_MAX ? base_height : SIDE_MAX;
    p->pitch = p->width * 4;
    size_t bytes = p->pitch * p->height;
    p->kept = grow(&p->copy, &p->cap, bytes);
    if (p->kept) memset(p->copy, 0, bytes);
}

void kl_picture_free(struct kl_picture *p) {
    free(p->copy);
    free(p->out);
    memset(p, 0, sizeof *p);
}

/* --- the copy --- */

static bool keep(struct kl_picture *p, const void *data, size_t pitch) {
    size_t line = p->width * kl_canvas_pixel_bytes(p->format);
    if (p->width > SIDE_MAX || p->height > SIDE_MAX || !p->height || pitch < line) return false;
    if (!grow(&p->copy, &p->cap, line * p->height)) return false;
    for (unsigned y = 0; y < p->height; y++)
        memcpy(p->copy + y * line, (const uint8_t *)data + y * pitch, line);
    p->pitch = line;
    return true;
}

/* There is something to draw on, if only black. */
static bool have_copy(struct kl_picture *p) {
    size_t line = p->width * kl_canvas_pixel_bytes(p->format);
    if (p->kept) return true;
    if (!line || !p->height || p->width > SIDE_MAX || p->height > SIDE_MAX) return false;
    if (!grow(&p->copy, &p->cap, line * p->height)) return false;
    memset(p->copy, 0, line * p->height);
    p->pitch = line;
    p->kept = true;
    return true;
}

static bool paint(struct kl_picture *p) {
    if (!have_copy(p) || !grow(&p->out, &p->out_cap, p->pitch * p->height)) return false;
    memcpy(p->out, p->copy, p->pitch * p->height);
    struct kl_canvas c = {p->out, p->width, p->height, p->pitch, p->format, .turn = p->turn};
    kl_canvas_measure(&c);
    p->over(p->over_ctx, &c);
    return true;
}

/* --- showing --- */

void kl_picture_draw(struct kl_picture *p, const void *data, unsigned width, unsigned height, size_t pitch,
                     retro_video_refresh_t front) {
    if (!front) return;
    if (!data) {
        kl_picture_repeat(p, front);
        return;
    }
    p->width = width;
    p->height = height;
    p->hardware = data == RETRO_HW_FRAME_BUFFER_VALID;
    p->pitch = pitch;
    p->kept = !p->hardware && (!p->can_dupe || p->want_copy || p->over) && keep(p, data, pitch);
    p->painted = p->kept && p->over && paint(p);
    if (p->painted)
        front(p->out, width, height, p->pitch);
    else
        front(data, width, height, pitch);
    p->shown = true;
}

static void swallow(const void *data, unsigned width, unsigned height, size_t pitch) {
    (void)data, (void)width, (void)height, (void)pitch;
}

static void hide(struct kl_picture *p, const void *data, unsigned width, unsigned height, size_t pitch) {
    bool want_copy = p->want_copy;
    if (!data || !p->dupes) return;
    p->want_copy = true;
    kl_picture_draw(p, data, width, height, pitch, swallow);
    p->want_copy = want_copy;
    p->shown = false; /* so that the copy is */
}

void kl_picture_take(struct kl_picture *p, const void *data, unsigned width, unsigned height, size_t pitch,
                     bool hidden, retro_video_refresh_t front) {
    if (!data) p->dupes = true;
    if (hidden)
        hide(p, data, width, height, pitch);
    else
        kl_picture_draw(p, data, width, height, pitch, front);
}

uint64_t kl_picture_hash(enum retro_pixel_format format, const void *data, unsigned width, unsigned height,
                         size_t pitch) {
    size_t line = width * kl_canvas_pixel_bytes(format);
    uint64_t h = 0;
    for (unsigned y = 0; y < height; y++)
        h = XXH3_64bits_withSeed((const uint8_t *)data + y * pitch, line, h);
    return h;
}

void kl_picture_repeat(struct kl_picture *p, retro_video_refresh_t front) {
    if (!front) return;
    bool was_painted = p->painted;
    p->painted = !p->hardware && p->over && paint(p);
    bool from_copy = !p->hardware && p->kept && (!p->can_dupe || !p->shown || was_painted);
    front(p->painted ? p->out : from_copy ? p->copy : NULL, p->width, p->height, p->pitch);
    p->shown = true;
}

/* --- the hashes of picture and sound --- */

void kl_chain_begin(struct kl_chain *c) {
    *c = (struct kl_chain){.known = true};
}

void kl_chain_picture(struct kl_chain *c, uint64_t hash) {
    c->last = hash;
    c->known = hash != 0;
}

void kl_chain_sound(struct kl_chain *c, const int16_t *stereo, size_t frames) {
    c->sound = XXH3_64bits_withSeed(stereo, frames * 4, c->sound);
}

void kl_chain_frame(struct kl_chain *c) {
    uint8_t last[8];
    if (!c->known) c->blind = true;
    for (unsigned i = 0; i < 8; i++)
        last[i] = (uint8_t)(c->last >> 8 * i);
    c->picture = XXH3_64bits_withSeed(last, sizeof last, c->picture);
}

void kl_chain_label(struct kl_chain *c) {
    c->picture = c->sound = 0;
    c->blind = c->deaf = false;
}

void kl_chain_loaded(struct kl_chain *c) {
    c->known = false;
    c->blind = c->deaf = true;
}

void kl_chain_reloaded(struct kl_chain *c) {
    c->reloaded = true;
}

bool kl_chain_sees(const struct kl_chain *c) {
    return !c->blind && c->known && c->last;
}

bool kl_chain_hears(const struct kl_chain *c) {
    return !c->deaf && !c->reloaded;
}
