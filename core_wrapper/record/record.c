#include "core_wrapper/record/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/start/identity.h"
#include "core_wrapper/start/seat_file.h"
#include "core_wrapper/start/start.h"
#include "net/platform/clock.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"
#include "net/platform/process.h"
#include "net/session/seal.h"

/* --- its files --- */

/* The files of a session for bisect and blame: the recording, the states at a desync; also a planted
 * desync. */

/* --- the beginning --- */

static void find_origin(struct kl_record *r) {
    static struct kl_facts facts;
    struct retro_system_info info = {0};
    memset(&r->origin, 0, sizeof r->origin);
    facts.count = 0;
    r->emu->core.get_system_info(&info);
    kl_identity_core(&facts, &info);
    kl_identity_content(&facts, &r->emu->content, r->sums);
    snprintf(r->origin.core, sizeof r->origin.core, "%s", kl_facts_value(&facts, "core"));
    snprintf(r->origin.content, sizeof r->origin.content, "%s", kl_facts_value(&facts, "content"));
    r->origin.has_world = true;
    r->origin.epoch_s = r->status->prepare.epoch_s;
}

static void describe_room(struct kl_record *r, struct kl_klr_room *room) {
    const struct kl_roster *roster = &r->status->roster;
    kl_copy_cut(room->name, sizeof room->name, r->room);
    memset(r->seats, 0, sizeof r->seats);
    room->has_params = true;
    room->params = r->status->welcome.params;
    snprintf(room->match, sizeof room->match, "%s", r->status->welcome.match);
    room->facts = *r->facts;
    kl_facts_add(&room->facts, KL_RECORDING_SYSTEM, kl_world_system);
    for (unsigned i = 0; i < roster->count; i++) {
        struct kl_klr_member *m = &room->member[room->members++];
        m->client = roster->member[i].client;
        m->seats = roster->member[i].seats;
        kl_copy_cut(m->name, sizeof m->name, roster->member[i].name);
        r->seats[m->client] = m->seats;
    }
}

static void record_head(struct kl_record *r, const uint8_t *data, size_t len) {
    static struct kl_klr_room room;
    struct kl_klr_head head = {
        .rules = KL_KLR_RULES, .flags = KL_KLR_BY_CLIENT | KL_KLR_HAS_EPOCH, .epoch_s = r->origin.epoch_s};
    struct kl_start *start = calloc(1, sizeof *start);
    memcpy(head.room_id, r->status->welcome.room_id, sizeof head.room_id);
    memcpy(head.relay_key, r->status->relay_key, sizeof head.relay_key);
    memset(&room, 0, sizeof room);
    describe_room(r, &room);
    kl_recorder_head(&r->recorder, r->status->welcome.client, &head, &room, data, len);
    if (start && data && kl_start_decode(start, data, len) != 0) start->option_count = 0;
    if (start) {
        /* Options that have another value here than the room's start data says. */
        for (unsigned i = 0; i < r->emu->options.count; i++) {
            struct kl_klr_event e = {.kind = KL_KLR_OPTION};
            const struct kl_option *o = &r->emu->options.at[i];
            bool said = false;
            for (unsigned k = 0; k < start->option_count && !said; k++)
                said = !strcmp(start->option[k].key, o->key) && !strcmp(start->option[k].value, o->value);
            snprintf(e.text, sizeof e.text, "%s=%s", o->key, o->value);
            if (!said) kl_recorder_event(&r->recorder, &e);
        }
    }
    free(start);
}

bool kl_record_wanted(const struct kl_config *c) {
    return *c->record && strcmp(c->record, "off") != 0;
}

/* The file to record into, as `record` says. False: there is none, and why is "" if none is wanted. */
static bool find_file(const struct kl_record *r, char out[KL_FILE_PATH], char *why, size_t why_len) {
    const char *to = r->config->record;
    char dir[KL_FILE_PATH];
    *why = 0;
    if (!kl_record_wanted(r->config)) return false;
    if (!strcmp(to, "on")) {
        if (kl_state_folder("recordings", dir, why, why_len) != 0 ||
            kl_dir_make(dir, true, why, why_len) != 0)
            return false;
        to = dir;
    }
    if (kl_dir_exists(to)) {
        /* A file of its own for this match in that folder: TIME ROOM CLIENT.klr, the time without colons. */
        char when[KL_WALL_TEXT], name[KL_WALL_TEXT + KL_NAME_MAX + 16];
        size_t len = 0;
        snprintf(name, sizeof name, "%s %s %u.klr", kl_wall_text(when, kl_wall_us()), r->room,
                 r->status->welcome.client);
        for (char *c = name; *c; c++)
            if (*c != ':') name[len++] = (unsigned char)*c < ' ' || strchr("/\\*?\"<>|", *c) ? '_' : *c;
        name[len] = 0;
        return kl_file_join(out, KL_FILE_PATH, to, name, NULL, 0) == 0;
    }
    snprintf(out, KL_FILE_PATH, "%s", to);
    return true;
}

/* The player hears which file it is, or why there is none. */
static void begin_recording(struct kl_record *r, const uint8_t *start, size_t len) {
    char path[KL_FILE_PATH], why[KLW_TEXT_MAX];
    if (!find_file(r, path, why, sizeof why)) {
        if (*why) kl_frontend_say(r->front, KL_SCREEN_WARNING, 4000, "not recorded: %s", why);
        return;
    }
    if (kl_recorder_open(&r->recorder, path) != 0) {
        kl_frontend_say(r->front, KL_SCREEN_WARNING, 4000, "not recorded: cannot write %s", path);
        return;
    }
    kl_frontend_log(r->front, "recording file=%s", path);
    r->recorder.chat = r->config->record_chat;
    record_head(r, start, len);
}

static void finish_run(struct kl_record *r) {
    kl_recorder_finish(&r->recorder);
    kl_keep_free(&r->keep);
}

static void begin_run(struct kl_record *r, const uint8_t *start, size_t len) {
    const char *planted = kl_environment_get("KEYLOCK_CORRUPT");
    char why[256];
    finish_run(r);
    (void)kl_recorder_close(&r->recorder);
    find_origin(r);
    snprintf(r->keep.dir, sizeof r->keep.dir, "%s", r->config->states);
    begin_recording(r, start, len);
    r->corrupt.set = false;
    if (planted && *planted && !r->planted_once &&
        kl_corrupt_parse(&r->corrupt, planted, why, sizeof why) != 0)
        kl_frontend_say(r->front, KL_SCREEN_WARNING, 4000, "KEYLOCK_CORRUPT: %s", why);
}

/* --- frames --- */

static void plant(struct kl_record *r) {
    struct retro_memory_map map = kl_memory_inner(&r->emu->memory);
    char line[256];
    r->corrupt.set = false;
    r->planted_once = true;
    if (kl_corrupt_do(&r->corrupt, &r->emu->core, map.num_descriptors ? &map : NULL, line, sizeof line) ==
        0) {
        struct kl_klr_event e = {.kind = KL_KLR_FLIP,
                                 .frame = r->corrupt.frame,
                                 .offset = r->corrupt.offset,
                                 .yes = r->corrupt.in_state};
        kl_recorder_event(&r->recorder, &e);
    }
    kl_frontend_say(r->front, KL_SCREEN_WARNING, 4000, "%s", line);
}

/* Clients whose seats are others than the file says. */
static void record_seats(struct kl_record *r, uint32_t frame) {
    const struct kl_roster *roster = &r->status->roster;
    uint8_t now[KL_MAX_CLIENTS] = {0};
    const char *name[KL_MAX_CLIENTS] = {NULL};
    for (unsigned i = 0; i < roster->count; i++) {
        now[roster->member[i].client] = roster->member[i].seats;
        name[roster->member[i].client] = roster->member[i].name;
    }
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        struct kl_klr_event e = {.kind = KL_KLR_SEATS, .frame = frame, .client = (uint8_t)i, .seats = now[i]};
        if (now[i] == r->seats[i]) continue;
        if (now[i]) kl_copy_cut(e.text, sizeof e.text, name[i]);
        kl_recorder_event(&r->recorder, &e);
    }
    memcpy(r->seats, now, sizeof r->seats);
}

bool kl_record_frame(struct kl_record *r, const struct kl_frame *f) {
    if (r->recorder.on) record_seats(r, f->number);
    kl_recorder_frame(&r->recorder, f);
    if (!r->corrupt.set || f->number != r->corrupt.frame) return false;
    plant(r);
    return r->corrupt.in_state;
}

static void record_hash(struct kl_record *r, const struct klw_hash *h, const void *state, size_t bytes) {
    kl_recorder_hash(&r->recorder, h);
    if (h->has_state) kl_keep_add(&r->keep, h->frame, kl_world_chance(r->emu->world), state, bytes);
}

/* --- other events --- */

void kl_record_serialized(struct kl_record *r, uint32_t frame, bool loaded) {
    kl_recorder_event(&r->recorder,
                      &(struct kl_klr_event){.kind = KL_KLR_SERIALIZED, .frame = frame, .yes = loaded});
}

void kl_record_alien(struct kl_record *r, uint32_t frame, const char *why) {
    struct kl_klr_event e = {.kind = KL_KLR_ALIEN, .frame = frame};
    kl_copy_cut(e.text, sizeof e.text, why);
    kl_recorder_event(&r->recorder, &e);
}

void kl_record_snapshot(struct kl_record *r, const struct kl_offer *o) {
    struct kl_klr_snapshot s = {
        .frame = o->keyframe, .bytes = o->bytes, .before = {.intervals = o->interval, .end = o->keyframe}};
    memcpy(s.hash, o->hash, sizeof s.hash);
    memcpy(s.before.digest, o->digest, sizeof s.before.digest);
    kl_recorder_snapshot(&r->recorder, &s);
}

static void write_states(void *arg) {
    struct kl_record_states *w = arg;
    w->written = kl_keep_write(&w->keep, &w->origin, w->why, sizeof w->why);
    atomic_store(&w->done, true);
}

void kl_record_desync(struct kl_record *r) {
    struct kl_record_states *w = &r->states;
    if (!r->keep.dir[0] || !r->keep.count || w->runs) {
        r->states_again = w->runs;
        return;
    }
    w->keep = r->keep; /* with its memory */
    w->origin = r->origin;
    memset(r->keep.slot, 0, sizeof r->keep.slot);
    r->keep.count = 0;
    atomic_store(&w->done, false);
    w->runs = kl_thread_start(&w->thread, "keylock-states", write_states, w) == 0;
    if (!w->runs) kl_keep_free(&w->keep);
}

/* Tells what became of the states, once the thread has written them. wait: now. */
static void tell_states(struct kl_record *r, bool wait) {
    struct kl_record_states *w = &r->states;
    if (!w->runs || !(wait || atomic_load(&w->done))) return;
    kl_thread_join(&w->thread);
    w->runs = false;
    if (w->written < 0)
        kl_frontend_say(r->front, KL_SCREEN_WARNING, 4000, "cannot write the states at the desync: %s",
                        w->why);
    if (w->written > 0)
        kl_frontend_log(r->front, "keylock: %d states written to %s", w->written, w->keep.dir);
    kl_keep_free(&w->keep);
    if (r->states_again && !wait) kl_record_desync(r);
    r->states_again = false;
}

/* --- the record of a session --- */

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
    for (KL_EACH(s, r->status->welcome.seats))
        used += (size_t)snprintf(seats + used, sizeof seats - used, "%s%u", used ? "," : "", s);
    snprintf(line, sizeof line, "keylock: playing seats=%s room=%s spacing=%u cipher=%s", seats, r->room,
             r->status->lock.spacing, kl_cipher_name(r->status->cipher));
    kl_frontend_log(r->front, "%s", line);
    begin_run(r, start, len);
    r->begun = true;
}

void kl_record_hash(struct kl_record *r, const struct klw_hash *h, const void *state, size_t bytes) {
    record_hash(r, h, state, bytes);
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
    tell_states(r, false);
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
    tell_states(r, true);
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
    finish_run(r);
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
