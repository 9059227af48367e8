#include "core_wrapper/record/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "net/platform/clock.h"
#include "core_wrapper/context/wrapper.h"
#include "net/session/seal.h"

static FILE *hashes, *trace;
static uint64_t begin_us;
static bool begun;

static FILE *open_named(const char *variable) {
    const char *path = getenv(variable);
    if (!path || !*path || kl_w.emu.runner) return NULL;
    FILE *f = fopen(path, "we");
    if (!f) kl_wrapper_say(KL_SCREEN_WARNING, 4000, "%s: cannot write %s", variable, path);
    if (f) setvbuf(f, NULL, _IOLBF, 0);
    return f;
}

void kl_record_open(void) {
    kl_record_close();
    begin_us = kl_now_us();
    hashes = open_named("KEYLOCK_HASH_OUT");
    trace = open_named("KEYLOCK_TRACE");
    if (trace) fputs("wall_us,first,last,run,backlog,lead,spacing,stall,event\n", trace);
}

static void log_line(const char *line) {
    kl_screen_log(&kl_w.screen, kl_w.front.environment, "%s", line);
}

void kl_record_begin(void) {
    char seats[32] = "-", line[160];
    size_t used = 0;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        if (kl_w.status.welcome.seats >> s & 1)
            used += (size_t)snprintf(seats + used, sizeof seats - used, "%s%u", used ? "," : "", s);
    snprintf(line, sizeof line, "keylock: playing seats=%s room=%s spacing=%u cipher=%s", seats,
             kl_w.config.room, kl_w.status.lock.spacing, kl_cipher_name(kl_w.status.cipher));
    log_line(line);
    kl_record_run_begin();
    begun = true;
}

static void put_hash(bool has, uint64_t v, char end) {
    if (has)
        fprintf(hashes, "%016" PRIx64 "%c", v, end);
    else
        fprintf(hashes, "-%c", end);
}

void kl_record_hash(const struct klw_hash *h) {
    kl_record_run_hash(h);
    if (!hashes) return;
    fprintf(hashes, "%" PRIu32 " ", h->frame);
    put_hash(h->has_ram, h->ram, ' ');
    put_hash(h->has_state, h->state, '\n');
}

void kl_record_turn(uint64_t at_us, const struct klw_report *r) {
    if (!trace) return;
    fprintf(trace, "%" PRIu64 ",", at_us - begin_us);
    if (r->run)
        fprintf(trace, "%" PRIu32 ",%" PRIu32, r->first, r->last);
    else
        fputs(",", trace);
    fprintf(trace, ",%" PRIu32 ",%" PRIu32 ",%.2f,%u,%d,", r->run, r->backlog, r->lead_frames, r->spacing,
            r->stalled);
    if (*r->event) fprintf(trace, "\"%s\"", r->event);
    fputc('\n', trace);
}

static void close_file(FILE **f) {
    if (*f) fclose(*f);
    *f = NULL;
}

void kl_record_close(void) {
    const struct kl_client_stats *s = &kl_w.status.lock;
    const struct kl_play *p = &kl_w.play;
    char line[320], desync[16] = "-1";
    close_file(&hashes);
    close_file(&trace);
    kl_record_run_end();
    if (!begun) return;
    begun = false;
    if (p->report.desync) snprintf(desync, sizeof desync, "%" PRIu32, p->report.desync_first);
    snprintf(line, sizeof line,
             "keylock: session frames=%" PRIu32 " stalls=%" PRIu64
             " longest_stall_ms=%.1f lead_frames_avg=%.2f "
             "rtt_ms=%.1f spacing=%u late_frames=%" PRIu64 " desync=%s",
             p->next_frame, p->stalls, (double)p->stall_longest_us / 1000,
             s->lead_count ? (double)s->lead_sum / (double)s->lead_count : 0.0, s->rtt_us / 1000.0,
             s->spacing, s->late_frames, desync);
    log_line(line);
}
