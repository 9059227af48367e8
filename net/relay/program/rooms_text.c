#include "net/relay/program/rooms_text.h"

#include <string.h>

#include "net/relay/log/lobby_limit.h"

#define LLU(x) ((unsigned long long)(x))

#define APART 4 /* looks from one writing of a place to the next */

/* --- a process's own --- */

/* before: what was shown of the same place the last time. */
static void describe_traffic(struct kl_shown_player *p, const struct kl_lobby_room *r, unsigned peer,
                             const struct kl_shown_room *before, uint64_t now_us) {
    const struct kl_lobby_net *net = &r->lobby->net;
    if (!net->traffic) return;
    const struct kl_traffic t = net->traffic(net->ctx, peer);
    p->up = t.up;
    p->down = t.down;
    for (unsigned i = 0; i < before->members; i++) {
        const struct kl_shown_player *was = &before->member[i];
        if (was->number != p->number || strcmp(was->address, p->address) != 0) continue;
        if (was->up > t.up || was->down > t.down || now_us == before->at_us) continue;
        p->up_s = (t.up - was->up) * 1000000 / (now_us - before->at_us);
        p->down_s = (t.down - was->down) * 1000000 / (now_us - before->at_us);
    }
}

static void describe(struct kl_shown_room *out, const struct kl_lobby_room *r,
                     const struct kl_shown_room *before, uint64_t now_us) {
    out->at_us = now_us;
    out->phase = (uint8_t)r->phase;
    out->paused = r->phase == KL_ROOM_PLAYING && r->lock.paused;
    out->frame = r->lock.next_close;
    out->lead = out->frame ? r->lock.lead[(out->frame - 1) % KL_KEPT_FRAMES] : 0;
    out->stalls = r->report.stall.count;
    for (KL_MEMBERS(i, r, kl_lobby_here)) {
        const struct kl_lock_client *c = &r->lock.client[i];
        struct kl_shown_player *p = &out->member[out->members++];
        memcpy(p->name, r->member[i]->v.name, sizeof p->name);
        if (kl_lobby_reaches(r->member[i]))
            snprintf(p->address, sizeof p->address, "%s",
                     kl_log_address(r->lobby->client[r->member[i]->v.peer].address));
        p->number = (uint8_t)i;
        if (kl_lobby_reaches(r->member[i])) describe_traffic(p, r, r->member[i]->v.peer, before, now_us);
        p->sets_lead = i == r->report.told.farthest;
        p->seats = r->member[i]->seats;
        p->rtt_known = c->rtt.count != 0;
        p->rtt_us = c->rtt.srtt_us;
        p->backlog = c->backlog;
        p->holds_up = r->phase == KL_ROOM_PLAYING && kl_lock_holds_up(&r->lock, i);
    }
}

void kl_rooms_text_begin(struct kl_shown_rooms *rooms) {
    const struct kl_shown_room none = {0};
    for (unsigned i = 0; i < atomic_load(&rooms->end); i++)
        kl_seqlock_write(&rooms->lock[i], &rooms->at[i], &none, sizeof none);
}

void kl_rooms_text_look(struct kl_shown_rooms *rooms, const struct kl_lobby *l, unsigned turn,
                        uint64_t now_us) {
    const unsigned most = l->limits.rooms < KL_SHARD_ROOMS ? l->limits.rooms : KL_SHARD_ROOMS;
    for (unsigned place = turn % APART; place < most; place += APART) {
        struct kl_shown_room room = {0};
        if (!l->room[place] && place >= atomic_load(&rooms->end)) continue;
        if (l->room[place] && kl_lobby_listing_at(l, place, &room.line)) {
            room.is = room.line.doors & KL_DOOR_UNLISTED ? KL_SHARD_UNLISTED : KL_SHARD_LISTED;
            describe(&room, l->room[place], &rooms->at[place], now_us);
            room.story = rooms->story[place].told.number;
            room.lines = rooms->story[place].told.lines;
        }
        if (place >= atomic_load(&rooms->end)) atomic_store(&rooms->end, place + 1);
        if (room.is || rooms->at[place].is)
            kl_seqlock_write(&rooms->lock[place], &rooms->at[place], &room, sizeof room);
    }
}

/* --- the text --- */

/* The length of the character at the beginning of a text, and *c gets it. 0: no UTF-8 (RFC 3629). */
static unsigned read_character(const unsigned char *at, uint32_t *c) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned n = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    if (n < 2) {
        *c = at[0];
        return n;
    }
    *c = at[0] & (0x7fU >> n);
    for (unsigned i = 1; i < n; i++) { /* a NUL ends it, too */
        if ((at[i] & 0xc0) != 0x80) return 0;
        *c = *c << 6 | (at[i] & 0x3f);
    }
    return *c < least[n] || *c > 0x10ffff || (*c >= 0xd800 && *c < 0xe000) ? 0 : n;
}

void kl_rooms_text_quote(struct kl_buffer *to, const char *text) {
    kl_buffer_add(to, "\"");
    for (const char *at = text; *at;) {
        uint32_t c;
        const unsigned n = read_character((const unsigned char *)at, &c);
        const bool plain = n && c >= 0x20 && !(c >= 0x7f && c < 0xa0) && c != 0x2028 && c != 0x2029 &&
                           (c >= 0x80 || !strchr("\"\\<>&", (int)c));
        if (plain)
            kl_buffer_add_bytes(to, at, n);
        else
            kl_buffer_add(to, "\\u%04x", n ? c : 0xfffd);
        at += n ? n : 1;
    }
    kl_buffer_add(to, "\"");
}

static const char *state_name(const struct kl_shown_room *r) {
    static const char *const names[] = {"gathering", "asked", "loading", "playing", "reopening"};
    return r->paused ? "paused" : names[r->phase % 5];
}

static const char *yes(bool is) {
    return is ? "true" : "false";
}

static void tell_player(struct kl_buffer *to, const struct kl_shown_player *p, bool to_host) {
    kl_buffer_add(to, "{\"name\":");
    kl_rooms_text_quote(to, p->name);
    if (to_host) kl_buffer_add(to, ",\"address\":\"%s\"", p->address);
    kl_buffer_add(to, ",\"seats\":%u,\"rtt_ms\":", p->seats);
    kl_buffer_add(to, p->rtt_known ? "%.1f" : "null", p->rtt_us / 1e3);
    kl_buffer_add(to,
                  ",\"backlog\":%u,\"holds_up\":%s,\"sets_lead\":%s,\"bytes_up\":%llu,\"bytes_down\":%llu,"
                  "\"bytes_up_s\":%llu,\"bytes_down_s\":%llu}",
                  p->backlog, yes(p->holds_up), yes(p->sets_lead), LLU(p->up), LLU(p->down), LLU(p->up_s),
                  LLU(p->down_s));
}

static void tell_room(struct kl_buffer *to, const struct kl_shown_room *r, bool to_host) {
    const struct kl_lobby_listing *l = &r->line;
    kl_buffer_add(to, "{\"name\":");
    kl_rooms_text_quote(to, l->name);
    kl_buffer_add(to, ",\"content\":");
    kl_rooms_text_quote(to, l->content);
    kl_buffer_add(to, ",\"core\":");
    kl_rooms_text_quote(to, l->core);
    if (to_host) kl_buffer_add(to, ",\"listed\":%s", yes(r->is == KL_SHARD_LISTED));
    kl_buffer_add(
        to,
        ",\"state\":\"%s\",\"frame\":%u,\"lead\":%u,\"stalls\":%u,\"lines\":%u,\"players\":%u,\"filled\":%u,"
        "\"watchers\":%u,\"password\":%s,\"locked\":%s,\"recorded\":%s,\"members\":[",
        state_name(r), r->frame, r->lead, r->stalls, r->lines, l->players, l->filled, l->watchers,
        yes(l->doors & KL_DOOR_PASSWORD), yes(l->doors & KL_DOOR_LOCKED), yes(l->recorded));
    for (unsigned i = 0; i < r->members && i < KL_MAX_CLIENTS; i++) {
        if (i) kl_buffer_add(to, ",");
        tell_player(to, &r->member[i], to_host);
    }
    kl_buffer_add(to, "]}");
}

/* "TIME EVENT THE REST" as an object. */
static void tell_line(struct kl_buffer *to, char *line, bool to_host) {
    char *event = line + strcspn(line, " "), *rest;
    if (*event) *event++ = 0;
    rest = event + strcspn(event, " ");
    if (*rest) *rest++ = 0;
    for (char *at = rest; !to_host && *at;) {
        char *next = at + kl_log_token(at);
        next += *next == ' ';
        if (!strncmp(at, "address=", 8))
            memmove(at, next, strlen(next) + 1);
        else
            at = next;
    }
    kl_buffer_add(to, "{\"at\":");
    kl_rooms_text_quote(to, line);
    kl_buffer_add(to, ",\"event\":");
    kl_rooms_text_quote(to, event);
    kl_buffer_add(to, ",\"text\":");
    kl_rooms_text_quote(to, rest);
    kl_buffer_add(to, "}");
}

/* number: of the room that was found there; by now there may be another one. */
static void tell_story(struct kl_buffer *to, const struct kl_log_story *s, uint32_t number, bool to_host) {
    struct kl_log_told told;
    const bool whole = kl_seqlock_read(&s->lock, &told, &s->told, sizeof told) && told.number == number;
    const char *begin = "[";
    for (size_t at = 0; whole && at < told.len && at < sizeof told.text;) {
        char *line = told.text + at, *end = memchr(line, '\n', sizeof told.text - at);
        if (!end) break;
        *end = 0;
        kl_buffer_add(to, "%s", begin);
        tell_line(to, line, to_host);
        begin = ",";
        at = (size_t)(end - told.text) + 1;
    }
    kl_buffer_add(to, *begin == '[' ? "[]" : "]");
}

/* The first room from place *from on that is told; *from gets its place. False: there is none. */
static bool find(const struct kl_rooms_told *of, unsigned *from, struct kl_shown_room *room) {
    for (; *from < of->count * KL_SHARD_ROOMS; ++*from) {
        const struct kl_shown_rooms *rooms = of->rooms_of(of->ctx, *from / KL_SHARD_ROOMS);
        const unsigned place = *from % KL_SHARD_ROOMS;
        if (place >= atomic_load(&((struct kl_shown_rooms *)(uintptr_t)rooms)->end)) continue;
        if (!kl_seqlock_read(&rooms->lock[place], room, &rooms->at[place], sizeof *room)) continue;
        if (room->is == KL_SHARD_LISTED || (room->is == KL_SHARD_UNLISTED && of->to_host)) return true;
    }
    return false;
}

void kl_rooms_text_tell(struct kl_buffer *to, const struct kl_rooms_told *of, unsigned from, size_t bytes) {
    struct kl_shown_room room;
    bool any = false;
    kl_buffer_add(to, "{\"rooms\":[");
    for (; to->len < bytes && find(of, &from, &room); from++) {
        if (any) kl_buffer_add(to, ",");
        any = true;
        tell_room(to, &room, of->to_host);
    }
    if (from < of->count * KL_SHARD_ROOMS)
        kl_buffer_add(to, "],\"next\":%u}\n", from);
    else
        kl_buffer_add(to, "],\"next\":null}\n");
}

bool kl_rooms_text_tell_one(struct kl_buffer *to, const struct kl_rooms_told *of, const char *name) {
    struct kl_shown_room room;
    unsigned at = 0;
    while (find(of, &at, &room) && strcmp(room.line.name, name) != 0)
        at++;
    if (at >= of->count * KL_SHARD_ROOMS) return false;
    kl_buffer_add(to, "{\"room\":");
    tell_room(to, &room, of->to_host);
    kl_buffer_add(to, ",\"story\":");
    tell_story(to, &of->rooms_of(of->ctx, at / KL_SHARD_ROOMS)->story[at % KL_SHARD_ROOMS], room.story,
               of->to_host);
    return true;
}
