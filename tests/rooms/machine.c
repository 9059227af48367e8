#include "tests/rooms/rooms.h"

struct machine truth;
bool rewritten;
static struct kl_commands *commands[FRAMES];

void machine_begin(struct machine *m) {
    m->is = 1;
    m->next = m->first = 0;
    m->was[0] = 1;
}

static void obey(struct machine *m, const struct kl_command *c) {
    if (c->kind == KL_COMMAND_RESET) m->is = rng_mix(m->is ^ 0xdead);
}

bool machine_run(struct machine *m, const struct kl_frame *f, const struct kl_commands *set,
                 uint8_t *snapshot) {
    bool found = false;
    for (unsigned i = 0; set && i < set->count; i++) {
        if (set->at[i].kind == KL_COMMAND_SNAPSHOT && snapshot) machine_save(m, snapshot);
        found |= set->at[i].kind == KL_COMMAND_SNAPSHOT;
        obey(m, &set->at[i]);
    }
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        m->is = rng_mix(m->is * 31 + f->in[s].joypad + 1);
    m->next = f->number + 1;
    if (m->next < FRAMES) m->was[m->next] = m->is;
    return found;
}

void machine_save(const struct machine *m, uint8_t snapshot[SHOT_BYTES]) {
    struct rng noise = {m->is};
    for (unsigned i = 0; i < SHOT_BYTES; i++)
        snapshot[i] = (uint8_t)rng_next(&noise); /* no zstd makes that less than it is */
    memcpy(snapshot, &m->is, sizeof m->is);
    memcpy(snapshot + 8, &m->next, sizeof m->next);
}

/* The commands before the SNAPSHOT at its keyframe are in it. */
void machine_run_behind(struct machine *m, uint32_t keyframe) {
    const struct kl_commands *set = canon_commands(keyframe);
    struct kl_commands behind = {.keyframe = keyframe};
    bool seen = false;
    for (unsigned i = 0; set && i < set->count; i++) {
        if (seen) behind.at[behind.count++] = set->at[i];
        seen |= set->at[i].kind == KL_COMMAND_SNAPSHOT;
    }
    if (!seen) fail("a snapshot of frame %u, where none was ordered", keyframe);
    machine_run(m, &canon[keyframe], &behind, NULL);
}

bool machine_load(struct machine *m, const uint8_t *snapshot, uint32_t keyframe, uint32_t end) {
    memcpy(&m->is, snapshot, sizeof m->is);
    memcpy(&m->next, snapshot + 8, sizeof m->next);
    if (m->next != keyframe) return false;
    m->was[keyframe] = m->is;
    if (keyframe < end) machine_run_behind(m, keyframe);
    while (m->next < end)
        machine_run(m, &canon[m->next], canon_commands(m->next), NULL);
    return true;
}

const struct kl_commands *canon_commands(uint32_t frame) {
    return commands[frame];
}

static bool same_commands(const struct kl_commands *a, const struct kl_commands *b) {
    if (!a || !b) return a == b;
    bool same = a->keyframe == b->keyframe && a->count == b->count;
    for (unsigned i = 0; same && i < a->count; i++)
        same = a->at[i].client == b->at[i].client && a->at[i].kind == b->at[i].kind &&
               a->at[i].len == b->at[i].len && memcmp(a->at[i].data, b->at[i].data, a->at[i].len) == 0;
    return same;
}

static void take(const struct kl_frame *f, const struct kl_commands *set) {
    uint32_t n = f->number;
    free(commands[n]);
    commands[n] = NULL;
    if (set) {
        commands[n] = malloc(sizeof *set);
        if (!commands[n]) fail("no memory");
        *commands[n] = *set;
    }
    machine_run(&truth, f, set, NULL);
}

void canon_check(const char *who, const struct kl_frame *f, const struct kl_commands *set) {
    if (f->number >= FRAMES) fail("%s runs frame %u: more than there should be", who, f->number);
    if (f->number > canon_end) fail("%s runs frame %u, %u is the next", who, f->number, canon_end);
    bool is_new = f->number == canon_end, equal = canon_run(f);
    if (is_new) take(f, set);
    if (!equal || !same_commands(set, commands[f->number]))
        fail("%s runs another frame %u than others did", who, f->number);
}

void truth_is(const struct machine *m) {
    if (m->is != truth.was[m->next]) rewritten = true;
    memcpy(&truth.was[m->first], &m->was[m->first], (FRAMES - m->first) * sizeof m->was[0]);
    truth.is = m->is;
    truth.next = m->next;
    while (truth.next < canon_end)
        machine_run(&truth, &canon[truth.next], commands[truth.next], NULL);
}

void canon_cut(uint32_t end) {
    if (end >= canon_end) return;
    story("frames %u to %u were never played", end, canon_end - 1);
    canon_end = end;
    truth.next = end;
    truth.is = truth.was[end];
}
