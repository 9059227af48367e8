#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "net/relay/lobby/lobby_parts.h"

/* --- wrong tries --- */

/* So was the one that made the room. */
static bool was_right(const struct kl_lobby_room *r, const char *host) {
    if (strcmp(r->maker, host) == 0) return true;
    for (unsigned i = 0; i < KL_RIGHT_KEPT; i++)
        if (strcmp(r->door.right[i], host) == 0) return true;
    return false;
}

static void note_right(struct kl_lobby_room *r, const char *host) {
    if (was_right(r, host)) return;
    snprintf(r->door.right[r->door.rights++ % KL_RIGHT_KEPT], KL_NET_TEXT, "%s", host);
}

static enum kl_try kind_of(const struct kl_lobby_room *r, const struct kl_trier *t, const char *host) {
    return was_right(r, host) ? KL_TRY_RIGHT : t->failed ? KL_TRY_FAILED : KL_TRY_NEW;
}

/* Tries a minute of this kind. */
static unsigned share_of(const struct kl_lobby *l, enum kl_try kind) {
    return l->limits.password_tries * (kind == KL_TRY_FAILED ? KL_ROOM_TRIES : KL_ROOM_TRIES / 2);
}

unsigned kl_lobby_tries_wait_s(struct kl_lobby *l, struct kl_lobby_room *r, const char *address,
                               uint64_t now_us) {
    const struct kl_host host = kl_address_host(address);
    struct kl_trier *t = kl_triers_of(&l->triers, host.text, now_us);
    unsigned wait_s = kl_bucket_wait_s(&t->wrong, l->limits.password_tries, now_us);
    if (!r) return wait_s;
    enum kl_try kind = kind_of(r, t, host.text);
    unsigned room_s = kl_bucket_wait_s(&r->door.wrong[kind], share_of(l, kind), now_us);
    return room_s > wait_s ? room_s : wait_s;
}

void kl_lobby_tries_wrong(struct kl_lobby *l, struct kl_lobby_room *r, const char *address, uint64_t now_us) {
    const struct kl_host host = kl_address_host(address);
    struct kl_trier *t = kl_triers_of(&l->triers, host.text, now_us);
    enum kl_try kind = r ? kind_of(r, t, host.text) : KL_TRY_NEW;
    t->failed = true;
    /* one address alone cannot shut a room's door for all */
    bool counts = kl_bucket_take(&t->wrong, l->limits.password_tries, now_us);
    if (!r || !counts) return;
    (void)kl_bucket_take(&r->door.wrong[kind], share_of(l, kind), now_us);
    r->door.wrong_count++;
}

static bool too_early(struct kl_lobby *l, unsigned peer, struct kl_lobby_room *r, uint64_t now_us) {
    unsigned wait_s = kl_lobby_tries_wait_s(l, r, l->client[peer].address, now_us);
    if (wait_s > 0)
        kl_lobby_turn_away(l, peer, KL_REFUSE_DOOR, "too many wrong passwords; try again in %u s", wait_s);
    return wait_s > 0;
}

/* --- knocking --- */

static bool barred(const struct kl_lobby_room *r, const struct kl_hello *h, const char *address, char *text,
                   size_t cap, uint64_t now_us) {
    const struct kl_lobby_person who = kl_lobby_person(h->seat_key, address);
    enum kl_bar why = KL_BAR_BAN;
    uint32_t s = kl_lobby_barred_s(r, false, &who, &why, now_us);
    if (s == KL_BAR_EVER)
        snprintf(text, cap, "room %s is closed to you: %s", r->name, kl_lobby_bar_text(why));
    else if (s)
        snprintf(text, cap, "room %s is closed to you for %u s: %s", r->name, s, kl_lobby_bar_text(why));
    return s;
}

bool kl_lobby_door_shut(const struct kl_lobby_room *r, const struct kl_hello *h, const char *address,
                        char *text, size_t cap, uint64_t now_us) {
    const char *why = NULL;
    bool has = r->door.flags & KL_DOOR_PASSWORD, comes_with = h->door & KL_DOOR_PASSWORD;
    if (barred(r, h, address, text, cap, now_us)) return true;
    if (r->door.flags & KL_DOOR_LOCKED)
        why = "its host has locked it";
    else if (has && !comes_with)
        why = "it has a password, and you gave none";
    else if (!has && comes_with)
        why = "it has no password, and you gave one";
    if (why) snprintf(text, cap, "room %s is closed to you: %s", r->name, why);
    return why;
}

bool kl_lobby_door_knock(struct kl_lobby *l, unsigned peer, struct kl_lobby_room *r, const struct kl_hello *h,
                         uint64_t now_us) {
    struct kl_lobby_client *c = &l->client[peer];
    if (!(h->door & KL_DOOR_PASSWORD)) return false;
    if (too_early(l, peer, r, now_us)) return true;
    struct kl_lobby_knock *k = malloc(sizeof *k);
    if (!k) {
        kl_lobby_turn_away(l, peer, KL_REFUSE_LIMIT, "this relay is out of memory; try again later");
        return true;
    }
    struct kl_msg m = {.kind = KL_MSG_DOOR, .door.what = r ? KL_PROVE : KL_PROVE_SET};
    k->hello = *h;
    k->sets = !r;
    if (r) {
        memcpy(k->salt, r->door.salt, sizeof k->salt);
        kl_door_begin(&k->run, KL_DOOR_RELAY, r->door.secret, l->net.binding(l->net.ctx, peer));
        memcpy(m.door.share, k->run.share, sizeof m.door.share);
    } else {
        randombytes_buf(k->salt, sizeof k->salt);
    }
    memcpy(m.door.salt, k->salt, sizeof m.door.salt);
    c->knock = k;
    c->state = KL_CLIENT_KNOCKING;
    c->greet_by_us = now_us + KL_PROVE_US;
    kl_lobby_send(l, peer, &m);
    return true;
}

/* --- proving --- */

static void wrong_password(struct kl_lobby *l, unsigned peer, struct kl_lobby_room *r, uint64_t now_us) {
    const char *address = l->client[peer].address;
    l->wrong_passwords++;
    kl_lobby_tries_wrong(l, r, address, now_us);
    kl_lobby_log_room(KL_LOG_INFO, "wrong_password", r, "address=%s tries=%u", kl_log_address(address),
                      r->door.wrong_count);
    kl_lobby_turn_away(l, peer, KL_REFUSE_DOOR, "wrong password for room %s", r->name);
}

/* True: this client knows the password, and has been told that the relay does. */
static bool proves(struct kl_lobby *l, unsigned peer, struct kl_lobby_knock *k, struct kl_lobby_room *r,
                   const struct kl_prove *p, uint64_t now_us) {
    struct kl_door_macs macs;
    struct kl_msg m = {.kind = KL_MSG_PROVED};
    if (too_early(l, peer, r, now_us)) return false; /* many runs begun at once are no more tries */
    if (kl_door_finish(&k->run, p->share, &macs) != KL_OK || !kl_door_mac_equal(macs.expected, p->mac)) {
        wrong_password(l, peer, r, now_us);
        return false;
    }
    note_right(r, kl_address_host(l->client[peer].address).text);
    memcpy(m.proved.mac, macs.own, sizeof m.proved.mac);
    kl_lobby_send(l, peer, &m);
    return true;
}

static void walk_in(struct kl_lobby *l, unsigned peer, struct kl_lobby_knock *k, const struct kl_prove *p,
                    uint64_t now_us) {
    char text[KL_TEXT_MAX];
    struct kl_lobby_room *r = kl_lobby_find(l, k->hello.room);
    bool same = k->sets ? !r : r && memcmp(r->door.salt, k->salt, sizeof r->door.salt) == 0;
    if (!same || p->what != (k->sets ? KL_PROVE_SET : KL_PROVE)) {
        kl_lobby_turn_away(l, peer, KL_REFUSE_DOOR, "the room was made or ended a moment ago; try again");
        return;
    }
    if (!k->sets && !proves(l, peer, k, r, p, now_us)) return;
    int code = kl_lobby_objection(l, r, &k->hello, l->client[peer].address, text, sizeof text, now_us);
    kl_lobby_tell_refused(r, &k->hello, code, now_us);
    if (code)
        kl_lobby_turn_away(l, peer, (enum kl_refuse)code, "%s", text);
    else
        kl_lobby_enter(l, peer, &k->hello, k->salt, k->sets ? p->share : NULL, now_us);
}

void kl_lobby_door_prove(struct kl_lobby *l, unsigned peer, const struct kl_prove *p, uint64_t now_us) {
    struct kl_lobby_client *c = &l->client[peer];
    struct kl_lobby_knock *k = c->knock;
    c->knock = NULL;
    c->state = KL_CLIENT_GREETING;
    kl_lobby_end_empty_rooms(l, l->room, l->limits.rooms, now_us);
    walk_in(l, peer, k, p, now_us);
    sodium_memzero(k, sizeof *k);
    free(k);
}

/* --- the host and the operator --- */

void kl_lobby_lock(struct kl_lobby_room *r, bool locked, const char *who) {
    char quoted[2 * KL_TEXT_MAX];
    if (locked == !!(r->door.flags & KL_DOOR_LOCKED)) return;
    r->door.flags ^= KL_DOOR_LOCKED;
    kl_lobby_changed(r, true);
    kl_lobby_log_room(KL_LOG_INFO, locked ? "locked" : "unlocked", r, "by=%s",
                      kl_log_quote(quoted, sizeof quoted, who));
    kl_lobby_notice(r, locked ? "%s locks the room" : "%s opens the room", who);
}

int kl_lobby_order_record(struct kl_lobby_room *r, bool recorded) {
    unsigned days = r->lobby->limits.record_days;
    if (recorded == r->door.recorded) return KL_OK;
    if (recorded && (days == 0 || r->phase >= KL_ROOM_LOADING)) return KL_E_STATE;
    r->door.recorded = recorded;
    kl_lobby_changed(r, true);
    kl_lobby_log_room(KL_LOG_INFO, recorded ? "recorded" : "not_recorded", r, "days=%u", days);
    if (recorded)
        kl_lobby_notice(r, "the relay records this match, and keeps it for %u days", days);
    else
        kl_lobby_notice(r, "the relay does not keep this match's recording");
    return KL_OK;
}

void kl_lobby_kick(struct kl_lobby_room *r, unsigned member, const char *who, uint64_t now_us) {
    char text[KL_TEXT_MAX];
    snprintf(text, sizeof text, "put out by %s", who);
    kl_lobby_put_out(r, member, KL_REFUSE_CLOSED, text, now_us);
}

void kl_lobby_ban(struct kl_lobby_room *r, unsigned member, const char *who, uint64_t now_us) {
    const struct kl_lobby_member *m = r->member[member];
    char text[KL_TEXT_MAX];
    const struct kl_lobby_person q = kl_lobby_person(m->v.seat_key, m->former);
    kl_lobby_bar(r, KL_BAR_BAN, &m->v.who, now_us);
    if (*q.host) kl_lobby_bar(r, KL_BAR_BAN, &q, now_us);
    snprintf(text, sizeof text, "banned by %s", who);
    kl_lobby_put_out(r, member, KL_REFUSE_DOOR, text, now_us);
    kl_lobby_put_out_banned(r, who, now_us);
}

/* At the host's own address there are the host's friends. */
static bool is_banned(const struct kl_lobby_room *r, const struct kl_lobby_person *p, uint64_t now_us) {
    bool beside_host = r->host != KL_NO_HOST && !strcmp(r->member[r->host]->v.host, p->host);
    return !beside_host && kl_lobby_barred_s(r, false, p, NULL, now_us) == KL_BAR_EVER;
}

void kl_lobby_put_out_banned(struct kl_lobby_room *r, const char *who, uint64_t now_us) {
    char text[KL_TEXT_MAX];
    snprintf(text, sizeof text, "your address was banned by %s", who);
    for (unsigned i = r->watch.count; i-- > 0;) {
        struct kl_lobby_watcher *w = r->watch.at[i];
        if (is_banned(r, &w->v.who, now_us)) kl_lobby_watch_put_out(r, w, KL_REFUSE_DOOR, text);
    }
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct kl_lobby_member *m = r->member[i];
        if (!kl_lobby_stays(m) || m->seats || i == r->host) continue;
        if (is_banned(r, &m->v.who, now_us)) kl_lobby_put_out(r, i, KL_REFUSE_DOOR, text, now_us);
    }
}
