#include "net/client/participant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/client/participant_parts.h"
#include "net/engine/command.h"

#define AWAY_US  150000         /* a frontend that has not called for so long does not run */
#define GREET_US (5 * 1000000)  /* for the relay to greet, after the first handshake */
#define TAKEN_US (20 * 1000000) /* the same, if another relay may first have to take the room */

/* --- from beginning to end --- */

void kl_participant_init(struct kl_participant *s, const struct kl_participant_config *config) {
    memset(s, 0, sizeof *s);
    snprintf(s->dial.relay, sizeof s->dial.relay, "%s", config->relay);
    snprintf(s->dial.fingerprint, sizeof s->dial.fingerprint, "%s",
             config->fingerprint ? config->fingerprint : "");
    s->dial.asks_trust = config->asks_trust;
    s->dial.offers = config->offers;
    s->hello = config->hello;
    s->hello.version = KL_PROTOCOL_VERSION;
    memcpy(s->dial.room, s->hello.room, sizeof s->dial.room);
    if (config->has_password) s->hello.door |= KL_DOOR_PASSWORD;
    s->seat = config->seat;
    if (sodium_is_zero(s->seat.pub, sizeof s->seat.pub)) kl_seat_make(&s->seat);
    memcpy(s->hello.seat_key, s->seat.pub, sizeof s->hello.seat_key);
    s->fresh = config->fresh;
    memcpy(s->token, config->token, sizeof s->token);
    snprintf(s->relays, sizeof s->relays, "%s", config->relays ? config->relays : "");
    s->sparing = config->sparing;
    s->direct.allowed = config->direct && !config->sparing;
    if (config->errand) s->errand = *config->errand;
    s->given = config->run ? malloc(config->run_len) : NULL;
    if (s->given) memcpy(s->given, config->run, s->given_len = config->run_len);
    s->is_given = s->given;
    s->held = config->held;
    s->held_frames = config->held_frames;
    kl_history_init(&s->past, 0, 0);
    kl_participant_door_begin(s, config->has_password);
}

void kl_participant_begin(struct kl_participant *s, uint64_t now_us) {
    kl_dial_begin(&s->dial, now_us);
}

void kl_participant_end(struct kl_participant *s, const char *reason) {
    struct kl_participant_status *st = &s->status;
    if (st->phase == KL_PARTICIPANT_ENDED) return;
    snprintf(st->reason, sizeof st->reason, "%s", reason);
    st->phase = KL_PARTICIPANT_ENDED;
    kl_participant_happened(s);
}

void kl_participant_end_with(struct kl_participant *s, const char *format) {
    char reason[KL_TEXT_MAX];
    snprintf(reason, sizeof reason, format, s->dial.relay);
    kl_participant_end(s, reason);
}

void kl_participant_free(struct kl_participant *s) {
    if (s->start != s->given) free(s->start);
    free(s->given);
    free(s->start_before);
    kl_participant_past_forget(s, &(struct kl_digest){0});
    kl_participant_snapshot_forget(s);
    kl_participant_direct_forget(s);
    kl_dial_end(&s->dial);
    sodium_memzero(&s->door, sizeof s->door);
    sodium_memzero(&s->seat, sizeof s->seat);
}

/* --- events --- */

static void note_keys(struct kl_participant *s) {
    const struct kl_dial *d = &s->dial;
    if (d->s.stage != KL_DIAL_ANSWERED) return;
    s->status.cipher = d->s.outcome.keys.cipher;
    kl_fingerprint(d->known, s->status.fingerprint);
    memcpy(s->status.relay_key, d->known, sizeof s->status.relay_key);
}

bool kl_participant_stranger(struct kl_participant *s, const uint8_t *bytes, size_t len, uint64_t now_us) {
    bool answered = kl_dial_receive(&s->dial, bytes, len, now_us);
    note_keys(s);
    return answered;
}

void kl_participant_trust(struct kl_participant *s, const char *why, uint64_t now_us) {
    kl_dial_trust(&s->dial, why, now_us);
    note_keys(s);
}

void kl_participant_heard(struct kl_participant *s, uint64_t now_us) {
    s->dial.s.heard_us = now_us;
}

void kl_participant_challenge(struct kl_participant *s, const uint8_t *body, size_t len) {
    if (len < 2 || len > sizeof s->path || body[0] != 0) return;
    memcpy(s->path, body, len);
    s->path[0] = 1;
    s->path_len = (uint8_t)len;
}

void kl_participant_connecting(struct kl_participant *s, bool possible) {
    s->dial.s.stage = KL_DIAL_CONNECTING;
    if (!possible) kl_participant_end_with(s, "no memory for a connection to %s");
}

void kl_participant_connected(struct kl_participant *s) {
    s->dial.s.stage = KL_DIAL_CONNECTED;
    s->enter_wanted = true;
}

static bool is_connected(const struct kl_participant *s) {
    return s->dial.s.stage == KL_DIAL_CONNECTED;
}

void kl_participant_turn(struct kl_participant *s, uint64_t now_us) {
    char why[KL_TEXT_MAX];
    if (!kl_dial_turn(&s->dial, kl_participant_is_returning(s), now_us, why)) kl_participant_end(s, why);
    if (!kl_participant_is_over(s)) kl_participant_return_turn(s, now_us);
    if (kl_participant_is_over(s)) return;
    note_keys(s);
    /* A frontend that does not call (a menu, a dragged window) is away; its next call ends that. */
    bool playing = s->status.phase == KL_PARTICIPANT_PLAYING && s->planned_us && !s->said_bye;
    if (playing && is_connected(s) && !s->lock.away && now_us >= s->planned_us + AWAY_US)
        kl_client_set_away(&s->lock, true);
    if (!s->joined && s->dial.s.stage != KL_DIAL_HANDSHAKE) {
        if (!s->greet_by_us) s->greet_by_us = s->dial.s.answered_us + (*s->relays ? TAKEN_US : GREET_US);
        if (now_us >= s->greet_by_us)
            kl_participant_end_with(s, "%s answers, but does not greet");
        else if (kl_dial_is_lost(&s->dial, now_us))
            kl_dial_begin(&s->dial, now_us);
    }
    if (s->leaving && (!is_connected(s) || (s->said_bye && now_us >= s->leave_by_us)))
        kl_participant_end(s, "left");
}

/* The lock client's next datagram. */
static uint64_t send_at(const struct kl_participant *s) {
    return s->joined && !kl_participant_is_returning(s) ? kl_client_send_at(&s->lock) : UINT64_MAX;
}

uint64_t kl_participant_wake_at(struct kl_participant *s, uint64_t now_us) {
    uint64_t at_us = now_us + KL_PARTICIPANT_TURN_US;
    return s->wake_us = send_at(s) < at_us ? send_at(s) : at_us;
}

bool kl_participant_is_due(struct kl_participant *s) {
    bool due = s->say_wanted || send_at(s) < s->wake_us;
    s->say_wanted = false;
    if (due) s->wake_us = 0;
    return due;
}

/* --- the wrapper's requests --- */

void kl_participant_status(const struct kl_participant *s, struct kl_participant_status *out) {
    *out = s->status;
    if (s->start && s->start_len == s->status.data_total) {
        out->start = s->start;
        out->start_len = s->start_len;
    }
    if (!s->joined) return;
    out->lock = s->lock.stats;
    out->behind = kl_client_behind(&s->lock);
    out->direct_named = s->direct.count;
    out->direct_heard = kl_participant_direct_heard(s);
    out->begins = s->snapshot.begins;
    out->shot_done = s->snapshot.have;
    out->shot_total = s->snapshot.offer.packed;
}

bool kl_participant_give_start(struct kl_participant *s, uint8_t *data, size_t len) {
    if (s->status.phase != KL_PARTICIPANT_SEND_START || len > KL_START_BYTES_MAX) return false;
    s->given = data;
    s->given_len = len;
    s->is_given = s->say_wanted = true;
    s->status.phase = KL_PARTICIPANT_WAITING;
    kl_participant_happened(s);
    return true;
}

void kl_participant_ready(struct kl_participant *s, const struct kl_facts *facts) {
    if (s->status.phase != KL_PARTICIPANT_LOAD) return;
    s->ready_facts = *facts;
    s->ready_wanted = s->say_wanted = true;
    s->status.phase = KL_PARTICIPANT_READY;
    kl_participant_happened(s);
}

struct kl_plan kl_participant_plan(struct kl_participant *s, uint32_t max_runs, uint64_t now_us) {
    s->planned_us = now_us;
    s->seen = s->events;
    if (s->lock.away) kl_client_set_away(&s->lock, false);
    /* every frame may ask for a hash; if they pile up (--speed max on a lossy link) the game waits */
    uint32_t hashes = KL_PARTICIPANT_HASHES - (s->hash_put - s->hash_got);
    if (max_runs > hashes) max_runs = hashes;
    if (s->status.phase != KL_PARTICIPANT_PLAYING) return (struct kl_plan){0};
    return kl_client_plan(&s->lock, now_us, max_runs);
}

int kl_participant_sample(struct kl_participant *s, const struct kl_input *in, uint64_t now_us) {
    return s->status.phase == KL_PARTICIPANT_PLAYING ? kl_client_sample(&s->lock, in, now_us) : KL_E_STATE;
}

bool kl_participant_take(struct kl_participant *s, struct kl_frame *out) {
    bool got = s->status.phase == KL_PARTICIPANT_PLAYING && kl_client_take(&s->lock, out);
    if (got) kl_participant_past_keep(s, out);
    return got;
}

const struct kl_commands *kl_participant_commands(struct kl_participant *s, uint32_t keyframe) {
    return kl_client_commands(&s->lock, keyframe);
}

bool kl_participant_takes_early(uint8_t kind) {
    return kind == KL_COMMAND_HOST || (kind >= KL_COMMAND_LOCK && kind <= KL_COMMAND_BAN) ||
           kind == KL_COMMAND_DESYNC || kind == KL_COMMAND_DELAY || kind == KL_COMMAND_WATCHERS ||
           kind == KL_COMMAND_VOICE;
}

static bool may_order(const struct kl_participant *s, uint8_t kind) {
    enum kl_participant_phase phase = s->status.phase;
    bool open = phase >= KL_PARTICIPANT_WAITING && phase < KL_PARTICIPANT_PLAYING;
    return phase == KL_PARTICIPANT_PLAYING || (open && kl_participant_takes_early(kind));
}

int kl_participant_order(struct kl_participant *s, uint8_t kind, const void *data, size_t len) {
    if (len > KL_COMMAND_BYTES) return KL_E_SPACE;
    if (!may_order(s, kind)) return KL_E_STATE;
    if (s->order_put - s->order_got == KL_PARTICIPANT_ORDERS) return KL_E_FULL;
    struct kl_order *o = &s->order[s->order_put++ % KL_PARTICIPANT_ORDERS];
    *o = (struct kl_order){.kind = kind, .len = (uint8_t)len};
    if (len) memcpy(o->data, data, len);
    s->say_wanted = true;
    return KL_OK;
}

void kl_participant_rate(struct kl_participant *s, uint32_t fps_uhz) {
    if (fps_uhz < KL_FPS_MIN || fps_uhz > KL_FPS_MAX) return;
    uint8_t data[4] = {(uint8_t)fps_uhz, (uint8_t)(fps_uhz >> 8), (uint8_t)(fps_uhz >> 16),
                       (uint8_t)(fps_uhz >> 24)};
    if (s->joined) kl_client_rate(&s->lock, fps_uhz);
    (void)kl_participant_order(s, KL_COMMAND_RATE, data, sizeof data);
}

void kl_participant_hash(struct kl_participant *s, const struct kl_hash *h) {
    bool said =
        s->hash_put != s->hash_got && s->hash[(s->hash_put - 1) % KL_PARTICIPANT_HASHES].frame == h->frame;
    if (said || s->hash_put - s->hash_got == KL_PARTICIPANT_HASHES) return;
    s->hash[s->hash_put++ % KL_PARTICIPANT_HASHES] = *h;
    s->say_wanted = true;
}

bool kl_participant_check(struct kl_participant *s, uint16_t *disk) {
    bool wanted = s->check_wanted;
    s->check_wanted = false;
    *disk = s->check.disk;
    return wanted;
}

bool kl_participant_say_file(struct kl_participant *s, const struct kl_file_said *f) {
    bool plays = s->status.phase == KL_PARTICIPANT_PLAYING;
    if (!plays || s->file_put - s->file_got == KL_PARTICIPANT_FILES) return false;
    s->file[s->file_put++ % KL_PARTICIPANT_FILES] = *f;
    return s->say_wanted = true;
}

bool kl_participant_notice(struct kl_participant *s, struct kl_text *out) {
    if (s->notice_got == s->notice_put) return false;
    *out = s->notice[s->notice_got++ % KL_PARTICIPANT_NOTICES];
    return true;
}

void kl_participant_leave(struct kl_participant *s, uint64_t by_us) {
    s->leaving = s->say_wanted = true;
    s->leave_by_us = by_us;
}
