#include "net/platform/process.h"
#include "core_wrapper/tool/common/tool.h"

#include "net/engine/facts.h"
#include "net/platform/buffer.h"
#include "net/platform/clock.h"
#include "core_wrapper/tool/desync/bisect.h"
#include "core_wrapper/tool/common/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off: a line here is a line there */
const char cmd_bisect_help[] =
    "Usage: keylock bisect A B --core NAME_OR_PATH --content FILE [OPTIONS]\n"
    "       keylock bisect --a \"OPTIONS\" --b \"OPTIONS\" [OPTIONS]\n"
    "\n"
    "Finds the first frame in which two runs part, and the memory and bytes that differ there. A and B are "
    "recordings\n"
    "(keylock run --record, KEYLOCK_RECORD) or files of hashes (--hash-out) of two machines. Recordings run "
    "again here from\n"
    "power-on with their own inputs, each side in a process of its own.\n"
    "\n"
    "  --a, --b \"…\"     the options of that side alone, in one word, e. g. --b \"--option speed=fast\"\n"
    "  --core NAME_OR_PATH, --content FILE, --input SOURCE, --seats K, --system DIR, --save DIR, --option "
    "KEY=VALUE,\n"
    "  --device PORT:ID, --clock virtual|host, --epoch SECONDS, --corrupt FRAME[:[state:]OFFSET]\n"
    "                   as for keylock run\n"
    "  --recording FILE takes inputs, options, epoch and devices from FILE; the run must repeat its hashes\n"
    "  --hashes FILE    the hashes of another machine, which does not run here\n"
    "  --states DIR     the states that this side kept (keylock run --states). If running it again does not "
    "show the same,\n"
    "                   the first state after the parting is compared\n"
    "  --frames N       frames to compare (default: as long as the recordings or hashes are, else 3600)\n"
    "  --hash-every H   without recordings: hashes of the state during the search (default 60)\n"
    "  --lines K        shows K ranges of each memory (default 16, in JSON all; 0: all)\n"
    "  --json           prints a JSON object instead of text\n"
    "\n"
    "Exit status:\n"
    "  0  equal in all frames that both sides have\n"
    "  1  the two sides part\n"
    "  2  wrong usage; a file, core or content cannot be read; nothing to compare\n";
/* clang-format on */

enum { BISECT_EQUAL = 0, BISECT_PART = 1, BISECT_FAILED = 2 };
#define LINES_DEFAULT 16
#define NOT_SAID      UINT64_MAX
#define NOTES         16
#define WORDS_MAX     100 /* of --a or --b */
#define NOTE_TEXT     600
#define NEVER         UINT32_MAX

struct bisect {
    struct kl_side side[2], common; /* common: of the options outside --a and --b */
    const char *words[2];           /* of --a and --b */
    uint64_t frames, every, lines;
    bool json;
    uint8_t *what;                                  /* by frame: the hashes that are taken */
    bool knows_states;                              /* the known hashes include hashes of states */
    uint32_t shared, first, ram_first, equal_until; /* frames; equal_until: whole and equal below it */
    bool exact;                                     /* first is the very frame */
    uint32_t looked;                                /* the frame that was blamed; NEVER: none */
    struct kl_comparison found;
    char note[NOTES][NOTE_TEXT];
    unsigned notes;
};

__attribute__((format(__printf__, 2, 3))) static void note(struct bisect *b, const char *format, ...) {
    if (b->notes == NOTES) return;
    KL_FORMAT(b->note[b->notes++], NOTE_TEXT, format);
}

/* --- differences of the recordings --- */

static void note_text(struct bisect *b, const char *what, const char *x, const char *y) {
    size_t n = kl_fact_length(x), m = kl_fact_length(y);
    if (*x && *y && (n != m || strncmp(x, y, n) != 0)) note(b, "%s differs: A %.200s, B %.200s", what, x, y);
}

static const char *recorded_option(const struct kl_recording *r, const char *key, size_t len) {
    for (unsigned i = 0; i < r->options; i++)
        if (strncmp(r->option[i], key, len + 1) == 0) return r->option[i] + len + 1;
    return NULL;
}

static void note_deeds(struct bisect *b, const struct kl_side *s) {
    for (unsigned i = 0; i < s->rec.deeds; i++) {
        const struct kl_recorded_deed *d = &s->rec.deed[i];
        if (d->kind == KL_DEED_ALIEN)
            note(b, "%c was changed before frame %" PRIu32 " by what its recording does not hold: %.300s",
                 s->letter, d->frame, d->text);
        if (d->kind == KL_DEED_FLIP)
            note(b, "in %c a desync was planted before frame %" PRIu32 ", at offset %.20s", s->letter,
                 d->frame, d->text);
        if (d->kind == KL_DEED_COMMAND && strncmp(d->text, "disk ", 5) == 0)
            note(b, "%c swaps disks at frame %" PRIu32 ", which cannot be run again here", s->letter,
                 d->frame);
    }
}

static void note_inputs(struct bisect *b) {
    struct kl_recording *x = &b->side[0].rec, *y = &b->side[1].rec;
    uint32_t frames = x->frames < y->frames ? x->frames : y->frames;
    for (uint32_t f = 0; f < frames; f++) {
        const struct kl_input *p = kl_recording_at(x, f), *q = kl_recording_at(y, f);
        for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
            if (kl_input_equal(&p[s], &q[s])) continue;
            note(b, "inputs differ first at frame %" PRIu32 ", seat %u: pad %04x in A, %04x in B", f, s,
                 p[s].joypad, q[s].joypad);
            return;
        }
    }
}

static void note_recordings(struct bisect *b) {
    const struct kl_recording *x = &b->side[0].rec, *y = &b->side[1].rec;
    if (b->side[0].setup.recording && b->side[1].setup.recording) {
        note_text(b, "core", x->core, y->core);
        note_text(b, "content", x->content, y->content);
        if (x->head.epoch_s != y->head.epoch_s)
            note(b, "epoch differs: A %" PRIu64 ", B %" PRIu64, x->head.epoch_s, y->head.epoch_s);
        for (unsigned i = 0; i < x->options; i++) {
            size_t len = strcspn(x->option[i], "=");
            const char *there = recorded_option(y, x->option[i], len);
            if (!there || strcmp(there, x->option[i] + len + 1) != 0)
                note(b, "option %.*s differs: A %.100s, B %.100s", (int)len, x->option[i],
                     x->option[i] + len + 1, there ? there : "none");
        }
        note_inputs(b);
    }
    for (unsigned i = 0; i < 2; i++)
        if (*b->side[i].rec.damage)
            note(b, "%c's recording is used up to its %.200s", b->side[i].letter, b->side[i].rec.damage);
    note_deeds(b, &b->side[0]);
    note_deeds(b, &b->side[1]);
}

/* --- the search --- */

static uint32_t last_known(const struct kl_side *s) {
    return s->knowns ? s->known[s->knowns - 1].frame + 1 : NEVER;
}

/* Plans as many frames as there are hashes to compare with. States are serialized at the same frames as in
 * the known runs, because serializing changes some cores. */
static int plan(struct bisect *b) {
    const struct kl_side *x = &b->side[0], *y = &b->side[1];
    uint32_t frames = last_known(x) < last_known(y) ? last_known(x) : last_known(y);
    if (frames == NEVER) frames = 3600;
    if (b->frames && (b->frames < frames || (!x->knowns && !y->knowns))) frames = (uint32_t)b->frames;
    b->frames = frames;
    b->what = calloc(frames ? frames : 1, 1);
    if (!b->what) return tool_fail(-1, "bisect", "out of memory");
    for (unsigned i = 0; i < 2; i++)
        for (unsigned k = 0; k < b->side[i].knowns; k++)
            if (b->side[i].known[k].has_state && b->side[i].known[k].frame < frames) {
                b->what[b->side[i].known[k].frame] = KLT_HASH_FULL;
                b->knows_states = true;
            }
    for (uint32_t f = 0; !x->knowns && !y->knowns && f < frames; f++)
        if ((f + 1) % b->every == 0 || f + 1 == frames) b->what[f] = KLT_HASH_FULL;
    return 0;
}

static void progress(const struct bisect *b, uint32_t frame) {
    static uint64_t next_us;
    if (!kl_process_has_terminal() || kl_now_us() < next_us) return;
    next_us = kl_now_us() + 250000;
    fprintf(stderr, "\rframe %" PRIu32 " of %" PRIu64 "\x1b[K", frame, b->frames);
}

/* All was compared that ever is: RAM alone says nothing of the rest of the machine. */
static bool whole(const struct bisect *b, uint32_t f, const struct kl_hashline *x,
                  const struct kl_hashline *y) {
    if (x->has_state || y->has_state) return x->has_state && y->has_state;
    return !b->knows_states && (b->what[f] == KLT_HASH_FULL || b->side[0].knowns || b->side[1].knowns);
}

/* Finds the first frame that differs, by the known hashes of each side, else by its run here. Looks on until
 * RAM differs, too. */
static void judge(struct bisect *b, uint32_t from, uint32_t to, unsigned next[2]) {
    for (uint32_t f = from; f < to && b->ram_first == NEVER; f++) {
        const struct kl_hashline *x = kl_side_known(&b->side[0], f, &next[0]),
                                 *y = kl_side_known(&b->side[1], f, &next[1]);
        if (!x || !y || (!(x->has_ram && y->has_ram) && !(x->has_state && y->has_state))) continue;
        unsigned parts = kl_lines_part(x, y);
        b->shared++;
        if (parts & KLT_PART_RAM) b->ram_first = f;
        if (parts && b->first == NEVER) b->first = f;
        if (b->first == NEVER && whole(b, f, x, y)) b->equal_until = f + 1;
    }
}

static int run_all(struct bisect *b) {
    unsigned next[2] = {0, 0};
    bool stop = false;
    for (unsigned i = 0; i < 2; i++)
        if (b->side[i].runs && kl_side_start(&b->side[i]) != 0) return -1;
    for (uint32_t at = 0; at < b->frames && !stop;) {
        uint32_t to = b->frames - at < KLT_MACHINE_BATCH ? (uint32_t)b->frames : at + KLT_MACHINE_BATCH;
        for (unsigned i = 0; i < 2; i++)
            if (b->side[i].runs && kl_side_run(&b->side[i], to, b->what) != 0) return -1;
        judge(b, at, to, next);
        stop = b->ram_first != NEVER;
        progress(b, to);
        if (kl_process_stopped()) return tool_fail(-1, "bisect", "interrupted");
        at = to;
    }
    if (kl_process_has_terminal()) fputs("\r\x1b[K", stderr);
    return 0;
}

/* Checks that a run here repeats the known hashes, up to the frame in which the two sides part. */
static void check_replay(struct bisect *b, struct kl_side *s) {
    for (unsigned k = 0; s->runs && k < s->knowns && s->known[k].frame < s->lines; k++) {
        uint32_t f = s->known[k].frame;
        if (b->first != NEVER && f > b->first) return;
        if (!kl_lines_part(&s->known[k], &s->line[f])) continue;
        note(b,
             "%c, run again here, does not give its own hashes from frame %" PRIu32
             " on: what happened there is not in "
             "its recording or configuration",
             s->letter, f);
        s->runs = false;
    }
}

/* --- the very frame --- */

static int look_both(struct bisect *b, uint32_t frame) {
    struct kl_dump d[2] = {0};
    char err[KLT_ERR];
    int result = 0;
    for (unsigned i = 0; result == 0 && i < 2; i++)
        result = kl_machine_look(&b->side[i].machine, &d[i], err, sizeof(err));
    if (result == 0) result = kl_comparison_add(&b->found, &d[0], &d[1], frame, err, sizeof(err));
    kl_dump_free(&d[0]);
    kl_dump_free(&d[1]);
    if (result != 0) return tool_fail(-1, "bisect", "%s", err);
    b->looked = frame;
    return 0;
}

static int run_both(struct bisect *b, uint32_t to) {
    for (unsigned i = 0; i < 2; i++)
        while (b->side[i].machine.frame < to) {
            uint32_t at = b->side[i].machine.frame;
            if (kl_side_run(&b->side[i], to - at > KLT_MACHINE_BATCH ? at + KLT_MACHINE_BATCH : to,
                            b->what) != 0)
                return -1;
        }
    return 0;
}

/* Both again from power-on, as before to the last frame that was equal, then each frame by itself. */
static int refine(struct bisect *b) {
    uint32_t last = b->first;
    for (unsigned i = 0; i < 2; i++)
        if (kl_side_start(&b->side[i]) != 0) return -1;
    if (run_both(b, b->equal_until) != 0) return -1;
    for (uint32_t f = b->equal_until; f <= last; f++) {
        b->what[f] = KLT_HASH_FULL;
        if (run_both(b, f + 1) != 0) return -1;
        unsigned parts = kl_lines_part(&b->side[0].line[f], &b->side[1].line[f]);
        if (!parts && f < last) continue;
        if (!parts)
            note(b,
                 "with its state hashed after each frame they no longer part: serializing changes the game");
        b->exact = parts != 0;
        b->first = f;
        if ((parts & KLT_PART_RAM) && f < b->ram_first) b->ram_first = f;
        return look_both(b, f);
    }
    return 0;
}

/* --- states of another machine --- */

/* Makes the machine of side i stand at that frame: from its state, or by running there. */
static int stand_at(struct bisect *b, unsigned i, uint32_t frame, const char *path) {
    struct kl_side *s = &b->side[i];
    struct kl_statefile state;
    char err[KLT_ERR];
    if (kl_side_start(s) != 0) return -1;
    if (!path) {
        while (s->machine.frame <= frame) {
            uint32_t at = s->machine.frame;
            if (kl_side_run(s, frame + 1 - at > KLT_MACHINE_BATCH ? at + KLT_MACHINE_BATCH : frame + 1,
                            b->what) != 0)
                return -1;
        }
        return 0;
    }
    if (kl_side_run(s, 1, b->what) != 0) return -1;
    int result = kl_statefile_read(&state, path, err, sizeof(err));
    if (result == 0) {
        result = kl_machine_load(&s->machine, &state, frame + 1, err, sizeof(err));
        kl_statefile_free(&state);
    }
    return result == 0 ? 0 : tool_fail(-1, "bisect", "side %c: %s: %s", s->letter, path, err);
}

/* Side i cannot be run to the frame of the parting: compares its kept state with the other side's. */
static int blame_kept(struct bisect *b, unsigned i) {
    char path[2][4352];
    uint32_t frame, other;
    struct kl_side *s = &b->side[i], *o = &b->side[1 - i];
    if (!s->states || !kl_series_from(s->states, b->first, &frame, path[i], sizeof(path[i]))) {
        note(b,
             "what differs in %c is told by the state that it kept: --%c \"--states DIR\", with one of frame "
             "%" PRIu32 " or later",
             s->letter, s->letter - 'A' + 'a', b->first);
        return 0;
    }
    bool kept = o->states && kl_series_from(o->states, frame, &other, path[1 - i], sizeof(path[1 - i])) &&
                other == frame;
    if ((!o->runs && !kept) || frame >= b->frames) return 0;
    if (!s->setup.core) s->setup = o->setup;
    if (stand_at(b, i, frame, path[i]) != 0) return -1;
    if (stand_at(b, 1 - i, frame, o->runs ? NULL : path[1 - i]) != 0) return -1;
    return look_both(b, frame);
}

static int name_cause(struct bisect *b) {
    check_replay(b, &b->side[0]);
    check_replay(b, &b->side[1]);
    b->exact = b->equal_until == b->first;
    if (b->side[0].runs && b->side[1].runs) return refine(b);
    return blame_kept(b, b->side[1].runs ? 0 : 1);
}

/* --- telling --- */

static void tell_text(struct bisect *b) {
    for (unsigned i = 0; i < b->notes; i++)
        printf("note: %s\n", b->note[i]);
    if (b->first == NEVER) {
        printf("equal at %" PRIu32 " frames, to frame %" PRIu64 "\n", b->shared, b->frames - 1);
        return;
    }
    if (b->exact)
        printf("the sides part in frame %" PRIu32 "\n", b->first);
    else
        printf("the sides part between frames %" PRIu32 " and %" PRIu32
               ": nothing between was hashed on both sides\n",
               b->equal_until, b->first);
    if (b->ram_first != NEVER && b->ram_first != b->first)
        printf("RAM parts in frame %" PRIu32 "\n", b->ram_first);
    if (b->looked == NEVER) return;
    printf("after frame %" PRIu32 ":\n", b->looked);
    kl_report_text(stdout, &b->found, (unsigned)b->lines);
}

static void add_frame(json_object *j, const char *key, uint32_t frame) {
    json_object_object_add(j, key, frame != NEVER ? json_object_new_int64(frame) : NULL);
}

static int tell_json(struct bisect *b) {
    json_object *j = json_object_new_object(), *notes = json_object_new_array();
    json_object_object_add(j, "equal", json_object_new_boolean(b->first == NEVER));
    json_object_object_add(j, "compared", json_object_new_int64(b->shared));
    add_frame(j, "frame", b->first);
    json_object_object_add(j, "exact", json_object_new_boolean(b->first != NEVER && b->exact));
    add_frame(j, "equal_until", b->first != NEVER ? b->equal_until : NEVER);
    add_frame(j, "ram_frame", b->ram_first);
    add_frame(j, "looked_at", b->looked);
    if (b->looked != NEVER)
        json_object_object_add(j, "memories", kl_report_json(&b->found, (unsigned)b->lines));
    for (unsigned i = 0; i < b->notes; i++)
        json_object_array_add(notes, json_object_new_string(b->note[i]));
    json_object_object_add(j, "notes", notes);
    return kl_report_put(stdout, j);
}

static int bisect(struct bisect *b) {
    if (kl_side_open(&b->side[0]) != 0 || kl_side_open(&b->side[1]) != 0) return BISECT_FAILED;
    note_recordings(b);
    if (plan(b) != 0 || run_all(b) != 0) return BISECT_FAILED;
    if (b->shared == 0)
        return tool_fail(BISECT_FAILED, "bisect",
                         "the two sides have no hashed frame in common: use the same --hash-every");
    if (b->first != NEVER && name_cause(b) != 0) return BISECT_FAILED;
    if (!b->json) tell_text(b);
    if (b->json && tell_json(b) != 0)
        return tool_fail(BISECT_FAILED, "bisect", "cannot write standard output");
    return b->first == NEVER ? BISECT_EQUAL : BISECT_PART;
}

/* --- the command line --- */

#define KL_ROWS_OF struct kl_side

static const struct kl_row side_rows[] = {KL_ROW_STRING("hashes", "FILE", hashes, NULL),
                                          KL_ROW_STRING("states", "DIR", states, NULL),
                                          {.name = NULL}};
#undef KL_ROWS_OF
#define KL_ROWS_OF struct bisect
static const struct kl_row rows[] = {
    KL_ROW_STRING("a", "OPTIONS", words[0], NULL),
    KL_ROW_STRING("b", "OPTIONS", words[1], NULL),
    KL_ROW_NUMBER("frames", "N", frames, 1, KLT_BISECT_FRAMES_MAX, NULL),
    KL_ROW_NUMBER("hash-every", "H", every, 1, 65535, NULL, .standard = "60"),
    KL_ROW_NUMBER("lines", "K", lines, 0, 1000000, NULL),
    KL_ROW_SWITCH("json", json, NULL),
    {.name = NULL}};

/* Cuts the text up in place: blanks part its words, and quotes ('…' or "…") keep them together. Returns the
 * number of words, or -1: more than max, or a quote is open. */
static int cut_words(char *text, char **word, int max) {
    char *to = text;
    for (int n = 0;; text++) {
        char quote = 0;
        text += strspn(text, " \t");
        if (!*text) return n;
        if (n == max) return -1;
        word[n++] = to;
        for (; *text && (quote || !strchr(" \t", *text)); text++) {
            bool turns = quote ? *text == quote : *text == '"' || *text == '\'';
            if (!turns)
                *to++ = *text;
            else
                quote = quote ? 0 : *text;
        }
        if (quote) return -1;
        bool last = !*text;
        *to++ = 0;
        if (last) return n;
    }
}

/* The words of --a or --b; they stay. */
static int take_words(struct kl_side *s, const char *words) {
    static char *word[2][WORDS_MAX + 2];
    char **argv = word[s->letter == 'B'], *text = words ? strdup(words) : NULL;
    if (!text) return 0;
    argv[0] = "keylock";
    int n = cut_words(text, argv + 1, WORDS_MAX);
    if (n < 0) {
        free(text);
        return tool_usage("--%c: expected options in one word, quotes closed, got \"%s\"",
                          s->letter - 'A' + 'a', words);
    }
    argv[n + 1] = NULL;
    static const struct kl_table tables[] = {
        {.rows = kl_machine_rows, .fields = offsetof(struct kl_side, setup)},
        {.rows = side_rows},
        {.rows = NULL}};
    char err[KL_ROW_TEXT];
    if (kl_tables_parse(tables, s, n + 1, argv, false, "options of one side in --a and --b", err) !=
        KL_LINE_DONE)
        return tool_usage("%s", err);
    if (optind <= n)
        return tool_usage("--%c: expected options only, got \"%s\"", s->letter - 'A' + 'a', argv[optind]);
    return 0;
}

static int parse(struct bisect *b, int argc, char **argv) {
    static const struct kl_table tables[] = {
        {.rows = kl_machine_rows, .fields = offsetof(struct bisect, common.setup)},
        {.rows = side_rows, .fields = offsetof(struct bisect, common)},
        {.rows = rows},
        {.rows = NULL}};
    tool_parse(argc, argv, false, tables, b);
    if (b->lines == NOT_SAID) b->lines = b->json ? 0 : LINES_DEFAULT;
    int named = argc - optind, first = optind;
    if (named != 0 && named != 2)
        return tool_usage("expected two recordings or files of hashes, or --a and --b, got %d name%s", named,
                          named == 1 ? "" : "s");
    if (!named && !b->words[0] && !b->words[1])
        return tool_usage("expected two recordings, or --a and --b; got neither");
    for (int i = 0; i < 2; i++) {
        b->side[i] = b->common;
        b->side[i].letter = (char)('A' + i);
        if (named) b->side[i].setup.recording = argv[first + i];
        if (take_words(&b->side[i], b->words[i]) != 0) return -1;
    }
    return 0;
}

int cmd_bisect(int argc, char **argv) {
    static struct bisect state; /* large, and zero */
    struct bisect *b = &state;
    b->lines = NOT_SAID;
    b->first = b->ram_first = b->looked = NEVER;
    if (parse(b, argc, argv) != 0) return BISECT_FAILED;
    kl_process_catch_stop();
    int code = bisect(b);
    kl_side_close(&b->side[0]);
    kl_side_close(&b->side[1]);
    kl_comparison_free(&b->found);
    free(b->what);
    return code;
}
