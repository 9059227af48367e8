#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "net/relay/room/lobby_room.h"

#include "net/platform/buffer.h"

#define NEWS_PER_MIN 60 /* of a room: a full one may come and go */

void kl_lobby_send(struct kl_lobby *l, unsigned peer, const struct kl_msg *m) {
    uint8_t bytes[KL_MSG_MAX];
    int len = kl_msg_encode(m, bytes, sizeof bytes);
    bool bulk = kl_msg_is_bulk(m->kind);
    if (len > 0) (void)(bulk ? l->net.send_bulk : l->net.send)(l->net.ctx, peer, bytes, (size_t)len);
}

bool kl_lobby_is_behind(const struct kl_lobby_room *r, unsigned peer, unsigned messages) {
    return r->lobby->net.pending(r->lobby->net.ctx, peer) > messages;
}

void kl_lobby_settle(struct kl_lobby *l, unsigned peer) {
    if (l->net.settle) l->net.settle(l->net.ctx, peer);
}

void kl_lobby_send_all(struct kl_lobby_room *r, const struct kl_msg *m) {
    for (KL_MEMBERS(i, r, kl_lobby_reaches))
        kl_lobby_send(r->lobby, r->member[i]->v.peer, m);
}

void kl_lobby_changed(struct kl_lobby_room *r, bool kept) {
    r->talk.roster_changed = true;
    kl_lobby_busy(r);
    r->past.ticket_changed = r->past.ticket_changed || kept;
}

void kl_lobby_watch_notice(struct kl_lobby_room *r, const struct kl_text *t) {
    struct kl_lobby_watch *a = &r->watch;
    if (a->desk) a->desk->notice[a->notices % KL_WATCH_NOTICES] = *t;
    a->notices++;
}

static void say_to_all(struct kl_lobby_room *r, const char *format, va_list args) {
    struct kl_text t = {0};
    vsnprintf(t.text, sizeof t.text, format, args);
    kl_cut_whole(t.text);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        kl_lobby_tell(r, i, 0, "%s", t.text);
    if (r->watch.delay_s == 0)
        kl_lobby_watch_notice(r, &t); /* with a delay it is about frames that they have not seen */
}

void kl_lobby_notice(struct kl_lobby_room *r, const char *format, ...) {
    va_list args;
    va_start(args, format);
    say_to_all(r, format, args);
    va_end(args);
}

void kl_lobby_news(struct kl_lobby_room *r, uint64_t now_us, const char *format, ...) {
    va_list args;
    if (!kl_bucket_take(&r->talk.news, NEWS_PER_MIN, now_us)) return;
    va_start(args, format);
    say_to_all(r, format, args);
    va_end(args);
}

struct kl_name_shown kl_lobby_name(const struct kl_lobby_room *r, unsigned member) {
    const struct kl_lobby_member *m = r->member[member];
    return kl_name_shown(m->v.name, kl_lock_played(&r->lock, m->seats));
}

void kl_lobby_names_of(const struct kl_lobby_room *r, uint16_t clients, char *out, size_t cap) {
    size_t n = 0;
    out[0] = 0;
    for (KL_EACH(i, n < cap ? clients : 0))
        n += (size_t)snprintf(out + n, cap - n, "%s%s", n ? ", " : "", kl_lobby_name(r, i).text);
}

#define QUOTED_NAME_MAX KL_LOG_QUOTED(KL_NAME_MAX)

/* A room that is being made, or is gone, has no place. */
static unsigned story_of(const struct kl_lobby_room *r) {
    const struct kl_lobby *l = r->lobby;
    return l->room[r->due.index] == r ? r->due.index : KL_LOG_NO_PLACE;
}

void kl_lobby_log_member(enum kl_log_level level, const char *event, const struct kl_lobby_room *r,
                         unsigned member, const char *format, ...) {
    if (!kl_log_wants(level)) return;
    char room[QUOTED_NAME_MAX], name[QUOTED_NAME_MAX], seats[20], rest[700];
    KL_FORMAT(rest, sizeof rest, format);
    const struct kl_lobby_member *m = r->member[member];
    kl_log_of_room(story_of(r), level, event, "room=%s client=%u name=%s seats=%s%s%s",
                   kl_log_quote(room, sizeof room, r->name), member,
                   kl_log_quote(name, sizeof name, m->v.name), kl_log_seats(seats, m->seats),
                   rest[0] ? " " : "", rest);
}

void kl_visitor_log(const char *event, const struct kl_lobby_room *r, const struct kl_visitor *v,
                    const char *format, ...) {
    char name[QUOTED_NAME_MAX], rest[700];
    KL_FORMAT(rest, sizeof rest, format);
    if (v->catchup.watches)
        kl_lobby_log_room(KL_LOG_INFO, event, r, "client=watcher name=%s watchers=%u frame=%u %s",
                          kl_log_quote(name, sizeof name, v->name), r->watch.count, r->lock.next_close, rest);
    else
        kl_lobby_log_member(KL_LOG_INFO, event, r, kl_visitor_member(v), "%s", rest);
}

void kl_lobby_log_room(enum kl_log_level level, const char *event, const struct kl_lobby_room *r,
                       const char *format, ...) {
    if (!kl_log_wants(level)) return;
    char room[QUOTED_NAME_MAX], rest[700];
    KL_FORMAT(rest, sizeof rest, format);
    kl_log_of_room(story_of(r), level, event, "room=%s%s%s", kl_log_quote(room, sizeof room, r->name),
                   rest[0] ? " " : "", rest);
}
