#include <string.h>

#include "net/engine/lock_relay_return.h"
#include "net/relay/durable/lobby_ticket.h"
#include "net/relay/heal/lobby_heal.h"
#include "net/relay/lobby/lobby_parts.h"

#define STALL_TOLD_US 500000
#define STATUS_US     10000000
#define FARTHEST_US   2000000
#define UNSEEN_LABELS 3

/* --- ties --- */

static void give_up(struct kl_lobby_room *r, const char *why) {
    char quoted[2 * KL_TIE_WHY];
    kl_lobby_log_room(KL_LOG_INFO, "tie_undecided", r, "frame=%u reason=%s", r->heal.tie->label,
                      kl_log_quote(quoted, sizeof quoted, why));
    if (r->heal.tie->told) kl_lobby_notice(r, "the relay cannot tell who is right");
    kl_heal_tie_end(r);
}

static void tell_asked(struct kl_lobby_room *r) {
    struct kl_lobby_tie *t = r->heal.tie;
    if (t->told) return;
    t->told = true;
    kl_lobby_log_room(KL_LOG_INFO, "tie_asked", r, "frame=%u", t->label);
    kl_lobby_notice(r, "who is right? The relay runs the match again");
}

/* Once per KL_CHORES_US: asks the verifier beside the relay about a tie, and hands its answer on. */
static void do_tie_chores(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_tie *t = r->heal.tie;
    if (!t) return;
    if (!t->asked) {
        int asked = kl_journal_ask(r, t->label, now_us);
        t->asked = asked == 0;
        if (asked < 0) kl_heal_tie_end(r);
    } else {
        /* The players hear of it once the recording lies there. */
        struct kl_klr_hash found;
        char why[KL_TIE_WHY];
        enum kl_kept_ask is = kl_journal_answer(r, r->heal.tie->label, &found, why);
        if (is == KL_KEPT_CANNOT) {
            give_up(r, why);
        } else if (is != KL_KEPT_UNASKED) {
            tell_asked(r);
            if (is == KL_KEPT_ANSWERED) kl_lobby_heal_answered(r, &found, now_us);
        }
    }
    if (r->heal.tie && now_us >= t->until_us) give_up(r, "no answer came");
    if (!r->heal.tie) kl_journal_ask_no_more(r);
}

/* --- hashes --- */

/* Not of the past that it runs through, nor of before the state that it was given. */
static bool counts(const struct kl_lobby_room *r, unsigned member, uint32_t frame) {
    bool known = r->phase == KL_ROOM_PLAYING && frame < r->lock.next_close &&
                 frame >= r->member[member]->v.catchup.begins;
    if (r->member[member]->v.catchup.step == KL_CATCHUP_BACK)
        return false; /* of frames that the record lost */
    return known && frame + KL_KEPT_FRAMES >= r->lock.next_close && kl_lobby_heal_counts(r, member, frame);
}

void kl_lobby_play_hash(struct kl_lobby_room *r, unsigned member, const struct kl_hash *h, uint64_t now_us) {
    if (!counts(r, member, h->frame)) return;
    int result = kl_verdict_report(&r->heal.verdicts, member, h, kl_lobby_heal_has_loaded(r, member), now_us);
    if (result != KL_OK) {
        kl_lobby_log_member(KL_LOG_DEBUG, "hash_ignored", r, member, "frame=%u error=%d", h->frame, result);
        return;
    }
    kl_lobby_late_said(r, member, h->frame);
    /* one that catches up says what the others have reported long ago, and nobody is there to contradict it
     */
    bool plays = kl_lobby_plays_now(r, member) && !kl_lock_joining(&r->lock, member);
    if (plays) kl_lobby_watch_truth(r, h, now_us);
}

/* With a client whose link is behind, verdicts wait; meanwhile those that are equal become one. */
static bool verdicts_may_go(const struct kl_lobby_room *r) {
    for (KL_MEMBERS(i, r, kl_lobby_reaches))
        if (kl_lobby_is_behind(r, r->member[i]->v.peer, KL_VERDICTS_UNDER_WAY)) return false;
    return true;
}

/* The parts of KL_PARTS_ABOUT that hold for the room. One label without a picture is no core without
 * pictures: the first label after a load has none. */
static uint8_t lasting_parts(struct kl_lobby_room *r, const struct kl_verdict *v) {
    if (!(v->parts & KL_PARTS_NOTHING))
        r->report.told.unseen = 0;
    else if (r->report.told.unseen < UNSEEN_LABELS)
        r->report.told.unseen++;
    return v->parts & (r->report.told.unseen < UNSEEN_LABELS ? KL_PARTS_LAYOUT : KL_PARTS_ABOUT);
}

/* The limits of the comparison, once. */
static void tell_unseen(struct kl_lobby_room *r, const struct kl_verdict *v) {
    if (!v->complete) return;
    uint8_t parts = lasting_parts(r, v), new = parts &(uint8_t)~r->report.told.parts;
    if (new &KL_PARTS_LAYOUT) {
        kl_lobby_log_room(KL_LOG_INFO, "ram_not_compared", r, "frame=%u", v->frame);
        kl_lobby_notice(r, "RAM is laid out differently here and there: not compared");
    }
    if (new &KL_PARTS_NOTHING) {
        kl_lobby_log_room(KL_LOG_INFO, "not_judged", r, "frame=%u", v->frame);
        kl_lobby_notice(r, "this core cannot be judged: nothing shows a desync");
    }
    r->report.told.parts |= parts;
}

static void announce(struct kl_lobby_room *r, struct kl_verdict *v, uint64_t now_us) {
    kl_lobby_heal_found(r, v, now_us);
    kl_journal_verdict(r, v);
    kl_lobby_send_all(r, &(struct kl_msg){.kind = KL_MSG_VERDICT, .verdict = *v});
    tell_unseen(r, v);
    if (!v->differs || v->differs == KL_VERDICT_NOTED) {
        if (v->complete) kl_lobby_late_checked(r, v->frame);
        kl_lobby_log_room(KL_LOG_DEBUG, "verdict", r, "frame=%u noted=%s complete=%d", v->frame,
                          kl_parts_name(v->parts), v->complete);
        return;
    }
    char alone[KL_LOBBY_NAMES], quoted[2 * sizeof alone];
    kl_lobby_names_of(r, v->minority, alone, sizeof alone);
    enum kl_log_level level =
        r->heal.hopeless ? KL_LOG_DEBUG : KL_LOG_INFO; /* known, and noted now and then */
    kl_lobby_log_room(level, "desync", r, "frame=%u first=%u what=%s complete=%d minority=%s", v->frame,
                      v->first, kl_parts_name(v->parts), v->complete,
                      kl_log_quote(quoted, sizeof quoted, alone));
    if (v->frame != v->first) return;
    kl_lobby_notice(r, "out of sync from frame %u on: %s%s%s", v->first, kl_parts_name(v->parts),
                    alone[0] ? " of " : "", alone);
}

/* --- frames --- */

static void note_keyframe(struct kl_lobby_room *r, const struct kl_frame *f, uint64_t now_us) {
    if (f->flags & KL_FRAME_HASH) kl_verdict_expect(&r->heal.verdicts, f->number - 1);
    if (f->flags & KL_FRAME_COMMANDS) kl_lobby_snapshot_closed(r, f->number, now_us);
    if (f->spacing == r->report.spacing) return;
    if (r->report.spacing)
        kl_lobby_log_room(KL_LOG_INFO, "spacing", r, "frame=%u from=%u to=%u", f->number, r->report.spacing,
                          f->spacing);
    r->report.spacing = f->spacing;
}

static void take_frames(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_frame f;
    while (kl_lock_take(&r->lock, &f)) {
        if (f.flags & KL_FRAME_KEY) note_keyframe(r, &f, now_us);
        kl_lobby_past_keep(r, &f);
    }
    if (r->report.stall.frame == r->lock.next_close) return;
    if (r->report.stall.told)
        kl_lobby_log_room(KL_LOG_INFO, "stall_over", r, "frame=%u ms=%llu", r->report.stall.frame,
                          (unsigned long long)(now_us - r->report.stall.since_us) / 1000);
    r->report.stall.told = false;
    r->report.stall.frame = r->lock.next_close;
    r->report.stall.since_us = now_us;
}

static void send_frames(struct kl_lobby_room *r, uint64_t now_us) {
    const struct kl_lobby_net *net = &r->lobby->net;
    uint8_t body[KL_DATAGRAM_MAX];
    for (KL_MEMBERS(i, r, kl_lobby_here)) {
        const struct kl_lobby_member *m = r->member[i];
        size_t len;
        while ((len = kl_lock_send(&r->lock, i, now_us, body, sizeof body)) > 0)
            if (kl_lobby_reaches(m)) net->datagram(net->ctx, m->v.peer, body, len);
    }
}

/* A member that said BYE goes when the room would have to wait for it. */
static void let_go(struct kl_lobby_room *r, uint64_t now_us) {
    for (KL_MEMBERS(i, r, kl_lobby_here)) {
        const struct kl_lobby_member *m = r->member[i];
        if (m->place != KL_PLACE_LEAVING) continue;
        bool used_up = m->seats == 0 || (kl_lock_missing(&r->lock) & m->seats);
        bool alone = kl_lobby_next(r, 0, kl_lobby_stays) == KL_MAX_CLIENTS;
        if (used_up || alone || now_us >= m->leaving_us + KL_DRAIN_US) kl_lobby_forget(r, i, "left", now_us);
    }
}

/* A client that is further behind than UPDATE reaches gets its frames from the history. */
static void help_the_lost(struct kl_lobby_room *r, uint64_t now_us) {
    for (KL_MEMBERS(i, r, kl_lobby_reaches)) {
        if (!kl_lock_lost(&r->lock, i)) continue;
        if (kl_lobby_past_reaches(r, r->lock.client[i].frame_acked))
            kl_lock_fetch(&r->lock, i);
        else
            kl_lobby_put_out(r, i, KL_REFUSE_CLOSED, "too far behind the game to catch up", now_us);
    }
}

/* Logs members that become absent or come back; screens get that from UPDATE. All members are told about one
 * that is too slow. */
static void tell_absence(struct kl_lobby_room *r) {
    for (KL_MEMBERS(i, r, kl_lobby_here)) {
        struct kl_lobby_member *m = r->member[i];
        const struct kl_lock_client *c = &r->lock.client[i];
        bool out = !kl_lobby_reaches(m) || c->away || c->presence != KL_PRESENT;
        bool absent = m->seats && !c->joining && out;
        bool slow = kl_lock_holds_up(&r->lock, i);
        if (slow && !m->slow)
            kl_lobby_notice(r, "%s holds the game up: %s", kl_lobby_name(r, i).text,
                            kl_lock_late_itself(&r->lock, i) ? "its machine is too slow or too busy"
                                                             : "the connection is too slow");
        m->slow = slow;
        if (absent == m->absent) continue;
        m->absent = absent;
        kl_lobby_log_member(KL_LOG_INFO, absent ? "absent" : "back", r, i, "frame=%u away=%d",
                            r->lock.next_close, c->away);
    }
}

static void run_ways(struct kl_lobby_room *r, uint64_t now_us) {
    for (KL_MEMBERS(i, r, kl_lobby_reaches))
        kl_lobby_put_out_for(r, i, kl_visitor_catchup_run(r, &r->member[i]->v, now_us), now_us);
}

static void send_history(struct kl_lobby_room *r, unsigned member) {
    const struct kl_visitor *v = &r->member[member]->v;
    struct kl_visitor_piece p;
    uint32_t from;
    if (!kl_lock_wants_history(&r->lock, member, &from)) return;
    memset(&p, 0, sizeof p);
    while (kl_lock_wants_history(&r->lock, member, &from)) {
        if (kl_lobby_bulk_room(r, v->peer) == 0) {
            kl_lobby_busy(r);
            return;
        }
        /* false: not sealed into a piece yet, or gone: help_the_lost() sees to it */
        if (!kl_visitor_send_history(r, v, &p, from, UINT32_MAX)) return;
        kl_lock_gave_history(&r->lock, member, p.end);
    }
}

void kl_lobby_past_run(struct kl_lobby_room *r, uint64_t now_us) {
    if (now_us >= r->past.ticket_us) {
        r->past.ticket_us = now_us + KL_TICKET_US;
        if (r->past.ticket_changed) kl_lobby_ticket_renew(r);
    }
    for (KL_MEMBERS(i, r, kl_lobby_reaches))
        if (r->member[i]->v.state == KL_MEMBER_PLAYING) {
            send_history(r, i);
            kl_visitor_send_seal(r, &r->member[i]->v, r->lock.client[i].frame_acked);
        }
}

void kl_lobby_play_run(struct kl_lobby_room *r, uint64_t now_us) {
    if (r->phase == KL_ROOM_PLAYING) {
        if (r->lock.wants_commands) (void)kl_lobby_memory_commands(r);
        let_go(r, now_us);
        if (now_us >= kl_lock_tick_at(&r->lock)) kl_lock_tick(&r->lock, now_us);
        if (!kl_lobby_fleet_holds(r, now_us)) run_ways(r, now_us);
        kl_lobby_late_run(r, now_us);
        tell_absence(r);
        help_the_lost(r, now_us); /* may put members out that hold frames up, so before frames are taken */
        take_frames(r, now_us);
        kl_journal_write(r, now_us); /* before anybody gets them */
    }
    if (!kl_lobby_fleet_holds(r, now_us)) send_frames(r, now_us);
    if (kl_verdict_waits(&r->heal.verdicts)) {
        struct kl_verdict v;
        struct kl_verdict_members members = kl_lobby_heal_members(r);
        kl_verdict_open(&r->heal.verdicts, &members, now_us);
        while (verdicts_may_go(r) && kl_verdict_next(&r->heal.verdicts, &members, now_us, &v))
            announce(r, &v, now_us);
    }
    if (r->phase != KL_ROOM_PLAYING) return;
    const struct kl_heal_deeds deeds = kl_lobby_heal_run(r, now_us);
    for (KL_EACH(i, deeds.put_out | deeds.apart | deeds.anew))
        if (kl_has(deeds.put_out, i))
            kl_lobby_put_out(r, i, KL_REFUSE_DESYNC, deeds.text, now_us);
        else
            kl_visitor_anew(r, &r->member[i]->v, kl_has(deeds.apart, i), now_us);
    kl_lobby_pause_run(r, now_us);
}

/* --- now and then --- */

static void tell_stall(struct kl_lobby_room *r, uint64_t now_us) {
    uint8_t seats = kl_lock_waiting_for(&r->lock);
    if (r->report.stall.told || seats == 0 || now_us < r->report.stall.since_us + STALL_TOLD_US) return;
    char list[20];
    r->report.stall.told = true;
    r->report.stall.count++;
    kl_lobby_log_room(KL_LOG_INFO, "stall", r, "frame=%u waits_for_seats=%s ms=%llu", r->report.stall.frame,
                      kl_log_seats(list, seats),
                      (unsigned long long)(now_us - r->report.stall.since_us) / 1000);
}

static void tell_status(struct kl_lobby_room *r, uint64_t now_us) {
    if (now_us < r->report.told.status_us + STATUS_US) return;
    r->report.told.status_us = now_us;
    kl_lobby_log_room(KL_LOG_DEBUG, "status", r, "frame=%u spacing=%u stalls=%u", r->lock.next_close,
                      r->report.spacing, r->report.stall.count);
    for (KL_MEMBERS(i, r, kl_lobby_here)) {
        const struct kl_lock_client *c = &r->lock.client[i];
        kl_lobby_log_member(KL_LOG_DEBUG, "link", r, i, "rtt_ms=%.1f jitter_ms=%.1f samples=%u backlog=%u",
                            c->rtt.srtt_us / 1e3, c->rtt.rttvar_us / 1e3, c->next_sample, c->backlog);
    }
}

/* The last player has left: spectators may see the end, then the room closes. */
static void close_unplayed(struct kl_lobby_room *r, uint64_t now_us) {
    if (kl_lobby_seats_filled(r)) return;
    if (r->report.empty_us == 0) r->report.empty_us = now_us;
    if (now_us < r->report.empty_us + KL_SPECTATE_US) return;
    for (KL_MEMBERS(i, r, kl_lobby_here))
        kl_lobby_put_out(r, i, KL_REFUSE_CLOSED, "all players have left the game", now_us);
}

/* Screens name the player whose link sets the delay, once it has done so for a while. */
static void tell_farthest(struct kl_lobby_room *r, uint64_t now_us) {
    if (now_us < r->report.told.farthest_us) return;
    r->report.told.farthest_us = now_us + FARTHEST_US;
    uint8_t is = (uint8_t)kl_lock_farthest(&r->lock);
    bool lasts = is == r->report.told.farthest_was;
    r->report.told.farthest_was = is;
    if (!lasts || is == r->report.told.farthest) return;
    r->report.told.farthest = is;
    kl_lobby_changed(r, false);
}

void kl_lobby_play_chores(struct kl_lobby_room *r, uint64_t now_us) {
    tell_stall(r, now_us);
    tell_farthest(r, now_us);
    tell_status(r, now_us);
    close_unplayed(r, now_us);
    kl_lobby_rate_look(r);
    kl_lobby_late_chores(r, now_us);
    kl_lobby_turn_run(r, now_us);
    do_tie_chores(r, now_us);
}
