/* wrapper_api.h - the functions of keylock_libretro.so for the headless runner (`keylock run`), besides
 * libretro.
 *
 * The runner loads the wrapper as a frontend does, finds the symbol "keylock_wrapper_api" with dlsym, and
 * drives the wrapper by retro_run. All functions are for the thread that calls retro_run. They must not be
 * called from inside the wrapper's callbacks, unless a function says so. Other frontends need none of this.
 *
 * The runner sets these variables after dlopen and before retro_set_environment:
 *     KEYLOCK_CORE        path of the core to wrap (already resolved)
 *     KEYLOCK_EPOCH       alone: seconds since 1970; the core's virtual clock starts there. Unset (and no
 *                         room): the core sees the host's clock. In a room the relay's epoch counts
 *     KEYLOCK_RELAY       HOST[:PORT]; unset: play alone
 *     KEYLOCK_LINK        a keylock:// link instead of KEYLOCK_RELAY and KEYLOCK_ROOM
 *     KEYLOCK_ROOM KEYLOCK_NAME
 *     KEYLOCK_PASSWORD KEYLOCK_UNLISTED KEYLOCK_SEAT_TIME   of the room
 *     KEYLOCK_INSECURE_LAN  "on": no encryption, if the relay agrees
 *     KEYLOCK_INVITE      "on": the host's wrapper writes the room's link to standard error
 *     KEYLOCK_PLAYERS     seats that must be filled before frame 0
 *     KEYLOCK_SEATS       seats wanted by this client, 0: spectator
 *     KEYLOCK_SPEED       "max": no schedule; "real": the core's own rate
 *     KEYLOCK_HASH_EVERY  wished number of frames between hashes, 0: never
 *     KEYLOCK_SPACING     fixed spacing in frames, 0: follows the link
 *     KEYLOCK_SUBFRAMES KEYLOCK_HALF_STEPS KEYLOCK_ECONOMY   "on" or "off"
 *     KEYLOCK_POLICY      "strict", "bounded", "optimistic"; unset: bounded with a clock, else strict
 *     KEYLOCK_BUDGET_MS   the wait budget
 *     KEYLOCK_DESYNC      "heal", "pause", "ignore": the room's action if hashes differ
 *     KEYLOCK_AHEAD       frames shown ahead of the lock: "off", "auto", 1 to 30
 *     KEYLOCK_FEEL        frames that an own press waits then, 0 to 4
 *     KEYLOCK_HIDE        "off": the core is not told which frames are unseen, for cores that play those
 *                         differently; the host's value counts for all
 *     KEYLOCK_PROFILE     a profile of the core, or a folder of profiles; "off": none. The host's counts
 *     KEYLOCK_LOAD_OWN    "on": at a snapshot every machine loads its own state; the host's value counts
 *
 * With KEYLOCK_SPEED=max retro_run may wait for a frame to close, at most KLW_RUN_WAIT_US (kl_link_wait), so
 * that the runner need not spin. With "real" retro_run never waits: the runner paces the calls.
 *
 * Input: in each retro_run the wrapper polls the runner at most once for each sample that is due:
 * input_poll, then input_state of its seats' ports. The client's i-th own seat reads port i. next_sample()
 * is the number of the sample that the next answers count for; input_poll and input_state may call it. */
#ifndef KLW_WRAPPER_API_H
#define KLW_WRAPPER_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KLW_API_VERSION 7
#define KLW_API_SYMBOL  "keylock_wrapper_api"
#define KLW_RUN_WAIT_US 4000
#define KLW_EVENT_MAX   160 /* bytes, NUL included */
#define KLW_TEXT_MAX    512 /* bytes, NUL included */

enum klw_phase {
    KLW_ALONE,      /* no room: one frame a call */
    KLW_CONNECTING, /* reaching the relay, waiting for seats, loading: no frames yet */
    KLW_PLAYING,    /* frames flow; stays so while the link stalls */
    KLW_REACHED,    /* the frame limit has been run: call finish() */
    KLW_ENDED,      /* refused, closed, or the relay is gone: error() has the reason. Nothing more comes */
};

/* The results of the last retro_run. */
struct klw_report {
    enum klw_phase phase;
    uint32_t run;         /* frames of the core run in that call; 0: first and last mean nothing */
    uint32_t first, last; /* their numbers since the room's (alone: the content's) frame 0 */
    uint32_t backlog;     /* closed frames received and not yet run, after the call */
    double lead_frames; /* lead of the last frame run: its number less that of its last sample; 0: unknown */
    uint16_t spacing;   /* length of the interval last announced, frames; 0: alone */
    bool stalled;       /* a frame was due and not closed */
    bool returning;     /* the connection is lost and being made anew; nothing runs meanwhile */
    uint32_t lost_s, seat_time_s;   /* if returning: time since the loss; time that the seat is kept */
    uint32_t behind;                /* frames that the room has played and that have not run here */
    uint32_t left_s;                /* time until they have run; 0: they have, or unknown */
    bool fetching;                  /* left_s counts to the arrival of the state to begin with instead */
    bool desync;                    /* hashes differ (ram, or state if that counts) and are not healed yet */
    uint32_t desync_first;          /* label of the first frame with different hashes */
    char desync_who[KLW_EVENT_MAX]; /* names of the machines alone against the majority; "": a tie */
    bool desynced;       /* hashes differed at some time; desync_first and desync_who are of the last time */
    uint32_t healed;     /* times that the room was brought back in sync */
    uint32_t state_only; /* verdicts so far with equal ram and unequal state */
    uint64_t verified;   /* frames below this are verified by equal hashes everywhere; 0: none yet */
    char event[KLW_EVENT_MAX]; /* events since the previous call, "" for none: "spacing 4 -> 5", "joined ann
                                  seats=2", "connection lost" */
};

/* A hash of a marked keyframe, or of the last frame at finish(). frame: its label, the frame after which the
 * state was hashed. */
struct klw_hash {
    uint32_t frame;
    bool has_ram, has_state;
    uint64_t ram, state;
};
typedef void (*klw_hash_fn)(void *user, const struct klw_hash *hash);

/* Figures of the whole session. */
struct klw_final {
    uint32_t frames;         /* run since frame 0 */
    uint64_t stalls;         /* episodes: calls in a row that stalled count once */
    double longest_stall_ms; /* wall time of the longest episode */
    double lead_frames_avg;  /* over all frames run */
    double rtt_ms;           /* smoothed, at the end */
    /* Running ahead; 0 without. Frames ahead of the schedule, on average; shown frames from a sample to the
     * first picture made with it (also without running ahead); share of the shown frames with another picture
     * than the true core's; frames run again in a second; 99th percentile of a call's time for these. */
    double ahead_avg, felt_frames_avg, guessed_wrong, replayed_frames_s, replay_ms_p99;
    uint64_t direct_datagrams; /* straight from other players, with samples */
    uint64_t ahead_breaks;     /* times that the true core came back onto the screen within the match */
    uint64_t ahead_by_pages;   /* times that the shown core went back by the pages of its memory */
    uint64_t late_frames;      /* frames that came after they were due */
    uint64_t sent_bytes, received_bytes;
    char turned[KLW_TEXT_MAX], left[KLW_TEXT_MAX]; /* imports of the inner core, as world.h lists them */
};

struct klw_api {
    uint32_t version; /* KLW_API_VERSION; a runner of another version refuses with one line */

    /* Runs at most `frames` frames (0: no limit) and takes only the samples that these need. At the limit
     * the phase is KLW_REACHED, and further calls of retro_run only keep the link alive. Call it before
     * retro_load_game. */
    void (*set_frame_limit)(uint32_t frames);

    /* Calls fn for each hash, from inside retro_run or finish(). NULL: no calls. */
    void (*set_hash_callback)(klw_hash_fn fn, void *user);

    void (*report)(struct klw_report *out);
    uint32_t (*next_sample)(void);

    /* After the limit: takes the hash of the last frame run (label limit-1; the callback gets it) and
     * reports it to the relay. Waits, at most timeout_ms, until the relay has acknowledged all own samples
     * and compared that frame with all clients that stop there. Then leaves the room. Fills in out in any
     * case; without a room does only that. Returns 0; 1: left without the verdict, the time was up; 2:
     * desync, not healed (report() names it); -1: ended before (error()). */
    int (*finish)(unsigned timeout_ms, struct klw_final *out);

    /* One line about the failure of load_game or the reason for KLW_ENDED; "" for none. */
    const char *(*error)(void);

    /* Gives a command of the room (command_words.h), which all machines carry out at a later keyframe; or
     * turns the panel on or off. One line in answer. Returns 0, or -1 if the command was not given. */
    int (*command)(const char *words, char *answer, size_t cap);
};

/* The wrapper exports this. The object lives as long as the library. */
const struct klw_api *keylock_wrapper_api(void);
typedef const struct klw_api *(*klw_api_fn)(void);

#endif
