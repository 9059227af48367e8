#include "core_wrapper/record/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "net/platform/file.h"
#include "net/platform/process.h"
#include "net/platform/clock.h"
#include "net/session/seal.h"

void kl_record_init(struct kl_record *r, struct kl_frontend *front, struct kl_emulator *emu,
                    const struct kl_config *config, const char *room,
                    const struct kl_participant_status *status, struct kl_sums *sums,
                    const struct kl_facts *facts) {
    r->front = front;
    r->emu = emu;
    r->config = config;
    r->room = room;
    r->status = status;
    r->sums = sums;
    r->facts = facts;
}

static void open_named(struct kl_record *r, struct kl_spool *s, const char *variable) {
    const char *path = kl_environment_get(variable);
    (void)kl_spool_close(s); /* of the room before */
    if (!path || !*path || r->emu->runner) return;
    if (kl_spool_open(s, path) != 0)
        kl_frontend_say(r->front, KL_SCREEN_WARNING, 4000, "%s: cannot write %s", variable, path);
}

void kl_record_open(struct kl_record *r) {
    r->begin_us = kl_now_us();
    r->told_failed = false;
    open_named(r, &r->hashes, "KEYLOCK_HASH_OUT");
    open_named(r, &r->trace, "KEYLOCK_TRACE");
    kl_spool_print(&r->trace, "wall_us,first,last,run,backlog,lead,spacing,stall,event\n");
}

void kl_record_begin(struct kl_record *r, const uint8_t *start, size_t len) {
    char seats[32] = "-", line[160];
    size_t used = 0;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (r->status->welcome.seats >> s & 1)
            used += (size_t)snprintf(seats + used, sizeof seats - used, "%s%u", used ? "," : "", s);
    snprintf(line, sizeof line, "keylock: playing seats=%s room=%s spacing=%u cipher=%s", seats, r->room,
             r->status->lock.spacing, kl_cipher_name(r->status->cipher));
    kl_frontend_log(r->front, "%s", line);
    kl_record_run_begin(r, start, len);
    r->begun = true;
}

void kl_record_hash(struct kl_record *r, const struct klw_hash *h, const void *state, size_t bytes) {
    kl_record_run_hash(r, h, state, bytes);
    kl_hash_line(&r->hashes, h);
}

static void tell_failed(struct kl_record *r, bool failed) {
    if (failed && !r->told_failed)
        kl_frontend_say(r->front, KL_SCREEN_WARNING, 4000,
                        "cannot write the files for testers: is the disk full?");
    r->told_failed = failed;
}

void kl_record_turn(struct kl_record *r, uint64_t at_us, const struct klw_report *report) {
    char frames[24] = ",", event[KLW_EVENT_MAX + 3] = "";
    kl_record_states_turn(r, false);
    tell_failed(r, kl_spool_failed(&r->hashes) || kl_spool_failed(&r->trace) ||
                       kl_spool_failed(&r->recorder.spool));
    if (!r->trace.path) return;
    if (report->run) snprintf(frames, sizeof frames, "%" PRIu32 ",%" PRIu32, report->first, report->last);
    if (*report->event) snprintf(event, sizeof event, "\"%s\"", report->event);
    kl_spool_print(&r->trace, "%" PRIu64 ",%s,%" PRIu32 ",%" PRIu32 ",%.2f,%u,%d,%s\n", at_us - r->begin_us,
                   frames, report->run, report->backlog, report->lead_frames, report->spacing,
                   report->stalled, event);
}

void kl_record_end(struct kl_record *r) {
    kl_record_states_turn(r, true);
    bool failed = kl_spool_close(&r->hashes) != 0;
    failed |= kl_spool_close(&r->trace) != 0;
    failed |= kl_recorder_close(&r->recorder) != 0;
    tell_failed(r, failed);
}

void kl_record_close(struct kl_record *r, const struct kl_record_sum *sum) {
    const struct kl_client_stats *s = &r->status->lock;
    char line[320];
    kl_spool_finish(&r->hashes);
    kl_spool_finish(&r->trace);
    kl_record_run_finish(r);
    if (!r->begun) return;
    r->begun = false;
    snprintf(line, sizeof line,
             "keylock: session frames=%" PRIu32 " stalls=%" PRIu64
             " longest_stall_ms=%.1f lead_frames_avg=%.2f "
             "rtt_ms=%.1f spacing=%u late_frames=%" PRIu64 " desync=%" PRId64,
             sum->frames, sum->stalls, (double)sum->stall_longest_us / 1000,
             s->lead_count ? (double)s->lead_sum / (double)s->lead_count : 0.0, s->rtt_us / 1000.0,
             s->spacing, s->late_frames, sum->desync_first);
    kl_frontend_log(r->front, "%s", line);
}
