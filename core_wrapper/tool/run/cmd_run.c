#include "net/platform/process.h"
#include "net/platform/file.h"
#include "core_wrapper/tool/common/tool.h"

#include "net/platform/clock.h"
#include "core_wrapper/tool/headless/headless.h"
#include "core_wrapper/tool/run/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FINISH_MS     15000 /* for the verdict on the last frame */
#define IDLE_US       500   /* between calls that ran nothing and did not wait themselves */
#define QUICK_CALL_US 200

struct run {
    struct kl_run_options options;
    struct kl_headless frontend;
    struct kl_input_source *input;
    struct kl_run_output out;
    struct kl_run_trail trail; /* alone */
    struct kl_run_summary summary;
    struct klw_report report; /* of the last call */
    uint64_t begin_us, first_us, last_us;
    double next_us; /* when the next call is due */
    struct kl_wav wav;
    uint32_t frames;                 /* run */
    uint64_t given_us[KLT_COMMANDS]; /* when the command's frame came; 0: not yet */
    uint64_t given;                  /* bit per command that was given */
    bool room;                       /* a room was asked for, or the wrapper found one configured */
    char core[4096], wrapper[4096];
    char error[KLT_ERR];
    FILE *stdout_ours; /* standard output; cores' own output goes to standard error */
};

static int failed(struct run *r, int code, const char *text) {
    if (text != r->error) snprintf(r->error, sizeof(r->error), "%s", text);
    return code;
}

/* --- setting up --- */

/* A run does not take these settings from its surroundings: without a flag they have their defaults. */
static void export_fixed(void) {
    static const char *const fixed[] = {"players", "spacing", "subframes"};
    const char *user = kl_environment_get("USER");
    for (unsigned i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        const struct kl_row *row = kl_config_row(fixed[i]);
        kl_environment_set(row->variable, row->standard);
    }
    kl_environment_set("KEYLOCK_NAME", user && *user ? user : "player");
    tool_export_usual("KEYLOCK_INVITE", "on");
}

/* Exports the wrapper's settings. Without a flag for it, the room is the game's own. */
static void export_room(const struct kl_run_options *o) {
    export_fixed();
    /* At full speed a measurement in the background would disturb the run. */
    bool real_speed = o->real_speed;
    char own[KL_FILE_PATH] = "off";
    if (real_speed) (void)kl_process_own_path(own, sizeof own);
    tool_export_usual("KEYLOCK_LEARN", own);
    if (kl_forward_value(&o->settings, "relay")) {
        kl_environment_set("KEYLOCK_LINK", NULL);
        kl_environment_set("KEYLOCK_ROOM", NULL);
    }
    kl_environment_set("KEYLOCK_SPEED", o->real_speed ? "real" : "max");
    tool_export_number("KEYLOCK_SEATS", o->seats);
    if (o->has_hash_every) tool_export_number("KEYLOCK_HASH_EVERY", o->hash_every);
    kl_environment_set("KEYLOCK_VOICE_IN", o->voice_in);
    kl_environment_set("KEYLOCK_VOICE_OUT", o->voice_out);
    kl_forward_export(&o->settings);
    kl_run_trail_export(o);
}

/* Chooses the library to load: the core itself, or the wrapper with the core in its environment. */
static int choose_core(struct run *r, const char **load) {
    const struct kl_run_options *o = &r->options;
    *load = r->core;
    if (tool_find_core(o->machine.core, r->core, sizeof(r->core), r->error, sizeof(r->error)) != 0)
        return KLT_LOAD;
    if (!o->in_room && !o->wrapper) return KLT_OK;
    if (o->wrapper)
        snprintf(r->wrapper, sizeof(r->wrapper), "%s", o->wrapper);
    else if (tool_find_wrapper(r->wrapper, sizeof(r->wrapper), r->error, sizeof(r->error)) != 0)
        return KLT_LOAD;
    *load = r->wrapper;
    kl_environment_set("KEYLOCK_CORE", r->core);
    if (o->in_room) {
        export_room(o);
    } else {
        kl_environment_set("KEYLOCK_RELAY", NULL);
        kl_environment_set("KEYLOCK_LINK", NULL);
    }
    return KLT_OK;
}

static void on_room_hash(void *user, const struct klw_hash *h) {
    struct run *r = user;
    struct kl_hashline line = {.frame = h->frame,
                               .has_ram = h->has_ram,
                               .has_state = h->has_state,
                               .ram = h->ram,
                               .state = h->state};
    kl_run_output_hash(&r->out, &line);
}

static int set_up(struct run *r) {
    const struct kl_run_options *o = &r->options;
    struct kl_headless_setup setup = {.content_path = o->machine.content,
                                      .system_dir = o->machine.system_dir,
                                      .save_dir = o->machine.save_dir,
                                      .options = o->machine.option,
                                      .option_count = o->machine.option_count,
                                      .devices = o->machine.devices,
                                      .virtual_clock = !o->machine.host_clock && !o->in_room,
                                      .epoch_s = o->machine.epoch_s,
                                      .in_room = o->in_room,
                                      .frame_limit = (uint32_t)o->frames,
                                      .on_hash = on_room_hash,
                                      .on_hash_user = r,
                                      .quiet = o->quiet};
    if (kl_input_source_open(&r->input, o->machine.input, r->error, sizeof(r->error)) != 0) return KLT_USAGE;
    if (kl_run_output_open(&r->out, o->hash_out, o->trace) != 0) return failed(r, KLT_OUTPUT, r->out.error);
    if (o->wav && kl_wav_open(&r->wav, o->wav, 2) != 0) {
        snprintf(r->error, sizeof(r->error), "cannot write %s: %s", o->wav, strerror(errno));
        return KLT_OUTPUT;
    }
    int code = choose_core(r, &setup.core_path);
    if (code != KLT_OK) return code;
    if (kl_headless_open(&r->frontend, &setup, r->error, sizeof(r->error)) != 0) return KLT_LOAD;
    kl_headless_input(&r->frontend, r->input, (unsigned)o->seats);
    if (o->wav) r->frontend.wav = &r->wav;
    r->wav.rate = (uint32_t)(r->frontend.emu.av.timing.sample_rate + 0.5);
    if (!o->in_room && kl_run_trail_begin(&r->trail, o, &r->frontend) != 0)
        return failed(r, KLT_OUTPUT, r->trail.error);
    return KLT_OK;
}

/* --- running --- */

/* --speed real, or --hz: the next call is due one frame after the last, by a clock that does not drift. */
static void pace(struct run *r) {
    double hz = r->options.hz > 0 ? r->options.hz : r->frontend.emu.av.timing.fps, now = (double)kl_now_us();
    if (!r->options.real_speed && r->options.hz <= 0) return;
    if (r->next_us == 0 || now > r->next_us + 200000) r->next_us = now; /* a pause is not made up for */
    while (!kl_sleep_until((uint64_t)r->next_us) && !kl_process_stopped()) {
    }
    r->next_us += 1e6 / hz;
}

static void hash_now(struct run *r) {
    struct kl_statehash h;
    kl_headless_hash(&r->frontend, &h);
    struct kl_hashline line = kl_hashline_of(r->frames - 1, &h);
    kl_run_output_hash(&r->out, &line);
    kl_run_trail_hash(&r->trail, &r->frontend, &h);
}

/* Without a room nobody else sets the rhythm. */
static void hash_alone(struct run *r) {
    uint64_t every = r->options.hash_every;
    if (r->room || !r->report.run || !every || r->frames % every != 0) return;
    hash_now(r);
}

/* A command that is not taken is said and passed over: the run goes on. */
static void give_command(struct run *r, unsigned i) {
    const struct kl_run_command *c = &r->options.command[i];
    char answer[KLW_TEXT_MAX];
    r->given |= UINT64_C(1) << i;
    int result = r->frontend.wrapper->command(c->words, answer, sizeof(answer));
    fprintf(stderr, "keylock run: frame %u: %s: %s%s\n", r->frames, c->words, result ? "not given: " : "",
            answer);
}

static void one_call(struct run *r) {
    pace(r);
    for (unsigned i = 0; i < r->options.command_count; i++) {
        const struct kl_run_command *c = &r->options.command[i];
        if (r->given >> i & 1 || !r->room || r->frames < c->frame || !r->frames) continue;
        if (!r->given_us[i]) r->given_us[i] = kl_now_us();
        if (kl_now_us() >= r->given_us[i] + c->after_ms * UINT64_C(1000)) give_command(r, i);
    }
    struct kl_frame next;
    kl_headless_sample(&r->frontend, &next);
    kl_run_trail_frame(&r->trail, &r->frontend, &next);
    uint64_t start_us = kl_now_us();
    kl_headless_play(&r->frontend, &next);
    uint64_t now_us = kl_now_us();
    if (r->frontend.wrapper)
        r->frontend.wrapper->report(&r->report);
    else
        r->report = (struct klw_report){.phase = KLW_ALONE, .run = 1, .first = r->frames, .last = r->frames};
    if (r->report.phase == KLW_CONNECTING || r->report.phase == KLW_PLAYING) r->room = true;
    r->frontend.setup.in_room = r->room;
    if (r->report.run) {
        if (!r->frames) r->first_us = start_us;
        r->last_us = now_us;
        r->frames = r->report.last + 1; /* a room that begins anew counts from 0 */
    }
    hash_alone(r);
    kl_run_output_trace(&r->out, start_us - r->begin_us, &r->report);
    kl_run_output_progress(&r->out, now_us, r->frames, (uint32_t)r->options.frames, &r->report);
    if (!r->report.run && !r->options.real_speed && now_us - start_us < QUICK_CALL_US) kl_sleep_us(IDLE_US);
}

static bool waited_too_long(const struct run *r) {
    return r->options.wait_s && !r->frames && kl_now_us() - r->begin_us > r->options.wait_s * 1000000u;
}

static int run_frames(struct run *r) {
    r->room = r->options.in_room;
    r->begin_us = kl_now_us();
    while (r->frames < r->options.frames && r->report.phase != KLW_REACHED) {
        one_call(r);
        if (r->out.error[0]) return failed(r, KLT_OUTPUT, r->out.error);
        if (r->trail.error[0]) return failed(r, KLT_OUTPUT, r->trail.error);
        if (r->report.phase == KLW_ENDED) return failed(r, KLT_ROOM, r->frontend.wrapper->error());
        if (kl_process_stopped()) return failed(r, KLT_FAILED, "interrupted");
        if (r->frontend.shutdown) return failed(r, KLT_FAILED, "the core asked to be shut down");
        if (waited_too_long(r)) return failed(r, KLT_ROOM, "frame 0 did not come within --wait");
    }
    return KLT_OK;
}

/* --- finishing --- */

static int desync(struct run *r) {
    char text[KLT_ERR];
    const char *who = r->report.desync_who;
    snprintf(text, sizeof(text), "desync: hashes differ first at frame %u%s%s", r->report.desync_first,
             *who ? ", standing alone: " : "", who);
    return failed(r, KLT_DESYNC, text);
}

static int finish_room(struct run *r, int code) {
    const struct klw_api *api = r->frontend.wrapper;
    int verdict = api->finish(code == KLT_OK ? FINISH_MS : 500, &r->summary.final);
    api->report(&r->report);
    r->summary.desync = r->report.desynced;
    r->summary.healed = r->report.healed;
    r->summary.state_only = r->report.state_only;
    r->summary.desync_first = r->report.desync_first;
    if (r->report.desync || verdict == 2) return desync(r);
    if (code != KLT_OK || verdict == 0) return code;
    if (verdict < 0) return failed(r, KLT_ROOM, api->error());
    return failed(r, KLT_ROOM, "the relay gave no verdict on the last frame in time");
}

/* As it stands after the last frame: leaving puts lights and motors out. */
static int write_told(struct run *r, int code) {
    const char *path = r->options.told_out;
    if (!path || code != KLT_OK || kl_headless_write_told(&r->frontend, path) == 0) return code;
    snprintf(r->error, sizeof(r->error), "cannot write %s: %s", path, strerror(errno));
    return KLT_OUTPUT;
}

static int finish(struct run *r, int code) {
    code = write_told(r, code);
    if (r->room) return finish_room(r, code);
    if (r->frames && !(r->out.any && r->out.last.frame == r->frames - 1)) {
        /* The last hash is for the summary; the file keeps to its rhythm. */
        FILE *file = r->out.hashes;
        r->out.hashes = NULL;
        r->trail.states = NULL;
        hash_now(r);
        r->out.hashes = file;
    }
    if (r->frontend.wrapper) r->frontend.wrapper->finish(0, &r->summary.final);
    return code;
}

static int close_all(struct run *r, int code) {
    char err[KLT_ERR];
    if (kl_run_trail_end(&r->trail) != 0 && code == KLT_OK) code = failed(r, KLT_OUTPUT, r->trail.error);
    if (kl_run_output_close(&r->out) != 0 && code == KLT_OK) code = failed(r, KLT_OUTPUT, r->out.error);
    if (r->frontend.emu.core.handle && kl_headless_close(&r->frontend, err, sizeof(err)) != 0 &&
        code == KLT_OK)
        code = failed(r, KLT_OUTPUT, err);
    if (kl_wav_close(&r->wav) != 0 && code == KLT_OK) {
        snprintf(r->error, sizeof(r->error), "cannot write all of %s", r->options.wav);
        code = KLT_OUTPUT;
    }
    kl_input_source_close(r->input);
    return code;
}

static int summarise(struct run *r, int code) {
    struct kl_run_summary *s = &r->summary;
    bool wrapped = r->frontend.wrapper != NULL;
    struct kl_world_report world = r->frontend.emu.turned;
    code = close_all(r, code);
    s->frames = r->frames;
    s->wall_s = r->frames ? (double)(r->last_us - r->first_us) / 1e6 : 0;
    s->core = r->frontend.name[0] ? r->frontend.name : r->options.machine.core;
    s->content = r->options.machine.content;
    s->turned = wrapped ? s->final.turned : world.turned;
    s->left = wrapped ? s->final.left : world.left;
    s->exit_code = code;
    s->error = code == KLT_OK ? "" : r->error;
    if (code != KLT_OK) tool_fail(code, "run", "%s", r->error);
    if (!r->stdout_ours || kl_run_output_json(&r->out, s, r->stdout_ours) != 0)
        code = tool_fail(KLT_OUTPUT, "run", "cannot write standard output: %s", strerror(errno));
    return code;
}

int cmd_run(int argc, char **argv) {
    static struct run run; /* large, and zero */
    struct run *r = &run;
    if (kl_run_options_parse(&r->options, argc, argv) != 0) return KLT_USAGE;
    r->stdout_ours = kl_process_take_output(); /* the JSON line stands alone, whatever the core prints */
    kl_process_catch_stop();
    kl_process_catch_crashes("keylock run: the core crashed\n");
    int code = set_up(r);
    if (code == KLT_OK) code = finish(r, run_frames(r));
    return summarise(r, code);
}
