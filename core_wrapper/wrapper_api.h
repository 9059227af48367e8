/* wrapper_api.h - what keylock_libretro.so offers besides libretro, for the headless runner (`keylock run`).
 *
 * The runner loads the wrapper as any frontend would, finds the symbol "keylock_wrapper_api" with dlsym, and
 * drives it by retro_run. Everything here is called from the thread that calls retro_run, never from inside
 * one of the wrapper's callbacks unless it says so. A frontend that knows nothing of this loses nothing.
 *
 * What the runner sets in the environment, after dlopen and before retro_set_environment:
 *   KEYLOCK_CORE        path of the core to wrap (already resolved)
 *   KEYLOCK_EPOCH       alone: seconds since 1970; the inner core's world is turned to a virtual clock that
 * starts there. Unset (and no room): the core sees the host's clock. In a room the relay's epoch counts.
 *   KEYLOCK_RELAY       HOST[:PORT]; unset: play alone
 *   KEYLOCK_LINK        a link, keylock://…, instead of KEYLOCK_RELAY and KEYLOCK_ROOM
 *   KEYLOCK_ROOM KEYLOCK_NAME
 *   KEYLOCK_PASSWORD KEYLOCK_UNLISTED KEYLOCK_SEAT_TIME   of the room
 *   KEYLOCK_INSECURE_LAN  "on": without encryption where the relay agrees
 *   KEYLOCK_INVITE      "on": the host's wrapper writes the room's link to standard error
 *   KEYLOCK_PLAYERS     seats that must be filled before frame 0
 *   KEYLOCK_SEATS       seats wanted by this client, 0: spectator
 *   KEYLOCK_SPEED       "max": no schedule; "real": the core's own rate
 *   KEYLOCK_HASH_EVERY  frames between hashes wished for, 0: never
 *   KEYLOCK_SPACING     fixed spacing in frames, 0: follows the link
 *   KEYLOCK_SUBFRAMES KEYLOCK_HALF_STEPS   "on" or "off"
 *   KEYLOCK_POLICY      "strict", "bounded", "optimistic"; unset: bounded with a clock, else strict
 *   KEYLOCK_BUDGET_MS   the wait budget
 *   KEYLOCK_DESYNC      "heal", "pause", "ignore": what the room does where hashes differ
 *   KEYLOCK_HIDE        "off": the core is not told which frames are not seen, for one that plays those
 * differently; with the host's all have it off
 *   KEYLOCK_PROFILE     a profile of the core, or a folder of them; "off": none. The host's counts
 *   KEYLOCK_LOAD_OWN    "on": at a snapshot every machine loads its own state; the host's counts
 *
 * With KEYLOCK_SPEED=max retro_run may wait for a frame to close, at most KLW_RUN_WAIT_US (kl_link_wait), so
 * that the runner need not spin; with "real" it never waits: the runner paces the calls.
 *
 * Input: at every retro_run the wrapper polls the runner (input_poll, then input_state of its seats' ports,
 * where the client's i-th own seat reads port i) at most once for each sample that is due. next_sample() is
 * the number of the sample the next answers will count for, and may be called from inside input_poll and
 * input_state. */
#ifndef KLW_WRAPPER_API_H
#define KLW_WRAPPER_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KLW_API_VERSION 5
#define KLW_API_SYMBOL  "keylock_wrapper_api"
#define KLW_RUN_WAIT_US 4000
#define KLW_EVENT_MAX   160 /* bytes, NUL included */
#define KLW_TEXT_MAX    512 /* bytes, NUL included */

enum klw_phase {
    KLW_ALONE,      /* no room: one frame a call */
    KLW_CONNECTING, /* reaching the relay, waiting for seats, loading: no frames yet */
    KLW_PLAYING,    /* frames flow; stays so while the link stalls */
    KLW_REACHED,    /* the frame limit has been run: call finish() */
    KLW_ENDED,      /* refused, closed, or the relay is gone: error() says why. Nothing more comes */
};

/* What the last retro_run did. */
struct klw_report {
    enum klw_phase phase;
    uint32_t run;         /* frames of the core run in that call; 0: first and last mean nothing */
    uint32_t first, last; /* their numbers since the room's (alone: the content's) frame 0 */
    uint32_t backlog;     /* closed frames received and not yet run, after the call */
    double lead_frames; /* of the last frame run: its number less that of the last sample in it; 0: unknown */
    uint16_t spacing;   /* length of the interval last announced, frames; 0: alone */
    bool stalled;       /* a frame was due and not closed */
    bool returning;     /* the connection is lost and being made anew; nothing runs meanwhile */
    uint32_t lost_s, seat_time_s; /* with returning: for so long; the seat is kept for so long */
    uint32_t behind;              /* frames that the room has played and that are still on their way here */
    uint32_t left_s;              /* so long until it has caught up with them; 0: it has, or nobody knows */
    bool fetching;                /* until the state that it begins with is here, rather */
    bool desync;           /* hashes differ (ram, or state where that counts), and have not been healed … */
    uint32_t desync_first; /* … first at this frame label … */
    char desync_who[KLW_EVENT_MAX]; /* … and who stands alone, "" with a tie: names of the roster */
    bool desynced;       /* they differed at some time: desync_first and desync_who are of the last time */
    uint32_t healed;     /* how often the room was brought back in sync */
    uint32_t state_only; /* verdicts so far with equal ram and unequal state */
    uint64_t verified;   /* frames below this are verified by equal hashes everywhere; 0: none yet */
    char event[KLW_EVENT_MAX]; /* what happened since the call before, "" for nothing: "spacing 4 -> 5",
                                  "joined ann seats=2", "connection lost" */
};

/* A hash that was taken (at a marked keyframe, or the last frame's at finish). frame: its label, the frame
 * after which the hashes stand. */
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
    uint64_t late_frames;    /* frames that came after they were due */
    uint64_t sent_bytes, received_bytes;
    char turned[KLW_TEXT_MAX], left[KLW_TEXT_MAX]; /* imports of the inner core, as world.h lists them */
};

struct klw_api {
    uint32_t version; /* KLW_API_VERSION; a runner that knows another refuses with one line */

    /* Run at most `frames` frames (0: no limit) and take no more samples than those need: then the phase is
     * KLW_REACHED and further calls of retro_run run nothing but keep the link alive. Call it before
     * retro_load_game. */
    void (*set_frame_limit)(uint32_t frames);

    /* Calls fn for each hash, from inside retro_run or finish(). NULL: no more. */
    void (*set_hash_callback)(klw_hash_fn fn, void *user);

    void (*report)(struct klw_report *out);
    uint32_t (*next_sample)(void);

    /* After the limit: takes the hash of the last frame run (label limit-1; the callback gets it), reports it
     * to the relay, and waits until every sample of ours is acknowledged and the relay has compared that
     * frame with everyone who stops there, at most timeout_ms; then leaves the room. Fills in out in any
     * case; without a room only that. 0; 1: left without the verdict (time ran out); 2: desync, not healed
     * (report() names it); -1: ended before (error()). */
    int (*finish)(unsigned timeout_ms, struct klw_final *out);

    /* One line about what failed: why load_game returned false or why the phase is KLW_ENDED; "" for nothing.
     */
    const char *(*error)(void);

    /* Gives a command of the room (command_words.h) or turns the panel; it is done at a keyframe to come, by
     * everybody. One line in answer. 0, or -1 where it was not given. */
    int (*command)(const char *words, char *answer, size_t cap);
};

/* The wrapper exports this. The object lives as long as the library. */
const struct klw_api *keylock_wrapper_api(void);
typedef const struct klw_api *(*klw_api_fn)(void);

#endif
