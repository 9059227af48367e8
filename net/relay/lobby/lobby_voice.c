/* Speech, on its way from player to player: the relay reads no payload, and keeps none. net/ROOMS.md §7,
 * Voice.
 *
 * A packet goes to those that have asked for its speaker, if the host allows it. No frame, message or other
 * player may wait for it: it is the first thing that a full machine leaves out. */
#include <string.h>

#include <sodium.h>

#include "net/relay/lobby/lobby_parts.h"
#include "net/transport/rate.h"

#define PACKETS_PER_S 55                        /* of one client: 50 of 20 ms, and what its clock is fast */
#define BYTES_PER_S   6000                      /* of sealed datagrams */
#define AHEAD_NS      (UINT64_C(200) * 1000000) /* ten packets at once */
#define SECOND_NS     UINT64_C(1000000000)

#define TALKERS 3      /* of a room at once: those that began first */
#define HOLD_US 300000 /* from a talker's packet on its place is kept */
#define LATE_US 10000  /* a packet has waited for the relay for so long: so have the players' inputs */

#define VOICES_UNDER_WAY 64 /* no VOICES is sent to a client with so many messages under way */

static struct kl_lobby_hear *hear_of(const struct kl_lobby_room *r, unsigned member) {
    return &r->lobby->client[r->member[member]->v.peer].hear;
}

void kl_lobby_hear(struct kl_lobby_room *r, struct kl_visitor *v, const struct kl_hear *h, uint64_t now_us) {
    if (!h->on || kl_bucket_take(&v->spent.of[KL_SPENDS_COMMANDS], r->lobby->limits.commands_per_min, now_us))
        r->lobby->client[v->peer].hear.said = *h;
}

int kl_lobby_voice_allow(struct kl_lobby_room *r, uint8_t allowed, const char *who) {
    static const char *const words[] = {"the players hear each other's voices", "nobody's voice is heard",
                                        "watchers hear the players' voices, too"};
    if (allowed > KL_VOICE_ALL) return KL_E_MALFORMED;
    if (allowed == r->watch.voice) return KL_OK;
    r->watch.voice = allowed;
    kl_lobby_changed(r, true);
    kl_lobby_notice(r, "%s: %s", who, words[allowed]);
    return KL_OK;
}

/* --- listeners --- */

static bool wants(const struct kl_hear *h, unsigned speaker) {
    return kl_has(h->mask, speaker); /* HEAR has no mask without `on` */
}

/* In a quick match strangers meet: neither hears the other before both have asked. */
static bool hears(const struct kl_lobby_room *r, unsigned member, unsigned speaker) {
    if (member == speaker || r->watch.voice == KL_VOICE_NONE || !wants(&hear_of(r, member)->said, speaker))
        return false;
    return !(r->door.flags & KL_DOOR_QUICK) || wants(&hear_of(r, speaker)->said, member);
}

/* A watcher that sees the game later would hear what the game does not show yet. */
static bool watchers_hear(const struct kl_lobby_room *r) {
    return r->watch.voice == KL_VOICE_ALL && r->watch.delay_s == 0 && !(r->door.flags & KL_DOOR_QUICK);
}

static uint16_t hearers_of(const struct kl_lobby_room *r, unsigned speaker) {
    uint16_t hearers = 0;
    for (KL_MEMBERS(i, r, kl_lobby_reaches))
        if (hears(r, i, speaker)) hearers |= kl_only(i);
    return hearers;
}

static bool watcher_hears(const struct kl_lobby_room *r, unsigned i, unsigned speaker) {
    return watchers_hear(r) && wants(&r->lobby->client[r->watch.at[i]->v.peer].hear.said, speaker);
}

static uint16_t watchers_of(const struct kl_lobby_room *r, unsigned speaker) {
    uint16_t count = 0;
    for (unsigned i = 0; i < r->watch.count; i++)
        count += watcher_hears(r, i, speaker);
    return count;
}

/* --- packets --- */

static bool is_within_limits(struct kl_lobby_hear *h, size_t body_len, uint64_t now_us) {
    const uint64_t now_ns = now_us * 1000, len = body_len + KL_SEAL_OVERHEAD;
    return kl_rate_let_in(&h->datagrams_ns, now_ns, SECOND_NS / PACKETS_PER_S, AHEAD_NS) &&
           kl_rate_let_in(&h->bytes_ns, now_ns, len * SECOND_NS / BYTES_PER_S, AHEAD_NS);
}

/* False: others talk. */
static bool takes_floor(struct kl_lobby_room *r, unsigned speaker, bool last, uint64_t now_us) {
    uint64_t *until_us = r->talk.talks_us;
    unsigned others = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        others += i != speaker && now_us < until_us[i];
    if (now_us >= until_us[speaker] && others >= TALKERS) return false;
    until_us[speaker] = last ? now_us : now_us + HOLD_US;
    return true;
}

static void send_on(struct kl_lobby_room *r, const struct kl_voice *v, uint16_t hearers, unsigned watchers) {
    const struct kl_lobby_net *net = &r->lobby->net;
    uint8_t body[KL_VOICE_DATAGRAM];
    size_t len = kl_voice_write(v, true, body);
    for (KL_EACH(i, hearers))
        net->voice(net->ctx, r->member[i]->v.peer, body, len);
    for (unsigned i = 0; watchers && i < r->watch.count; i++)
        if (watcher_hears(r, i, v->client)) net->voice(net->ctx, r->watch.at[i]->v.peer, body, len);
    r->lobby->voice.out += kl_size(hearers) + watchers;
}

void kl_lobby_voice(struct kl_lobby *l, unsigned peer, const uint8_t *body, size_t len, uint32_t waited_us,
                    uint64_t now_us) {
    struct kl_lobby_client *c = &l->client[peer];
    struct kl_voice_count *count = &l->voice;
    struct kl_voice v;
    if (kl_voice_read(&v, false, body, len) != KL_OK) {
        count->malformed++;
        return;
    }
    if (c->state != KL_CLIENT_MEMBER || !c->hear.said.on) {
        count->unheard++;
        return;
    }
    struct kl_lobby_room *r = c->room;
    v.client = (uint8_t)c->member;
    uint16_t hearers = hearers_of(r, c->member), watchers = watchers_of(r, c->member);
    if (!hearers && !watchers)
        count->unheard++;
    else if (!is_within_limits(&c->hear, len, now_us))
        count->limited++;
    else if (waited_us > LATE_US)
        count->late++;
    else if (!takes_floor(r, c->member, v.flags & KL_VOICE_LAST, now_us))
        count->crowded++;
    else {
        count->in++;
        send_on(r, &v, hearers, watchers);
    }
}

/* --- VOICES --- */

/* To a member, or to a watcher: KL_MAX_CLIENTS. */
static struct kl_msg voices_of(const struct kl_lobby_room *r, unsigned member) {
    struct kl_msg m = {.kind = KL_MSG_VOICES};
    struct kl_voices *v = &m.voices;
    v->allowed = r->watch.voice;
    memcpy(v->salt, r->door.salt, sizeof v->salt);
    if (member < KL_MAX_CLIENTS) {
        v->hearers = hearers_of(r, member);
        v->watchers = watchers_of(r, member);
    }
    for (KL_MEMBERS(i, r, kl_lobby_reaches)) {
        const struct kl_hear *h = &hear_of(r, i)->said;
        if (i == member || !h->on) continue;
        struct kl_speaker *s = &v->speaker[v->count++];
        s->client = (uint8_t)i;
        memcpy(s->id, h->id, sizeof s->id);
    }
    return m;
}

static void tell(struct kl_lobby_room *r, unsigned peer, unsigned member) {
    struct kl_lobby_hear *h = &r->lobby->client[peer].hear;
    uint8_t hash[sizeof h->voices], bytes[KL_MSG_MAX];
    if (!h->said.on) { /* all of it again, once it takes part again */
        memset(h->voices, 0, sizeof h->voices);
        return;
    }
    if (kl_lobby_is_behind(r, peer, VOICES_UNDER_WAY)) return;
    struct kl_msg m = voices_of(r, member);
    int len = kl_msg_encode(&m, bytes, sizeof bytes);
    crypto_generichash(hash, sizeof hash, bytes, (size_t)len, NULL, 0);
    if (memcmp(hash, h->voices, sizeof hash) != 0) kl_lobby_send(r->lobby, peer, &m);
    memcpy(h->voices, hash, sizeof hash);
}

void kl_lobby_voice_chores(struct kl_lobby_room *r) {
    for (KL_MEMBERS(i, r, kl_lobby_reaches))
        tell(r, r->member[i]->v.peer, i);
    for (unsigned i = 0; i < r->watch.count; i++)
        tell(r, r->watch.at[i]->v.peer, KL_MAX_CLIENTS);
}
