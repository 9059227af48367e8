/* The messages that go out, and their order. net/ROOMS.md §7, Hashes and Healing.
 *
 * HEALED and STATE go before every HASH that waits: the relay does not look at hashes of a client that is
 * being healed, and one that it has not looked at does not come again. */
#include <string.h>

#include "net/client/participant_parts.h"
#include "net/session/proof.h"
#include "net/session/seal.h"

/* HASH waits while so many control messages are under way past the oldest unacknowledged one. */
#define HASH_WINDOW 256

static bool next_hash(struct kl_participant *s, struct kl_msg *m) {
    if (s->hash_got == s->hash_put) return false;
    *m = (struct kl_msg){.kind = KL_MSG_HASH, .hash = s->hash[s->hash_got++ % KL_PARTICIPANT_HASHES]};
    kl_sign_add(&s->sign, &m->hash);
    return true;
}

/* Our hashes so far: after each seal, and before we leave. A watcher has no seat whose key would count. */
static bool next_sign(struct kl_participant *s, struct kl_msg *m) {
    if (!s->sign_wanted || s->sign.count == s->signed_last || s->status.welcome.client == KL_WATCHER)
        return false;
    kl_sign_make(&s->sign, s->status.welcome.room_id, &s->seat);
    *m = (struct kl_msg){.kind = KL_MSG_SIGN, .sign = s->sign};
    s->signed_last = s->sign.count;
    s->sign_wanted = false;
    return true;
}

bool kl_participant_next_word(struct kl_participant *s, bool may_hash, struct kl_msg *m) {
    if (!s->joined) return false;
    bool some = s->snapshot.healed_wanted || s->snapshot.state_wanted;
    if (s->snapshot.healed_wanted) {
        *m = (struct kl_msg){.kind = KL_MSG_HEALED, .healed = s->snapshot.healed};
        s->snapshot.healed_wanted = false;
    } else if (s->snapshot.state_wanted) {
        *m = (struct kl_msg){.kind = KL_MSG_STATE, .state = s->snapshot.state};
        s->snapshot.state_wanted = false;
    }
    return some || (may_hash && (next_hash(s, m) || next_sign(s, m)));
}

/* A command waits while the relay is silent: with a session that ends it would be lost. */
static bool next_order(struct kl_participant *s, uint64_t now_us, struct kl_msg *m) {
    bool silent = now_us >= s->dial.s.heard_us + KL_PARTICIPANT_PROBE_US;
    if (!s->joined || silent || s->order_got == s->order_put) return false;
    *m = (struct kl_msg){.kind = KL_MSG_COMMAND, .order = s->order[s->order_got++ % KL_PARTICIPANT_ORDERS]};
    return true;
}

static bool next_file(struct kl_participant *s, struct kl_msg *m) {
    if (!s->joined || s->file_got == s->file_put) return false;
    *m = (struct kl_msg){.kind = KL_MSG_FILE, .file = s->file[s->file_got++ % KL_PARTICIPANT_FILES]};
    return true;
}

static bool next_ready(struct kl_participant *s, struct kl_msg *m) {
    if (!s->ready_wanted) return false;
    *m = (struct kl_msg){.kind = KL_MSG_READY, .ready.facts = s->ready_facts};
    s->ready_wanted = false;
    return true;
}

/* The next piece of the host's start data. Empty start data is one empty piece. */
static bool next_start(struct kl_participant *s, struct kl_msg *m) {
    size_t total = s->given_len, at = s->uploaded;
    if (!s->is_given || (at >= total && at > 0)) return false;
    size_t len = total - at < KL_CHUNK_MAX ? total - at : KL_CHUNK_MAX;
    *m = (struct kl_msg){.kind = KL_MSG_DATA};
    m->data = (struct kl_data){.offset = (uint32_t)at, .total = (uint32_t)total, .len = (uint16_t)len};
    memcpy(m->data.bytes, s->given + at, len);
    s->uploaded += len ? len : 1;
    return true;
}

/* The relay has everything that others need of us. */
static bool all_said(const struct kl_participant *s) {
    if (!s->joined) return true;
    return s->hash_got == s->hash_put && s->lock.sample_acked >= s->lock.stats.next_sample;
}

bool kl_participant_say(struct kl_participant *s, const struct kl_channels *c, uint64_t now_us,
                        struct kl_msg *m) {
    bool bulk = c->bulk_room > 0;
    if (s->dial.s.stage != KL_DIAL_CONNECTED || kl_participant_is_over(s)) return false;
    if (kl_participant_next_entry(s, m) || kl_participant_next_proof(s, m)) return true;
    if (s->said_bye) return false;
    if (!kl_participant_is_returning(s)) {
        if (kl_participant_next_word(s, c->control_span < HASH_WINDOW, m) || next_order(s, now_us, m) ||
            next_ready(s, m) || next_file(s, m) || kl_participant_next_direct(s, m) ||
            kl_participant_next_hear(s, m))
            return true;
        if (bulk && (next_start(s, m) || kl_participant_next_given(s, now_us, m))) return true;
    }
    if (!s->leaving || (!all_said(s) && now_us < s->leave_by_us)) return false;
    s->sign_wanted = true;
    if (s->joined && next_sign(s, m)) return true;
    *m = (struct kl_msg){.kind = KL_MSG_BYE, .text.text = "left"};
    s->said_bye = true;
    return true;
}

size_t kl_participant_send(struct kl_participant *s, uint64_t now_us, uint8_t *kind, uint8_t *body,
                           size_t cap) {
    size_t len = s->path_len;
    if (len > 0) {
        memcpy(body, s->path, len);
        s->path_len = 0;
        *kind = KL_SEAL_PATH;
        return len;
    }
    *kind = KL_SEAL_CTRL;
    bool plays = s->joined && !s->said_bye && !kl_participant_is_returning(s) && !kl_participant_is_over(s);
    return plays && s->dial.s.stage == KL_DIAL_CONNECTED ? kl_client_send(&s->lock, now_us, body, cap) : 0;
}

/* The wishes about voices, and the relay's answer. Speech itself does not come here: it goes from the link to
 * the voice thread. net/ROOMS.md §7, Voice. */
void kl_participant_hear(struct kl_participant *s, const struct kl_hear *wish) {
    s->voice.wish = *wish;
}

static bool is_same(const struct kl_hear *a, const struct kl_hear *b) {
    return a->on == b->on && a->mask == b->mask && memcmp(a->id, b->id, sizeof a->id) == 0;
}

/* Until voice is switched on for the first time nothing is said. */
bool kl_participant_next_hear(struct kl_participant *s, struct kl_msg *m) {
    struct kl_participant_voice *v = &s->voice;
    bool news = v->said ? !is_same(&v->wish, &v->heard) : v->wish.on;
    if (!s->joined || !news) return false;
    *m = (struct kl_msg){.kind = KL_MSG_HEAR, .hear = v->wish};
    v->heard = v->wish;
    if (!v->wish.on) v->answered = false;
    return v->said = true;
}

void kl_participant_take_voices(struct kl_participant *s, const struct kl_voices *v) {
    s->voice.voices = *v;
    s->voice.answered = s->voice.said;
}

void kl_participant_voice_forget(struct kl_participant *s) {
    s->voice.said = s->voice.answered = false;
}

void kl_participant_voices(const struct kl_participant *s, struct kl_voice_told *out) {
    const struct kl_welcome *w = &s->status.welcome;
    *out = (struct kl_voice_told){.client = KL_WATCHER};
    out->in_room = s->joined && !kl_participant_is_returning(s) && !kl_participant_is_over(s);
    if (!out->in_room) return;
    out->economy = w->params.economy;
    out->client = w->client;
    memcpy(out->room_id, w->room_id, sizeof out->room_id);
    out->answered = s->voice.answered;
    if (out->answered) out->voices = s->voice.voices;
}
