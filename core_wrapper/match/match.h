/* match.h - a match on this machine: the core, the frontend, the link to the room, and the state of each part
 * of a match. The exported entry points have the one match of this library (abi/the_match.h); all others get
 * it as an argument. Only the frontend's thread uses it; the network thread lives behind kl_link. */
#ifndef KLW_MATCH_H
#define KLW_MATCH_H

#include "core_wrapper/core/statehash.h"
#include "core_wrapper/frame/chain.h"
#include "core_wrapper/frame/pace.h"
#include "core_wrapper/frame/press.h"
#include "core_wrapper/frontend/frontend.h"
#include "core_wrapper/match/choice.h"
#include "core_wrapper/match/command.h"
#include "core_wrapper/match/control.h"
#include "core_wrapper/match/core_run.h"
#include "core_wrapper/match/join.h"
#include "core_wrapper/match/overlay.h"
#include "core_wrapper/match/replay.h"
#include "core_wrapper/match/room_profile.h"
#include "core_wrapper/match/run_ahead.h"
#include "core_wrapper/match/slot.h"
#include "core_wrapper/match/snapshot.h"
#include "core_wrapper/match/state.h"
#include "core_wrapper/match/wish.h"
#include "core_wrapper/netplay/netplay.h"
#include "core_wrapper/record/record.h"
#include "core_wrapper/start/savedir.h"
#include "core_wrapper/words/config.h"
#include "net/transport/link.h"

/* Frames and figures of the session. */
struct kl_play {
    struct kl_client_stats stats; /* of the turn before */
    uint32_t next_frame;          /* frames run since frame 0, or passed over */
    uint32_t from;      /* the core was loaded in the middle of this frame's commands; 0: it was not */
    uint32_t limit;     /* of the runner; 0: none */
    unsigned own_seats; /* how many this machine plays */
    bool own_saves;     /* the core works on the player's own save RAM and files: no match has begun yet */
    bool begins_free;   /* KL_PHASE_FREE: no frame has run in it */
    struct kl_core_run run;
    struct kl_pace pace;
    struct kl_press press;
    uint32_t returns;    /* of `stats`, for which the keys that are down were said anew */
    bool too_slow;       /* catching up does not get anywhere, and no missed frames are still on their way */
    uint64_t missing_us; /* when frames that we missed were last on their way */
    uint64_t last_end_us, refreshed_us; /* end of the last call; last refresh of the memory copies */
    uint64_t ran_us;                    /* end of the last frame that was no repetition; 0: none */
    struct kl_lasting_told lasting;
    uint64_t stall_since_us, stall_longest_us, stalls;
    struct kl_ram ram;
    struct kl_statehash_buffer buffer;
    bool no_states; /* as the newest hash found */
    bool draws;     /* picture and sound are hashed, and no frame is hidden from the core */
    struct kl_chain chain;
    struct klw_hash hashed; /* the newest */
    klw_hash_fn hash_fn;
    void *hash_user;
    struct klw_report report;
    struct kl_run_ahead ahead;
    struct kl_replay replay;
    struct kl_cost cost;     /* of a frame of the true core, without its picture */
    struct kl_spent showing; /* by the frontend, in the frame that runs */
};

struct kl_match {
    enum kl_match_state state;
    struct kl_frontend front;
    struct kl_config config;
    struct kl_emulator emu;
    struct kl_savedir dir;

    struct kl_link *link; /* NULL: in no room */
    struct kl_participant_status status;

    struct kl_wish wish;
    struct kl_choice choice;
    struct kl_join join;
    struct kl_room_profile profile;
    struct kl_play play;
    struct kl_command_state command;
    struct kl_control control;
    struct kl_slot slot;
    struct kl_snapshots snapshots;
    struct kl_overlay overlay;
    struct kl_record record;
    struct kl_netplay netplay;
};

/* All zero before. Its parts learn of each other. */
void kl_match_init(struct kl_match *m);

#endif
