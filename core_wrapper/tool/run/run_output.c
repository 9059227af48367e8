#include "core_wrapper/tool/run/run.h"

#include "core_wrapper/tool/common/report.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <string.h>

#include "net/platform/file.h"
#include "net/platform/process.h"

#define PROGRESS_EVERY_US 250000

static void note_error(struct kl_run_output *o, const char *path) {
    if (!o->error[0]) snprintf(o->error, sizeof(o->error), "cannot write %s: %s", path, strerror(errno));
}

static FILE *open_one(struct kl_run_output *o, const char *path) {
    FILE *f = path ? kl_file_stream(path, "w") : NULL;
    if (path && !f) note_error(o, path);
    return f;
}

int kl_run_output_open(struct kl_run_output *o, const char *hash_path, const char *trace_path) {
    memset(o, 0, sizeof(*o));
    o->hash_path = hash_path;
    o->trace_path = trace_path;
    o->progress = kl_process_has_terminal();
    o->hashes = open_one(o, hash_path);
    o->trace = open_one(o, trace_path);
    if (o->trace) setvbuf(o->trace, NULL, _IOLBF, 0); /* readers follow it */
    if (o->trace && fputs("wall_us,first,last,run,backlog,lead,spacing,stall,event\n", o->trace) == EOF)
        note_error(o, trace_path);
    return o->error[0] ? -1 : 0;
}

void kl_run_output_hash(struct kl_run_output *o, const struct kl_hashline *line) {
    o->last = *line;
    o->any = true;
    if (line->frame < o->hash_next) return; /* begun anew: frames of a hash file never go back */
    o->hash_next = line->frame + 1;
    o->hash_count++;
    if (o->hashes && kl_hashline_write(o->hashes, line) != 0) note_error(o, o->hash_path);
}

/* Text in a CSV field: quoted, quotes doubled, line ends as blanks. */
static void put_text(FILE *f, const char *text) {
    if (!*text) return;
    fputc('"', f);
    for (; *text; text++) {
        if (*text == '"') fputc('"', f);
        fputc((unsigned char)*text < ' ' ? ' ' : *text, f);
    }
    fputc('"', f);
}

void kl_run_output_trace(struct kl_run_output *o, uint64_t wall_us, const struct klw_report *r) {
    if (!o->trace) return;
    fprintf(o->trace, "%" PRIu64 ",", wall_us);
    if (r->run)
        fprintf(o->trace, "%" PRIu32 ",%" PRIu32 ",", r->first, r->last);
    else
        fputs(",,", o->trace);
    fprintf(o->trace, "%" PRIu32 ",%" PRIu32 ",%.2f,%u,%d,", r->run, r->backlog, r->lead_frames, r->spacing,
            r->stalled);
    put_text(o->trace, r->event);
    fputc('\n', o->trace);
    if (ferror(o->trace)) note_error(o, o->trace_path);
}

void kl_run_output_progress(struct kl_run_output *o, uint64_t now_us, uint32_t done, uint32_t frames,
                            const struct klw_report *r) {
    if (!o->progress || now_us < o->progress_us + PROGRESS_EVERY_US) return;
    o->progress_us = now_us;
    fprintf(stderr, "\rframe %" PRIu32 " of %" PRIu32, done, frames);
    if (r->returning)
        fprintf(stderr, ", connection lost, returning (%" PRIu32 " of %" PRIu32 " s)", r->lost_s,
                r->seat_time_s);
    else if (r->phase == KLW_CONNECTING)
        fputs(", waiting for the room", stderr);
    else if (r->phase != KLW_ALONE)
        fprintf(stderr, ", spacing %u, backlog %" PRIu32 "%s", r->spacing, r->backlog + r->behind,
                r->desync ? ", DESYNC" : "");
    if (r->left_s)
        fprintf(stderr, ", %s in %" PRIu32 " s", r->fetching ? "the room's state is here" : "caught up",
                r->left_s);
    fputs("\x1b[K", stderr);
}

static void close_one(struct kl_run_output *o, FILE *f, const char *path) {
    if (f && fclose(f) != 0) note_error(o, path);
}

int kl_run_output_close(struct kl_run_output *o) {
    if (o->progress && o->progress_us) fputs("\r\x1b[K", stderr);
    close_one(o, o->hashes, o->hash_path);
    close_one(o, o->trace, o->trace_path);
    o->hashes = o->trace = NULL;
    return o->error[0] ? -1 : 0;
}

static void add_hash(json_object *j, const char *key, bool has, uint64_t hash) {
    char text[KLT_HASH_TEXT];
    kl_hash_text(text, has, hash);
    json_object_object_add(j, key, has ? json_object_new_string(text) : NULL);
}

static void add_number(json_object *j, const char *key, double value) {
    char text[64];
    snprintf(text, sizeof(text), "%.3f", value > -INFINITY && value < INFINITY ? value : 0.0);
    json_object_object_add(j, key, json_object_new_double_s(value, text));
}

static void add_text(json_object *j, const char *key, const char *text) {
    json_object_object_add(j, key, text && *text ? json_object_new_string(text) : NULL);
}

int kl_run_output_json(const struct kl_run_output *o, const struct kl_run_summary *s, FILE *to) {
    json_object *j = json_object_new_object();
    json_object_object_add(j, "frames", json_object_new_int64(s->frames));
    add_hash(j, "ram", o->any && o->last.has_ram, o->last.ram);
    add_hash(j, "state", o->any && o->last.has_state, o->last.state);
    json_object_object_add(j, "stalls", json_object_new_int64((int64_t)s->final.stalls));
    add_number(j, "longest_stall_ms", s->final.longest_stall_ms);
    add_number(j, "lead_frames_avg", s->final.lead_frames_avg);
    add_number(j, "rtt_ms", s->final.rtt_ms);
    add_number(j, "ahead_avg", s->final.ahead_avg);
    add_number(j, "felt_frames_avg", s->final.felt_frames_avg);
    add_number(j, "guessed_wrong", s->final.guessed_wrong);
    add_number(j, "replayed_frames_s", s->final.replayed_frames_s);
    add_number(j, "replay_ms_p99", s->final.replay_ms_p99);
    json_object_object_add(j, "direct_datagrams", json_object_new_int64((int64_t)s->final.direct_datagrams));
    json_object_object_add(j, "ahead_breaks", json_object_new_int64((int64_t)s->final.ahead_breaks));
    json_object_object_add(j, "ahead_by_pages", json_object_new_int64((int64_t)s->final.ahead_by_pages));
    add_number(j, "wall_s", s->wall_s);
    add_number(j, "fps", s->wall_s > 0 ? s->frames / s->wall_s : 0);
    json_object_object_add(j, "hashes", json_object_new_int64(o->hash_count));
    json_object_object_add(j, "late_frames", json_object_new_int64((int64_t)s->final.late_frames));
    json_object_object_add(j, "sent_bytes", json_object_new_int64((int64_t)s->final.sent_bytes));
    json_object_object_add(j, "received_bytes", json_object_new_int64((int64_t)s->final.received_bytes));
    json_object_object_add(j, "desync_frame", s->desync ? json_object_new_int64(s->desync_first) : NULL);
    json_object_object_add(j, "healed", json_object_new_int64(s->healed));
    json_object_object_add(j, "state_only", json_object_new_int64(s->state_only));
    add_text(j, "core", s->core);
    add_text(j, "content", s->content);
    json_object_object_add(j, "turned", kl_report_imports(s->turned));
    json_object_object_add(j, "left", kl_report_imports(s->left));
    json_object_object_add(j, "exit", json_object_new_int(s->exit_code));
    add_text(j, "error", s->error);
    const char *text =
        json_object_to_json_string_ext(j, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
    bool bad = fprintf(to, "%s\n", text) < 0;
    bad |= fclose(to) != 0;
    json_object_put(j);
    return bad ? -1 : 0;
}
