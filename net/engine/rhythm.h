/* rhythm.h - the buttons of a pad that go in a steady rhythm: a turbo button, or one that is hit again and
 * again. Running ahead guesses that the rhythm goes on (ahead.h). `make bench-guess` compares it with buttons
 * that are held as last seen. Pure. */
#ifndef KL_RHYTHM_H
#define KL_RHYTHM_H

#include <stdbool.h>
#include <stdint.h>

#define KL_RHYTHM_BUTTONS 16
#define KL_RHYTHM_LAST    4  /* holds, and gaps between them, of which a rhythm is read */
#define KL_RHYTHM_SPREAD  3  /* frames between the shortest and the longest of them, at most */
#define KL_RHYTHM_MOST    20 /* frames of one; a longer one is no rhythm */

/* Zero: nothing has been seen. */
struct kl_rhythm {
    struct kl_rhythm_button {
        bool pressed;
        uint8_t since;                   /* frames in which it is so, at most 255 */
        uint8_t last[2][KL_RHYTHM_LAST]; /* lengths of the last gaps [0] and holds [1], the newest first */
    } button[KL_RHYTHM_BUTTONS];
};

/* The pad of the next frame. */
void kl_rhythm_see(struct kl_rhythm *r, uint16_t pad);
/* The pad, `ahead` frames after the last one seen: buttons with a rhythm follow it, the others are held. */
uint16_t kl_rhythm_guess(const struct kl_rhythm *r, unsigned ahead);

#endif
