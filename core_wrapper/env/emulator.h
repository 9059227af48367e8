/* emulator.h - a core with its world, its environment and its input: everything that one running core needs.
 *
 * There may be KL_WORLDS in one process. libretro's callbacks and the C library's functions take no context,
 * so each emulator has functions of its own (callbacks.c). One emulator is known
 * to the frontend: its declarations are passed on, and the frontend's own calls go to it. Not thread-safe. */
#ifndef KLW_EMULATOR_H
#define KLW_EMULATOR_H

#include <libretro.h>
#include <stdatomic.h>

#include "core_wrapper/core/content.h"
#include "core_wrapper/core/core.h"
#include "core_wrapper/core/declare.h"
#include "core_wrapper/core/memory.h"
#include "core_wrapper/core/options.h"
#include "core_wrapper/core/statehash.h"
#include "core_wrapper/env/core_only.h"
#include "core_wrapper/env/lasting.h"
#include "core_wrapper/frame/audio.h"
#include "core_wrapper/frame/latch.h"
#include "core_wrapper/frame/picture.h"
#include "core_wrapper/start/savedir.h"
#include "core_wrapper/world/pages.h"
#include "core_wrapper/world/world.h"

/* The frontend's callbacks, the newest of each. */
struct kl_front {
    retro_environment_t environment;
    retro_video_refresh_t video;
    retro_audio_sample_t audio_sample;
    retro_audio_sample_batch_t audio_batch;
    retro_input_poll_t input_poll;
    retro_input_state_t input_state;
};

/* The owner of the core, and whether it runs; of a match by its state (match/state.h). */
enum kl_phase {
    KL_PHASE_IDLE,    /* no content */
    KL_PHASE_WAITING, /* in a room that does not play yet; the core stands still */
    KL_PHASE_FREE,    /* the same or no room at all, and the core runs: the player's own */
    KL_PHASE_READY,   /* loaded afresh */
    KL_PHASE_PLAYING,
    KL_PHASE_LOCAL, /* the room is gone; played on alone */
    KL_PHASE_DEAD,  /* refused, or the load failed: a still picture */
};

/* The room's treatment of declarations that count only while the core loads. */
enum kl_load { KL_LOAD_NONE, KL_LOAD_FIRST, KL_LOAD_AFRESH };

/* The core's declarations to its frontend (room only): what the frontend was told, and what it answered. The
 * machine's own values are in struct kl_emulator, and follow from locked frames alone (outside.h). */
struct kl_told {
    struct kl_declared controllers, subsystems, descriptors, overrides;
    bool has_format, has_rotation, overrides_known;
    bool reinit; /* the pixel format has changed: the frontend's drivers must be told */
    enum retro_pixel_format format;
    uint8_t refused_formats; /* bit by format */
    struct retro_system_av_info av;
    unsigned rotation;
    bool turns;                       /* the frontend has taken it */
    uint8_t supports;                 /* KL_SUPPORT_* */
    bool map_changed;                 /* the frontend has another memory map */
    bool list_changed;                /* the frontend has another list of options */
    unsigned listed;                  /* options of the list that it was shown first */
    bool keyboard, disk, display;     /* our proxies stand with the frontend */
    retro_keyboard_event_t key_event; /* the core's own, as all below */
    struct retro_disk_control_ext_callback disk_control;
    bool netpacket;          /* the answer to the core's own packet interface */
    unsigned unknown;        /* the last call that the table does not have */
    bool options, tray_open; /* options were declared; the frontend has opened the tray, and then chosen: */
    unsigned tray_index;
    retro_core_options_update_display_callback_t update_display;
    struct retro_frame_time_callback frame_time;
    /* hardware rendering */
    bool hw, hw_alive;                        /* the frontend has accepted it; it has made the context */
    struct retro_hw_render_callback hw_first; /* as first answered */
    retro_hw_context_reset_t hw_reset, hw_destroy;
    /* proxies over the frontend's interfaces */
    struct retro_rumble_interface rumble;
    struct retro_led_interface led;
};

/* The core's log (core_log.h). Cores log from any thread: the first to take `listens` back writes the line.
 */
struct kl_core_log {
    retro_log_printf_t front; /* the frontend's */
    char error[128];
    atomic_bool listens;
};

/* The owner's functions: the effects of a core's calls outside of this folder. Each may be NULL. ctx: the
 * owner's. */
struct kl_emulator_hooks {
    void *ctx;
    void (*video)(void *ctx, const void *data, unsigned width, unsigned height, size_t pitch);
    void (*sound)(void *ctx, const int16_t *stereo, size_t frames);
    void (*rate)(void *ctx, double fps); /* the core's rate has changed in play */
    bool (*typed)(void *ctx, bool down, unsigned code,
                  uint32_t character);      /* a key; true: it is not the game's */
    int (*disk)(void *ctx, uint16_t index); /* the frontend's choice of a disk, or KL_DISK_NONE; 0: taken */
    bool (*netpacket)(void *ctx,
                      const void *theirs); /* the core's own packet interface; true: it is served */
    void (*no_new_disk)(void *ctx);        /* a disk was to be added, which a room does not allow */
    void (*log)(void *ctx, const char *line);
};

/* A disk on its way into the drive of a core. */
struct kl_tray {
    bool open;      /* until this frame; then disk `index` goes in */
    uint32_t frame; /* closed before it */
    uint16_t index; /* KL_DISK_NONE: none */
};

/* The core's flags of SET_SUPPORT_NO_GAME and SET_SUPPORT_ACHIEVEMENTS. */
enum { KL_SUPPORT_NO_GAME = 1, KL_SUPPORT_ACHIEVEMENTS = 2 };

struct kl_emulator {
    const struct kl_front *front; /* the frontend's, to be asked */
    /* This core is shut in (env_shut.c): the frontend hears nothing of it, and it gets the answers that this
     * emulator got; NULL: it is not. */
    const struct kl_emulator *like;
    struct kl_emulator_hooks hooks;
    const struct kl_emulator_calls *calls; /* from kl_emulator_environment() on */
    bool alone;                            /* the frontend's answers are the core's: no room can come about */
    bool runner;                           /* the frontend is the headless runner */
    bool clocked;                          /* alone: the virtual clock follows the core's rate */
    bool unseen;                           /* the frame that runs will not be seen, and the core may know */

    struct kl_core core;
    struct kl_world *world; /* from kl_emulator_begin() on */
    struct kl_world_report turned;
    bool own_heap;          /* before it is turned: it may go back by its pages */
    struct kl_pages *pages; /* NULL: it cannot */
    struct kl_gifts gifts;
    struct kl_content content;
    struct kl_options options;
    struct kl_memory memory;
    struct kl_latch latch;
    struct kl_audio audio;
    struct kl_picture picture;
    struct kl_told told;
    struct kl_lasting lasting;
    struct kl_core_log log;
    struct retro_system_av_info av; /* as the core has declared it last */
    unsigned rotation;              /* that the core asked for */
    uint8_t supports;               /* KL_SUPPORT_* */
    uint64_t quirks;                /* of its savestates, as answered (quirks.h) */
    uint32_t device[KL_MAX_SEATS];  /* in its ports, as set by us, plus one; 0: none was set */
    struct kl_tray tray;
    struct kl_core_only only;
    bool quiet; /* declarations are kept for kl_outside_tell(): frames run again, or a state is loaded */
    char save_dir[4096];    /* the save folder that the core gets */
    const char *system_dir; /* the player's; borrowed */
    enum kl_phase phase;
    enum kl_load load; /* the load that the core is in just now */
};

/* Takes a world, and with it a place among the emulators of this process. hooks: copied. The first one is
 * known to the frontend. Harmless for one that has begun. Returns 0, or -1: KL_WORLDS have begun. */
int kl_emulator_begin(struct kl_emulator *e, const struct kl_front *front,
                      const struct kl_emulator_hooks *hooks);
/* The core has been closed. */
void kl_emulator_end(struct kl_emulator *e);
/* Closes the core, frees all but the content, and ends. The frontend has kept nothing of the core's. */
void kl_emulator_close(struct kl_emulator *e);

/* The core's environment callback, and all its others: for each emulator its own. */
retro_environment_t kl_emulator_environment(struct kl_emulator *e);
void kl_emulator_give_callbacks(const struct kl_emulator *e);

/* Runs one frame of the core with these inputs. Its clock stands there already. unseen: as above. */
void kl_emulator_run(struct kl_emulator *e, const struct kl_frame *f, bool unseen);
/* Opens the drive before this frame; the disk goes in a second later. False: this core has no disks, and
 * nothing has changed. */
bool kl_emulator_swap_disk(struct kl_emulator *e, uint16_t index, uint32_t frame);
/* Before each frame: closes the drive as its time has come. */
void kl_emulator_tray(struct kl_emulator *e, uint32_t frame);
/* Puts this disk into the core's drive, and leaves the tray out if `ejected`. Harmless without a drive. */
void kl_emulator_put_disk(struct kl_emulator *e, unsigned index, bool ejected);

/* The core's RAM, as it stands (kl_ram_find). */
void kl_emulator_find_ram(const struct kl_emulator *e, struct kl_ram *ram);

/* In a room's place the core is the player's own: before a match, or after it. */
bool kl_emulator_local(const struct kl_emulator *e);
/* A core's frame rate in millionths of a hertz; 60 Hz for nonsense. */
uint32_t kl_emulator_fps_uhz(double fps);

#endif
