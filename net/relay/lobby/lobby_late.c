/* Members that join a game under way, or get other seats in it. net/PROTOCOL.md §7.
 *
 * A joiner gets the same as a client that comes back without frames: start data, and it catches up
 * (heal/lobby_heal.h). No policy waits for it until it has caught up and its seat counts. */
#include <stdio.h>

#include "net/engine/lock_relay_return.h"
#include "net/relay/lobby/lobby_parts.h"

#define LOOK_US     5000000 /* between two looks at a joiner's progress */
#define LOOKS       3       /* in a row without any, and it will never catch up */
#define LEAST_GAIN  1.02    /* of the room's pace: slower is no progress */
#define NEAR_FRAMES 60      /* no more than so far behind is not behind */

/* --- coming --- */

static void begin_watch(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_lobby_late *late = &r->member[member]->late;
    *late =
        (struct kl_lobby_late){.since_us = now_us, .reseated_us = late->reseated_us, .check = KL_LATE_SILENT};
}

void kl_lobby_late_join(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    kl_lobby_news(r, now_us, "%s joins the game", kl_lobby_name(r, member).text);
    begin_watch(r, member, now_us);
    (void)kl_visitor_begin(r, &r->member[member]->v, now_us); /* it can catch up: that has been asked */
}

void kl_lobby_late_goes_on(struct kl_lobby_room *r, unsigned member, uint32_t have, uint64_t now_us) {
    struct kl_lobby_member *m = r->member[member];
    begin_watch(r, member, now_us);
    m->v.state = KL_MEMBER_PLAYING;
    m->checked = true;
    m->late.reseated_us = now_us;
    (void)kl_lock_return(&r->lock, member, have, now_us); /* it has all frames sent to it */
}

int kl_lobby_reseat(struct kl_lobby_room *r, unsigned member, uint8_t seats, const char *why,
                    uint64_t now_us) {
    struct kl_lobby_member *m = r->member[member];
    if (!kl_lobby_memory_take(r, member, seats)) return KL_E_SPACE;
    int result = kl_lock_reseat(&r->lock, member, seats, now_us);
    if (result != KL_OK) return result;
    m->seats = seats;
    m->v.malformed = 0;
    m->late.reseated_us = now_us;
    kl_lobby_changed(r, true);
    if (seats) begin_watch(r, member, now_us);
    kl_lobby_log_member(KL_LOG_INFO, "reseated", r, member, "frame=%u reason=\"%s\"", r->lock.next_close,
                        why);
    if (!kl_lobby_reaches(m)) return KL_OK;
    struct kl_msg msg = {.kind = KL_MSG_SEAT, .seat = {(uint8_t)member, seats}};
    kl_lobby_send(r->lobby, m->v.peer, &msg);
    return KL_OK;
}

int kl_lobby_set_places(struct kl_lobby_room *r, unsigned places, const char *who) {
    if (r->phase != KL_ROOM_PLAYING || places == 0 || places > r->lobby->limits.seats) return KL_E_STATE;
    if (places < kl_size(kl_lobby_seats_filled(r))) return KL_E_STATE;
    if (places == r->params.players) return KL_OK;
    r->params.players = (uint8_t)places;
    kl_lobby_changed(r, true);
    kl_lobby_log_room(KL_LOG_INFO, "places", r, "players=%u", places);
    kl_lobby_notice(r, "%s: the game has %u seat%s now", who, places, places == 1 ? "" : "s");
    return KL_OK;
}

/* --- catching up --- */

/* A spectator has no seat that could count: it has caught up when it is near. */
static bool has_caught_up(const struct kl_lobby_room *r, unsigned member) {
    const struct kl_lobby_member *m = r->member[member];
    if (m->v.state != KL_MEMBER_PLAYING || m->v.catchup.step == KL_CATCHUP_LOADS ||
        kl_lock_fetching(&r->lock, member))
        return false;
    return m->seats ? !kl_lock_joining(&r->lock, member) : kl_lobby_behind(r, member) <= NEAR_FRAMES;
}

void kl_lobby_late_run(struct kl_lobby_room *r, uint64_t now_us) {
    for (KL_MEMBERS(i, r, kl_lobby_here)) {
        struct kl_lobby_member *m = r->member[i];
        if (!m->late.since_us || !has_caught_up(r, i)) continue;
        kl_lobby_log_member(KL_LOG_INFO, "caught_up", r, i, "frame=%u took_ms=%llu from=%u fps=%.0f",
                            r->lock.next_close, (unsigned long long)(now_us - m->late.since_us) / 1000,
                            m->v.catchup.begins, m->v.catchup.fps);
        m->late.since_us = 0;
        r->talk.roster_changed = true;
        if (m->seats) kl_lobby_news(r, now_us, "%s plays", kl_lobby_name(r, i).text);
        kl_lobby_play_on_tell(r, i);
    }
}

void kl_lobby_late_said(struct kl_lobby_room *r, unsigned member, uint32_t frame) {
    struct kl_lobby_late *late = &r->member[member]->late;
    if (late->check != KL_LATE_SILENT) return;
    late->check = KL_LATE_SAID;
    late->label = frame;
}

/* The member's state was found equal to the room's. One that differs is healed instead. */
void kl_lobby_late_checked(struct kl_lobby_room *r, uint32_t frame) {
    uint16_t proved = kl_verdict_proved(&r->heal.verdicts, frame);
    for (KL_MEMBERS(i, r, kl_lobby_here)) {
        struct kl_lobby_late *late = &r->member[i]->late;
        bool said = late->check == KL_LATE_SAID && frame >= late->label && kl_has(proved, i);
        if (!said) continue;
        late->check = KL_LATE_CHECKED;
        kl_lobby_log_member(KL_LOG_INFO, "checked", r, i, "frame=%u equal=yes", frame);
    }
}

/* It will never get there: a seat is no use to it, and of use to others. */
static void give_up(struct kl_lobby_room *r, unsigned member, double fps, double room_fps, uint64_t now_us) {
    struct kl_lobby_member *m = r->member[member];
    bool let_go = r->door.flags & KL_DOOR_LET_GO;
    char text[KL_TEXT_MAX];
    if (let_go)
        kl_lobby_bar_wait(r, &m->v.who, now_us - m->late.since_us, now_us);
    else
        kl_lobby_bar(r, KL_BAR_TURN, &m->v.who, now_us);
    snprintf(text, sizeof text, "cannot catch up: it plays %.0f frames a second, the room %.0f", fps,
             room_fps);
    kl_lobby_notice(r, "%s's machine %s: %s", kl_lobby_name(r, member).text, text,
                    let_go ? "let go" : "watches");
    if (let_go) {
        snprintf(text, sizeof text,
                 "this machine cannot catch up with the game: it plays %.0f frames a second, the room %.0f",
                 fps, room_fps);
        kl_lobby_put_out(r, member, KL_REFUSE_LIMIT, text, now_us);
    } else {
        m->late.since_us = 0;
        (void)kl_lobby_reseat(r, member, 0, "cannot catch up", now_us);
    }
}

static void look_at(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    struct kl_lobby_late *late = &r->member[member]->late;
    uint32_t run = kl_lobby_ran(r, member), closed = r->lock.next_close;
    double seconds = (double)(now_us - late->looked_us) / 1e6;
    double fps = (run - late->ran) / seconds, room_fps = (closed - late->closed) / seconds;
    bool first = late->looked_us == 0 || run < late->ran;
    bool nearer = fps > room_fps * LEAST_GAIN || closed - run <= NEAR_FRAMES || room_fps < 1;
    late->slow = first || nearer ? 0 : (uint8_t)(late->slow + 1);
    late->looked_us = now_us;
    late->ran = run;
    late->closed = closed;
    if (late->slow == LOOKS) give_up(r, member, fps, room_fps, now_us);
}

void kl_lobby_late_chores(struct kl_lobby_room *r, uint64_t now_us) {
    for (KL_MEMBERS(i, r, kl_lobby_reaches)) {
        const struct kl_lobby_member *m = r->member[i];
        bool runs = m->v.state == KL_MEMBER_PLAYING && m->v.catchup.step != KL_CATCHUP_LOADS &&
                    !r->lock.client[i].away && r->params.clocked;
        if (!m->seats || !m->late.since_us || !runs) continue;
        if (now_us >= m->late.looked_us + LOOK_US) look_at(r, i, now_us);
    }
}
