/* wrapper.h - the one wrapper of this library: the state that its parts share. libretro's callbacks carry no
 * context, so there is one object, kl_w. Only the frontend's thread uses it; the network thread lives behind
 * kl_link. */
#ifndef KLW_WRAPPER_H
#define KLW_WRAPPER_H

#include <libretro.h>

#include "core_wrapper/words/config.h"
#include "core_wrapper/env/emulator.h"
#include "core_wrapper/frame/pace.h"
#include "core_wrapper/frame/press.h"
#include "core_wrapper/start/savedir.h"
#include "core_wrapper/screen/screen.h"
#include "core_wrapper/core/statehash.h"
#include "core_wrapper/abi/wrapper_api.h"
#include "net/transport/link.h"

enum kl_mode {
    KL_MODE_NONE,  /* nothing is known yet, or there is no core: every entry point is safe and does nothing */
    KL_MODE_ALONE, /* no relay: exactly the bare core */
    KL_MODE_ROOM,
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
    char error[KLW_TEXT_MAX];
    char own_path[4096], system_dir[4096], player_dir[4096]; /* the frontend's folders, as it said */
    struct kl_front front;
    struct kl_config config;
    struct kl_emulator emu;
    struct kl_screen screen;

    struct kl_savedir dir;
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

/* Keeps the line for klw_api.error() and shows it. */
__attribute__((format(printf, 1, 2))) void kl_wrapper_fail(const char *format, ...);
/* A line on the screen; tone as in screen.h. */
__attribute__((format(printf, 3, 4))) void kl_wrapper_say(enum kl_screen_tone tone, unsigned ms,
                                                          const char *format, ...);
/* kl_wrapper_say(), but only once in a session. */
__attribute__((format(printf, 2, 3))) void kl_wrapper_say_once(bool *said, const char *format, ...);

#endif
