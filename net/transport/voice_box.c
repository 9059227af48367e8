#include "net/transport/voice_box.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/engine/engine.h"
#include "net/platform/socket.h"
#include "net/platform/thread.h"
#include "net/platform/wait.h"
#include "net/session/voice_key.h"

#define OUT_KEPT 16 /* packets: 320 ms */
#define IN_KEPT  64
#define IDS_KEPT 64 /* of a client: a relay that names more of them is not believed */

struct ring {
    unsigned put, got; /* count up */
};

/* Of another client. A relay that goes back to an id that it has named before would let the packets of then
 * count once more. */
struct voice {
    struct kl_voice_speaker of;
    uint8_t key[KL_VOICE_KEY]; /* zero: nothing of it opens */
    struct kl_voice_seen seen; /* of this id's packets, whatever the room's key */
    uint8_t old[IDS_KEPT][KL_VOICE_ID];
    unsigned olds;
};

struct kl_voice_box {
    int wake;                /* constant, as id is */
    uint8_t id[KL_VOICE_ID]; /* random */
    struct kl_mutex mutex;
    /* under the mutex */
    unsigned holders;
    bool on;
    uint16_t mask;
    char password[KL_DOOR_PASSWORD_MAX + 1];
    struct kl_voice_told told;
    struct ring outs, ins;
    struct kl_voice out[OUT_KEPT], in[IN_KEPT];
    uint64_t in_us[IN_KEPT]; /* of their arrival */

    /* the voice thread's own */
    struct kl_voice_told seen; /* by the last news */
    bool seen_on, sealed;
    enum { NO_KEY, KEY, KEY_FAILED } key_state;
    uint8_t salt[KL_DOOR_SALT]; /* of the key, or of the one that failed */
    char keyed[KL_DOOR_PASSWORD_MAX + 1];
    uint8_t key[KL_VOICE_KEY], own_key[KL_VOICE_KEY];
    uint32_t counter;
    struct voice voice[KL_MAX_CLIENTS];
};

/* --- the box --- */

struct kl_voice_box *kl_voice_box_new(void) {
    struct kl_voice_box *b = sodium_init() < 0 ? NULL : calloc(1, sizeof *b);
    if (!b) return NULL;
    b->wake = kl_wake_open();
    if (b->wake < 0) {
        free(b);
        return NULL;
    }
    b->holders = 1;
    b->told.client = KL_WATCHER;
    randombytes_buf(b->id, sizeof b->id);
    return b;
}

struct kl_voice_box *kl_voice_box_hold(struct kl_voice_box *b) {
    if (!b) return NULL;
    kl_mutex_lock(&b->mutex);
    b->holders++;
    kl_mutex_unlock(&b->mutex);
    return b;
}

void kl_voice_box_drop(struct kl_voice_box *b) {
    if (!b) return;
    kl_mutex_lock(&b->mutex);
    bool last = --b->holders == 0;
    kl_mutex_unlock(&b->mutex);
    if (!last) return;
    kl_socket_close(b->wake);
    sodium_memzero(b, sizeof *b);
    free(b);
}

/* --- packets --- */

/* A full ring drops its oldest. */
static void put(struct ring *r, struct kl_voice *kept, unsigned most, const struct kl_voice *v) {
    if (r->put - r->got == most) r->got++;
    kept[r->put++ % most] = *v;
}

static bool get(struct ring *r, const struct kl_voice *kept, unsigned most, struct kl_voice *v) {
    if (r->put == r->got) return false;
    *v = kept[r->got++ % most];
    return true;
}

void kl_voice_box_put(struct kl_voice_box *b, const struct kl_voice *v, uint64_t now_us) {
    kl_mutex_lock(&b->mutex);
    if (b->on && b->mask >> v->client & 1) {
        b->in_us[b->ins.put % IN_KEPT] = now_us;
        put(&b->ins, b->in, IN_KEPT, v);
    }
    kl_mutex_unlock(&b->mutex);
}

bool kl_voice_box_take(struct kl_voice_box *b, struct kl_voice *out) {
    kl_mutex_lock(&b->mutex);
    bool got = get(&b->outs, b->out, OUT_KEPT, out);
    kl_mutex_unlock(&b->mutex);
    return got;
}

/* --- the link's word --- */

void kl_voice_box_begin(struct kl_voice_box *b, const char *password) {
    size_t len = strlen(password);
    kl_mutex_lock(&b->mutex);
    sodium_memzero(b->password, sizeof b->password);
    memcpy(b->password, password, len < sizeof b->password ? len : sizeof b->password - 1);
    b->told = (struct kl_voice_told){.client = KL_WATCHER};
    kl_mutex_unlock(&b->mutex);
}

int kl_voice_box_wake(const struct kl_voice_box *b) {
    return b->wake;
}

void kl_voice_box_wish(struct kl_voice_box *b, struct kl_hear *out) {
    kl_mutex_lock(&b->mutex);
    *out = (struct kl_hear){.on = b->on, .mask = b->mask};
    memcpy(out->id, b->id, sizeof out->id);
    kl_mutex_unlock(&b->mutex);
}

void kl_voice_box_tell(struct kl_voice_box *b, const struct kl_voice_told *told) {
    kl_mutex_lock(&b->mutex);
    b->told = *told;
    kl_mutex_unlock(&b->mutex);
}

/* --- keys, in the voice thread --- */

/* The room's key, once for each salt and password. */
static void make_room_key(struct kl_voice_box *b, const char *password) {
    const uint8_t *salt = b->seen.voices.salt;
    bool same = !memcmp(b->salt, salt, sizeof b->salt) && !strcmp(b->keyed, password);
    if (!b->seen.answered || (b->key_state != NO_KEY && same)) return;
    memcpy(b->salt, salt, sizeof b->salt);
    memcpy(b->keyed, password, sizeof b->keyed);
    b->key_state = kl_voice_room_key(password, b->salt, b->key) == 0 ? KEY : KEY_FAILED;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        sodium_memzero(b->voice[i].key, sizeof b->voice[i].key);
}

static struct kl_voice_speaker speaker_of(const struct kl_voice_box *b, uint8_t client, const uint8_t *id) {
    struct kl_voice_speaker s = {.client = client};
    memcpy(s.room_id, b->seen.room_id, sizeof s.room_id);
    memcpy(s.id, id, sizeof s.id);
    return s;
}

static bool is_known(const struct voice *v) {
    return !sodium_is_zero(v->key, sizeof v->key);
}

/* False: this id is one of before. */
static bool take_id(struct voice *v, const uint8_t id[KL_VOICE_ID]) {
    if (!memcmp(v->of.id, id, KL_VOICE_ID)) return true;
    sodium_memzero(v->key, sizeof v->key);
    for (unsigned i = 0; i < v->olds; i++)
        if (!memcmp(v->old[i], id, KL_VOICE_ID)) return false;
    if (v->olds == IDS_KEPT) return false;
    if (!sodium_is_zero(v->of.id, KL_VOICE_ID)) memcpy(v->old[v->olds++], v->of.id, KL_VOICE_ID);
    v->seen = (struct kl_voice_seen){0};
    return true;
}

static void make_keys(struct kl_voice_box *b) {
    const struct kl_voices *v = &b->seen.voices;
    struct kl_voice_speaker own = speaker_of(b, b->seen.client, b->id);
    kl_voice_speaker_key(b->key, &own, b->own_key);
    for (unsigned i = 0; i < v->count; i++) {
        struct kl_voice_speaker of = speaker_of(b, v->speaker[i].client, v->speaker[i].id);
        struct voice *to = &b->voice[of.client];
        bool same = is_known(to) && !memcmp(&to->of, &of, sizeof of);
        if (same || !take_id(to, of.id)) continue;
        to->of = of;
        kl_voice_speaker_key(b->key, &of, to->key);
    }
}

/* --- the voice thread --- */

void kl_voice_box_hear(struct kl_voice_box *b, bool on, uint16_t mask) {
    kl_mutex_lock(&b->mutex);
    bool changed = b->on != on || b->mask != (on ? mask : 0);
    b->on = on;
    b->mask = on ? mask : 0;
    kl_mutex_unlock(&b->mutex);
    if (changed) kl_wake(b->wake);
}

static enum kl_voice_why why_not(const struct kl_voice_box *b) {
    const struct kl_voice_told *s = &b->seen;
    if (!s->in_room) return KL_VOICE_NO_ROOM;
    if (!b->seen_on) return KL_VOICE_OFF;
    if (!s->answered) return KL_VOICE_ASKING;
    if (s->voices.allowed == KL_VOICE_NONE) return KL_VOICE_FORBIDDEN;
    if (s->client == KL_WATCHER) return KL_VOICE_WATCHING;
    if (b->sealed && b->key_state != KEY) return KL_VOICE_NO_KEY;
    return s->voices.hearers || s->voices.watchers ? KL_VOICE_HEARD : KL_VOICE_NOBODY;
}

void kl_voice_box_news(struct kl_voice_box *b, struct kl_voice_news *out) {
    char password[sizeof b->password];
    kl_mutex_lock(&b->mutex);
    b->seen = b->told;
    b->seen_on = b->on;
    memcpy(password, b->password, sizeof password);
    kl_mutex_unlock(&b->mutex);
    const struct kl_voice_told *s = &b->seen;
    b->sealed = password[0];
    if (b->sealed) make_room_key(b, password);
    if (b->sealed && b->key_state == KEY) make_keys(b);
    sodium_memzero(password, sizeof password);
    *out = (struct kl_voice_news){.why = why_not(b),
                                  .allowed = s->voices.allowed,
                                  .client = s->client,
                                  .hearers = s->voices.hearers,
                                  .watchers = s->voices.watchers,
                                  .sealed = b->sealed,
                                  .economy = s->economy};
    for (unsigned i = 0; i < s->voices.count; i++)
        out->speakers |= kl_only(s->voices.speaker[i].client);
}

bool kl_voice_box_say(struct kl_voice_box *b, const struct kl_voice *v) {
    struct kl_voice sealed = *v;
    if (v->len > KL_VOICE_BYTES || why_not(b) != KL_VOICE_HEARD) return false;
    sealed.flags &= KL_VOICE_LAST;
    if (b->sealed && !kl_voice_seal(b->own_key, &b->counter, &sealed)) return false;
    kl_mutex_lock(&b->mutex);
    put(&b->outs, b->out, OUT_KEPT, &sealed);
    kl_mutex_unlock(&b->mutex);
    kl_wake(b->wake);
    return true;
}

/* In a room with a password only sealed packets count: else the relay could speak for others. */
static bool open_packet(struct kl_voice_box *b, struct kl_voice *v) {
    struct voice *from = &b->voice[v->client];
    if (!b->sealed) return !(v->flags & KL_VOICE_SHUT) && v->len <= KL_VOICE_BYTES;
    return b->key_state == KEY && is_known(from) && kl_voice_open(from->key, &from->seen, v);
}

bool kl_voice_box_next(struct kl_voice_box *b, struct kl_voice *out, uint64_t *arrived_us) {
    for (bool got = true; got;) {
        kl_mutex_lock(&b->mutex);
        *arrived_us = b->in_us[b->ins.got % IN_KEPT];
        got = get(&b->ins, b->in, IN_KEPT, out);
        kl_mutex_unlock(&b->mutex);
        if (got && open_packet(b, out)) return true;
    }
    return false;
}
