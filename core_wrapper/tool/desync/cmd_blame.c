#include "net/platform/process.h"
#include "core_wrapper/tool/common/tool.h"

#include "net/engine/facts.h"
#include "core_wrapper/tool/desync/machine.h"
#include "core_wrapper/tool/common/report.h"
#include "core_wrapper/tool/desync/bisect.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off: a line here is a line there */
const char cmd_blame_help[] =
    "Usage: keylock blame A.state B.state --core NAME_OR_PATH --content FILE [OPTIONS]\n"
    "       keylock blame DIR_A DIR_B --core NAME_OR_PATH --content FILE [OPTIONS]\n"
    "\n"
    "Names the memory and the bytes in which two savestates of the same frame differ, with their values. "
    "Each state is\n"
    "loaded into the core, in a process of its own. The memories that the core exposes are compared by the "
    "addresses of the\n"
    "emulated machine, then the savestates by offset. Of two folders (keylock run --states) all frames that "
    "both have are\n"
    "compared, and it is counted how often each byte differs.\n"
    "States are bare, as retro_serialize gives them, or files of RetroArch or of Keylock.\n"
    "\n"
    "  --core NAME_OR_PATH, --content FILE\n"
    "                   the core and the content of the states\n"
    "  --system DIR, --save DIR, --option KEY=VALUE, --device PORT:ID, --clock, --epoch\n"
    "                   as for keylock run\n"
    "  --frames N       runs on from both states with the same input for N frames, and compares after each "
    "(one pair only)\n"
    "  --input SOURCE   that input, as for keylock run (default none); --seats K pads (default 2)\n"
    "  --lines K        shows K ranges of each memory (default 16, in JSON all; 0: all)\n"
    "  --json           prints a JSON object instead of text\n"
    "\n"
    "Exit status:\n"
    "  0  equal\n"
    "  1  the states differ\n"
    "  2  wrong usage; a state, core or content cannot be loaded\n";
/* clang-format on */

#define LINES_DEFAULT 16
#define NOT_SAID      UINT64_MAX
enum { BLAME_EQUAL = 0, BLAME_DIFFER = 1, BLAME_FAILED = 2 };

struct blame {
    struct kl_machine_setup setup;
    const char *path[2];
    char core[4096];
    uint64_t frames, lines;
    bool json;
    struct kl_series series;
    struct kl_machine machine[2];
    struct kl_statefile state[2]; /* of the first pair */
    struct kl_comparison found;
    char err[KLT_ERR];
};

/* --- the states --- */

static bool same_content(const char *a, const char *b) {
    size_t x = kl_fact_length(a), y = kl_fact_length(b);
    return x == y && strncmp(a, b, x) == 0;
}

static int check_origin(const struct blame *b, const struct kl_statefile *s, const char *path) {
    const struct kl_machine_info *info = &b->machine[0].info;
    char core[KL_STATEFILE_TEXT];
    snprintf(core, sizeof(core), "%.80s %.40s", info->name, info->version);
    size_t name = strlen(info->name);
    if (s->origin.core[0] && strncmp(s->origin.core, info->name, name) != 0)
        return tool_fail(-1, "blame", "%s is a state of another core: expected %s, got %s", path, core,
                         s->origin.core);
    if (s->origin.core[0] && strcmp(s->origin.core, core) != 0)
        fprintf(stderr, "keylock blame: note: %s was made by %s and is loaded by %s\n", path, s->origin.core,
                core);
    if (s->origin.content[0] && !same_content(s->origin.content, info->content))
        return tool_fail(-1, "blame", "%s is a state of other content: expected %s, got %s", path,
                         info->content, s->origin.content);
    return 0;
}

static int load_side(struct blame *b, unsigned side, const char *path) {
    struct kl_statefile *s = &b->state[side];
    kl_statefile_free(s);
    if (kl_statefile_read(s, path, b->err, sizeof(b->err)) != 0) return tool_fail(-1, "blame", "%s", b->err);
    if (check_origin(b, s, path) != 0) return -1;
    if (kl_machine_load(&b->machine[side], s, 0, b->err, sizeof(b->err)) == 0) return 0;
    return tool_fail(-1, "blame", "%s: %s", path, b->err);
}

static int load_pair(struct blame *b, const struct kl_pair *p, uint32_t *frame) {
    const struct kl_origin *x = &b->state[0].origin, *y = &b->state[1].origin;
    if (load_side(b, 0, p->a) != 0 || load_side(b, 1, p->b) != 0) return -1;
    if (x->has_frame && y->has_frame && x->frame != y->frame)
        return tool_usage("expected two states of the same frame: %s is of frame %" PRIu32 ", %s of %" PRIu32,
                          p->a, x->frame, p->b, y->frame);
    *frame = x->has_frame ? x->frame : y->has_frame ? y->frame : p->frame;
    return 0;
}

/* --- comparing --- */

static int compare(struct blame *b, uint32_t frame) {
    struct kl_dump d[2] = {0};
    int result = 0;
    for (unsigned i = 0; result == 0 && i < 2; i++)
        result = kl_machine_look(&b->machine[i], &d[i], b->err, sizeof(b->err));
    if (result == 0) result = kl_comparison_add(&b->found, &d[0], &d[1], frame, b->err, sizeof(b->err));
    kl_dump_free(&d[0]);
    kl_dump_free(&d[1]);
    return result == 0 ? 0 : tool_fail(-1, "blame", "%s", b->err);
}

static int run_on(struct blame *b, uint32_t frame) {
    uint8_t what = KLT_HASH_RAM;
    struct kl_hashline ignored;
    for (uint64_t n = 0; n < b->frames; n++) {
        for (unsigned i = 0; i < 2; i++)
            if (kl_machine_run(&b->machine[i], 1, &what, &ignored, b->err, sizeof(b->err)) != 0)
                return tool_fail(-1, "blame", "%s", b->err);
        if (compare(b, ++frame) != 0) return -1;
    }
    return 0;
}

static int compare_all(struct blame *b) {
    uint32_t frame = 0;
    for (unsigned i = 0; i < b->series.count; i++) {
        if (kl_process_stopped()) return tool_fail(-1, "blame", "interrupted");
        if (load_pair(b, &b->series.at[i], &frame) != 0 || compare(b, frame) != 0) return -1;
    }
    return b->frames ? run_on(b, frame) : 0;
}

/* A core that has not run yet may have no state, or one of another size. */
static int start(struct blame *b) {
    uint8_t what = KLT_HASH_RAM;
    struct kl_hashline ignored;
    for (unsigned i = 0; i < 2; i++)
        if (kl_machine_start(&b->machine[i], &b->setup, b->err, sizeof(b->err)) != 0 ||
            kl_machine_run(&b->machine[i], 1, &what, &ignored, b->err, sizeof(b->err)) != 0)
            return tool_fail(-1, "blame", "%s", b->err);
    return 0;
}

/* --- telling --- */

static void add_text(json_object *j, const char *key, const char *text) {
    json_object_object_add(j, key, json_object_new_string(text));
}

static int tell_json(struct blame *b) {
    struct kl_comparison *c = &b->found;
    json_object *j = json_object_new_object();
    add_text(j, "core", b->machine[0].info.name);
    add_text(j, "version", b->machine[0].info.version);
    json_object_object_add(j, "content", kl_report_content(b->machine[0].info.content));
    add_text(j, "a", b->path[0]);
    add_text(j, "b", b->path[1]);
    json_object_object_add(j, "equal", json_object_new_boolean(!c->differing));
    json_object_object_add(j, "compared", json_object_new_int64(c->moments));
    json_object_object_add(j, "differing", json_object_new_int64(c->differing));
    json_object_object_add(j, "first_frame", c->differing ? json_object_new_int64(c->first) : NULL);
    json_object_object_add(j, "memories", kl_report_json(c, (unsigned)b->lines));
    return kl_report_put(stdout, j);
}

static void tell_text(struct blame *b) {
    struct kl_comparison *c = &b->found;
    const struct kl_machine_info *info = &b->machine[0].info;
    const struct kl_origin *o = &b->state[0].origin;
    printf("core     %s %s\ncontent  %s\nA        %s\nB        %s\n", info->name, info->version,
           info->content, b->path[0], b->path[1]);
    if (c->moments == 1 && o->has_frame) printf("frame    %" PRIu32 "\n", o->frame);
    if (c->moments > 1) printf("compared %" PRIu32 " frames, %" PRIu32 " differ\n", c->moments, c->differing);
    if (b->series.only_a || b->series.only_b)
        printf("         %u frames only in A, %u only in B\n", b->series.only_a, b->series.only_b);
    if (!c->differing) printf("equal\n");
    if (c->differing) kl_report_text(stdout, c, (unsigned)b->lines);
}

static int blame(struct blame *b) {
    int result = kl_series_open(&b->series, b->path[0], b->path[1], b->err, sizeof(b->err));
    if (result != 0) return tool_fail(BLAME_FAILED, "blame", "%s", b->err);
    if (b->frames && b->series.count > 1)
        return tool_usage("--frames: expected two states to run on from, got folders");
    result = start(b);
    if (result == 0) result = compare_all(b);
    if (result != 0) return BLAME_FAILED;
    if (!b->json) tell_text(b);
    if (b->json && tell_json(b) != 0) return tool_fail(BLAME_FAILED, "blame", "cannot write standard output");
    return b->found.differing ? BLAME_DIFFER : BLAME_EQUAL;
}

/* --- the command line --- */

#define KL_ROWS_OF struct blame

static int parse(struct blame *b, int argc, char **argv) {
    static const struct kl_row rows[] = {KL_ROW_NUMBER("frames", "N", frames, 1, 10000000, NULL),
                                         KL_ROW_NUMBER("lines", "K", lines, 0, 1000000, NULL),
                                         KL_ROW_SWITCH("json", json, NULL),
                                         {.name = NULL}};
    static const struct kl_table tables[] = {
        {.rows = kl_machine_rows, .fields = offsetof(struct blame, setup)}, {.rows = rows}, {.rows = NULL}};
    tool_parse(argc, argv, false, tables, b);
    if (b->lines == NOT_SAID) b->lines = b->json ? 0 : LINES_DEFAULT;
    if (argc - optind != 2)
        return tool_usage("expected two states or two folders of them, got %d names", argc - optind);
    if (!b->setup.core || !b->setup.content)
        return tool_usage("expected --core NAME_OR_PATH and --content FILE, got %s",
                          b->setup.core      ? "only --core"
                          : b->setup.content ? "only --content"
                                             : "neither");
    b->path[0] = argv[optind];
    b->path[1] = argv[optind + 1];
    if (tool_find_core(b->setup.core, b->core, sizeof(b->core), b->err, sizeof(b->err)) != 0)
        return tool_fail(-1, "blame", "%s", b->err);
    b->setup.core = b->core;
    return 0;
}

int cmd_blame(int argc, char **argv) {
    static struct blame state; /* large, and zero */
    struct blame *b = &state;
    b->lines = NOT_SAID;
    if (parse(b, argc, argv) != 0) return BLAME_FAILED;
    kl_process_catch_stop();
    int code = blame(b);
    for (unsigned i = 0; i < 2; i++) {
        kl_machine_stop(&b->machine[i]);
        kl_statefile_free(&b->state[i]);
    }
    kl_comparison_free(&b->found);
    kl_series_free(&b->series);
    return code;
}
