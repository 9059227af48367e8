/* chain.h - the hashes of picture and sound, chained over all frames since the last label. docs/design.md §6,
 * net/PROTOCOL.md §12.
 *
 * A picture that shows for one frame between two labels is in the chain. A frame that draws nothing repeats
 * the picture before. After a load the last picture is that of another frame, so it is unknown until the core
 * draws, and the chain counts from the next label on. A picture of the graphics card cannot be read. Pure. */
#ifndef KLW_CHAIN_H
#define KLW_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
