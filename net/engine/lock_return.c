#include "net/engine/lock_client.h"

#include <string.h>

#include "net/engine/frames.h"

#define NO_BURST UINT32_MAX

/* Our seats do not count until we have caught up and said so. */
static void stand_out(struct kl_client *c) {
    struct kl_client_stats *s = &c->stats;
    c->standing = c->seat_count ? KL_STANDING_OUT : KL_STANDING_IN;
    s->absent = c->seat_count > 0;
    s->waiting_for = 0;
    c->sample_acked = s->next_sample; /* nobody wants them any more */
    c->sample_owed = true;            /* so that the relay hears us at once */
    c->cursor = NO_BURST;
    c->burst = 0;
    c->burst_at_us = c->back_us = 0;
    c->needs_told = s->next_run;
}

void kl_client_reseat(struct kl_client *c, uint8_t seats) {
    c->seats = seats;
    c->seat_count = 0;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        c->seat_count = (uint8_t)(c->seat_count + (seats >> s & 1));
    memset(c->sample, 0, sizeof c->sample); /* they were of other seats */
    stand_out(c);
}

void kl_client_drop(struct kl_client *c) {
    struct kl_client_stats *s = &c->stats;
    const struct kl_frame *last =
        s->next_run > c->first ? &c->held[(s->next_run - 1) % c->held_frames].frame : NULL;
    s->next_closed = s->next_run;
    if (c->next_due > s->next_run) c->next_due = s->next_run;
    s->spacing = last ? last->spacing : 0;
    c->by_clock = last && last->flags & KL_FRAME_BY_CLOCK;
    c->started = last != NULL;
    if (last) (void)kl_command_store_find(&c->commands, last->keyframe); /* taken, and to be asked for yet */
    if (c->commands.first.keyframe >= s->next_run) c->commands.first.count = 0;
    c->commands.got = c->commands.put;
}

void kl_client_return(struct kl_client *c, uint64_t now_us) {
    struct kl_client_stats *s = &c->stats;
    struct kl_rtt rtt = c->clock.rtt;
    kl_clock_init(&c->clock, c->period_us);
    c->clock.rtt = rtt;
    stand_out(c);
    s->paused = false;
    c->unacknowledged = 0;
    c->room_next = s->next_closed;
    c->last_send_us = now_us;
}

/* Samples go on after those that the interval has had, also if an earlier process took them. */
void kl_client_begin_at(struct kl_client *c, uint32_t keyframe, uint32_t interval, uint64_t now_us) {
    struct kl_client_stats *s = &c->stats;
    uint32_t room_next = c->room_next;
    c->first = keyframe;
    c->first_interval = interval;
    c->waits = true;
    c->started = false;
    s->next_run = s->next_closed = c->next_due = keyframe;
    s->next_sample = c->params.subframes ? keyframe : interval + 1;
    s->waiting_for = 0;
    c->news_below = s->next_sample;
    c->sample_frame = keyframe;
    memset(c->sample, 0, sizeof c->sample);
    c->commands.put = c->commands.got = 0;
    c->commands.first.count = 0;
    stand_out(c);
    c->unacknowledged = 0;
    c->room_next = room_next > keyframe ? room_next : keyframe;
    c->last_send_us = now_us;
}

void kl_client_lose(struct kl_client *c, uint32_t keyframe, uint32_t interval, uint64_t now_us) {
    c->room_next = keyframe;
    kl_client_begin_at(c, keyframe, interval, now_us);
}

void kl_client_go(struct kl_client *c) {
    c->waits = false;
}

int kl_client_history(struct kl_client *c, const uint8_t *piece, size_t len, uint64_t now_us) {
    struct kl_frames run;
    struct kl_frame f;
    int result = kl_piece_open(&run, piece, len);
    if (result != KL_OK) return result;
    if (run.first > c->stats.next_closed) return KL_E_WINDOW;
    uint32_t end = run.first + run.count;
    if (end > c->room_next) c->room_next = end;
    while (kl_frames_next(&run, &f) && kl_client_keep(c, &f, &run.commands, now_us)) {
    }
    return end > c->stats.next_closed ? (int)(end - c->stats.next_closed) : 0;
}

uint32_t kl_client_behind(const struct kl_client *c) {
    return c->room_next - c->stats.next_closed;
}
