/* spacing.h - how long the next interval is. docs/design.md §3 "Spacing".
 *
 * Clients report for each frame the lead that it would have needed to be in time (in quarter frames,
 * independent of the spacing then in force).
 *
 * A frame is late at a spacing where its need is greater. A client's late frames within half a second of the
 * first are one episode; one that two frames more would not have covered is an outlier (somebody's machine
 * held its breath). The spacing is raised by the whole shortfall
 * - when lateness lasts: of some client's last KL_SPACING_RECENT frames, KL_SPACING_BURST were late, and not
 *   less and less so, as where a link held its breath and then gave all at once;
 * - when a client has more late frames than the budget, 0.1 % of all, explains: each fills its bucket by one
 *   (two of an episode at most), the bucket drains by one in KL_SPACING_DRAIN frames, and KL_SPACING_BRIM are
 *   too many; or more than ten in 10 s in episodes that are no outliers.
 * Lateness that lasts means that the link has changed its length. What losses and jitter asked for on top of
 * the old length they will ask for on top of the new one, so the needs of before, moved by what the client's
 * typical need has changed, stay as evidence: one raise is enough. By how much it has changed is known better
 * with each frame: for half a second the move, and the spacing, are mended upwards.
 *
 * The bucket is Page's cumulative sum test (Continuous inspection schemes, Biometrika 41, 1954) of a rate of
 * lone events: the rate that it drains at lies between the one that must not be acted upon and those that
 * must, at (r - b) / ln(r / b) for budget b and rate r (one in 550 for 0.1 % and 0.3 %), and the brim sets
 * how often chance alone fills it. Drawn 60 to 300 times each, with one in 550 and seven, it ran over on the
 * average
 * - at 0.08 % late after 144 h, at 0.1 % after 16 h, at 0.15 % after 25 min, at 0.2 % after 5 min, at 0.25 %
 *   after 2 min; where they come in twos, at 0.08 % after 75 min, at 0.2 % after 3 min;
 * - at 0.5 % after 36 s, at 1 % after 15 s, at 3 % after 5 s.
 *
 * A window of 10 s cannot tell these rates apart: at 0.1 % it holds 0.6 late frames on the average, but three
 * every few minutes, and each raise in vain lasts half a minute. What is wrong by a frame is mostly late in 1
 * to 15 % (a loss costs a frame), and noticed as soon as that; at 0.15 to 0.3 % a room may stay for minutes.
 *
 * Two frames or more too many are given back after 4 s (all but one of them), a quarter of a frame being
 * left to spare; the last after 25 s in which no client had more than three that count (the budget gives it
 * one and a half), and after twice as long each time that had to be taken back, until the link changes its
 * length (or as soon as the link is as short as it was once when so much sufficed for 10 s, and does in the
 * last 10); of a guess (the first spacing, or what a newcomer may need) all after 2 s. */
#ifndef KL_SPACING_H
#define KL_SPACING_H

#include "net/engine/engine.h"

#define KL_SPACING_HISTORY 4096 /* frames: more than a minute at 60 fps; faster cores look back less long */
#define KL_SPACING_RECENT  8
#define KL_SPACING_BURST   6
#define KL_SPACING_DRAIN   550 /* frames, a late one */
#define KL_SPACING_BRIM    7   /* late frames */

struct kl_spacing {
    /* by client and frame, quarter frames; 0: not reported */
    uint8_t need[KL_MAX_CLIENTS][KL_SPACING_HISTORY];
    uint32_t next[KL_MAX_CLIENTS];        /* highest frame that the client has reported + 1 */
    uint32_t cleared;                     /* frames below this have (or had) their slots */
    uint32_t reported;                    /* highest frame reported + 1 */
    uint32_t since;                       /* older needs are evidence no more: the link has changed since */
    uint32_t raised_at;                   /* frame of the last raise */
    uint32_t grown_at;                    /* reported + 1 when links were last found to be longer … */
    uint32_t longer_from[KL_MAX_CLIENTS]; /* … from which frame on, … */
    uint8_t length[KL_MAX_CLIENTS];       /* … how long they had been before (0: not longer), … */
    uint8_t moved[KL_MAX_CLIENTS];        /* … and by how much older needs were moved; quarter frames */
    uint32_t slow_from;                   /* since when the last frame too many may have been one */
    uint16_t current;
    uint32_t changed; /* highest frame reported + 1 at the last change */
    uint8_t
        sufficed[KL_SPACING_MAX + 1]; /* by spacing: the longest link, as a need, for which it was enough */
    bool late_news;                   /* frames late at this spacing were reported since it was looked at */
    bool guess;                       /* nothing has been learnt yet */
    bool dropping;                    /* the last change gave back what was more than one too many */
    bool tried;        /* the last frame was given back, and the link has not changed its length since */
    double patience_s; /* before the last frame is given back */
    double fps;
};

/* first: the spacing to start with, at `frame`. */
void kl_spacing_init(struct kl_spacing *s, uint16_t first, double fps, uint32_t frame);

/* This client (below KL_MAX_CLIENTS) needed so much lead for `frame`, what players' machines did left out.
 * Frames older than the history are ignored. */
void kl_spacing_need(struct kl_spacing *s, unsigned client, uint32_t frame, uint8_t need_quarters);

/* Somebody joins in whose link may need so much: if that is more than now, it is the new guess. */
void kl_spacing_newcomer(struct kl_spacing *s, uint16_t frames);

/* The length of the interval that starts at `frame`. */
uint16_t kl_spacing_next(struct kl_spacing *s, uint32_t frame);

/* Before any report: the round trip, what it varies by and 4 ms, in frames, and one for unlike phases. */
uint16_t kl_spacing_from_rtt(uint32_t rtt_us, uint32_t spread_us, double fps);

#endif
