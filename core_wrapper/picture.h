/* picture.h - the video bridge: what the frontend is shown of the frames that run, and again where none does,
 * with what the wrapper draws over it. The core's own buffer is read only. */
#ifndef KLW_PICTURE_H
#define KLW_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core_wrapper/canvas.h"

/* Draws on a copy of what is shown. */
typedef void (*kl_picture_over_fn)(const struct kl_canvas *c);

struct kl_picture {
    bool can_dupe; /* the frontend takes NULL for "the same again" */
    bool shown;    /* it has been given a picture */
    enum retro_pixel_format format;
    unsigned width, height; /* of the last picture */
    size_t pitch;
    bool hardware; /* the last one lies in the frontend's own framebuffer: nothing can be drawn over it */
    uint8_t *copy; /* of the last picture, where it cannot be duped or is drawn over */
    size_t cap;
    bool kept; /* copy holds it */

    bool want_copy; /* something may be drawn over the last picture later, when no new one comes */
    kl_picture_over_fn
        over;      /* NULL: nothing is drawn over it, and nothing copied for that. May change any time */
    unsigned turn; /* quarter turns counterclockwise by which the frontend shows it */
    bool painted;  /* the frontend holds one that was drawn over */
    uint8_t *out;  /* the copy that is drawn over */
    size_t out_cap;
};

/* base: what is shown, black, before the core has drawn anything. */
void kl_picture_init(struct kl_picture *p, bool can_dupe, unsigned base_width, unsigned base_height);
void kl_picture_free(struct kl_picture *p);
/* The core draws (data NULL: the same as before). */
void kl_picture_draw(struct kl_picture *p, const void *data, unsigned width, unsigned height, size_t pitch,
                     retro_video_refresh_t front);
/* The last picture again. Drawn over where it was not kept, it is black. */
void kl_picture_repeat(struct kl_picture *p, retro_video_refresh_t front);
/* Bytes of one pixel. */
size_t kl_picture_pixel_bytes(enum retro_pixel_format format);

#endif
