/* wrapper.h - the one wrapper of this library: the state that its parts share. libretro's callbacks carry no
 * context, so there is one object, kl_w. Only the frontend's thread uses it; the network thread lives behind
 * kl_link. */
#ifndef KLW_WRAPPER_H
#define KLW_WRAPPER_H

#include <libretro.h>

#include "core_wrapper/frame/audio.h"
#include "core_wrapper/words/config.h"
#include "core_wrapper/core/content.h"
#include "core_wrapper/core/core.h"
#include "core_wrapper/core/declare.h"
#include "core_wrapper/frame/latch.h"
#include "core_wrapper/core/memory.h"
#include "core_wrapper/core/options.h"
#include "core_wrapper/frame/pace.h"
#include "core_wrapper/frame/picture.h"
#include "core_wrapper/frame/press.h"
#include "core_wrapper/start/savedir.h"
#include "core_wrapper/screen/screen.h"
#include "core_wrapper/core/statehash.h"
#include "core_wrapper/world/world.h"
#include "core_wrapper/abi/wrapper_api.h"
#include "net/transport/link.h"

/* The frontend's callbacks, the newest of each. */
struct kl_front {
    retro_environment_t environment;
    retro_video_refresh_t video;
    retro_audio_sample_t audio_sample;
    retro_audio_sample_batch_t audio_batch;
    retro_input_poll_t input_poll;
    retro_input_state_t input_state;
};

enum kl_mode {
    KL_MODE_NONE,  /* nothing is known yet, or there is no core: every entry point is safe and does nothing */
    KL_MODE_ALONE, /* no relay: exactly the bare core */
    KL_MODE_ROOM,
};

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

/* The core's declarations to its frontend (room only). */
struct kl_told {
    struct kl_declared controllers, subsystems, descriptors, overrides;
    bool has_format, has_rotation, has_quirks, overrides_known;
    bool reinit; /* the pixel format has changed: the frontend's drivers must be told */
    unsigned rotation;
    bool turns; /* the frontend has taken it */
    uint64_t quirks;
    bool keyboard, disk, display;     /* our proxies stand with the frontend */
    retro_keyboard_event_t key_event; /* the core's own, as all below */
    struct retro_disk_control_ext_callback disk_control;
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

/* Frames and figures of the session. */
struct kl_play {
    struct kl_client_stats stats; /* of the turn before */
    uint32_t next_frame;          /* frames run since frame 0, or passed over */
    uint32_t from;  /* the core was loaded in the middle of this frame's commands; 0: it was not */
    uint32_t limit; /* of the runner; 0: none */
    bool limit_reached;
    bool hidden;     /* the frame that runs will not be seen */
    bool again;      /* the frame has been run before */
    bool core_dupes; /* it gives NULL for "the same picture again" */
    struct kl_pace pace;
    struct kl_press press;
    bool too_slow;       /* catching up does not get anywhere, and no missed frames are still on their way */
    uint64_t missing_us; /* when frames that we missed were last on their way */
    uint64_t last_end_us, refreshed_us; /* end of the last call; last refresh of the memory copies */
    uint64_t stall_since_us, stall_longest_us, stalls;
    struct kl_ram ram;
    struct kl_statehash_buffer buffer;
    bool no_states; /* as the newest hash found */
    bool hash_av;   /* no RAM: picture and sound are hashed, and no frame is hidden from the core */
    uint64_t av_picture, av_sound; /* of the last frame run */
    klw_hash_fn hash_fn;
    void *hash_user;
    struct klw_report report;
};

struct kl_wrapper {
    enum kl_mode mode;
    enum kl_phase phase;
    enum kl_load load; /* which load the core is in just now */
    bool attached;     /* the headless runner drives us */
    char error[KLW_TEXT_MAX];
    char own_path[4096], system_dir[4096], player_dir[4096]; /* the frontend's folders, as it said */
    char save_dir[4096];                                     /* the save folder that the core gets */
    struct kl_front front;
    struct kl_config config;
    struct kl_core core;
    struct kl_world_report world;
    struct retro_system_av_info av; /* as the frontend knows it */
    struct kl_screen screen;

    struct kl_content content;
    struct kl_options options;
    struct kl_savedir dir;
    struct kl_memory memory;
    struct kl_latch latch;
    struct kl_audio audio;
    struct kl_picture picture;
    struct kl_told told;
    struct kl_play play;
    unsigned device[KL_MAX_SEATS]; /* of the frontend, by port */
    uint8_t device_set;            /* bit per port */
    bool show_all;                 /* the core is not told of hidden frames: the host's wish, or ours */
    bool load_own;                 /* at a snapshot every machine loads its own: the host's wish */
    bool no_snapshots;             /* the core's state does not hold all of it: none is taken */

    struct kl_link *link;
    struct kl_stay_status status;
    struct kl_params room; /* in force: welcome.params and the policy commands since */
    unsigned own_seats;    /* how many */
    int instance;     /* socket that marks this process as being in a room, and takes commands; -1: none */
    uint64_t said_us; /* when the last line about waiting was shown */
    bool own_saves;   /* the core works on the player's own save RAM and files: no match has begun yet */
    bool free_begins; /* KL_PHASE_FREE: no frame has run in it */
    bool said_states, said_loads, said_cheats, said_disk, said_desync;
    bool desync_owed; /* the states at the parting are to be written, once they are here */
};

extern struct kl_wrapper kl_w;

/* In a room's place the core is the player's own: before a match, or after it. */
bool kl_wrapper_local(void);
/* Keeps the line for klw_api.error() and shows it. */
__attribute__((format(printf, 1, 2))) void kl_wrapper_fail(const char *format, ...);
/* A line on the screen; tone as in screen.h. */
__attribute__((format(printf, 3, 4))) void kl_wrapper_say(enum kl_screen_tone tone, unsigned ms,
                                                          const char *format, ...);
/* kl_wrapper_say(), but only once in a session. */
__attribute__((format(printf, 2, 3))) void kl_wrapper_say_once(bool *said, const char *format, ...);
/* A core's frame rate in millionths of a hertz; 60 Hz for nonsense. */
uint32_t kl_wrapper_fps_uhz(double fps);

#endif
