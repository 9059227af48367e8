/* spacing.h - how long the next interval is. DESIGN.md §3 "Spacing".
 *
 * Clients report for each frame the lead that it would have needed to be in time (in quarter frames,
 * independent of the spacing then in force). Per frame the greatest need of all seated clients counts.
 *
 * A frame is late at a spacing where its need is greater. Late frames within half a second of the first are
 * one episode; one that two frames more would not have covered is an outlier (somebody's machine held its
 * breath). The spacing is raised by the whole shortfall when lateness lasts (KL_SPACING_BURST of the last
 * KL_SPACING_RECENT frames), and when three episodes that are no outliers, or four of any kind, fall within
 * 10 s: a lone hitch never raises it, for no lead could have been ready for it and the next one is not in
 * sight; and 0.1 % of late frames, by design, are six in 100 s. Two frames or more too many are given back
 * after 4.5 s (all but one of them), a quarter of a frame being left to spare; the last after 25 s with at
 * most two episodes that are no outliers; of a guess (the first spacing, or what a newcomer may need) all
 * after 2 s. */
#ifndef KL_SPACING_H
#define KL_SPACING_H

#include <stdbool.h>
#include <stdint.h>

#define KL_SPACING_HISTORY 2048 /* frames: more than 25 s at 60 fps; faster cores look back less long */
#define KL_SPACING_RECENT  16
#define KL_SPACING_BURST   10

struct kl_spacing {
    uint8_t need[KL_SPACING_HISTORY]; /* by frame, quarter frames; 0: not reported; 255: excused */
    uint32_t cleared;                 /* frames below this have (or had) their slot */
    uint32_t reported;                /* highest frame reported + 1 */
    uint32_t since;                   /* older needs are evidence no more: the link has changed since */
    uint32_t raised_at;               /* frame of the last raise */
    uint16_t current;
    bool guess; /* nothing has been learnt yet */
    double fps;
};

/* first: the spacing to start with, at `frame`. */
void kl_spacing_init(struct kl_spacing *s, uint16_t first, double fps, uint32_t frame);

/* A client needed this much lead for `frame`. Frames older than the history are ignored. */
void kl_spacing_need(struct kl_spacing *s, uint32_t frame, uint8_t need_quarters);

/* Frames [from, to) say nothing about the link: a seat took its samples late by itself. */
void kl_spacing_excuse(struct kl_spacing *s, uint32_t from, uint32_t to);

/* Somebody joins in whose link may need so much: if that is more than now, it is the new guess. */
void kl_spacing_newcomer(struct kl_spacing *s, uint16_t frames);

/* The length of the interval that starts at `frame`. */
uint16_t kl_spacing_next(struct kl_spacing *s, uint32_t frame);

/* Before any report: smoothed RTT, twice its mean deviation and 4 ms, in frames, and one for unlike phases.
 */
uint16_t kl_spacing_from_rtt(uint32_t srtt_us, uint32_t rttvar_us, double fps);

#endif
