/* A recording's needs, its run, and the comparison. */
#include "core_wrapper/tool/desync/verify.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/start/identity.h"
#include "net/engine/facts.h"
#include "net/platform/buffer.h"
#include "net/platform/dir.h"
#include "net/platform/wait.h"

#define NEVER UINT32_MAX

__attribute__((format(__printf__, 2, 3))) static int cannot(struct kl_verify *v, const char *format, ...) {
    v->code = KLT_CANNOT;
    KL_FORMAT(v->why, sizeof(v->why), format);
    return -1;
}

/* --- the core and the content --- */

/* By its own word before it has content: another core may crash on that. */
static int compare_core(struct kl_verify *v) {
    char err[KLT_ERR];
    return kl_recorded_core_is(&v->rec, v->core, err, sizeof(err)) ? 0 : cannot(v, "%s", err);
}

/* Content and files. A client's recording says nothing of files. */
static int compare_files(struct kl_verify *v, const struct kl_facts *facts) {
    const struct kl_facts *said = &v->rec.room.facts;
    struct kl_facts room = {0}, here = {0};
    char err[KLT_ERR];
    bool files = false;
    for (unsigned i = 0; i < said->count; i++) {
        const char *key = said->fact[i].key;
        if (!strcmp(key, "core") || !strcmp(key, KL_RECORDING_SYSTEM) || !strcmp(key, KL_IDENTITY_RAND) ||
            !strcmp(key, KL_KLR_CHALLENGE))
            continue;
        files |= strncmp(key, "content", 7) != 0;
        kl_facts_add(&room, key, said->fact[i].value);
    }
    for (unsigned i = 0; i < facts->count; i++)
        if (files || !strncmp(facts->fact[i].key, "content", 7))
            kl_facts_add(&here, facts->fact[i].key, facts->fact[i].value);
    return kl_facts_differ(&room, &here, err, sizeof(err)) ? cannot(v, "%s", err) : 0;
}

/* The recorded options, which the machine has: a line "KEY<tab>VALUE<tab>…" each. */
static int compare_options(struct kl_verify *v, const char *list) {
    for (unsigned i = 0; i < v->rec.options; i++) {
        const char *wanted = v->rec.option[i], *at = list;
        size_t key = strcspn(wanted, "=");
        while (*at && !(strncmp(at, wanted, key) == 0 && at[key] == '\t'))
            at += strcspn(at, "\n"), at += *at == '\n';
        if (!*at) return cannot(v, "option missing: %.*s, which this core has not", (int)key, wanted);
        const char *value = at + key + 1;
        size_t len = strcspn(value, "\t\n");
        if (strlen(wanted + key + 1) != len || memcmp(wanted + key + 1, value, len) != 0)
            return cannot(v, "option %.*s differs: the recording has %s, this core takes %.*s", (int)key,
                          wanted, wanted + key + 1, (int)len, value);
    }
    return 0;
}

/* One that begins like the recording: its core, content, files, options. */
static int start(struct kl_verify *v, struct kl_machine *m) {
    char err[KLT_ERR], *list = NULL;
    if (kl_machine_start(m, &v->setup, err, sizeof(err)) != 0) return cannot(v, "%s", err);
    if (compare_files(v, &m->info.facts) != 0) return -1;
    if (kl_machine_options(m, &list, err, sizeof(err)) != 0) return cannot(v, "%s", err);
    int result = compare_options(v, list);
    free(list);
    return result;
}

/* --- running --- */

static uint8_t *plan(const struct kl_recording *rec) {
    size_t frames = rec->whole - rec->first;
    uint8_t *what = malloc(frames + 1);
    if (!what) return NULL;
    memset(what, KLT_HASH_NONE, frames + 1);
    for (unsigned i = 0; i < rec->marks; i++)
        if (rec->mark[i] > rec->first && rec->mark[i] <= rec->whole)
            what[rec->mark[i] - 1 - rec->first] = KLT_HASH_FULL;
    for (unsigned i = 0; i < rec->hashes; i++)
        if (rec->hash[i].label >= rec->first && rec->hash[i].label < rec->whole)
            what[rec->hash[i].label - rec->first] = KLT_HASH_FULL;
    return what;
}

int kl_verify_run_on(struct kl_verify *v, struct kl_machine *m, uint32_t to) {
    char err[KLT_ERR];
    static const uint8_t nothing[1] = {KLT_HASH_NONE};
    uint32_t at = m->frame, n = to - at < KLT_MACHINE_BATCH ? to - at : KLT_MACHINE_BATCH;
    const uint8_t *what = at < v->rec.first ? nothing : v->what + (at - v->rec.first);
    int parent = kl_process_parent();
    if (kl_process_stopped() || (v->wish->child && kl_wait_for(&parent, 1, 0)))
        return cannot(v, "interrupted");
    if (kl_machine_run(m, n, what, v->line, err, sizeof(err)) != 0) return cannot(v, "%s", err);
    atomic_store(&v->done, m->frame);
    return (int)n;
}

/* The state of frame `from`, by a run of another recording of this match from power-on. */
static int run_base(struct kl_verify *v) {
    struct kl_verify *base = calloc(1, sizeof(*base));
    struct kl_machine m = {0};
    char err[KLT_ERR];
    int found = 0;
    for (unsigned i = 0; base && i < v->wish->files && !found; i++) {
        base->wish = v->wish;
        base->path = v->wish->file[i];
        found = kl_recording_read(&base->rec, base->path, err, sizeof(err)) == 0 && base->rec.first == 0 &&
                base->rec.whole >= v->from &&
                memcmp(base->rec.head.room_id, v->rec.head.room_id, sizeof(v->rec.head.room_id)) == 0;
        if (!found) kl_recording_free(&base->rec);
    }
    int result = found ? 0
                       : cannot(v,
                                "it begins with the room's state of frame %" PRIu32
                                ": name a recording of the same match from its beginning as well",
                                v->from);
    if (found) {
        base->setup = v->setup;
        base->setup.recording = base->path;
        base->what = plan(&base->rec);
        snprintf(v->base, sizeof(v->base), "%s", base->path);
        result = base->what ? start(base, &m) : cannot(base, "out of memory");
        while (result == 0 && m.frame < v->from)
            if (kl_verify_run_on(base, &m, v->from) < 0) result = -1;
        if (result == 0 && kl_machine_save(&m, &v->begin, err, sizeof(err)) != 0)
            result = cannot(base, "%s", err);
        if (result != 0) cannot(v, "%s: %s", base->path, base->why);
        kl_machine_stop(&m);
    }
    if (base) kl_verify_free(base);
    free(base);
    return result;
}

int kl_verify_begin(struct kl_verify *v, struct kl_machine *m) {
    char err[KLT_ERR];
    if (start(v, m) != 0) return -1;
    if (!v->from) return 0;
    if (kl_verify_run_on(v, m, 1) < 0) return -1; /* some cores take no state before */
    if (kl_machine_load(m, &v->begin, v->from, err, sizeof(err)) != 0) return cannot(v, "%s", err);
    return 0;
}

/* --- comparing --- */

static unsigned compared(const struct kl_hashline *l, const struct kl_klr_hash *h) {
    return h->has & ((l->has_ram ? KL_HASH_RAM : 0) | (l->has_state ? KL_HASH_STATE : 0) |
                     (l->has_picture ? KL_HASH_PICTURE : 0));
}

static unsigned unequal(const struct kl_hashline *l, const struct kl_klr_hash *h) {
    return compared(l, h) &
           ((l->ram != h->ram ? KL_HASH_RAM : 0) | (l->state != h->state ? KL_HASH_STATE : 0) |
            (l->picture != h->picture ? KL_HASH_PICTURE : 0));
}

/* States that players with equal RAM and pictures did not agree on are no hash of the room. */
static bool is_agreed(const struct kl_recording *rec, const struct kl_klr_hash *h) {
    for (unsigned i = 0; i < rec->others; i++) {
        const struct kl_klr_hash *o = &rec->other[i];
        unsigned both = o->has & h->has;
        bool same = (!(both & KL_HASH_RAM) || o->ram == h->ram) &&
                    (!(both & KL_HASH_PICTURE) || o->picture == h->picture);
        if (o->label == h->label && same && both & KL_HASH_STATE && o->state != h->state) return false;
    }
    return true;
}

bool kl_verify_agrees(struct kl_verify *v, const struct kl_hashline *l) {
    const struct kl_recording *rec = &v->rec;
    while (v->next_hash < rec->hashes && rec->hash[v->next_hash].label < l->frame)
        v->next_hash++;
    if (v->next_hash == rec->hashes || rec->hash[v->next_hash].label != l->frame) return true;
    const struct kl_klr_hash *h = &rec->hash[v->next_hash];
    unsigned counts = is_agreed(rec, h) ? v->counts : v->counts & ~(unsigned)KL_HASH_STATE;
    v->differs = unequal(l, h) & counts;
    v->clients = v->differs ? h->clients : 0;
    for (unsigned i = 0; i < rec->others; i++) {
        const struct kl_klr_hash *o = &rec->other[i];
        unsigned parts = o->label == l->frame ? unequal(l, o) & counts : 0;
        v->differs |= parts;
        if (parts) v->clients |= o->clients;
    }
    if (v->differs) return false;
    v->parts |= compared(l, h) & counts;
    if (compared(l, h) & counts) v->hashes++, v->agreed = l->frame;
    return true;
}

/* Keeps the state of the machine here for `keylock blame`. */
static int keep_state(struct kl_verify *v, struct kl_machine *m) {
    struct kl_statefile s;
    char dir[KL_FILE_PATH - 64], err[KLT_ERR] = "";
    const char *name = kl_file_base(v->path);
    if (!v->wish->states) return 0;
    snprintf(dir, sizeof(dir), "%.2000s/%.*s", v->wish->states, (int)strcspn(name, "."), name);
    if (kl_machine_save(m, &s, err, sizeof(err)) != 0) return 0; /* it has none */
    kl_statefile_name(v->state, sizeof(v->state), dir, v->label);
    int result = kl_dir_make(dir, false, err, sizeof(err));
    if (result == 0) result = kl_statefile_write(v->state, &s.origin, s.bytes, s.len, err, sizeof(err));
    kl_statefile_free(&s);
    return result == 0 ? 0 : cannot(v, "%s", err);
}

/* The run here differs at v->label, where it said `first`: is it the core that differs from itself? 1: states
 * alone do, and do not count any more. */
static int run_twice(struct kl_verify *v, const struct kl_hashline *first) {
    struct kl_machine m = {0};
    int n = 0, result = kl_verify_begin(v, &m);
    while (result == 0 && m.frame <= v->label)
        if ((n = kl_verify_run_on(v, &m, v->label + 1)) < 0) result = -1;
    if (result == 0) {
        const struct kl_hashline *l = &v->line[n - 1];
        bool other = (l->has_ram && l->ram != first->ram) || (l->has_picture && l->picture != first->picture);
        if (other)
            result =
                cannot(v, "the core parts from itself: two runs here differ after frame %" PRIu32, v->label);
        else if (v->differs == KL_HASH_STATE && l->state != first->state)
            result = 1;
        else
            result = keep_state(v, &m);
    }
    kl_machine_stop(&m);
    return result;
}

static void say_parted(struct kl_verify *v) {
    char who[256] = "", planted[96] = "";
    size_t used = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS && used < sizeof(who); i++)
        if (v->clients >> i & 1)
            used += (size_t)snprintf(who + used, sizeof(who) - used, "%s%s", used ? " and " : "",
                                     *v->rec.name[i] ? v->rec.name[i] : "a player without a name");
    for (unsigned i = v->rec.deeds; i-- > 0;)
        if (v->rec.deed[i].kind == KL_DEED_FLIP && v->rec.deed[i].frame <= v->label)
            v->planted = v->rec.deed[i].frame;
    if (v->planted != NEVER)
        snprintf(planted, sizeof(planted), "; a desync was planted before frame %" PRIu32, v->planted);
    v->code = KLT_PARTED;
    snprintf(v->why, sizeof(v->why),
             "after frame %" PRIu32 " %s%s hash is not that of two runs here, by %s%s", v->label,
             used ? who : "the recorded", used ? "'s" : "", kl_verify_parts(v->differs), planted);
}

/* The file's own reason why its run cannot be repeated from some frame up to the label. NULL: none. A state
 * that was loaded at the beginning is one for states alone: some do not hold all of their core. */
static const char *excuse(const struct kl_verify *v) {
    for (unsigned i = 0; i < v->rec.deeds && v->rec.deed[i].frame <= v->label; i++) {
        const struct kl_recorded_deed *d = &v->rec.deed[i];
        bool disk = d->kind == KL_DEED_COMMAND && !strncmp(d->text, "disk ", 5);
        bool begins = d->frame == v->from && v->from && v->differs != KL_HASH_STATE;
        if (disk || (d->kind == KL_DEED_ALIEN && !begins)) return d->text;
    }
    return NULL;
}

/* The run differs at this line's label. 0: states alone do, and do not count any more. */
static int parts_at(struct kl_verify *v, const struct kl_hashline *line) {
    const struct kl_hashline first = *line;
    bool state_alone = v->differs == KL_HASH_STATE;
    v->label = first.frame;
    const char *why = excuse(v);
    int twice = state_alone && why ? 1 : run_twice(v, &first);
    if (twice < 0) return -1;
    if (twice == 1) {
        v->counts &= ~(unsigned)KL_HASH_STATE;
        v->parts &= ~(unsigned)KL_HASH_STATE;
        snprintf(v->note, sizeof(v->note), "states do not count from frame %" PRIu32 " on: %.200s", v->label,
                 why ? why : "those of two runs here differ");
        return 0;
    }
    if (why) return cannot(v, "parted after frame %" PRIu32 ", and the file says why: %s", v->label, why);
    say_parted(v);
    return -1;
}

/* --- a tie --- */

/* Players differ there in more than their states, which need not be equal. */
static bool differs_at(const struct kl_recording *rec, const struct kl_klr_hash *h) {
    for (unsigned i = 0; i < rec->others; i++) {
        const struct kl_klr_hash *o = &rec->other[i];
        unsigned both = o->has & h->has;
        if (o->label == h->label && ((both & KL_HASH_RAM && o->ram != h->ram) ||
                                     (both & KL_HASH_PICTURE && o->picture != h->picture)))
            return true;
    }
    return false;
}

/* The run ends after it, and ties before are no hashes. */
static int prepare_tie(struct kl_verify *v) {
    struct kl_recording *rec = &v->rec;
    unsigned kept = 0;
    for (unsigned i = 0; i < rec->hashes && v->tie == NEVER; i++)
        if (differs_at(rec, &rec->hash[i])) v->tie = rec->hash[i].label;
    if (v->wish->labelled) v->tie = v->wish->label;
    if (v->tie == NEVER) return cannot(v, "no tie: its players differ nowhere");
    if (v->tie < rec->first || v->tie >= rec->whole)
        return cannot(v, "no frame %" PRIu32 " in it: it has %" PRIu32 " to %" PRIu32, v->tie, rec->first,
                      rec->whole - 1);
    rec->whole = v->tie + 1;
    for (unsigned i = 0; i < rec->hashes; i++)
        if (rec->hash[i].label >= v->tie || !differs_at(rec, &rec->hash[i])) rec->hash[kept++] = rec->hash[i];
    rec->hashes = kept;
    return 0;
}

static void note_equal(struct kl_verify *v, const struct kl_hashline *l, const struct kl_klr_hash *h) {
    bool equal = h->label == l->frame && compared(l, h) & v->counts && !(unequal(l, h) & v->counts);
    if (equal) v->found.clients |= h->clients;
}

/* After v->tie. One run will do if it has somebody's hash. */
static void decide(struct kl_verify *v, const struct kl_hashline *l) {
    const struct kl_hashline first = *l;
    v->found =
        (struct kl_klr_hash){.label = l->frame, .ram = l->ram, .state = l->state, .picture = l->picture};
    v->found.has = (uint8_t)v->counts & ((l->has_ram ? KL_HASH_RAM : 0) | (l->has_state ? KL_HASH_STATE : 0) |
                                         (l->has_picture ? KL_HASH_PICTURE : 0));
    for (unsigned i = 0; i < v->rec.hashes; i++)
        note_equal(v, &first, &v->rec.hash[i]);
    for (unsigned i = 0; i < v->rec.others; i++)
        note_equal(v, &first, &v->rec.other[i]);
    v->label = v->tie;
    v->differs = v->found.has;
    if (v->found.clients || run_twice(v, &first) < 0) return;
    v->code = KLT_PARTED;
    snprintf(v->why, sizeof(v->why), "after frame %" PRIu32 " nobody's hash is that of two runs here",
             v->label);
}

static void run(struct kl_verify *v, struct kl_machine *m) {
    if (kl_verify_pieces(v) || kl_verify_begin(v, m) != 0) return;
    while (m->frame < v->rec.whole) {
        uint32_t at = m->frame, to = kl_verify_pieces_next(v, at);
        int n = kl_verify_run_on(v, m, to);
        if (n < 0) return;
        for (int i = 0; i < n; i++) {
            bool judged = v->line[i].frame == v->tie;
            if (judged) decide(v, &v->line[i]);
            if (judged || v->what[at - v->from + (uint32_t)i] != KLT_HASH_FULL ||
                kl_verify_agrees(v, &v->line[i]))
                continue;
            struct kl_hashline rest[KLT_MACHINE_BATCH];
            memcpy(rest, v->line, sizeof(rest)); /* the second run writes there */
            if (parts_at(v, &rest[i]) != 0) return;
            memcpy(v->line, rest, sizeof(rest));
            i--; /* without its state */
        }
        if (m->frame == to) kl_verify_pieces_keep(v, m);
    }
    if (!v->hashes && !v->wish->tie) cannot(v, "no agreed hash in it");
}

/* --- all of it --- */

static int prepare(struct kl_verify *v) {
    const struct kl_recording *rec = &v->rec;
    const char *system = *rec->system ? rec->system : "Linux";
    v->from = rec->first;
    v->counts = KL_HASH_RAM | KL_HASH_STATE | KL_HASH_PICTURE;
    if (strcmp(system, kl_world_system) != 0) {
        v->counts &= ~(unsigned)KL_HASH_STATE;
        snprintf(v->note, sizeof(v->note), "states do not count: they are of %s", system);
    }
    if (rec->whole < rec->frames)
        snprintf(v->note, sizeof(v->note), "from frame %" PRIu32 " on it lacks frames: not run", rec->whole);
    if (rec->head.rules != KL_KLR_RULES)
        return cannot(v, "rules differ: the recording has those of number %u, this keylock those of %d",
                      rec->head.rules, KL_KLR_RULES);
    if (rec->begun.bytes && v->wish->child)
        return cannot(v, "it begins with a state that a player's machine made, which is run by hand alone");
    if ((!rec->hashes && !v->wish->tie) || rec->whole == rec->first) return cannot(v, "no agreed hash in it");
    if (v->wish->tie && prepare_tie(v) != 0) return -1;
    if (!(v->what = plan(rec))) return cannot(v, "out of memory");
    if (v->tie != NEVER) v->what[v->tie - rec->first] = KLT_HASH_FULL;
    v->setup = (struct kl_machine_setup){
        .core = v->core, .recording = v->path, .system_dir = v->wish->system_dir, .verifies = true};
    bool found = kl_recorded_content(&v->rec, v->wish->content, v->wish->contents, v->content);
    v->setup.content = found && *v->content ? v->content : NULL;
    if (found) return 0;
    return cannot(v, "content missing: %s is in none of the folders that --content names", v->rec.content);
}

/* With each core that was named until one is the recording's, or with the one of its name. */
static void run_cores(struct kl_verify *v) {
    char err[KLT_ERR];
    struct kl_machine m = {0};
    for (unsigned i = 0; i < v->wish->cores || i == 0; i++) {
        const char *name = v->wish->cores ? v->wish->core[i] : NULL;
        v->code = KLT_VERIFIED;
        if (name && tool_find_core(name, v->core, sizeof(v->core), err, sizeof(err)) != 0)
            cannot(v, "core missing: %s", err);
        else if (!name && kl_recorded_core(&v->rec, v->core, err, sizeof(err)) != 0)
            cannot(v, "%s", err);
        else if (compare_core(v) == 0 && (!v->from || v->begin.bytes || run_base(v) == 0))
            run(v, &m);
        kl_machine_stop(&m);
        if (v->code != KLT_CANNOT || m.frame || kl_process_stopped()) break;
    }
    if (!v->wish->tie || v->code != KLT_PARTED || v->found.has) return;
    memcpy(err, v->why, sizeof(err));
    err[sizeof(err) - 1] = 0;
    cannot(v, "it is no judge of frame %" PRIu32 ": %s", v->tie, err);
}

static void look_at_seal(struct kl_verify *v) {
    v->unsealed = kl_recording_sealed(&v->rec);
    kl_fingerprint(v->rec.head.relay_key, v->sealer);
    if (!v->wish->relay || v->wish->tie) return; /* a match that goes on has no seal perhaps */
    if (!*v->unsealed && !kl_fingerprint_is(v->wish->relay, v->rec.head.relay_key))
        v->unsealed = "another relay sealed it";
    if (!*v->unsealed) return;
    v->code = KLT_UNSEALED;
    snprintf(v->why, sizeof(v->why), "%s", v->unsealed);
}

void kl_verify_run(struct kl_verify *v) {
    char err[KLT_ERR];
    v->label = v->planted = v->agreed = v->tie = NEVER;
    v->unsealed = "it cannot be read";
    int read = kl_recording_read(&v->rec, v->path, err, sizeof(err));
    atomic_store(&v->frames, v->rec.whole);
    if (read < 0) {
        cannot(v, "%s", err);
        return;
    }
    if (read == 0) look_at_seal(v);
    if (v->wish->look) v->code = KLT_LOOKED_AT;
    if (v->code) return;
    if (read == 0 && (!*v->rec.damage || v->rec.hashes) && prepare(v) == 0) run_cores(v);
    const char *damage = read > 0 ? "it does not begin as a recording does" : v->rec.damage;
    if (!*damage) return;
    char why[sizeof(v->why)];
    snprintf(why, sizeof(why), "%s%s%.1500s", damage, *v->why ? "; " : "", v->why);
    if (v->code != KLT_PARTED) v->code = KLT_DAMAGED;
    memcpy(v->why, why, sizeof(why));
}

void kl_verify_free(struct kl_verify *v) {
    kl_recording_free(&v->rec);
    kl_statefile_free(&v->begin);
    free(v->what);
    v->what = NULL;
}

const char *kl_verify_parts(unsigned parts) {
    static const char *const words[] = {"nothing",
                                        "RAM",
                                        "state",
                                        "RAM and state",
                                        "picture",
                                        "RAM and picture",
                                        "state and picture",
                                        "RAM, state and picture"};
    return words[parts & 7];
}
