/* picture.h - a core's picture, and the chained hashes of picture and sound. */
#ifndef KLW_PICTURE_H
#define KLW_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core_wrapper/draw/canvas.h"

/* --- the picture --- */

/* The video bridge: shows the frontend the pictures of the frames that run, the last one again if none runs,
 * and the wrapper's drawing over them. The core's own buffer is only read. */

/* Draws on a copy of the shown picture. */
typedef void (*kl_picture_over_fn)(void *ctx, const struct kl_canvas *c);

struct kl_picture {
    bool can_dupe; /* the frontend takes NULL for "the same again" */
    bool dupes;    /* the core gives NULL for "the same again" */
    bool shown;    /* the frontend has got a picture */
    enum retro_pixel_format format;
    unsigned width, height; /* of the last picture */
    size_t pitch;
    bool hardware; /* the last picture lies in the frontend's own framebuffer: nothing can be drawn over it */
    uint8_t *copy; /* the last picture, if it cannot be duped or is drawn over */
    size_t cap;
    bool kept; /* copy holds it */

    bool want_copy; /* keep a copy, because something may be drawn over the last picture later */
    kl_picture_over_fn
        over;      /* draws over the picture; NULL: nothing, and no copy for that. May change at any time */
    unsigned turn; /* quarter turns counterclockwise by which the frontend shows it */
    void *over_ctx;
    bool painted; /* the frontend's last picture was drawn over */
    uint8_t *out; /* the copy for drawing */
    size_t out_cap;
};

/* base: size of the black picture that shows before the core draws. */
void kl_picture_init(struct kl_picture *p, bool can_dupe, unsigned base_width, unsigned base_height);
void kl_picture_free(struct kl_picture *p);
/* The core draws (data NULL: the same picture as before). */
void kl_picture_draw(struct kl_picture *p, const void *data, unsigned width, unsigned height, size_t pitch,
                     retro_video_refresh_t front);
/* A picture of a frame that is seen, or hidden: then a core that repeats pictures by NULL may have it shown
 * later. */
void kl_picture_take(struct kl_picture *p, const void *data, unsigned width, unsigned height, size_t pitch,
                     bool hidden, retro_video_refresh_t front);
/* XXH3-64 of a picture, without the bytes between its lines. */
uint64_t kl_picture_hash(enum retro_pixel_format format, const void *data, unsigned width, unsigned height,
                         size_t pitch);
/* Shows the last picture again. If it must be drawn over and was not kept, it is black. */
void kl_picture_repeat(struct kl_picture *p, retro_video_refresh_t front);

/* --- the hashes of picture and sound --- */

/* The hashes of picture and sound, chained over all frames since the last label. docs/design.md §6,
 * net/PROTOCOL.md §12.
 *
 * A picture that shows for one frame between two labels is in the chain. A frame that draws nothing repeats
 * the picture before. After a load the last picture is that of another frame, so it is unknown until the core
 * draws, and the chain counts from the next label on. A picture of the graphics card cannot be read. Pure. */

struct kl_chain {
    uint64_t picture, sound; /* since the last label */
    uint64_t last;           /* the last picture's hash; 0: none was drawn */
    bool known;              /* `last` is the picture that the machine shows */
    bool blind, deaf;        /* the chain lacks a picture, or sound, of a frame since the last label */
    bool reloaded;           /* kl_chain_reloaded() */
};

/* Before frame 0. */
void kl_chain_begin(struct kl_chain *c);
/* The core draws a picture with this hash (kl_picture_hash()); 0: it lies in the graphics card. */
void kl_chain_picture(struct kl_chain *c, uint64_t hash);
/* A batch of sound. */
void kl_chain_sound(struct kl_chain *c, const int16_t *stereo, size_t frames);
/* The frame has run. */
void kl_chain_frame(struct kl_chain *c);
/* A marked keyframe: the chain begins anew. */
void kl_chain_label(struct kl_chain *c);
/* A state of another frame, or of another machine, was loaded. */
void kl_chain_loaded(struct kl_chain *c);
/* A state was loaded of which the room does not know: sound counts no more, as in a room that knows. */
void kl_chain_reloaded(struct kl_chain *c);
/* True if the chain has the pictures of all frames since the last label, and one was ever drawn; the sound.
 */
bool kl_chain_sees(const struct kl_chain *c);
bool kl_chain_hears(const struct kl_chain *c);

#endif
