/* The panel's numbers of the link and the room. panel.h. */
#include <stdio.h>

#include "core_wrapper/match/command.h"
#include "core_wrapper/match/join.h"
#include "core_wrapper/match/overlay.h"
#include "core_wrapper/match/match.h"
#include "core_wrapper/match/state.h"
#include "core_wrapper/match/talking.h"

static uint8_t played(uint8_t seats, const uint8_t plays[KL_MAX_SEATS]) {
    uint8_t mask = 0;
    for (KL_EACH(s, seats))
        mask |= (uint8_t)(1u << (plays[s] % KL_MAX_SEATS));
    return mask;
}

static void fill_member(struct kl_panel_member *out, const struct kl_member *m,
                        const struct kl_participant_status *s, uint8_t away,
                        const uint8_t plays[KL_MAX_SEATS]) {
    bool playing = s->phase == KL_PARTICIPANT_PLAYING;
    snprintf(out->name, sizeof out->name, "%s", m->name);
    out->seats = played(m->seats, plays);
    out->you = m->client == s->welcome.client;
    out->host = m->host;
    bool loads = m->state == KL_MEMBER_WAITING || m->state == KL_MEMBER_LOADING;
    out->joining = m->state == KL_MEMBER_JOINING || (playing && loads);
    out->loading = !playing && loads;
    out->lost = m->state == KL_MEMBER_AWAY;
    out->away = out->lost || (playing && (m->seats & away));
    out->lacking = playing && (m->seats & s->lock.waiting_for);
    out->alone = s->desync && (s->first_bad.minority >> m->client & 1);
    out->distant = m->client == s->roster.farthest;
}

static enum kl_panel_stage stage_of(enum kl_participant_phase phase) {
    switch (phase) {
    case KL_PARTICIPANT_CONNECTING: return KL_PANEL_REACHING;
    case KL_PARTICIPANT_RETURNING: return KL_PANEL_RETURNING;
    case KL_PARTICIPANT_WAITING:
    case KL_PARTICIPANT_SEND_START: return KL_PANEL_FILLING;
    case KL_PARTICIPANT_FETCHING:
    case KL_PARTICIPANT_LOAD: return KL_PANEL_FETCHING;
    case KL_PARTICIPANT_READY: return KL_PANEL_READYING;
    case KL_PARTICIPANT_PLAYING: return KL_PANEL_PLAYING;
    case KL_PARTICIPANT_ENDED: return KL_PANEL_ENDED;
    }
    return KL_PANEL_ENDED;
}

static void fill_room(struct kl_match *m, struct kl_panel *p) {
    const struct kl_room_request *r = &m->join.request;
    bool plays = kl_match_phase(m->state) == KL_PHASE_PLAYING;
    const struct kl_params *params = plays ? &m->command.params : &m->status.welcome.params;
    char host[56];
    p->saves_recorded = m->status.welcome.host && m->config.saves;
    snprintf(p->room, sizeof p->room, "%s", r->room);
    snprintf(host, sizeof host, "%.55s", r->host);
    snprintf(p->relay, sizeof p->relay, "%.63s", kl_host_port(host, r->port).text);
    kl_join_link(m, p->link, sizeof p->link);
    p->any_version = kl_join_any_version(m);
    p->policy = params->policy;
    p->budget_ms = params->wait_budget_ms;
}

void kl_panel_fill(struct kl_match *m, struct kl_panel *p) {
    const struct kl_participant_status *s = &m->status;
    uint8_t plays[KL_MAX_SEATS];
    for (unsigned seat = 0; seat < KL_MAX_SEATS; seat++)
        plays[seat] = (uint8_t)kl_command_seat(m, seat);
    p->stage = stage_of(s->phase);
    snprintf(p->reason, sizeof p->reason, "%.*s", KL_PANEL_LINE - 1, s->reason);
    p->filled = s->roster.filled;
    p->watchers = s->roster.watchers;
    p->delay_s = s->roster.delay_s;
    p->record_days = s->roster.record_days;
    p->economy = s->welcome.params.economy;
    p->players = s->roster.players;
    p->count = 0;
    for (unsigned i = 0; i < s->roster.count && i < KL_MAX_CLIENTS; i++)
        if (s->roster.member[i].state != KL_MEMBER_GONE)
            fill_member(&p->member[p->count++], &s->roster.member[i], s, m->overlay.away.shown, plays);
    p->waits_way = false;
    for (unsigned i = 0; i < s->roster.count && i < KL_MAX_CLIENTS; i++)
        p->waits_way = p->waits_way || s->roster.member[i].state == KL_MEMBER_PLAYING;
    p->begins = s->begins;
    p->shot_done = s->shot_done;
    p->shot_total = s->shot_total;
    p->data_done = s->data_done;
    p->data_total = s->data_total;
    p->rtt_ms = s->lock.rtt_us / 1000.0;
    p->jitter_ms = s->lock.jitter_us / 1000.0;
    p->direct_named = s->direct_named;
    p->direct_heard = s->direct_heard;
    p->spacing = s->lock.spacing;
    p->late = s->lock.late_frames;
    p->absent = s->lock.absent;
    p->paused = s->lock.paused;
    p->seat_time_s = s->welcome.seat_time_s;
    p->you_lack = s->lock.waiting_for & s->welcome.seats;
    p->any_verified = s->any_verified;
    p->verified = s->verified;
    p->desync = s->desync;
    p->desync_frame = s->first_bad.frame;
    p->desync_part = kl_parts_name(s->first_bad.parts);
    p->plays_on = s->desync && s->verdict.parts & KL_PARTS_LEFT;
    fill_room(m, p);
    kl_talking_show(m, p);
}
