/* outside.h - the machine beside the core's savestate: the core's declarations to its frontend, and the
 * values that the wrapper holds for it. README.md, "Outside of the savestate"; net/PROTOCOL.md §12,
 * "A snapshot's bytes".
 *
 * Everything here follows from locked frames alone, so equal machines have equal values. They are integers,
 * for they are in a snapshot's agreed bytes. The frontend's answers, and things that are only shown, are not
 * here (struct kl_told). Values of another machine are bounded before use. */
#ifndef KLW_OUTSIDE_H
#define KLW_OUTSIDE_H

#include "core_wrapper/core/options_form.h"
#include "core_wrapper/core/quirks.h"
#include "core_wrapper/env/emulator.h"
#include "net/engine/wire.h"

#define KL_OUTSIDE_SIZE_MAX   8192      /* pixels, width or height */
#define KL_OUTSIDE_ASPECT_MAX 100000000 /* millionths */
#define KL_OUTSIDE_RATE_MIN   8000000   /* sound, millihertz */
#define KL_OUTSIDE_RATE_MAX   384000000
#define KL_OUTSIDE_NO_DISK    0xffff /* the core has no disk interface */
#define KL_OUTSIDE_BYTES      8192   /* the most that it takes without the options */

struct kl_outside {
    /* picture and sound, as declared last */
    uint16_t base_width, base_height, max_width, max_height; /* 1 to KL_OUTSIDE_SIZE_MAX */
    uint32_t aspect_e6;                                      /* millionths; 0: by the sizes */
    uint32_t fps_uhz;                                        /* 1 to 1,000 Hz */
    uint32_t rate_mhz;                                       /* of sound: 8 to 384 kHz */
    uint8_t format;                                          /* enum retro_pixel_format */
    uint8_t rotation;                                        /* quarter turns, 0 to 3 */
    uint8_t supports;                                        /* KL_SUPPORT_* */

    uint8_t quirks;                        /* of savestates */
    char platform[KL_QUIRKS_PLATFORM_MAX]; /* of machines that may load the state; "": all */

    uint32_t device[KL_MAX_SEATS]; /* in the core's ports, plus one; 0: none was set */
    uint32_t subsystem;            /* that the content was loaded as, plus one; 0: as plain content */

    uint16_t disk, disks; /* in the drive; how many there are. KL_OUTSIDE_NO_DISK */
    bool ejected;
    struct kl_tray tray;

    struct kl_key_set held[KL_MAX_SEATS]; /* keys, by seat */
    struct kl_lasting lasting;            /* motors by port, and lights */

    struct kl_core_only_name only[KL_CORE_ONLY]; /* by their calls' numbers */
    uint8_t only_count;

    bool updated;           /* an option has changed since the core last asked */
    const uint8_t *options; /* options_form.h; borrowed from own, or from the bytes that were read */
    size_t options_len;
    uint8_t *own; /* heap */
    size_t own_cap;
    uint32_t version; /* of the options in own; with own */
};

/* Takes the emulator's. Start with zeros; used again, it keeps the heap's memory, and options that have not
 * changed. False without memory. */
bool kl_outside_collect(struct kl_outside *o, const struct kl_emulator *e);
void kl_outside_free(struct kl_outside *o);

void kl_outside_write(struct kl_writer *w, const struct kl_outside *o);
/* An upper bound of its bytes. */
size_t kl_outside_bound(const struct kl_outside *o);
/* r->failed if it is malformed. The options are borrowed from r. */
void kl_outside_read(struct kl_reader *r, struct kl_outside *o);

/* Names what differs between this machine and another, "fps 60.000000, there 50.000000", as far as cap goes.
 * False: nothing does. */
bool kl_outside_differs(const struct kl_outside *here, const struct kl_outside *there, char *what,
                        size_t cap);

/* The name of what only the core can do, and this machine's core has not done by itself, borrowed: a
 * declaration, or another. NULL: kl_outside_apply() can give it all of o. */
const char *kl_outside_lacks(const struct kl_emulator *e, const struct kl_outside *o);
/* Puts o in place of the emulator's: the core's options, ports and drive, and all that it has declared. The
 * frontend hears nothing before kl_outside_tell(). Call it before the state is loaded and after it: a core
 * may declare something while it loads. False without memory for the options; all else is applied. */
bool kl_outside_apply(struct kl_emulator *e, const struct kl_outside *o);

/* Inside retro_run, or while loading for a room: tells the frontend all declarations that differ from what it
 * knows, each once. Nothing while e->quiet. */
void kl_outside_tell(struct kl_emulator *e);
/* The core's options are not those of o. */
bool kl_outside_other_list(const struct kl_outside *o, const struct kl_emulator *e);
/* The memory map alone, also during a load. */
void kl_outside_tell_map(struct kl_emulator *e);

#endif
