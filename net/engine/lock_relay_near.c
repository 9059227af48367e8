/* The newest closed frames, in columns: inputs stand by the seat whose pads gave them, because only seats
 * with an owner have memory. A swap changes the seat that they play, so each frame notes the seats as of
 * then. */
#include "net/engine/history.h"
#include "net/engine/lock_relay_private.h"

void kl_lock_give_ring(struct kl_lock_relay *r, struct kl_near_frame *frames, uint32_t places,
                       const struct kl_history *history, struct kl_laid_out *laid_out) {
    memset(frames, 0, places * sizeof *frames);
    r->near = (struct kl_near){.frame = frames, .places = places, .history = history, .laid_out = laid_out};
    laid_out->of = laid_out->coded.of = NULL; /* maybe an earlier lock at the same address */
}

void kl_lock_give_seat(struct kl_lock_relay *r, unsigned seat, struct kl_pad *pads) {
    r->sample[seat] = (struct kl_inputs){.places = KL_WINDOW_FRAMES, .pad = pads};
    r->near.input[seat] = (struct kl_inputs){.places = r->near.places, .pad = pads + KL_WINDOW_FRAMES};
    /* Frames that have closed have nothing from it. */
    if (r->next_close > 0) memset(r->near.input[seat].pad, 0, r->near.places * sizeof *pads);
}

void kl_lock_give_devices(struct kl_lock_relay *r, unsigned seat, struct kl_devices *devices,
                          struct kl_keys *keys) {
    memset(devices, 0, (KL_WINDOW_FRAMES + r->near.places) * sizeof *devices);
    r->sample[seat].devices = devices;
    r->near.input[seat].devices = devices + KL_WINDOW_FRAMES;
    kl_keys_clear(keys);
    keys->all_up = r->up >> seat & 1;
    keys->next = r->owner[seat] != KL_NOBODY ? r->client[r->owner[seat]].next_sample : 0; /* none before */
    r->keys[seat] = keys;
    r->keyboards |= (uint8_t)(1u << seat);
    r->up &= (uint8_t) ~(1u << seat);
    r->wants &= (uint8_t) ~(1u << seat);
}

void kl_lock_keep_near(struct kl_lock_relay *r, const struct kl_frame *f) {
    struct kl_near *n = &r->near;
    uint32_t place = f->number % n->places;
    struct kl_near_frame *to = &n->frame[place];
    *to = (struct kl_near_frame){.end = f->number + 1, .head = kl_frame_head_of(f)};
    memcpy(to->plays, r->plays, sizeof to->plays);
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        const struct kl_input *in = &f->in[r->plays[s]];
        if (n->input[s].pad)
            kl_inputs_put(&n->input[s], place, in);
        else if (in->all_up)
            to->all_up |= (uint8_t)(1u << r->plays[s]);
    }
}

static bool is_near(const struct kl_near *n, uint32_t number) {
    return n->frame[number % n->places].end == number + 1;
}

bool kl_lock_newest_pad(const struct kl_lock_relay *r, unsigned pad, uint16_t *joypad) {
    const struct kl_near *n = &r->near;
    uint32_t place = (r->next_close - 1) % n->places;
    if (r->next_close == 0 || !is_near(n, r->next_close - 1) || !n->input[pad].pad) return false;
    *joypad = n->input[pad].pad[place].joypad;
    return n->frame[place].plays[pad] == r->plays[pad];
}

static void read_near(const struct kl_near *n, uint32_t number, struct kl_frame *out) {
    uint32_t place = number % n->places;
    const uint8_t *plays = n->frame[place].plays;
    const struct kl_frame_head *head = &n->frame[place].head;
    *out = (struct kl_frame){.number = number,
                             .keyframe = head->keyframe,
                             .spacing = head->spacing,
                             .flags = head->flags,
                             .active = head->active};
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        if (n->input[s].pad) kl_inputs_get(&n->input[s], place, &out->in[plays[s]]);
        if (n->frame[place].all_up >> s & 1) out->in[s].all_up = true;
    }
}

/* Whole frames from `first` on, as many as there are; those of the last call stay. Returns the frame after
 * the last. */
static uint32_t read_whole(const struct kl_lock_relay *r, uint32_t first, uint32_t end) {
    const struct kl_near *n = &r->near;
    struct kl_laid_out *m = n->laid_out;
    struct kl_history_cursor c;
    if (m->of != r || first < m->first || first > m->end) m->first = m->end = first;
    m->of = r;
    if (n->history && m->end < end && !is_near(n, m->end)) kl_history_seek(&c, n->history, m->end);
    while (m->end < end) {
        struct kl_frame *to = &m->whole[m->end % KL_WINDOW_FRAMES];
        if (is_near(n, m->end))
            read_near(n, m->end, to);
        else if (!n->history || !kl_history_next(&c, to))
            break;
        m->end++;
    }
    if (m->end > m->first + KL_WINDOW_FRAMES) m->first = m->end - KL_WINDOW_FRAMES;
    return m->end < end ? m->end : end;
}

/* Their inputs need no copy if all are near, no seats were swapped among them, and each input has memory, as
 * nearly always. False: it is not so. */
static bool find_columns(const struct kl_near *n, uint32_t first, uint32_t end) {
    struct kl_laid_out *m = n->laid_out;
    const uint8_t *plays = n->frame[first % n->places].plays;
    for (uint32_t f = first; f < end; f++) {
        const struct kl_near_frame *at = &n->frame[f % n->places];
        if (at->end != f + 1 || at->all_up || memcmp(at->plays, plays, sizeof at->plays) != 0) return false;
        m->head[f % KL_WINDOW_FRAMES] = at->head;
    }
    m->columns.head = m->head;
    m->columns.places = KL_WINDOW_FRAMES;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        m->columns.in[plays[s]] = n->input[s];
    return true;
}

uint32_t kl_lock_lay_out(const struct kl_lock_relay *r, uint32_t first, uint32_t count,
                         struct kl_frames_from *from) {
    struct kl_laid_out *m = r->near.laid_out;
    *from = (struct kl_frames_from){.ring = m->whole, .places = KL_WINDOW_FRAMES, .sets = m->sets};
    if (count == 0) return 0;
    if (find_columns(&r->near, first, first + count))
        from->columns = &m->columns;
    else
        count = read_whole(r, first, first + count) - first;
    uint8_t flags = 0;
    for (uint32_t f = first; f < first + count; f++)
        flags |= from->columns ? m->head[f % KL_WINDOW_FRAMES].flags : m->whole[f % KL_WINDOW_FRAMES].flags;
    for (unsigned i = 0; i < kl_lock_sets(r) && flags & KL_FRAME_COMMANDS; i++) {
        const struct kl_packed_set *set = kl_lock_set(r, i);
        if (set->count > 0 && set->keyframe - first < count)
            kl_packed_set_get(set, &m->sets[from->set_count++]);
    }
    return count;
}

bool kl_lock_frame(const struct kl_lock_relay *r, uint32_t number, struct kl_frame *out) {
    struct kl_history_cursor c;
    if (number >= r->next_close || number < kl_lock_oldest(r)) return false;
    if (is_near(&r->near, number)) {
        read_near(&r->near, number, out);
        return true;
    }
    if (!r->near.history) return false;
    kl_history_seek(&c, r->near.history, number);
    return kl_history_next(&c, out);
}

/* A history may have stopped for want of memory; then the ring's frames are all there are. */
uint32_t kl_lock_oldest(const struct kl_lock_relay *r) {
    const struct kl_history *h = r->near.history;
    uint32_t next = r->next_close, near = next > r->near.places ? next - r->near.places : 0;
    uint32_t kept = next > KL_KEPT_FRAMES ? next - KL_KEPT_FRAMES : 0;
    if (!h || h->next < near) return near;
    uint32_t from = h->first > kept ? h->first : kept;
    return from < near ? from : near;
}

bool kl_lock_take(struct kl_lock_relay *r, struct kl_frame *out) {
    if (r->next_hand == r->next_close && r->full_us) kl_lock_close_frames(r, r->full_us);
    if (r->next_hand + r->near.places < r->next_close) r->next_hand = r->next_close - r->near.places;
    if (r->next_hand == r->next_close) return false;
    read_near(&r->near, r->next_hand++, out);
    return true;
}
