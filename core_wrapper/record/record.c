#include "core_wrapper/record/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "net/platform/file.h"
#include "net/platform/environment.h"
#include "net/platform/clock.h"
#include "net/session/seal.h"

void kl_record_init(struct kl_record *r, struct kl_frontend *front, struct kl_emulator *emu,
                    const struct kl_config *config, const struct kl_stay_status *status) {
    r->front = front;
    r->emu = emu;
    r->config = config;
    r->status = status;
}

static FILE *open_named(struct kl_record *r, const char *variable) {
    const char *path = kl_environment_get(variable);
    if (!path || !*path || r->emu->runner) return NULL;
    FILE *f = kl_file_stream(path, "w");
    if (!f) kl_frontend_say(r->front, KL_SCREEN_WARNING, 4000, "%s: cannot write %s", variable, path);
    if (f) setvbuf(f, NULL, _IOLBF, 0);
    return f;
}

void kl_record_open(struct kl_record *r) {
    r->begin_us = kl_now_us();
    r->hashes = open_named(r, "KEYLOCK_HASH_OUT");
    r->trace = open_named(r, "KEYLOCK_TRACE");
    if (r->trace) fputs("wall_us,first,last,run,backlog,lead,spacing,stall,event\n", r->trace);
}

void kl_record_begin(struct kl_record *r, const uint8_t *start, size_t len) {
    char seats[32] = "-", line[160];
    size_t used = 0;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (r->status->welcome.seats >> s & 1)
            used += (size_t)snprintf(seats + used, sizeof seats - used, "%s%u", used ? "," : "", s);
    snprintf(line, sizeof line, "keylock: playing seats=%s room=%s spacing=%u cipher=%s", seats,
             r->config->room, r->status->lock.spacing, kl_cipher_name(r->status->cipher));
    kl_frontend_log(r->front, "%s", line);
    kl_record_run_begin(r, start, len);
    r->begun = true;
}

static void put_hash(FILE *hashes, bool has, uint64_t v, char end) {
    if (has)
        fprintf(hashes, "%016" PRIx64 "%c", v, end);
    else
        fprintf(hashes, "-%c", end);
}

void kl_record_hash(struct kl_record *r, const struct klw_hash *h, const void *state, size_t bytes) {
    FILE *hashes = r->hashes;
    kl_record_run_hash(r, h, state, bytes);
    if (!hashes) return;
    fprintf(hashes, "%" PRIu32 " ", h->frame);
    put_hash(hashes, h->has_ram, h->ram, ' ');
    put_hash(hashes, h->has_state, h->state, '\n');
}

void kl_record_turn(struct kl_record *r, uint64_t at_us, const struct klw_report *report) {
    FILE *trace = r->trace;
    if (!trace) return;
    fprintf(trace, "%" PRIu64 ",", at_us - r->begin_us);
    if (report->run)
        fprintf(trace, "%" PRIu32 ",%" PRIu32, report->first, report->last);
    else
        fputs(",", trace);
    fprintf(trace, ",%" PRIu32 ",%" PRIu32 ",%.2f,%u,%d,", report->run, report->backlog, report->lead_frames,
            report->spacing, report->stalled);
    if (*report->event) fprintf(trace, "\"%s\"", report->event);
    fputc('\n', trace);
}

static void close_file(FILE **f) {
    if (*f) fclose(*f);
    *f = NULL;
}

void kl_record_close(struct kl_record *r, const struct kl_record_sum *sum) {
    const struct kl_client_stats *s = &r->status->lock;
    char line[320];
    close_file(&r->hashes);
    close_file(&r->trace);
    kl_record_run_end(r);
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
