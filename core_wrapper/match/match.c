#include "core_wrapper/match/match.h"

void kl_match_init(struct kl_match *m) {
    m->control.socket = -1;
    m->join.seat.lock.handle = -1;
    for (uint8_t s = 0; s < KL_MAX_SEATS; s++)
        m->play.run.plays[s] = s;
    m->play.run.emu = &m->emu;
    m->play.run.record = &m->record;
    kl_netplay_init(&m->netplay, &m->front, &m->config, &m->join.request, &m->link, &m->status, &m->emu);
    kl_record_init(&m->record, &m->front, &m->emu, &m->config, m->join.request.room, &m->status,
                   &m->join.checks.sums, &m->join.config.hello.facts);
}
