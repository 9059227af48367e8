/* The parent's side of one run: starts the child, reads its findings. */
#include "net/platform/file.h"
#include "net/platform/process.h"
#include "core_wrapper/tool/probe/probe.h"
#include "core_wrapper/tool/common/tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MS 300000 /* from one check to the next */
#define END_MS    20000  /* for the core's unloading, or its crash */

struct files {
    char states[512], errors[512];
};

static void name_files(struct files *f, const char *scratch, enum kl_probe_mode mode, unsigned turn) {
    snprintf(f->states, sizeof(f->states), "%s/%d%u.states", scratch, mode, turn);
    snprintf(f->errors, sizeof(f->errors), "%s/%d%u.err", scratch, mode, turn);
}

static int start(struct kl_process *p, const struct kl_probe_setup *s, enum kl_probe_mode mode, unsigned turn,
                 const struct files *f, char *err, size_t err_len) {
    char mode_text[16], frames[16], every[16];
    const char **args = calloc(12 + s->option_count, sizeof(*args));
    if (!args) {
        snprintf(err, err_len, "out of memory");
        return -1;
    }
    snprintf(mode_text, sizeof(mode_text), "%d", mode);
    snprintf(frames, sizeof(frames), "%" PRIu32, s->frames);
    snprintf(every, sizeof(every), "%" PRIu32, s->every);
    const char *fixed[] = {"keylock",
                           "probe-child",
                           mode_text,
                           frames,
                           every,
                           mode == KL_PROBE_PLAIN ? f->states : "-",
                           s->core,
                           s->content ? s->content : "-",
                           s->system_dir ? s->system_dir : "-",
                           s->input,
                           turn % 2 && !s->same_addresses ? "moved" : "-"};
    memcpy(args, fixed, sizeof(fixed));
    for (unsigned i = 0; i < s->option_count; i++)
        args[sizeof(fixed) / sizeof(fixed[0]) + i] = s->options[i];
    struct kl_process_setup setup = {
        .arguments = args, .log = f->errors, .same_addresses = s->same_addresses};
    int result = kl_process_start(p, &setup, err, err_len);
    free(args);
    return result;
}

/* The child's last line on standard error, without "keylock probe: ". */
static void read_error(struct kl_probe_result *r, const char *path) {
    static const char prefix[] = "keylock probe: ";
    char line[KLT_ERR];
    FILE *f = kl_file_stream(path, "r");
    while (f && fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        const char *text = strncmp(line, prefix, strlen(prefix)) == 0 ? line + strlen(prefix) : line;
        if (*text) snprintf(r->error, sizeof(r->error), "%s", text);
    }
    if (f) fclose(f);
}

static void read_check(struct kl_probe_result *r, const char *line) {
    char ram[32], state[32];
    struct kl_probe_check c = {0};
    int compared, ram_same, state_same;
    if (sscanf(line, "%" SCNu32 " %31s %31s %" SCNx64 " %" SCNu64 " %d %d %d", &c.hash.frame, ram, state,
               &c.av, &c.state_bytes, &compared, &ram_same, &state_same) != 8)
        return;
    c.hash.has_ram = ram[0] != '-';
    c.hash.has_state = state[0] != '-';
    if (c.hash.has_ram) c.hash.ram = strtoull(ram, NULL, 16);
    if (c.hash.has_state) c.hash.state = strtoull(state, NULL, 16);
    c.compared = compared;
    c.ram_same = ram_same;
    c.state_same = state_same;
    struct kl_probe_check *grown = realloc(r->check, (r->checks + 1) * sizeof(*grown));
    if (!grown) return;
    r->check = grown;
    r->check[r->checks++] = c;
}

static void read_range(struct kl_probe_result *r, const char *line) {
    uint32_t from, to;
    if (sscanf(line, "%" SCNu32 " %" SCNu32, &from, &to) != 2 || r->unstable.ranges == KL_PROBE_RANGES)
        return;
    r->unstable.range[r->unstable.ranges].from = from;
    r->unstable.range[r->unstable.ranges].to = to;
    r->unstable.ranges++;
}

static const char *after(const char *line, const char *word) {
    size_t len = strlen(word);
    return strncmp(line, word, len) == 0 ? line + len : NULL;
}

static void read_line(struct kl_probe_result *r, const char *line) {
    const char *rest;
    if ((rest = after(line, "check "))) read_check(r, rest);
    if ((rest = after(line, "range "))) read_range(r, rest);
    if ((rest = after(line, "unstable "))) r->unstable.count = strtoull(rest, NULL, 10);
    if ((rest = after(line, "name "))) snprintf(r->name, sizeof(r->name), "%.127s", rest);
    if ((rest = after(line, "version "))) snprintf(r->version, sizeof(r->version), "%.127s", rest);
    if ((rest = after(line, "turned "))) snprintf(r->turned, sizeof(r->turned), "%s", rest);
    if ((rest = after(line, "left "))) snprintf(r->left, sizeof(r->left), "%s", rest);
    if ((rest = after(line, "files "))) snprintf(r->files, sizeof(r->files), "%.299s", rest);
    if ((rest = after(line, "rand "))) r->rand = *rest == '1';
    if ((rest = after(line, "ram "))) sscanf(rest, "%" SCNu64 " %u", &r->ram_bytes, &r->ram_pieces);
    if ((rest = after(line, "us ")))
        sscanf(rest, "%lf %lf %lf %lf", &r->frame_us, &r->frame_p99_us, &r->serialize_us, &r->unserialize_us);
    if (strcmp(line, "end") == 0) r->ran = true;
}

/* Each line that the child finds is a message. */
static enum kl_process_result read_findings(struct kl_probe_result *r, struct kl_process *p) {
    void *line;
    size_t len;
    for (;;) {
        enum kl_process_result result = kl_process_answer(p, KL_PROBE_LINE, ANSWER_MS, &line, &len);
        if (result != KL_PROCESS_OK) return result;
        read_line(r, line);
        free(line);
    }
}

void kl_probe_run(struct kl_probe_result *r, const struct kl_probe_setup *setup, enum kl_probe_mode mode,
                  unsigned turn, const char *scratch) {
    struct files f = {0};
    struct kl_process p;
    struct kl_process_end how;
    memset(r, 0, sizeof(*r));
    name_files(&f, scratch, mode, turn);
    if (start(&p, setup, mode, turn, &f, r->error, sizeof(r->error)) != 0) return;
    enum kl_process_result result = read_findings(r, &p);
    kl_process_end(&p, result == KL_PROCESS_ENDED ? END_MS : 0, &how);
    r->code = how.code;
    if (result != KL_PROCESS_ENDED || how.killed || how.crashed) r->ran = false;
    if (how.crashed) snprintf(r->crash, sizeof(r->crash), "%s", how.why);
    if (result == KL_PROCESS_LATE || how.killed)
        snprintf(r->error, sizeof(r->error), "it hangs: no answer within %d s", ANSWER_MS / 1000);
    else if (!r->ran)
        read_error(r, f.errors);
}

void kl_probe_free(struct kl_probe_result *r) {
    free(r->check);
    r->check = NULL;
    r->checks = 0;
}

/* --- bytes --- */

void kl_probe_bytes_from_map(struct kl_probe_bytes *out, const uint8_t *map, size_t len) {
    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < len; i++) {
        if (!map[i]) continue;
        bool goes_on = i > 0 && map[i - 1];
        out->count++;
        if (goes_on && out->ranges && out->range[out->ranges - 1].to == i - 1) {
            out->range[out->ranges - 1].to = (uint32_t)i;
        } else if (out->ranges < KL_PROBE_RANGES) {
            out->range[out->ranges].from = out->range[out->ranges].to = (uint32_t)i;
            out->ranges++;
        }
    }
}

static uint8_t *read_state(FILE *f, uint32_t *frame, uint64_t *size) {
    if (!f || fread(frame, sizeof(*frame), 1, f) != 1 || fread(size, sizeof(*size), 1, f) != 1) return NULL;
    uint8_t *data = malloc(*size ? *size : 1);
    if (data && fread(data, 1, *size, f) == *size) return data;
    free(data);
    return NULL;
}

void kl_probe_compare_states(struct kl_probe_bytes *out, const char *scratch) {
    struct files fa = {0}, fb = {0};
    uint32_t frame_a, frame_b;
    uint64_t size_a = 0, size_b = 0, map_len = 0;
    uint8_t *a, *b, *map = NULL;
    name_files(&fa, scratch, KL_PROBE_PLAIN, 0);
    name_files(&fb, scratch, KL_PROBE_PLAIN, 1);
    FILE *x = kl_file_stream(fa.states, "r"), *y = kl_file_stream(fb.states, "r");
    while ((a = read_state(x, &frame_a, &size_a)) != NULL) {
        b = read_state(y, &frame_b, &size_b);
        if (!map) map = calloc(1, map_len = size_a);
        uint64_t len = !b || !map || frame_a != frame_b || size_a != size_b ? 0
                       : size_a < map_len                                   ? size_a
                                                                            : map_len;
        for (uint64_t i = 0; i < len; i++)
            map[i] |= a[i] != b[i];
        free(a);
        free(b);
    }
    if (x) fclose(x);
    if (y) fclose(y);
    if (map) kl_probe_bytes_from_map(out, map, map_len);
    free(map);
}
