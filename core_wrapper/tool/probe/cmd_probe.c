#include "net/platform/process.h"
#include "net/platform/buffer.h"
#include "net/platform/clock.h"
#include "net/platform/file.h"
#include "net/platform/dir.h"
#include "core_wrapper/tool/probe/probe.h"
#include "core_wrapper/tool/common/report.h"
#include "core_wrapper/tool/common/tool.h"

#include "core_wrapper/start/identity.h"
#include "core_wrapper/start/rand_use.h"
#include "core_wrapper/start/seat_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off: a line here is a line there */
const char cmd_probe_help[] =
    "Usage: keylock probe --core NAME_OR_PATH --content FILE [OPTIONS]\n"
    "\n"
    "Finds out whether a core with this content is fit for locking. The core runs several times, each time "
    "in a process of\n"
    "its own and with the same play on two pads, and the hashes of RAM and of the serialized state are "
    "compared. Then a\n"
    "machine joins by a state, which shows what a snapshot in a room takes: nothing (\"none\"); all machines "
    "load their own\n"
    "state at that frame (\"all\"); no snapshot works, and a newcomer replays the history (\"history\"); or "
    "the game stays equal\n"
    "and some bytes of the state do not (\"state only\"). At last a second copy runs beside the core, as it "
    "does "
    "for a player who\n"
    "runs ahead of the lock.\n"
    "\n"
    "@0\n"
    "@1\n"
    "\n"
    "Exit status:\n"
    "  0  fit for locking\n"
    "  1  not fit\n"
    "  2  wrong usage\n"
    "  5  core or content could not be loaded\n"
    "  6  nothing could be written in the temporary folder, or the profile could not\n";
/* clang-format on */

#define EVERY         60  /* frames between checks */
#define ON_FRAMES     600 /* played on after a join, at most */
#define OPTION_FRAMES 300
#define LEARN_FRAMES  240
#define SHOWN_RANGES  12

static const char *const titles[KL_MEASURE_MODES] = {
    [KL_MEASURE_PLAIN] = "two runs, a second apart",
    [KL_MEASURE_HOST] = "with the host's clock",
    [KL_MEASURE_HIDDEN] = "with hidden output",
    [KL_MEASURE_QUIET] = "hashed only at the end",
    [KL_MEASURE_LOAD] = "own state loaded at each check",
    [KL_MEASURE_REPLAY] = "saved, 8 frames, loaded, 8 frames again",
    [KL_MEASURE_TWICE] = "serialized twice at each check",
    [KL_MEASURE_BESIDE] = "beside a second copy, by turns",
    [KL_MEASURE_PAGES] = "astray and back by its pages",
};

struct probe {
    uint32_t frames;
    char core[4096];
    struct kl_probe_result first, run[KL_MEASURE_MODES]; /* run[PLAIN]: the second plain run */
    struct kl_measure_bytes unstable;                    /* between the two plain runs */
    struct kl_machine_setup machine;                     /* the command line's */
    struct kl_join_result join;
    struct kl_options_result options;
    struct kl_findings profile;
    const char *json;
    bool try_options, keep, learn;
    bool by_addresses; /* two runs differ, and are equal with the same addresses of memory */
    bool quiet;        /* standard output is the profile's alone */
};

static struct kl_agreement judge(const struct probe *p, enum kl_measure_mode mode) {
    bool inside = mode == KL_MEASURE_REPLAY || mode == KL_MEASURE_TWICE;
    return inside ? kl_agreement_within(&p->run[mode]) : kl_agreement_between(&p->first, &p->run[mode]);
}

/* --- the table --- */

static void cell(char *out, size_t cap, bool has, unsigned bad, unsigned compared) {
    if (!has || !compared)
        snprintf(out, cap, "-");
    else if (bad)
        snprintf(out, cap, "differs %u/%u", bad, compared);
    else
        snprintf(out, cap, "same %u", compared);
}

static void print_row(const struct probe *p, enum kl_measure_mode mode) {
    const struct kl_probe_result *r = &p->run[mode];
    char ram[32], state[32], av[32] = "-";
    if (!r->ran) {
        printf("  %-40s %s%s\n", titles[mode],
               *r->crash ? "crashed: " : "failed: ", *r->crash ? r->crash : r->error);
        return;
    }
    struct kl_agreement v = judge(p, mode);
    cell(ram, sizeof(ram), v.has_ram, v.ram_bad, v.compared);
    cell(state, sizeof(state), v.has_state, v.state_bad, v.compared);
    if (mode == KL_MEASURE_PLAIN || mode == KL_MEASURE_HOST || mode == KL_MEASURE_QUIET ||
        mode == KL_MEASURE_BESIDE || mode == KL_MEASURE_PAGES)
        cell(av, sizeof(av), true, v.av_bad, v.compared);
    printf("  %-40s %-16s %-16s %s\n", titles[mode], ram, state, av);
}

static void print_bytes(const char *what, const struct kl_measure_bytes *b, uint64_t state_bytes) {
    if (!b->count) {
        printf("  %-40s none\n", what);
        return;
    }
    printf("  %-40s %" PRIu64 " of %" PRIu64 " (%.3f %%):", what, b->count, state_bytes,
           state_bytes ? 100.0 * (double)b->count / (double)state_bytes : 0.0);
    for (unsigned i = 0; i < b->ranges && i < SHOWN_RANGES; i++) {
        if (b->range[i].from == b->range[i].to)
            printf(" %" PRIu32, b->range[i].from);
        else
            printf(" %" PRIu32 "-%" PRIu32, b->range[i].from, b->range[i].to);
    }
    printf("%s\n", b->ranges > SHOWN_RANGES ? " …" : "");
}

static void state_sizes(const struct kl_probe_result *r, uint64_t *least, uint64_t *most) {
    *least = r->checks ? r->check[0].state_bytes : 0;
    *most = *least;
    for (unsigned i = 1; i < r->checks; i++) {
        uint64_t n = r->check[i].state_bytes;
        if (n < *least) *least = n;
        if (n > *most) *most = n;
    }
}

static void print_head(const struct probe *p) {
    const struct kl_probe_result *r = &p->first;
    uint64_t least, most;
    state_sizes(r, &least, &most);
    printf("core        %s %s (%s)\ncontent     %s\n", r->name, r->version, p->core,
           p->machine.content ? p->machine.content : "none");
    printf("frames      %" PRIu32 ", a check every %d\n", p->frames, EVERY);
    if (r->figures.ram_pieces)
        printf("system RAM  %" PRIu64 " bytes in %u piece%s\n", r->figures.ram_bytes, r->figures.ram_pieces,
               r->figures.ram_pieces == 1 ? "" : "s");
    else
        printf("system RAM  not exposed\n");
    if (most == 0)
        printf("savestate   none\n");
    else if (least == most)
        printf("savestate   %" PRIu64 " bytes, constant\n", most);
    else
        printf("savestate   %" PRIu64 " to %" PRIu64 " bytes, variable\n", least, most);
    printf("time        %.1f us a frame (p99 %.0f), %.1f a serialize with its hash, %.1f an unserialize\n",
           r->figures.frame_us, r->figures.frame_p99_us, r->figures.serialize_us,
           p->run[KL_MEASURE_LOAD].figures.unserialize_us);
    printf("turned      %s\nleft        %s\n", *r->figures.turned ? r->figures.turned : "-",
           *r->figures.left ? r->figures.left : "-");
    if (*r->files) printf("files       history only: %s\n", r->files);
    putchar('\n');
}

static void print_pair(const char *what, const struct kl_comparison *c) {
    char memory[32], state[32];
    cell(memory, sizeof(memory), c->count > 1, kl_join_memory(c), c->moments);
    cell(state, sizeof(state), c->count > 0 && c->at[c->count - 1].region.len, kl_join_state(c), c->moments);
    printf("  %-40s %-16s %s\n", what, memory, state);
}

static void print_join(const struct probe *p) {
    const struct kl_join_result *r = &p->join;
    enum kl_join_verdict v = kl_join_judge(r);
    printf("  %-40s %-16s %s\n", "joining by a state", "memory", "state");
    print_pair("own state loaded, against none loaded", &r->a_b);
    print_pair("a newcomer, against none loaded", &r->a_c);
    print_pair("a newcomer, against own state loaded", &r->b_c);
    if (r->error[0]) printf("  %s\n", r->error);
    printf("\nsnapshot    %s\n", kl_join_verdict_name(v));
    if (v == KLT_JOIN_NONE || v == KLT_JOIN_UNKNOWN || !r->ran) return;
    struct kl_join_result *shown = (struct kl_join_result *)r; /* printing marks the shown parts in it */
    printf("differences on a newcomer's machine if the others load %s:\n",
           v == KLT_JOIN_ALL ? "nothing" : "their own state");
    kl_report_text(stdout, v == KLT_JOIN_ALL ? &shown->a_c : &shown->b_c, 6);
}

static void print_options(const struct kl_options_result *r, uint32_t frames) {
    unsigned none = 0;
    printf("\noptions     %u other values, %" PRIu32 " frames each\n", r->count, frames);
    if (r->error[0]) printf("  %s\n", r->error);
    for (unsigned i = 0; i < r->count; i++) {
        const struct kl_probed_value *v = &r->at[i];
        none += v->effect == KLT_EFFECT_NONE;
        if (v->effect == KLT_EFFECT_BROKEN) printf("  %s=%s: does not run\n", v->key, v->value);
        if (v->effect == KLT_EFFECT_GAME || v->effect == KLT_EFFECT_STATE)
            printf("  %s=%s: changes %s, first in frame %" PRIu32 "\n", v->key, v->value,
                   v->effect == KLT_EFFECT_GAME ? "the game" : "the state only", v->frame);
    }
    printf("  %u change nothing", none);
    if (r->left_out) printf("; %u were left out", r->left_out);
    printf("\n");
}

static void print_table(const struct probe *p) {
    uint64_t least, most;
    state_sizes(&p->first, &least, &most);
    print_head(p);
    printf("  %-40s %-16s %-16s %s\n", "", "RAM", "state", "picture, sound");
    for (int mode = 0; mode < KL_MEASURE_MODES; mode++)
        print_row(p, (enum kl_measure_mode)mode);
    printf("\n");
    print_bytes("unstable bytes between runs", &p->unstable, most);
    print_bytes("… after a load and 8 frames", &p->run[KL_MEASURE_REPLAY].figures.unstable, most);
    print_bytes("… between two serializes", &p->run[KL_MEASURE_TWICE].figures.unstable, most);
    printf("\n");
    if (most) print_join(p);
    if (p->try_options) print_options(&p->options, OPTION_FRAMES);
    printf("\n");
}

/* --- the verdict --- */

static bool bad(const struct probe *p, enum kl_measure_mode mode) {
    struct kl_agreement v = judge(p, mode);
    return !p->run[mode].ran || v.ram_bad || v.state_bad;
}

static struct kl_profile_room in_rooms; /* large */

static void note(const char *text) {
    printf("note: %s\n", text);
}

/* Bytes of the state differ, and make no mask. */
static bool maskless(const struct probe *p) {
    bool differ =
        p->unstable.count || (p->profile.join && kl_join_judge(p->profile.join) == KLT_JOIN_STATE_ONLY);
    kl_findings_room(&p->profile, &in_rooms);
    return differ && !in_rooms.mask.count;
}

static void print_rooms(const struct probe *p) {
    kl_findings_room(&p->profile, &in_rooms);
    printf("in rooms    %" PRIu64 " bytes of the state masked, %s; %s; hidden frames %s; a hash "
           "every %u frames\n",
           kl_mask_bytes(&in_rooms.mask),
           in_rooms.states_equal ? "states count like RAM" : "states alone count less than RAM",
           in_rooms.no_snapshots ? "no snapshots"
           : in_rooms.load_own   ? "at a snapshot all machines load"
                                 : "at a snapshot only the newcomer loads",
           in_rooms.show_all ? "shown to the core" : "hidden", in_rooms.hash_every);
    printf("ahead       %s%s\n",
           *p->profile.no_ahead ? "no running ahead of the lock: "
           : p->profile.pages   ? "possible, and goes back by the pages of its memory"
                                : "possible, and goes back by savestates",
           p->profile.no_ahead);
}

static void print_notes(const struct probe *p) {
    const struct kl_findings *f = &p->profile;
    enum kl_join_verdict snapshot = kl_join_judge(&p->join);
    if (p->first.figures.left[0]) note("some facts of the host reach it, see \"left\"");
    if (p->first.files[0])
        note("its files are no part of a state, see \"files\": newcomers run the whole history");
    if (p->first.figures.rand && kl_rand_use(p->first.name, p->machine.content) == KL_RAND_SYSTEM)
        note("it asks for rand(), which has 31 bits on Linux and 15 on Windows, and its use is unknown: no "
             "room of both systems");
    if (f->reads_clock) note("it reads the clock: equal only with the virtual clock, which rooms have");
    if (f->hidden_changes)
        note("hidden output changes its state: KEYLOCK_HIDE=off at the host makes it equal everywhere");
    if (f->serialize_changes || f->serialize_marks)
        note(f->serialize_changes
                 ? "serializing changes the game: hash at the same frames everywhere (rooms do)"
                 : "serializing changes the state, not the game: hash at the same frames everywhere (rooms "
                   "do)");
    if (f->twice_differs) note("two serializes of one frame differ");
    if (maskless(p))
        note(f->state_least == f->state_most
                 ? "over 1 % of the state is unstable: too much for a mask"
                 : "its state changes its size: no mask can be made of offsets in it");
    if (!f->state_most) note("no savestate: rooms cannot heal, and latecomers run the whole history");
    if (snapshot == KLT_JOIN_ALL)
        note("loading a state leaves a trace: at a snapshot all machines load their own, so that a newcomer "
             "is equal");
    if (snapshot == KLT_JOIN_STATE_ONLY)
        note("a newcomer by a state plays the same game, but some bytes of the state differ, whichever "
             "machines load");
    if (f->state_most && snapshot == KLT_JOIN_HISTORY)
        note("the state does not hold the whole core: a newcomer by a state plays another game; only the "
             "history works");
}

__attribute__((format(__printf__, 3, 4))) static void decide(struct probe *p, bool fit, const char *format,
                                                             ...) {
    KL_FORMAT(p->profile.verdict, sizeof(p->profile.verdict), format);
    p->profile.fit = fit;
}

static void find_verdict(struct probe *p) {
    struct kl_agreement twin = judge(p, KL_MEASURE_PLAIN), hidden = judge(p, KL_MEASURE_HIDDEN);
    bool masked = kl_findings_maskable(&p->profile, p->unstable.count) && p->unstable.count;
    if (!p->run[KL_MEASURE_PLAIN].ran)
        decide(p, false, "its second run did not finish");
    else if (twin.compared == 0)
        decide(p, false, "there was nothing to compare");
    else if (twin.ram_bad)
        decide(p, false, "RAM differs between two runs of the same input%s",
               p->by_addresses ? ", by addresses of memory" : "");
    else if (!twin.has_ram && !twin.has_state && twin.av_bad)
        decide(p, false, "picture or sound differs between two runs");
    else if (!twin.has_ram && twin.state_bad && !masked)
        decide(p, false, "state differs between two runs, in too many bytes for a mask");
    else if (!p->run[KL_MEASURE_HIDDEN].ran)
        decide(p, false, "it does not run with hidden output");
    else if (hidden.ram_bad || (!hidden.has_ram && hidden.state_bad > twin.state_bad))
        decide(
            p, false,
            "hidden output changes the game (fit where no output is hidden: KEYLOCK_HIDE=off at the host)");
    else if (twin.state_bad && !masked)
        decide(p, true, "by its RAM; its state differs in too many bytes to be compared");
    else
        decide(p, true, "%s", twin.state_bad ? "with a mask of the unstable bytes" : "");
}

/* Whether a second copy may play ahead of the lock in the same process. */
static void find_ahead(struct probe *p) {
    const struct kl_probe_result *r = &p->run[KL_MEASURE_BESIDE];
    struct kl_agreement v = judge(p, KL_MEASURE_BESIDE), twin = judge(p, KL_MEASURE_PLAIN);
    char *out = p->profile.no_ahead;
    size_t cap = sizeof(p->profile.no_ahead);
    bool state_bad = !v.has_ram && v.state_bad > twin.state_bad;
    if (!p->profile.state_most)
        snprintf(out, cap, "the core gives no savestates");
    else if (*r->crash)
        snprintf(out, cap, "a second copy in the process crashes: %s", r->crash);
    else if (!r->ran)
        snprintf(out, cap, "%.*s", (int)cap - 1, r->error);
    else if (v.ram_bad || state_bad)
        snprintf(out, cap, "a second copy in the process changes the first, in %u of %u checks",
                 v.ram_bad ? v.ram_bad : v.state_bad, v.compared);
}

/* Whether that copy may go back by the pages of its memory: nothing of the game may differ. */
static void find_pages(struct probe *p) {
    struct kl_agreement v = judge(p, KL_MEASURE_PAGES), twin = judge(p, KL_MEASURE_PLAIN);
    p->profile.pages = p->run[KL_MEASURE_PAGES].ran && v.compared && !v.ram_bad && v.av_bad <= twin.av_bad &&
                       (v.has_ram || v.state_bad <= twin.state_bad);
}

static void fill_profile(struct probe *p) {
    struct kl_findings *f = &p->profile;
    struct kl_agreement host = judge(p, KL_MEASURE_HOST), hidden = judge(p, KL_MEASURE_HIDDEN);
    f->run = &p->first;
    state_sizes(&p->first, &f->state_least, &f->state_most);
    static struct kl_facts facts;
    facts.count = 0;
    kl_identity_core(&facts, &(struct retro_system_info){.library_name = p->first.name,
                                                         .library_version = p->first.version});
    snprintf(f->core, sizeof(f->core), "%s", facts.fact[0].value);
    snprintf(f->content, sizeof(f->content), "none");
    if (p->machine.content) kl_identity_hash_file(p->machine.content, f->content, sizeof(f->content));
    f->reads_clock = host.ram_bad || host.state_bad;
    f->hidden_changes = !p->run[KL_MEASURE_HIDDEN].ran || hidden.ram_bad ||
                        hidden.state_bad > judge(p, KL_MEASURE_PLAIN).state_bad;
    struct kl_agreement quiet = judge(p, KL_MEASURE_QUIET);
    f->serialize_marks = quiet.has_ram && !quiet.ram_bad && quiet.state_bad;
    f->serialize_changes = bad(p, KL_MEASURE_QUIET) && !f->serialize_marks;
    f->twice_differs = bad(p, KL_MEASURE_TWICE);
    for (int mode = 0; mode < KL_MEASURE_MODES; mode++)
        f->runs[mode] = judge(p, (enum kl_measure_mode)mode);
    f->unstable = &p->unstable;
    f->load_back_bytes = p->run[KL_MEASURE_REPLAY].figures.unstable.count;
    f->join = f->state_most ? &p->join : NULL;
    f->options = p->try_options ? &p->options : NULL;
    find_ahead(p);
    find_pages(p);
    find_verdict(p);
}

static int write_profile(const struct probe *p) {
    char err[KLT_ERR];
    json_object *j = kl_findings_json(&p->profile);
    if (p->quiet)
        return kl_report_put(stdout, j) == 0 ? 0
                                             : tool_fail(KLT_OUTPUT, "probe", "cannot write standard output");
    return kl_report_write(p->json, j, err, sizeof(err)) == 0 ? 0 : tool_fail(KLT_OUTPUT, "probe", "%s", err);
}

/* The place in which KEYLOCK_PROFILE finds a profile of this content. */
static int find_place(const struct probe *p, const char *content, char *path, size_t cap) {
    char dir[KL_FILE_PATH], name[KL_PROFILE_NAME_MAX], err[KLT_ERR];
    if (kl_state_folder("profiles", dir, err, sizeof(err)) != 0 ||
        kl_dir_make(dir, true, err, sizeof(err)) != 0)
        return tool_fail(-1, "probe", "%s", err);
    kl_profile_name(name, p->profile.core, content);
    snprintf(path, cap, "%s/%s", dir, name);
    return 0;
}

static char kept[KL_FILE_PATH + KL_PROFILE_NAME_MAX];

static int keep_profile(struct probe *p) {
    char err[KLT_ERR];
    if (find_place(p, p->profile.content, kept, sizeof(kept)) != 0) return -1;
    if (kl_report_write(kept, kl_findings_json(&p->profile), err, sizeof(err)) != 0)
        return tool_fail(-1, "probe", "%s", err);
    if (!p->quiet) printf("kept as %s\n", kept);
    return 0;
}

/* For all games of the core, beside the findings of earlier games. */
static int keep_for_core(struct probe *p) {
    static struct kl_profile before; /* large */
    char any[KL_FACT_VAL_MAX], err[KLT_ERR];
    const struct kl_findings *f = &p->profile;
    bool constant = f->state_least == f->state_most;
    kl_findings_room(f, &in_rooms);
    in_rooms.states_equal = in_rooms.no_snapshots = false; /* a game may say so, not a core */
    kl_profile_any(any, constant ? f->state_most : 0);
    if (find_place(p, any, kept, sizeof(kept)) != 0) return -1;
    if (kl_profile_read(&before, kept, err, sizeof(err)) == 0 &&
        kl_profile_fits(&before, f->core, any, err, sizeof(err))) {
        kl_profile_any_add(&before.room, &in_rooms);
        in_rooms = before.room;
        if (!*f->no_ahead) memcpy(p->profile.no_ahead, before.no_ahead, sizeof(before.no_ahead));
        p->profile.pages &= before.pages;
    }
    if (kl_report_write(kept, kl_findings_any_json(f, &in_rooms), err, sizeof(err)) != 0)
        return tool_fail(-1, "probe", "%s", err);
    if (!p->quiet) printf("kept for the core as %s\n", kept);
    return 0;
}

static int tell(struct probe *p) {
    const struct kl_findings *f = &p->profile;
    fill_profile(p);
    if (!p->quiet && !p->learn) {
        print_table(p);
        print_rooms(p);
        print_notes(p);
        printf("verdict: %sfit for locking%s%s\n", f->fit ? "" : "not ",
               !*f->verdict ? ""
               : f->fit     ? ", "
                            : ": ",
               f->verdict);
    }
    if (p->json && write_profile(p) != 0) return KLT_OUTPUT;
    if (p->keep && keep_profile(p) != 0) return KLT_OUTPUT;
    if ((p->keep || p->learn) && keep_for_core(p) != 0) return KLT_OUTPUT;
    return f->fit ? 0 : 1;
}

/* --- the runs --- */

/* Two more runs, if two have differed. Then addresses of memory are among what is left. */
static void try_addresses(struct probe *p) {
    struct kl_agreement twin = judge(p, KL_MEASURE_PLAIN);
    if (!(twin.ram_bad || twin.state_bad || twin.av_bad) || p->learn || kl_process_stopped()) return;
    struct kl_machine_setup setup = p->machine;
    struct kl_probe_result *two = calloc(2, sizeof *two); /* large */
    setup.same_addresses = true;
    for (unsigned i = 0; two && i < 2; i++) {
        if (kl_process_has_terminal()) fputs("\r\x1b[Kwith the same addresses …", stderr);
        kl_probe_run(&two[i], &setup, KL_MEASURE_PLAIN, 2 + i, p->frames, EVERY, false);
    }
    struct kl_agreement v = two ? kl_agreement_between(&two[0], &two[1]) : (struct kl_agreement){0};
    char *left = p->first.figures.left;
    size_t used = strlen(left);
    p->by_addresses = v.compared && !v.ram_bad && v.state_bad < twin.state_bad + (twin.ram_bad > 0) &&
                      v.av_bad <= twin.av_bad;
    if (p->by_addresses)
        snprintf(left + used, sizeof(p->first.figures.left) - used, "%saddresses (of its memory)",
                 used ? " " : "");
    for (unsigned i = 0; two && i < 2; i++)
        kl_probe_free(&two[i]);
    free(two);
}

static int run_all(struct probe *p) {
    kl_probe_run(&p->first, &p->machine, KL_MEASURE_PLAIN, 0, p->frames, EVERY, true);
    if (!p->first.ran) {
        const struct kl_probe_result *r = &p->first;
        if (!*r->crash && r->code != KLT_FAILED)
            return tool_fail(r->code ? r->code : KLT_FAILED, "probe", "%s", r->error);
        const char *why = *r->crash ? r->crash : "it does not finish";
        if (*r->error) fprintf(stderr, "keylock probe: %s\n", r->error);
        printf("verdict: not fit for locking: %s\n", why);
        return 1;
    }
    /* into another second of the host's clock */
    kl_sleep_us(1100000);
    for (int mode = 0; mode < KL_MEASURE_MODES && !kl_process_stopped(); mode++) {
        bool brief = mode == KL_MEASURE_PLAIN || mode == KL_MEASURE_HIDDEN || mode == KL_MEASURE_BESIDE ||
                     mode == KL_MEASURE_PAGES;
        if (p->learn && !brief) continue;
        if (kl_process_has_terminal()) fprintf(stderr, "\r\x1b[K%s …", titles[mode]);
        kl_probe_run(&p->run[mode], &p->machine, (enum kl_measure_mode)mode, 1, p->frames, EVERY,
                     mode == KL_MEASURE_PLAIN);
    }
    if (kl_process_has_terminal()) fputs("\r\x1b[Kjoining by a state …\r", stderr);
    uint32_t half = p->frames / 2, on = half < ON_FRAMES ? half : ON_FRAMES;
    if (p->first.checks && p->first.check[0].hash.has_state && !kl_process_stopped())
        kl_join_run(&p->join, &p->machine, p->frames, on);
    if (kl_process_has_terminal()) fputs("\r\x1b[K", stderr);
    try_addresses(p);
    if (p->try_options && !kl_process_stopped()) kl_options_probe(&p->options, &p->machine, OPTION_FRAMES);
    if (kl_process_stopped()) return tool_fail(KLT_FAILED, "probe", "interrupted");
    kl_probe_compare_states(&p->unstable, &p->first, &p->run[KL_MEASURE_PLAIN]);
    return tell(p);
}

static int probe(struct probe *p) {
    int code = run_all(p);
    kl_probe_free(&p->first);
    for (int mode = 0; mode < KL_MEASURE_MODES; mode++)
        kl_probe_free(&p->run[mode]);
    kl_join_free(&p->join);
    kl_options_result_free(&p->options);
    return code;
}

static bool take_learn(const struct kl_row *row, void *probe, const char *text, char why[KL_ROW_TEXT]) {
    struct probe *p = probe;
    (void)row, (void)text, (void)why;
    p->learn = true;
    p->frames = LEARN_FRAMES;
    return true;
}

#define KL_ROWS_OF struct probe

static const struct kl_row rows[] = {
    KL_ROW_NUMBER("frames", "N", frames, 10, 10000000, "frames of each run", .standard = "1800"),
    KL_ROW_STRING("input", "SOURCE", machine.input, "the input, as for keylock run", .standard = "random:1"),
    KL_ROW_SWITCH("options", try_options,
                  "tries each value of each core option, in a run of 300 frames: which change the game?"),
    KL_ROW_PATH("json", "FILE", json,
                "writes the profile as a JSON object (-: to standard output, and nothing else there)"),
    KL_ROW_SWITCH("keep", keep, "keeps the profile for the rooms that are made on this machine"),
    {.name = "learn",
     .take = take_learn,
     .help = "a short probe in the background: keeps what a load changes for all games of the core"},
    {.name = NULL},
};

int cmd_probe(int argc, char **argv) {
    static const struct kl_table tables[] = {
        {kl_machine_rows, KLT_OF_PROBE, offsetof(struct probe, machine), 0, NULL},
        {.rows = rows},
        {.rows = NULL}};
    static struct probe state; /* large, and zero */
    struct probe *p = &state;
    char err[KLT_ERR];
    p->machine.ports = 2;
    tool_parse(argc, argv, false, tables, p);
    p->quiet = p->json && strcmp(p->json, "-") == 0;
    if (!p->machine.core) return tool_usage("expected --core NAME_OR_PATH, got none");
    if (optind < argc) return tool_usage("expected options only, got \"%s\"", argv[optind]);
    if (tool_find_core(p->machine.core, p->core, sizeof(p->core), err, sizeof(err)) != 0)
        return tool_fail(KLT_LOAD, "probe", "%s", err);
    p->machine.core = p->core;
    if (p->learn) kl_process_yield();
    kl_process_catch_stop();
    return probe(p);
}
