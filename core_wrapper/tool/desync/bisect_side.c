#include "core_wrapper/tool/desync/bisect.h"
#include "core_wrapper/tool/common/tool.h"

#include <stdlib.h>
#include <string.h>

/* --- known hashes --- */

static int add_known(struct kl_side *s, const struct kl_hashline *line) {
    if ((s->knowns & (s->knowns - 1)) == 0) {
        struct kl_hashline *grown =
            realloc(s->known, (s->knowns ? 2 * (size_t)s->knowns : 1) * sizeof(*grown));
        if (!grown) return tool_fail(-1, "bisect", "out of memory");
        s->known = grown;
    }
    s->known[s->knowns++] = *line;
    return 0;
}

static int read_hashes(struct kl_side *s) {
    struct kl_hashreader r;
    struct kl_hashline line;
    char err[KLT_ERR];
    int more = kl_hashreader_open(&r, s->hashes, err, sizeof(err)) == 0 ? 1 : -1;
    while (more > 0 && (more = kl_hashreader_next(&r, &line, err, sizeof(err))) > 0)
        if (add_known(s, &line) != 0) more = -2;
    kl_hashreader_close(&r);
    if (more == -1) return tool_fail(-1, "bisect", "%s", err);
    return more;
}

static int read_recording(struct kl_side *s) {
    char err[KLT_ERR];
    int result = kl_recording_read(&s->rec, s->setup.recording, err, sizeof(err));
    if (result < 0) return tool_fail(-1, "bisect", "%s", err);
    if (result > 0) { /* of hashes alone, which says nothing of how to run it */
        s->hashes = s->setup.recording;
        s->setup.recording = NULL;
        s->runs = false;
        return 0;
    }
    for (unsigned i = 0; i < s->rec.hashes; i++) {
        const struct kl_klr_hash *h = &s->rec.hash[i];
        struct kl_hashline line = {.frame = h->label,
                                   .has_ram = h->has & KL_HASH_RAM,
                                   .has_state = h->has & KL_HASH_STATE,
                                   .ram = h->ram,
                                   .state = h->state};
        if (add_known(s, &line) != 0) return -1;
    }
    return 0;
}

int kl_side_open(struct kl_side *s) {
    char err[KLT_ERR];
    s->runs = s->setup.core && s->setup.content && !s->hashes;
    if (s->setup.recording && read_recording(s) != 0) return -1;
    if (s->hashes && read_hashes(s) != 0) return -1;
    if (!s->runs && !s->knowns)
        return tool_fail(-1, "bisect",
                         "side %c: expected a recording, a file of hashes, or --core and --content",
                         s->letter);
    if (!s->setup.core) return 0;
    if (tool_find_core(s->setup.core, s->core, sizeof(s->core), err, sizeof(err)) != 0)
        return tool_fail(-1, "bisect", "side %c: %s", s->letter, err);
    s->setup.core = s->core;
    return 0;
}

void kl_side_close(struct kl_side *s) {
    kl_machine_stop(&s->machine);
    kl_recording_free(&s->rec);
    free(s->known);
    free(s->line);
}

const struct kl_hashline *kl_side_known(const struct kl_side *s, uint32_t frame, unsigned *next) {
    while (*next < s->knowns && s->known[*next].frame < frame)
        (*next)++;
    if (*next < s->knowns && s->known[*next].frame == frame) return &s->known[*next];
    return !s->knowns && frame < s->lines ? &s->line[frame] : NULL;
}

/* --- running it --- */

int kl_side_start(struct kl_side *s) {
    char err[KLT_ERR];
    kl_machine_stop(&s->machine);
    s->lines = 0;
    if (kl_machine_start(&s->machine, &s->setup, err, sizeof(err)) == 0) return 0;
    return tool_fail(-1, "bisect", "side %c: %s", s->letter, err);
}

int kl_side_run(struct kl_side *s, uint32_t to, const uint8_t *what) {
    char err[KLT_ERR];
    uint32_t from = s->machine.frame;
    struct kl_hashline *grown = realloc(s->line, ((size_t)to + 1) * sizeof(*grown));
    if (!grown) return tool_fail(-1, "bisect", "out of memory");
    s->line = grown;
    if (to > from &&
        kl_machine_run(&s->machine, to - from, what + from, s->line + from, err, sizeof(err)) != 0)
        return tool_fail(-1, "bisect", "side %c: %s", s->letter, err);
    s->lines = to;
    return 0;
}

/* --- comparing --- */

unsigned kl_lines_part(const struct kl_hashline *a, const struct kl_hashline *b) {
    unsigned parts = 0;
    if (a->has_ram && b->has_ram && a->ram != b->ram) parts |= KLT_PART_RAM;
    if (a->has_state && b->has_state && a->state != b->state) parts |= KLT_PART_STATE;
    return parts;
}
