#include "net/relay/room/lobby_room.h"

#include <stdlib.h>
#include <string.h>

#include "net/engine/lock_relay_return.h"

uint8_t kl_lobby_seats_filled(const struct kl_lobby_room *r) {
    uint8_t filled = 0;
    for (KL_MEMBERS(i, r, kl_lobby_here))
        filled |= r->member[i]->seats;
    return filled;
}

struct kl_lobby_room *kl_lobby_find(const struct kl_lobby *l, const char *name) {
    for (unsigned i = 0; i < l->limits.rooms; i++)
        if (l->room[i] && strcmp(l->room[i]->name, name) == 0) return l->room[i];
    return NULL;
}

const char *kl_lobby_match(const struct kl_lobby_room *r) {
    return r->door.match;
}

bool kl_lobby_consents(const struct kl_lobby_room *r, uint8_t consent) {
    return consent == KL_CONSENT_ROOM || (consent == KL_CONSENT_UNLISTED && r->door.flags & KL_DOOR_UNLISTED);
}

bool kl_lobby_counts_for(const struct kl_lobby_room *r, const char *host) {
    return strcmp(r->maker, host) == 0;
}

unsigned kl_lobby_rooms_of(const struct kl_lobby *l, const char *address) {
    const struct kl_host host = kl_address_host(address);
    uint64_t ignored;
    unsigned count = l->shards ? kl_shards_made(l->shards, kl_shards_maker(host.text), &ignored) : 0;
    for (unsigned i = 0; i < l->limits.rooms; i++)
        if (l->room[i] && kl_lobby_counts_for(l->room[i], host.text)) count++;
    return count;
}

uint64_t kl_lobby_room_bytes(const struct kl_lobby_room *r) {
    return kl_lobby_memory_bytes(r) + r->past.bytes + (r->start.data ? r->start.bytes : 0) +
           r->snapshot.bytes;
}

bool kl_lobby_address_has(const struct kl_lobby *l, const char *address, uint64_t bytes) {
    const struct kl_host host = kl_address_host(address);
    uint64_t others = 0;
    if (l->shards) (void)kl_shards_made(l->shards, kl_shards_maker(host.text), &others);
    bytes += others;
    for (unsigned i = 0; i < l->limits.rooms; i++) {
        const struct kl_lobby_room *r = l->room[i];
        if (r && kl_lobby_counts_for(r, host.text)) bytes += kl_lobby_room_bytes(r);
    }
    return bytes <= l->limits.mib_per_address * UINT64_C(1048576);
}

bool kl_lobby_maker_has(const struct kl_lobby_room *r, uint64_t bytes) {
    return kl_lobby_address_has(r->lobby, r->maker, bytes);
}

void kl_lobby_note_address(struct kl_lobby_member *m, const char *address) {
    const struct kl_host now = kl_address_host(address);
    if (strcmp(m->v.host, now.text) != 0) memcpy(m->former, m->v.host, sizeof m->former);
    memcpy(m->v.host, now.text, sizeof m->v.host);
    if (!m->home[0]) memcpy(m->home, now.text, sizeof m->home);
}

/* --- the host --- */

/* True if a is the better host: players first, then linked members, then the longest here. A spectator does
 * not become host while players' links are cut. */
static bool rather(const struct kl_lobby_member *a, const struct kl_lobby_member *b) {
    if (!a->seats != !b->seats) return a->seats;
    if (kl_lobby_reaches(a) != kl_lobby_reaches(b)) return kl_lobby_reaches(a);
    return a->joined < b->joined;
}

void kl_lobby_choose_host(struct kl_lobby_room *r) {
    r->host = KL_NO_HOST;
    for (KL_MEMBERS(i, r, kl_lobby_stays))
        if (r->host == KL_NO_HOST || rather(r->member[i], r->member[r->host])) r->host = i;
    r->past.ticket_changed = true;
    if (r->host == KL_NO_HOST) return;
    kl_lobby_log_member(KL_LOG_INFO, "host", r, r->host, "phase=%d", r->phase);
}

/* --- start data --- */

void kl_lobby_start_free(struct kl_lobby_room *r) {
    if (r->start.data) r->lobby->start_bytes -= r->start.bytes;
    free(r->start.data);
    r->start.data = NULL;
    r->start.have = r->start.bytes = 0;
    memset(r->start.hash, 0, sizeof r->start.hash);
}

bool kl_lobby_start_fits(const struct kl_lobby *l, uint32_t bytes) {
    return bytes <= KL_START_SMALL || l->start_bytes + bytes <= l->limits.start_mib * UINT64_C(1048576);
}

bool kl_lobby_start_is_kept(const struct kl_lobby_room *r) {
    return r->start.data && r->start.have == r->start.bytes;
}

/* --- the game --- */

uint32_t kl_lobby_ran(const struct kl_lobby_room *r, unsigned member) {
    const struct kl_lock_client *c = &r->lock.client[member];
    return c->frame_acked - c->backlog;
}

uint32_t kl_lobby_behind(const struct kl_lobby_room *r, unsigned member) {
    return r->lock.next_close - kl_lobby_ran(r, member);
}

bool kl_lobby_plays_now(const struct kl_lobby_room *r, unsigned member) {
    const struct kl_lobby_member *m = r->member[member];
    const struct kl_lock_client *c = &r->lock.client[member];
    return kl_lobby_reaches(m) && m->seats && !c->away && c->presence == KL_PRESENT;
}

bool kl_lobby_has_members(const struct kl_lobby_room *r) {
    return kl_lobby_next(r, 0, kl_lobby_here) < KL_MAX_CLIENTS;
}

bool kl_lobby_has_link(const struct kl_lobby_room *r) {
    bool has = r->watch.count > 0;
    for (KL_MEMBERS(i, r, kl_lobby_here))
        has = has || r->member[i]->place != KL_PLACE_KEPT;
    return has;
}

/* False for members that are away or replay missed frames. */
bool kl_lobby_play_reports(const struct kl_lobby_room *r, unsigned member) {
    const struct kl_lobby_member *m = r->member[member];
    bool plays = r->phase != KL_ROOM_PLAYING || m->v.state == KL_MEMBER_PLAYING;
    bool now = m->v.catchup.step != KL_CATCHUP_LOADS && !kl_lock_fetching(&r->lock, member) &&
               kl_lobby_behind(r, member) < KL_KEPT_FRAMES;
    return kl_lobby_reaches(m) && plays && now;
}
