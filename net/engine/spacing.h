/* spacing.h - how long the next interval is. docs/design.md §3 "Spacing".
 *
 * Clients report the need of each frame: the lead that would have had it in time, in quarter frames,
 * independent of the spacing in force.
 *
 * A frame is late at a spacing if its need is greater. A client's late frames within half a second of the
 * first are one episode. An episode that two frames more would not have covered is an outlier (a machine
 * stood still for a moment). The spacing is raised by the whole shortfall
 * - when lateness lasts: of some client's last KL_SPACING_RECENT frames, KL_SPACING_BURST were late, and not
 *   less and less so (as after a link that held everything back and then delivered it at once);
 * - when a client has more late frames than the budget, 0.1 % of all, explains: each fills its bucket by one
 *   (two of an episode at most), the bucket drains by one in KL_SPACING_DRAIN frames, and KL_SPACING_BRIM are
 *   too many; or more than ten in 10 s in episodes that are no outliers.
 * Lateness that lasts means that the link has changed its length. Losses and jitter will need the same margin
 * on top of the new length as on top of the old one. The older needs, moved by the change of the client's
 * typical need, therefore stay as evidence, and one raise is enough. Each further frame improves the estimate
 * of that change: for half a second the move, and the spacing, are corrected upwards.
 *
 * The bucket is Page's cumulative sum test (Continuous inspection schemes, Biometrika 41, 1954) of a rate of
 * lone events: its drain rate lies between the tolerated rate and the rates that must be acted upon, at
 * (r - b) / ln(r / b) for budget b and rate r (one in 550 for 0.1 % and 0.3 %), and the brim sets how often
 * chance alone fills it. In 60 to 300 random runs each, with one in 550 and a brim of seven, the bucket ran
 * over on the average
 * - at 0.08 % late after 144 h, at 0.1 % after 16 h, at 0.15 % after 25 min, at 0.2 % after 5 min, at 0.25 %
 *   after 2 min; with late frames in pairs, at 0.08 % after 75 min, at 0.2 % after 3 min;
 * - at 0.5 % after 36 s, at 1 % after 15 s, at 3 % after 5 s.
 *
 * A window of 10 s cannot tell these rates apart: at 0.1 % it holds 0.6 late frames on the average, but three
 * every few minutes, and each needless raise lasts half a minute. A spacing that is one frame too short
 * mostly makes 1 to 15 % of the frames late (a loss costs a frame), which the bucket notices in seconds; at
 * 0.15 to 0.3 % a room may stay for minutes.
 *
 * A spacing that is too long shrinks. If it is too long by two frames or more, all but one go after 4 s, with
 * a quarter of a frame to spare. The last one goes after 25 s in which no client had more than three late
 * frames that count (the budget allows one and a half). This time doubles whenever the change had to be taken
 * back, until the link changes its length. It is cut short if the shorter spacing sufficed for 10 s before on
 * a link of this length, and would have sufficed in the last 10 s. A guess (the first spacing, or a
 * newcomer's possible need) shrinks all at once after 2 s. */
#ifndef KL_SPACING_H
#define KL_SPACING_H

#include "net/engine/engine.h"

#define KL_SPACING_HISTORY 4096 /* frames: more than a minute at 60 fps; faster cores look back less long */
#define KL_SPACING_RECENT  8
#define KL_SPACING_BURST   6
#define KL_SPACING_DRAIN   550 /* frames, a late one */
#define KL_SPACING_BRIM    7   /* late frames */

struct kl_spacing {
    /* By client and frame, quarter frames; 0: not reported. The caller hands in KL_SPACING_HISTORY zeros for
     * a client before its first need; NULL: it reports none. */
    uint8_t *need[KL_MAX_CLIENTS];
    uint32_t next[KL_MAX_CLIENTS];        /* highest frame that the client has reported + 1 */
    uint32_t cleared;                     /* frames below this have (or had) their slots */
    uint32_t reported;                    /* highest frame reported + 1 */
    uint32_t since;                       /* older needs are evidence no more: the link has changed since */
    uint32_t raised_at;                   /* frame of the last raise */
    uint32_t grown_at;                    /* reported + 1 when links were last found to be longer */
    uint32_t longer_from[KL_MAX_CLIENTS]; /* the first frame of the longer link */
    uint8_t length[KL_MAX_CLIENTS];       /* typical need before the change, quarter frames; 0: not longer */
    uint8_t moved[KL_MAX_CLIENTS];        /* added to older needs, quarter frames */
    uint32_t slow_from;                   /* frame from which on the last frame of spacing may be too much */
    uint16_t current;
    uint16_t most;                        /* the spacing is never longer */
    uint32_t changed;                     /* highest frame reported + 1 at the last change */
    uint8_t sufficed[KL_SPACING_MAX + 1]; /* by spacing: the longest link, as a need, for which it sufficed */
    bool late_news;                       /* late frames were reported since the last decision */
    bool guess;                           /* the spacing is a guess, not yet measured */
    bool dropping;     /* the last change gave back all but one of several frames too many */
    bool tried;        /* the last frame was given back, and the link has not changed its length since */
    double patience_s; /* time before the last frame is given back */
    double fps;
};

/* first: the spacing to start with, at `frame`; most: the longest. Memory that was handed in stays. */
void kl_spacing_init(struct kl_spacing *s, uint16_t first, uint16_t most, double fps, uint32_t frame);

/* Takes the need of this client (which has memory) for `frame`, without the players' machines' own
 * delays. Frames older than the history are ignored. */
void kl_spacing_need(struct kl_spacing *s, unsigned client, uint32_t frame, uint8_t need_quarters);
/* This need, or a greater one, is known already. */
static inline bool kl_spacing_has(const struct kl_spacing *s, unsigned client, uint32_t frame,
                                  uint8_t need_quarters) {
    return frame < s->cleared && s->need[client][frame % KL_SPACING_HISTORY] >= need_quarters;
}

/* A newcomer's link may need so much: if that is more than the spacing, it is the new guess. */
void kl_spacing_newcomer(struct kl_spacing *s, uint16_t frames);

/* The length of this client's link: its typical need of late, quarter frames; 0: not known. */
unsigned kl_spacing_link(struct kl_spacing *s, unsigned client);

/* The length of the interval that starts at `frame`. */
uint16_t kl_spacing_next(struct kl_spacing *s, uint32_t frame);

/* The spacing that links with round trips of at least this length need, whatever else they do. */
uint16_t kl_spacing_least(uint32_t rtt_us, double fps);

/* The first guess, before any report: RTT, its spread and 4 ms, in frames, plus one for unlike phases. */
uint16_t kl_spacing_from_rtt(uint32_t rtt_us, uint32_t spread_us, double fps);

/* For lists of rooms: the delay in ms, at 60 frames a second, from a press to its picture that a player with
 * the round trip own_ms meets among players whose longest one is theirs_ms (KL_RTT_UNKNOWN: the own alone
 * counts). A press waits for the slowest way up and the slowest way down, to the next whole frame
 * (docs/measured.md), and in an economy room for a frame more. Jitter adds to it. */
#define KL_RTT_UNKNOWN 0xffff
unsigned kl_spacing_delay_ms(double own_ms, uint16_t theirs_ms, bool economy);

#endif
