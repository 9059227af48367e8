/* match.h - the memory of a match on this machine: the core, the frontend, the link to the room, and each
 * part of the match. Each struct names the header with its part's functions. The exported entry points have
 * the one match of this library (abi/the_match.h); all others get it as an argument. Only the frontend's
 * thread uses it; the network thread lives behind kl_link. */
#ifndef KLW_MATCH_H
#define KLW_MATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core_wrapper/ahead/shown.h"
#include "core_wrapper/core/statehash.h"
#include "core_wrapper/draw/canvas.h"
#include "core_wrapper/draw/graph.h"
#include "core_wrapper/env/emulator.h"
#include "core_wrapper/env/outside.h"
#include "core_wrapper/frame/picture.h"
#include "core_wrapper/frame/pace.h"
#include "core_wrapper/frontend/frontend.h"
#include "core_wrapper/match/overlay.h"
#include "core_wrapper/match/own_states.h"
#include "core_wrapper/match/quick.h"
#include "core_wrapper/match/snapshot_form.h"
#include "core_wrapper/match/wanted_room.h"
#include "core_wrapper/netplay/netplay.h"
#include "core_wrapper/profile/profile.h"
#include "core_wrapper/record/record.h"
#include "core_wrapper/record/recording.h"
#include "core_wrapper/screen/away.h"
#include "core_wrapper/screen/chat.h"
#include "core_wrapper/screen/panel.h"
#include "core_wrapper/start/savedir.h"
#include "core_wrapper/start/seat_file.h"
#include "core_wrapper/start/start.h"
#include "core_wrapper/start/sums.h"
#include "core_wrapper/voice/talk.h"
#include "core_wrapper/words/config.h"
#include "core_wrapper/words/hotkeys.h"
#include "core_wrapper/words/own_options.h"
#include "net/engine/ahead.h"
#include "net/engine/command.h"
#include "net/engine/facts.h"
#include "net/engine/history.h"
#include "net/engine/msg.h"
#include "net/platform/file.h"
#include "net/platform/process.h"
#include "net/platform/thread.h"
#include "net/session/command_words.h"
#include "net/session/name.h"
#include "net/session/url.h"
#include "net/transport/link.h"

#define KL_SNAPSHOT_LACKED 64  /* bytes, NUL included */
#define KL_RUN_AHEAD_SEEN  128 /* frames whose pictures are compared */
#define KL_RUN_AHEAD_BINS  500 /* of replay times, 0.1 ms each; the last one has all longer ones */
#define KL_CONTROL_OWN_MAX 32  /* bytes of a value of ours, NUL included */

struct kl_match;

/* A run of frames (command.h). */
enum kl_run_how {
    KL_RUN_NEW,   /* the true core's next frame: on the screen, told, recorded */
    KL_RUN_AGAIN, /* the true core has run it before: unseen, unheard, untold */
    KL_RUN_AHEAD, /* the shown core's: the room, the record and the true core stay as they are */
};

struct kl_core_run {
    struct kl_emulator *emu;
    struct kl_record *record; /* NULL: no recording has its frames */
    enum kl_run_how how;
    uint32_t number;             /* of the newest frame */
    bool hidden;                 /* the frame that runs will not be seen */
    uint8_t plays[KL_MAX_SEATS]; /* by whose pads: the seat they play */
};

/* The program that measures an unknown core (room_profile.h). */
struct kl_learn {
    struct kl_process measuring; /* id 0: none runs */
    uint64_t begun_us, given_us; /* given_us: 0: the mask was not given yet */
    bool found;                  /* there are findings, of now or of earlier */
    unsigned tries;              /* the mask was given so often */
};

/* The files that the room compares (join.h). */
struct kl_checks {
    struct kl_sums sums;
    bool owed; /* the core is loaded for the room, and READY waits for checksums */
    uint64_t looked_us;
    unsigned seen; /* files of the world that are compared, or are among `late` */
    struct {
        bool on;
        uint16_t disk;
        uint64_t looked_us, said_us; /* the next look; the last word on its progress */
    } check;
    unsigned lates;
    struct kl_checks_late {
        unsigned at; /* kl_world_file() */
        bool said;
    } late[KL_LATE_FILES];
};

/* A room that begins with a frame of a recording (take_over.h). */
struct kl_take_over {
    uint8_t *start; /* heap: the start data that we give in `room`; NULL: none */
    size_t len;
    char room[KL_NAME_MAX];
    unsigned seat; /* that we play there, from 1 */
    bool asks;     /* the player is to answer for the state that has come: */
    uint64_t asked_us;
    uint8_t asked[KL_SNAPSHOT_HASH], agreed[KL_SNAPSHOT_HASH]; /* agreed: all zero: none */
    char words[KL_START_WORDS]; /* of the state that the room begins with; "": it begins at power-on */
};

/* The room's saved state (slot.h). */
struct kl_slot {
    bool any, told;           /* a SAVE has been done; the relay knows */
    uint32_t frame;           /* its keyframe */
    uint8_t *state;           /* NULL: the core did not serialize */
    struct kl_fileset *files; /* NULL: it had written none */
    size_t bytes;
    struct kl_outside outside; /* of the core at that frame */
    uint64_t hash;
};

/* The machine's states at the room's keyframes, given, taken and loaded (snapshot.h). */
struct kl_snapshots {
    /* The thread's job; one at a time. A snapshot taken meanwhile does not wait for it. */
    struct {
        enum { KL_JOB_NONE, KL_JOB_HASH, KL_JOB_PACK, KL_JOB_UNPACK } kind;
        bool threaded;
        struct kl_thread thread;
        atomic_bool done;
        const uint8_t *in, *base; /* base: KL_JOB_PACK: the older snapshot to pack against, or NULL */
        size_t in_len, base_len;
        struct kl_offer offer; /* KL_JOB_UNPACK: the expected snapshot */
        uint8_t *freed;        /* freed after the job; or NULL */
        bool stale;            /* nobody wants it any more */
        uint8_t *out;          /* NULL: it came to nothing */
        size_t out_len;
        uint8_t hash[KL_SNAPSHOT_HASH];
    } job;

    struct {
        uint8_t *bytes; /* the newest that was taken here; NULL: the core gave none */
        size_t len;
        uint32_t frame;
        bool taken, said; /* said: or being hashed */
        bool asked;       /* the relay wants it */
        bool hashed;
        uint8_t hash[KL_SNAPSHOT_HASH];
    } own;

    /* The snapshot taken before `own`. The difference to it is smaller to give, if the relay has that one. */
    struct {
        uint8_t *bytes; /* NULL: none */
        size_t len;
        uint32_t frame;
        uint8_t hash[KL_SNAPSHOT_HASH];
    } before;
    struct kl_ask ask; /* own.asked: the relay's question */

    struct kl_outside outside;       /* this machine's, as collected last */
    char lacked[KL_SNAPSHOT_LACKED]; /* why the room's state was not loaded, for a screen; "": it was */
    struct kl_own_states mine;       /* as snapshots, but of the keyframe's beginning: before its commands */

    struct {
        uint8_t *bytes; /* unpacked and checked, to be loaded; NULL: none */
        size_t len;
        struct kl_offer offer;
    } got;

    /* Going back to a state of the past (snapshot.h). */
    struct {
        bool running;           /* frames [at, end) are to be run again */
        bool own;               /* from an own state; else from a snapshot of the room's */
        bool lost;              /* the relay has lost the frames from `keyframe` on; others follow there */
        uint32_t rate;          /* the core's before, millionths of a hertz */
        uint32_t from, at, end; /* the state's frame; the next one; the first that was not run before */
        uint32_t keyframe;      /* of OFFER or REWIND */
        uint8_t how;
        struct kl_history_cursor past;
    } back;
};

/* The profile of this core and content (room_profile.h). */
struct kl_room_profile {
    struct kl_profile own;       /* the profile of the loaded core and content; room zero: none */
    struct kl_profile for_core;  /* of all games of the core with states of this size; room zero: none */
    struct kl_profile_room room; /* in force */
    bool foreign;      /* the host's system is another than this one: unequal states are only noted */
    bool show_all;     /* in force: the core is not told of hidden frames; the host's wish, or ours */
    bool load_own;     /* in force: at a snapshot every machine loads its own; the host's wish */
    bool no_snapshots; /* in force: the core's state does not hold all of it, none is taken */
    bool said_size;
    size_t size_bytes; /* of a state; asked before the match, for some cores serialize to know it */
    struct kl_learn learn;
    struct kl_mask_said said; /* the mask that comes by commands */
};

/* Frames ahead of the lock (run_ahead.h). */
struct kl_run_ahead {
    struct kl_shown shown;
    struct kl_ahead plan;
    struct kl_core_run run;      /* the shown core's; plays: as its newest closed frame has them */
    bool displays;               /* its frames are on the screen */
    bool anew;                   /* it is to begin with the next marked keyframe's state */
    bool failed;                 /* given up for this match */
    char why[96];                /* the newest reason why it was not ahead; "": none */
    struct kl_ahead_doubt doubt; /* with `auto` */
    uint16_t lag;                /* frames from an own sample to the frame that it plays in */
    bool idle;                   /* no frame is to be ahead */
    uint64_t idle_us, rest_us;   /* since then; up to then it costs too much. 0: it does not */
    uint64_t fit_us;             /* since then some frame was ahead */
    uint32_t rest_s;             /* length of the last rest */
    double again;                /* frames run again in a call, on average */
    struct kl_cost frame, load;  /* of a frame with its state, without its picture; of a load */
    unsigned parted; /* grows as the shown core parts from the true one without a wrong guess, else shrinks */
    bool parts_now;  /* since the last marked keyframe */
    uint8_t liars;   /* ports with a false straight sample so far, a bit each */

    /* the frame that runs */
    bool audible;
    bool hardware;                            /* its picture lies in the frontend's framebuffer */
    uint64_t picture;                         /* hash of the shown core's newest picture */
    uint64_t picture_before[KL_AHEAD_FRAMES]; /* as it was before a frame */
    struct {
        uint32_t frame;
        bool shown, again; /* on the screen; run again since */
        uint64_t picture;
        bool has_ram;
        uint64_t ram; /* before the frame */
    } seen[KL_RUN_AHEAD_SEEN];

    bool fades; /* the next sound is to fade in */
    struct kl_fade fade;

    double feels; /* frames, smoothed; 0: unknown */
    struct kl_run_ahead_sum {
        uint64_t breaks;            /* the true core came back onto the screen */
        uint64_t by_pages;          /* times that it went back by the pages of its memory */
        uint64_t calls, frames_sum; /* calls in which it was on the screen; frames ahead in them */
        uint64_t felt_count, felt_sum;
        uint64_t compared, wrong; /* shown frames; those with another picture than the true core's */
        uint64_t replayed, replays;
        uint32_t replay_bins[KL_RUN_AHEAD_BINS];
        uint64_t first_us, last_us;
    } sum;
};

/* A recording that is shown, or a challenge that is played (replay.h, session.h). */
struct kl_replay {
    struct kl_recording *rec; /* NULL: nothing is replayed */
    bool token;               /* it is that of a challenge, which is played (session.h) */
    struct kl_file lock;      /* of the challenge's run, if */
    bool locked;              /* it is held */
    struct kl_replay_states states;
    bool begun;           /* the core stands at frame 0, or later */
    bool loaded;          /* the state of the next frame was taken as it was hashed */
    bool from_state;      /* the core has been in a loaded state since its beginning */
    bool no_states;       /* those of this core are not all of it: from the beginning to each frame */
    bool again;           /* it parted because of that: to the same frame from the beginning */
    bool paused, seeking; /* seeking: frames before `target` run unseen */
    unsigned steps;       /* frames that run all the same while it is paused */
    uint32_t target;
    uint64_t sought_us;         /* since when */
    uint16_t pad;               /* the first pad's buttons of the last turn */
    bool moves;                 /* left or right is held: */
    uint32_t wish;              /* the frame to seek once it is let go */
    uint64_t held_us, moved_us; /* since when; the last move */
    uint64_t bar_until_us;      /* the bar shows */
    unsigned seat;              /* the seat that the player may take over, plus one; 0: none */
    const char *room;           /* the room that begins there; NULL: the player goes on alone */
    bool taken;                 /* has done so */
    bool told_end, told_parted;
    /* Draws over the picture, at the top; NULL: nothing. */
    void (*above)(struct kl_match *m, const struct kl_canvas *c);
};

/* The player's voice (talking.h). */
struct kl_talking {
    struct kl_voice_box *box;      /* of the link; NULL: no link, or no memory */
    struct kl_talk *talk;          /* NULL: voice is off */
    bool failed;                   /* it could not be switched on */
    struct kl_talk_news news;      /* of this turn */
    uint16_t muted;                /* clients */
    int8_t louder[KL_MAX_CLIENTS]; /* percent: -100 to 100; 0: as it comes */
    struct {
        bool listens, in_game;
        uint64_t plays_since_us;
        const char *why; /* nobody hears the player; "": somebody does; NULL: not told yet */
        char error[KL_TALK_ERROR];
    } told;
};

/* The way into a room (join.h). */
struct kl_join {
    struct kl_room_request request; /* the room that we are in, or on the way to */
    struct kl_link_config config;
    struct kl_seat_file seat;
    struct kl_checks checks; /* the room compares them */
    bool back;               /* the link began with a seat that was left behind */
    uint64_t anew_us;        /* the next kl_join_anew() that opens a link; 0: none waits */
    bool invited;
    struct kl_url game; /* core and game of the invitation; read once, as `read_game` says */
    bool read_game;
    bool told_direct; /* the player was, that others see this address */
    struct kl_take_over take_over;
    struct kl_talking talking;
};

/* The player's choice of a way (choice.h). */
struct kl_choice {
    enum kl_play_mode mode; /* as it is played */
    char menu[64];          /* the options as last seen */
    uint64_t looked_us, turned_us;
    unsigned nth; /* of the rooms of this game, for a player who named none */
    bool by_menu; /* a core option that was changed counts, whatever the settings say */
    struct kl_quick *quick;
    struct {
        struct kl_quick *look;  /* while a room waits for players; NULL: it does not */
        char room[KL_NAME_MAX]; /* another open room of the game; "": none is known */
    } beside;
    char barred[KL_NAME_MAX]; /* a room that we were refused */
    bool made;                /* the room that we are in is ours, for a quick match */
    bool told_no_relay;
    bool netplay;      /* in a room that RetroArch's netplay led to */
    bool left;         /* by a command or the frontend's menu: alone, until a core option is chosen */
    bool leaves;       /* with the next turn */
    uint64_t retry_us; /* KL_MATCH_RETRYING: the relay is asked again then */
    struct {
        char advice[KL_ADVICE_MAX];
        uint64_t at_us;
    } end; /* of the last room, or of the way to it. advice "": there is none */
};

/* The commands of the room (command.h). */
struct kl_command_state {
    struct kl_params params; /* in force: welcome.params and the policy commands since */
    struct { /* the newest policy that was given from here: a second one may come before the room has done it
              */
        bool any;
        uint32_t frame;
        struct kl_params params;
    } given;
    bool (*again)(struct kl_match *m), (*leave)(struct kl_match *m); /* see kl_command_on() */
};

/* Keys, options, chat, and the socket for commands (control.h). */
struct kl_control {
    int socket; /* that marks this process as being in a room, and takes commands; -1: none */
    struct kl_chat chat;
    uint16_t pad;   /* the first pad's buttons, as the game would get them */
    bool pads_rest; /* a line of chat is open, or keys of it are still down */
    struct kl_hotkeys hotkeys;
    char hotkey_list[KL_CONFIG_HOTKEYS_MAX]; /* that `hotkeys` was made of */
    /* The frontend's values as last seen, by place; looked up by key if the core has declared anew. */
    struct {
        struct kl_control_seen {
            char *key, *value;
        } * at;
        unsigned count;
        char own[KL_OWN_MAX][KL_CONTROL_OWN_MAX];
        unsigned calls, wait;
        bool turned;        /* the frontend has said so since the last look */
        uint64_t turned_us; /* when something was turned last; 0: all of it has been seen to */
        bool given;         /* given to the room since then */
    } menu;
};

/* The counts of the present second. */
struct kl_overlay_second {
    uint64_t since_us, lead_sum, lead_count;
    unsigned frames;
};

/* The screen (overlay.h). */
struct kl_overlay {
    struct kl_graph history;
    struct kl_panel panel;
    struct kl_overlay_second second;
    unsigned state;    /* the state that panel.state_us counts for */
    uint64_t since_us; /* its begin */
    uint64_t told_us, desync_us;
    struct kl_away away;
    struct kl_remaining remaining, fetching; /* frames; bytes of a state to begin with */
    char told[KL_PANEL_LINE];
    struct kl_card card;
    unsigned lost;      /* clients whose link is lost */
    bool trouble_above; /* the panel or a card says that something is wrong */
    bool said_hardware, font_read;
};

/* Frames and figures of the session (play.h). */
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

/* The states of the match; state.h has the way from one to the next. */
enum kl_match_state {
    KL_MATCH_NONE, /* nothing is known yet, or there is no core: every entry point is safe and does nothing */
    KL_MATCH_BARE, /* no relay: exactly the bare core */
    KL_MATCH_IDLE, /* a core that may come into a room, without content */
    KL_MATCH_ALONE,    /* the player's own game, on no way to a room */
    KL_MATCH_READING,  /* a large game's checksum, before anything else */
    KL_MATCH_LOOKING,  /* for a quick match; no room is found yet */
    KL_MATCH_ASKING,   /* the relay, for the room */
    KL_MATCH_WAITING,  /* in a room that does not play yet */
    KL_MATCH_RETRYING, /* the relay did not answer, and is asked again in a moment */
    KL_MATCH_STILL,    /* as the five before RETRYING, and the core stands still */
    KL_MATCH_READING_STILL,
    KL_MATCH_LOOKING_STILL,
    KL_MATCH_ASKING_STILL,
    KL_MATCH_WAITING_STILL,
    KL_MATCH_READY, /* the core is loaded for the room, and stands; it ran as the player's own before */
    KL_MATCH_READY_STILL,
    KL_MATCH_PLAYING,
    KL_MATCH_AFTER,  /* the room is gone, and its game goes on alone */
    KL_MATCH_REPLAY, /* a recording is to be shown, or a challenge to be played */
    KL_MATCH_REPLAYING,
    KL_MATCH_DEAD, /* refused, or the load failed: a still picture */
    KL_MATCH_STATES
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
