#include "picture.h"

#include <stdlib.h>
#include <string.h>

#define SIDE_MAX 8192u

size_t kl_picture_pixel_bytes(enum retro_pixel_format format) {
    return format == RETRO_PIXEL_FORMAT_XRGB8888 ? 4 : 2;
}

static bool grow(struct kl_picture *p, size_t bytes) {
    if (bytes <= p->cap) return true;
    uint8_t *more = realloc(p->copy, bytes);
    if (!more) return false;
    p->copy = more;
    p->cap = bytes;
    return true;
}

void kl_picture_init(struct kl_picture *p, bool can_dupe, unsigned base_width, unsigned base_height) {
    p->can_dupe = can_dupe;
    p->shown = false;
    p->width = base_width < SIDE_MAX ? base_width : SIDE_MAX;
    p->height = base_height < SIDE_MAX ? base_height : SIDE_MAX;
    p->pitch = p->width * 4;
    size_t bytes = p->pitch * p->height;
    if (grow(p, bytes)) memset(p->copy, 0, bytes);
}

void kl_picture_free(struct kl_picture *p) {
    free(p->copy);
    memset(p, 0, sizeof *p);
}

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
    bool keep = !p->hardware && !p->can_dupe && width <= SIDE_MAX && height <= SIDE_MAX && height;
    size_t line = width * kl_picture_pixel_bytes(p->format);
    if (keep && pitch >= line && grow(p, line * height)) {
        for (unsigned y = 0; y < height; y++)
            memcpy(p->copy + y * line, (const uint8_t *)data + y * pitch, line);
        p->pitch = line;
    }
    front(data, width, height, pitch);
    p->shown = true;
}

void kl_picture_repeat(struct kl_picture *p, retro_video_refresh_t front) {
    if (!front) return;
    bool from_copy = !p->hardware && (!p->can_dupe || !p->shown) && p->copy;
    front(from_copy ? p->copy : NULL, p->width, p->height, p->pitch);
    p->shown = true;
}
