/* core_only.h - declarations that only the core can make: they hold pointers into it (keyboard, frame time,
 * disks, memory maps). No other machine can give them, so a snapshot has their names, and a machine whose
 * core has not made the same by itself does not load it. README.md, "Outside of the savestate".
 *
 * All distinct declarations since the core's load are kept, so that going back puts the earlier one in force
 * again. Pure but for the hash. */
#ifndef KLW_CORE_ONLY_H
#define KLW_CORE_ONLY_H

#include <libretro.h>
#include <stdbool.h>
#include <stdint.h>

#define KL_CORE_ONLY      32 /* declarations that are kept; the oldest not in force goes */
#define KL_CORE_ONLY_NAME 40 /* bytes of a name, NUL included */

/* A declaration by name and shape. Equal on all machines for the same declaration: no pointer is in it. */
struct kl_core_only_name {
    char name[KL_CORE_ONLY_NAME];
    uint64_t shape; /* of its numbers: a reference time, the layout of a map; and which of several alike */
};

struct kl_core_only {
    unsigned count;
    struct kl_core_only_at {
        unsigned cmd;
        const char *name;
        bool in_force;
        uint64_t shape;
        uint64_t plain; /* the shape without the place among those alike */
        union {
            retro_keyboard_event_t key_event;
            struct retro_frame_time_callback frame_time;
            struct retro_disk_control_ext_callback disk;
            struct retro_memory_map map; /* borrowed for the life of the library */
        } is;
    } at[KL_CORE_ONLY];
};

/* The core has made this call; name: of the table, borrowed. map: for SET_MEMORY_MAPS, a copy that stays. A
 * call without a declaration in it withdraws the last one. */
void kl_core_only_note(struct kl_core_only *o, unsigned cmd, const char *name, const void *data,
                       struct retro_memory_map map);
/* Names of those in force, by their calls' numbers; gives how many. */
unsigned kl_core_only_names(const struct kl_core_only *o, struct kl_core_only_name names[KL_CORE_ONLY]);
/* The first of these names that the core has not declared since its load, borrowed; NULL: it has all. */
const char *kl_core_only_lacks(const struct kl_core_only *o, const struct kl_core_only_name *names,
                               unsigned count);
/* Puts exactly these in force. kl_core_only_lacks() gave NULL. */
void kl_core_only_force(struct kl_core_only *o, const struct kl_core_only_name *names, unsigned count);
/* The one in force for a call, or for its other form (a plain disk interface and an extended one); NULL. */
const struct kl_core_only_at *kl_core_only_find(const struct kl_core_only *o, unsigned cmd);

#endif
