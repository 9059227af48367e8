#include "net/engine/lock_relay_private.h"

#include <string.h>

#define TIMER_FRAMES  1.25 /* frame times after the last send; usually a frame closes before */
#define HALF_STEP     0.5
#define ECHO_EVERY    4    /* UPDATEs of an economy room; a client needs few round trips */
#define TIMER_FREE_US 5000 /* repetition timer of a room without a clock */
#define PHASE                                                                                                \
    13 /* sixteenths of a frame: a sample's lateness by a frontend's phase and early or late due times */
#define ROUNDED_UP     2 /* sixteenths of a frame by which needs are rounded up */
#define BURST_RTTS     2 /* a burst without an answer is repeated after so many RTTs and BURST_AGAIN_US */
#define BURST_AGAIN_US 100000
#define NO_BURST       UINT32_MAX
#define EACH_CTRL      8      /* UPDATEs that a CTRL makes up for; an honest client gets three at most */
#define UNHEARD_MAX    128    /* UPDATEs ahead of that, two seconds' worth */
#define EACH_BYTE      8      /* bytes of frames again that a byte of CTRL makes up for */
#define HEADER_BYTES   50     /* of a datagram: UDP, IP, seal */
#define DEBT_MOST      16384  /* bytes ahead of that: a second of UPDATEs with half a second of frames each */
#define UNHEARD_US     100000 /* after those, one each so often, without frames, until CTRL comes */

/* --- CTRL in --- */

/* The relay's time at which this sample was to be taken. */
static double sample_line_us(const struct kl_lock_relay *r, uint32_t sample) {
    if (r->params.subframes) return kl_schedule_line_us(&r->schedule, sample);
    const struct kl_interval *in = sample < r->now.sample_first ? &r->before : &r->now;
    uint32_t after = sample > in->sample_first ? (sample - in->sample_first) * in->length : 0;
    return kl_schedule_line_us(&r->schedule, in->first + after);
}

/* The UPDATE that a CTRL echoes, of the newest ones; of a burst, its first. KL_SENT_KEPT: there was none. */
static unsigned echoed_by(const struct kl_lock_client *c, const struct kl_ctrl *m) {
    unsigned found = KL_SENT_KEPT;
    for (unsigned back = 1; m->has_echo && back <= KL_SENT_KEPT; back++) {
        unsigned i = (c->sent_next + KL_SENT_KEPT - back) % KL_SENT_KEPT;
        if (c->sent[i].stamp == m->echo)
            found = i;
        else if (found < KL_SENT_KEPT)
            break;
    }
    return found;
}

/* The time of the newest UPDATE that the client had when this datagram went, at least; 0: nothing shows. It
 * is measured, not believed: a client takes a sample one way down after the line of its number. So the newest
 * UPDATE that it has had by then was sent at that line, or earlier. An UPDATE that it echoes later than that,
 * it had before the sample went. An old echo makes a client look far, which is a link's matter; one that
 * echoes no stamp of the relay's has had the newest. */
static uint64_t had_us(const struct kl_lock_client *c, const struct kl_ctrl *m, bool true_echo,
                       uint64_t now_us) {
    uint32_t age_us = true_echo ? (uint32_t)now_us - m->echo : c->trip_us;
    return (!true_echo && c->trip_us == 0) || age_us > now_us ? 0 : now_us - age_us;
}

/* So late is a sample that went after the client had the UPDATE of this time, at least. 0: nothing shows. */
static uint32_t left_late(const struct kl_lock_relay *r, uint32_t sample, uint64_t had) {
    double sixteenths = had ? ((double)had - sample_line_us(r, sample)) * 16 / kl_lock_period_us(r) : 0;
    return sixteenths <= 0 ? 0 : sixteenths < UINT16_MAX ? (uint32_t)sixteenths : UINT16_MAX;
}

static uint32_t most_of(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

/* By how much the i-th sample of this datagram was taken or told late by its player's machine, in sixteenths
 * of a frame: later than by its frontend's phase, or because that turn came late. Samples of earlier turns
 * may have been in a lost datagram, if one was lost since they were due; else the client kept them. A CTRL
 * without a sample that it could have had shows that too. A sample may wait for its group to be whole. had:
 * had_us(). */
static uint32_t taken_late(const struct kl_lock_relay *r, const struct kl_lock_client *c,
                           const struct kl_ctrl *m, uint32_t i, uint64_t had) {
    uint32_t sample = m->sample_first + i, last = m->sample_first + m->sample_count - 1;
    uint32_t group = kl_group_frames(&r->params), whole = sample - sample % group + group - 1;
    uint32_t newer = last > whole ? last - whole : 0,
             each = 16 * (r->params.subframes ? 1 : r->before.length);
    bool told_before = newer > 0 && newer >= m->sample_batch && (double)c->lost_us > sample_line_us(r, whole);
    uint32_t late = told_before ? 0 : most_of(left_late(r, last, had), m->sample_late) + newer * each;
    late = most_of(late, left_late(r, whole, c->untold_us));
    uint32_t held = late < m->turn_late ? late : m->turn_late;
    if (held) held += ROUNDED_UP;
    return late > held + PHASE ? late - PHASE : held;
}

static void keep_samples(struct kl_lock_relay *r, struct kl_lock_client *c, struct kl_ctrl *m, bool true_echo,
                         uint64_t now_us) {
    struct kl_input in[KL_MAX_SEATS];
    uint64_t had = r->params.clocked ? had_us(c, m, true_echo, now_us) : 0;
    if (m->sample_first + m->sample_count == c->next_sample) c->untold_us = had; /* it tells none */
    for (uint32_t i = m->sample_next - m->sample_first; i < m->sample_count; i++) {
        kl_ctrl_sample(m, in);
        if (m->sample_first + i != c->next_sample) continue; /* behind a gap */
        kl_lock_make_place(r, c);
        unsigned k = 0;
        for (KL_EACH(s, c->seats)) {
            kl_lock_keys_keep(r, s, c->next_sample);
            kl_inputs_put(&r->sample[s], c->next_sample, &in[k++]);
        }
        uint32_t late = r->params.clocked ? taken_late(r, c, m, i, had) : 0;
        uint64_t late_us = (uint64_t)(late * kl_lock_period_us(r) / 16);
        bool itself = late > 16 || m->turn_late > 16;
        c->late_itself = (uint8_t)(c->late_itself + ((itself ? UINT8_MAX : 0) - c->late_itself) / 16);
        c->in_time_us[c->next_sample % KL_WINDOW_FRAMES] =
            (uint32_t)(now_us > late_us ? now_us - late_us : 0);
        c->next_sample++;
    }
}

/* Its newest word counts: one that was overtaken must not send it away again, or bring it back. */
static void note_word(struct kl_lock_relay *r, struct kl_lock_client *c, const struct kl_ctrl *m,
                      uint64_t now_us) {
    if (m->stamp != c->stamp) return;
    c->sparing = m->sparing;
    c->guesses = m->guesses;
    c->away = m->away;
    if (c->away && c->seats && r->started && r->params.policy != KL_POLICY_STRICT) kl_lock_set_absent(r, c);
    bool resumes = m->resume && !m->away && c->seats && r->started && !c->fetching;
    if (resumes && m->sample_first > c->next_sample)
        kl_lock_set_absent(r, c); /* it took us for deaf and begins anew */
    bool may = c->presence == KL_ABSENT && kl_lock_may_return(r, c, now_us);
    if (resumes && may && m->sample_first >= c->next_sample) kl_lock_resumed(r, c, m->sample_first);
}

/* The greatest need that this frame can have had: the client had it when it said so, and it was due there one
 * shortest way down after its line. One frame more, for what the client holds its words back. */
static uint32_t greatest_need(const struct kl_lock_relay *r, const struct kl_lock_client *c, uint32_t frame,
                              uint64_t now_us) {
    uint32_t age_us = (uint32_t)now_us - c->shown_us[frame % KL_WINDOW_FRAMES];
    double late_us = (double)now_us - age_us - c->trip_us - kl_schedule_line_us(&r->schedule, frame);
    double quarters = 4 * r->lead[frame % KL_KEPT_FRAMES] + late_us * 4 / kl_lock_period_us(r) + 4;
    return quarters < 1 ? 1 : quarters < KL_NO_NEED ? (uint32_t)quarters : KL_NO_NEED;
}

/* The part of a need that is owed to the links, 1 at least; 0: the need says nothing. The later frames of a
 * group come with the first, which needs the most: they count as much, so that needs show the link alone. */
static uint8_t of_links(const struct kl_lock_relay *r, const struct kl_lock_client *c, uint32_t frame,
                        uint8_t need, uint64_t now_us) {
    bool old = frame + KL_KEPT_FRAMES < r->next_close || frame + KL_WINDOW_FRAMES < c->frame_acked;
    uint8_t excuse = old ? KL_NO_NEED : r->excuse[frame % KL_KEPT_FRAMES];
    if (need == 0 || excuse == KL_NO_NEED || frame < c->needs_from) return 0;
    uint32_t most = greatest_need(r, c, frame, now_us);
    if (need > most) need = (uint8_t)most;
    uint32_t sample = frame - r->lead[frame % KL_KEPT_FRAMES], all = need > excuse ? need - excuse : 1;
    all += 4 * (sample % kl_group_frames(&r->params));
    return (uint8_t)(all < KL_NO_NEED ? all : KL_NO_NEED - 1);
}

static void keep_needs(struct kl_lock_relay *r, unsigned client, const struct kl_ctrl *m, uint64_t now_us) {
    const struct kl_lock_client *c = &r->client[client];
    if (c->seats == 0 || !r->params.clocked || c->presence != KL_PRESENT) return;
    uint32_t first = kl_ctrl_need_first(m);
    for (unsigned i = 0; i < m->need_count; i++) {
        if (kl_spacing_has(&r->spacing, client, first + i, m->need[i])) continue;
        uint8_t need = of_links(r, c, first + i, m->need[i], now_us);
        if (need > 0) kl_spacing_need(&r->spacing, client, first + i, need);
    }
}

/* An echo that no UPDATE had measures nothing: a client that returned with one would choose its round trip,
 * and with it the guess of the spacing. */
static void keep_times(struct kl_lock_client *c, const struct kl_ctrl *m, bool true_echo, uint32_t waited_us,
                       uint64_t now_us) {
    uint32_t trip_us = (uint32_t)now_us - m->echo;
    trip_us -= waited_us < trip_us ? waited_us : trip_us;
    if (true_echo) {
        kl_rtt_sample(&c->rtt, trip_us > m->hold_us ? trip_us - m->hold_us : 0);
        if (c->trip_us == 0 || trip_us < c->trip_us) c->trip_us = trip_us;
    }
    c->unheard = c->unheard > EACH_CTRL ? (uint8_t)(c->unheard - EACH_CTRL) : 0;
    if (c->heard && (int32_t)(m->stamp - c->stamp) < 0) return;
    c->heard = true;
    c->stamp = m->stamp;
    c->heard_at_us = now_us;
    c->waited_us = waited_us;
}

static void note_shown(struct kl_lock_client *c, uint32_t end, uint64_t now_us) {
    for (uint32_t f = end; f-- > c->shown && f + KL_WINDOW_FRAMES >= end;)
        c->shown_us[f % KL_WINDOW_FRAMES] = (uint32_t)now_us;
    if (end > c->shown) c->shown = end;
}

static void begin_anew(struct kl_lock_client *c, uint64_t now_us) {
    c->again = 0;
    c->anew = (uint32_t)now_us;
}

/* A client that echoes an UPDATE and lacks frames before it has lost the one with these. UPDATEs from
 * before it last began anew show nothing. */
static void find_gap(struct kl_lock_client *c, unsigned echoed, uint64_t now_us) {
    const struct kl_lock_sent *u = &c->sent[echoed];
    if (u->whole || u->frame <= c->frame_acked || (int32_t)(u->stamp - c->anew) <= 0) return;
    begin_anew(c, now_us);
    c->gap_end = c->sent_end;
}

/* A client that acknowledges less than it echoes has the frames all the same. */
static void keep_acked(struct kl_lock_relay *r, struct kl_lock_client *c, const struct kl_ctrl *m,
                       unsigned echoed, uint64_t now_us) {
    if (echoed < KL_SENT_KEPT && c->sent[echoed].whole) note_shown(c, c->sent[echoed].frame, now_us);
    if (m->frame_acked < c->frame_acked) return;
    note_shown(c, m->frame_acked, now_us);
    c->frame_acked = m->frame_acked;
    c->backlog = m->backlog;
    kl_lock_note_acked(r, c);
    if (echoed < KL_SENT_KEPT) find_gap(c, echoed, now_us);
}

/* True if the message names frames that never closed, or samples out of all bounds. */
static bool impossible(const struct kl_lock_relay *r, const struct kl_ctrl *m) {
    uint32_t oldest = r->before.sample_first, most = oldest + KL_WINDOW_FRAMES;
    bool frames = m->frame_acked > r->next_close;
    bool samples =
        (m->sample_count > 0 || m->resume) && (!r->started || m->sample_first + m->sample_count > most);
    return frames || samples;
}

/* Seats of it whose devices have no memory yet. */
static uint8_t wanting(const struct kl_lock_relay *r, const struct kl_lock_client *c,
                       const struct kl_ctrl *m) {
    uint8_t seats = 0, stream = 0;
    for (KL_EACH(s, m->streams.devices ? c->seats : 0))
        if (m->streams.devices >> stream++ & 1 && !r->sample[s].devices) seats |= (uint8_t)(1u << s);
    return seats;
}

int kl_lock_receive(struct kl_lock_relay *r, unsigned client, const uint8_t *body, size_t len,
                    uint32_t missing, uint32_t waited_us, uint64_t now_us) {
    if (client >= KL_MAX_CLIENTS || !r->client[client].present) return KL_E_STATE;
    struct kl_lock_client *c = &r->client[client];
    struct kl_ctrl m;
    if (c->link == KL_LINK_CUT) return KL_E_STATE; /* of a session that is over */
    int result = kl_ctrl_open(&m, c->seat_count, c->next_sample, body, len);
    if (result != KL_OK) return result;
    if (impossible(r, &m)) return KL_E_WINDOW;
    r->wants = wanting(r, c, &m);
    if (r->wants) return KL_E_SPACE;

    const unsigned echoed = echoed_by(c, &m);
    const bool true_echo = echoed < KL_SENT_KEPT;
    keep_times(c, &m, true_echo, waited_us, now_us);
    uint32_t pays = EACH_BYTE * ((uint32_t)len + HEADER_BYTES);
    c->debt -= c->debt < pays ? c->debt : pays;
    if (missing != c->missing) c->lost_us = now_us;
    c->missing = missing;
    if (!r->started) c->owed = true; /* an echo, so that both sides know the RTT when the lock starts */
    struct kl_lock_event event = kl_lock_event_begins(r, now_us);
    note_word(r, c, &m, now_us);
    keep_acked(r, c, &m, echoed, now_us);
    if (c->presence != KL_ABSENT) keep_samples(r, c, &m, true_echo, now_us);
    if (true_echo) keep_needs(r, client, &m, now_us); /* else it does not show what it has had */
    kl_lock_find_absent(r, now_us);
    kl_lock_close_frames(r, now_us);
    kl_lock_event_ends(r, event);
    return KL_OK;
}

/* --- UPDATE out --- */

static uint64_t timer_us(const struct kl_lock_relay *r, const struct kl_lock_client *c) {
    if (!r->params.clocked) return TIMER_FREE_US;
    unsigned group = kl_group_frames(&r->params);
    bool half_steps = r->params.half_steps && !c->sparing && group == 1;
    return (uint64_t)(kl_lock_period_us(r) * (half_steps ? HALF_STEP : TIMER_FRAMES * group));
}

/* Much would go to it for nothing. */
static bool is_unheard(const struct kl_lock_client *c) {
    return c->unheard >= UNHEARD_MAX;
}

/* UINT64_MAX: never. */
static uint64_t send_at(const struct kl_lock_relay *r, const struct kl_lock_client *c) {
    if (is_unheard(c)) return c->last_send_us + UNHEARD_US;
    if (c->owed || c->cursor != NO_BURST) return 0;
    return r->started ? c->last_send_us + timer_us(r, c) : UINT64_MAX;
}

uint64_t kl_lock_send_at(const struct kl_lock_relay *r) {
    uint64_t at = UINT64_MAX;
    for (KL_EACH(i, r->clients)) {
        const struct kl_lock_client *c = &r->client[i];
        if (c->link != KL_LINK_CUT && send_at(r, c) < at) at = send_at(r, c);
    }
    return at;
}

/* Oldest frame that this client lacks and that is still kept. */
static uint32_t first_frame(const struct kl_lock_relay *r, const struct kl_lock_client *c) {
    uint32_t oldest = kl_lock_oldest(r);
    return c->frame_acked > oldest ? c->frame_acked : oldest;
}

bool kl_lock_lost(const struct kl_lock_relay *r, unsigned client) {
    const struct kl_lock_client *c = &r->client[client];
    bool counts = c->present && c->link != KL_LINK_CUT && !c->fetching;
    return counts && first_frame(r, c) > c->frame_acked;
}

/* A part of what was sent since then has arrived, or all has had the time to. */
static bool has_answered(const struct kl_lock_client *c, uint32_t acked, uint64_t since_us, uint64_t now_us) {
    uint64_t patience_us = BURST_RTTS * c->rtt.srtt_us + BURST_AGAIN_US;
    return c->frame_acked != acked || now_us >= since_us + patience_us;
}

/* The frame to begin with: the oldest that it lacks. If one datagram did not hold all of these, the next one
 * goes on, to the newest, and begins anew if nothing arrives. */
static uint32_t begin_with(const struct kl_lock_relay *r, struct kl_lock_client *c, uint64_t now_us) {
    uint32_t first = first_frame(r, c);
    if (has_answered(c, c->again_acked, c->again_us, now_us)) {
        if (c->frame_acked == c->again_acked) begin_anew(c, now_us);
        c->again_acked = c->frame_acked;
        c->again_us = now_us;
    }
    return c->again > first ? c->again : first;
}

/* A new burst may begin if the last one arrived, or has had the time to. */
static bool may_burst(struct kl_lock_client *c, uint64_t now_us) {
    if (c->burst_at_us && !has_answered(c, c->burst_acked, c->burst_at_us, now_us)) return false;
    c->burst_at_us = now_us;
    c->burst_acked = c->frame_acked;
    return true;
}

/* The frames as bytes. They may stand there from the last UPDATE, for closed frames never change; else they
 * are laid out, as many as there are, and written. Without bytes they do not fit. */
static void code_frames(const struct kl_lock_relay *r, struct kl_update *u, struct kl_frames_from *from) {
    struct kl_laid_out *m = r->near.laid_out;
    struct kl_writer w;
    if (m->coded.of != r || m->coded.first != u->first || m->coded.count != u->count) {
        u->count = kl_lock_lay_out(r, u->first, u->count, from);
        w = kl_writer(m->coded.bytes, sizeof m->coded.bytes);
        if (u->count > 0) kl_frames_write(&w, from, u->first, u->count);
        m->coded.of = w.failed || u->count == 0 ? NULL : r;
        m->coded.first = u->first;
        m->coded.count = u->count;
        m->coded.len = (size_t)(w.at - m->coded.bytes);
    }
    from->coded = m->coded.of == r ? m->coded.bytes : NULL;
    from->coded_len = m->coded.len;
}

/* As many of its frames as fit. */
static size_t write_update(const struct kl_lock_relay *r, struct kl_update *u, uint8_t *buf, size_t cap) {
    struct kl_frames_from from = {0};
    for (;; u->count /= 2) {
        code_frames(r, u, &from);
        if (u->first + u->count != r->next_close) u->hints.ports = 0; /* it does not reach the newest */
        size_t len = kl_update_write(u, &from, buf, cap);
        if (len > 0 || u->count == 0) return len;
    }
}

static void note_sent(struct kl_lock_client *c, uint32_t stamp, bool whole, uint32_t frame) {
    struct kl_lock_sent *sent = &c->sent[c->sent_next];
    sent->stamp = stamp;
    sent->whole = whole;
    sent->frame = frame <= INT32_MAX ? frame & INT32_MAX : 0;
    c->sent_next = (uint8_t)((c->sent_next + 1) % KL_SENT_KEPT);
}

/* Frames that a client does not acknowledge go again and again; new ones are the game's, and cost nothing. */
static void note_again(struct kl_lock_client *c, uint32_t first, uint32_t count, size_t len) {
    uint32_t again = c->sent_end > first ? c->sent_end - first : 0;
    if (again > count) again = count;
    if (count > 0) c->debt += (uint32_t)(len + HEADER_BYTES) * again / count;
    if (first + count > c->sent_end) c->sent_end = first + count;
}

enum choice { AGAIN, NEW_ALONE, IN_PLACE_OF_NEW };

/* With much debt: new frames alone; or, while they lie beyond a gap, as many old ones in their place. */
static enum choice choose_frames(const struct kl_lock_relay *r, struct kl_lock_client *c, struct kl_update *u,
                                 bool bare, uint64_t now_us) {
    u->first = bare ? r->next_close : c->cursor != NO_BURST ? c->cursor : begin_with(r, c, now_us);
    enum choice choice = c->debt < DEBT_MOST || u->first >= c->sent_end ? AGAIN
                         : c->frame_acked < c->gap_end                  ? IN_PLACE_OF_NEW
                                                                        : NEW_ALONE;
    if (choice == NEW_ALONE) u->first = c->sent_end;
    u->count = r->next_close - (choice == IN_PLACE_OF_NEW ? c->sent_end : u->first);
    if (u->count > KL_WINDOW_FRAMES) u->count = KL_WINDOW_FRAMES;
    return choice;
}

/* Fields for reading, and the hints of ports without any, are left as they are: nobody looks at them. */
static void begin_update(const struct kl_lock_relay *r, const struct kl_lock_client *c, uint64_t now_us,
                         struct kl_update *u) {
    u->stamp = (uint32_t)now_us;
    u->has_echo = c->heard && (kl_group_frames(&r->params) == 1 || c->sent_next % ECHO_EVERY == 0);
    u->echo = c->stamp;
    u->hold_us = (uint32_t)(now_us - c->heard_at_us) + c->waited_us;
    u->next_sample = c->next_sample;
    u->presence = c->presence;
    u->paused = r->paused;
    u->waiting_for = kl_lock_waiting_for(r);
    u->away = kl_lock_away(r);
    u->has_schedule = r->started && r->params.clocked;
    u->hints.ports = u->hints.held = 0;
}

size_t kl_lock_send(struct kl_lock_relay *r, unsigned client, uint64_t now_us, uint8_t *buf, size_t cap) {
    if (client >= KL_MAX_CLIENTS || !r->client[client].present) return 0;
    struct kl_lock_client *c = &r->client[client];
    if (c->link == KL_LINK_CUT || now_us < send_at(r, c)) return 0;
    struct kl_update u;
    begin_update(r, c, now_us, &u);
    bool bare = c->fetching || is_unheard(c);
    enum choice choice = choose_frames(r, c, &u, bare, now_us);
    if (c->guesses) kl_lock_hints(r, client, &u.hints);
    if (u.has_schedule) u.due_us = (int64_t)(kl_schedule_line_us(&r->schedule, u.first) - (double)now_us);
    size_t len = write_update(r, &u, buf, cap);
    if (len == 0) return 0;
    bool reaches = u.first + u.count == r->next_close, whole = !bare && u.first == first_frame(r, c);
    if (choice != NEW_ALONE) c->again = reaches ? 0 : u.first + u.count;
    if (choice == IN_PLACE_OF_NEW)
        c->sent_end = r->next_close;
    else
        note_again(c, u.first, u.count, len);
    note_sent(c, u.stamp, whole, whole ? u.first + u.count : choice == AGAIN ? u.first : 0);
    bool more = !reaches && choice != IN_PLACE_OF_NEW && c->burst + 1 < KL_BURST_MAX &&
                (c->burst > 0 || may_burst(c, now_us));
    c->cursor = more ? u.first + u.count : NO_BURST;
    c->burst = more ? (uint8_t)(c->burst + 1) : 0;
    c->owed = false;
    c->last_send_us = now_us;
    if (!is_unheard(c)) c->unheard++;
    return len;
}
