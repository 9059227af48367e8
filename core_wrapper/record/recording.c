/* A recording, read (recording.h). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/record/recording.h"
#include "net/engine/facts.h"
#include "net/platform/file.h"
#include "net/record/klr_pack.h"
#include "net/session/command_words.h"

/* Room for one more in an array that doubles whenever it is full. False: no memory, and it is as before. */
static void *one_more(void *array, unsigned count, size_t size) {
    if (count & (count - 1)) return array;
    return realloc(array, (count ? 2 * (size_t)count : 1) * size);
}
#define ADD(array, count)                                                                                    \
    __extension__({                                                                                          \
        void *more = one_more((array), (count), sizeof *(array));                                            \
        if (more) (array) = more;                                                                            \
        more != NULL;                                                                                        \
    })

/* --- facts of the beginning --- */

static bool read_head(struct kl_recording *r, struct kl_reader *in) {
    kl_klr_read_head(in, &r->head);
    return true;
}

static bool add_seats(struct kl_recording *r, uint32_t frame, uint8_t client, uint8_t seats) {
    if (!ADD(r->seats, r->seatings)) return false;
    struct kl_recorded_seats *s = &r->seats[r->seatings++];
    *s = (struct kl_recorded_seats){.frame = frame, .client = client, .seats = seats};
    memcpy(s->name, r->name[client], KL_NAME_MAX);
    return true;
}

static bool read_room(struct kl_recording *r, struct kl_reader *in) {
    kl_klr_read_room(in, &r->room);
    for (unsigned i = 0; !in->failed && i < r->room.facts.count; i++) {
        const struct kl_fact *f = &r->room.facts.fact[i];
        if (!strcmp(f->key, "core")) kl_copy_cut(r->core, sizeof r->core, f->value);
        if (!strcmp(f->key, "content")) kl_copy_cut(r->content, sizeof r->content, f->value);
        if (!strcmp(f->key, KL_RECORDING_SYSTEM)) kl_copy_cut(r->system, sizeof r->system, f->value);
    }
    for (unsigned i = 0; !in->failed && i < r->room.members; i++) {
        const struct kl_klr_member *m = &r->room.member[i];
        memcpy(r->name[m->client], m->name, KL_NAME_MAX);
        if (!add_seats(r, 0, m->client, m->seats)) return false;
    }
    return true;
}

/* Another value of an option takes the place of the one in START. */
static bool add_option(struct kl_recording *r, const char *pair) {
    size_t key = strcspn(pair, "=") + 1;
    for (unsigned i = 0; i < r->options; i++)
        if (strncmp(r->option[i], pair, key) == 0) {
            kl_copy_cut(r->option[i], KL_RECORDING_TEXT, pair);
            return true;
        }
    if (!pair[key - 1] || key == 1 || !ADD(r->option, r->options)) return false;
    kl_copy_cut(r->option[r->options++], KL_RECORDING_TEXT, pair);
    return true;
}

static bool add_deed(struct kl_recording *r, uint32_t frame, int kind, const char *text) {
    if (!ADD(r->deed, r->deeds)) return false;
    struct kl_recorded_deed *d = &r->deed[r->deeds];
    d->order = r->deeds++;
    d->frame = frame;
    d->kind = kind;
    kl_copy_cut(d->text, sizeof d->text, text);
    return true;
}

static bool take_start(struct kl_recording *r, const struct kl_start *s) {
    char text[KL_RECORDING_TEXT];
    for (unsigned i = 0; i < s->option_count; i++) {
        snprintf(text, sizeof text, "%s=%s", s->option[i].key, s->option[i].value);
        if (strcmp(s->option[i].key, KL_START_SYSTEM) && !add_option(r, text)) return false;
    }
    for (unsigned i = 0; i < s->device_count; i++) {
        r->device_set |= (uint8_t)(1u << s->device[i].port);
        r->device[s->device[i].port] = s->device[i].device;
    }
    memcpy(r->memory, s->memory, s->memory_count * sizeof *s->memory);
    r->memories = s->memory_count;
    r->mask = s->profile.mask;
    r->begun = s->state;
    if (!*r->system) kl_copy_cut(r->system, sizeof r->system, kl_start_system(s));
    free(r->file);
    r->file = malloc((s->file_count + 1) * sizeof *r->file);
    if (!r->file) return false;
    memcpy(r->file, s->file, s->file_count * sizeof *r->file);
    r->files = s->file_count;
    return true;
}

static bool read_start(struct kl_recording *r, struct kl_reader *in) {
    struct kl_start *start = calloc(1, sizeof *start);
    r->start = in->at;
    r->start_len = kl_reader_left(in);
    bool good = start && kl_start_decode(start, r->start, r->start_len) == 0 && take_start(r, start);
    in->at = in->end;
    free(start);
    return good;
}

/* --- frames --- */

/* The deed of SNAPSHOT on this machine: its event stands before the frame. */
static const char *serialized(const struct kl_recording *r, uint32_t frame) {
    for (unsigned i = r->serializeds; i-- > 0;)
        if (r->serialized[i].frame == frame) return r->serialized[i].yes ? "snapshot load" : "snapshot";
    return "";
}

static void command_words(char text[KL_RECORDING_TEXT], const struct kl_command *c) {
    char key[KL_COMMAND_BYTES + 1], value[KL_COMMAND_BYTES + 1];
    struct kl_reader in;
    uint16_t disk;
    switch (c->kind) {
    case KL_COMMAND_RESET: snprintf(text, KL_RECORDING_TEXT, "reset"); break;
    case KL_COMMAND_SAVE: snprintf(text, KL_RECORDING_TEXT, "save"); break;
    case KL_COMMAND_LOAD:
        in = kl_reader(c->data, c->len);
        snprintf(text, KL_RECORDING_TEXT, "load %" PRIu32, kl_read_u32(&in));
        break;
    case KL_COMMAND_OPTION:
        if (kl_words_option(c, key, value)) snprintf(text, KL_RECORDING_TEXT, "option %s=%s", key, value);
        break;
    case KL_COMMAND_DISK:
        if (kl_words_get_disk(c, &disk)) snprintf(text, KL_RECORDING_TEXT, "disk %u", disk + 1u);
        break;
    default: break; /* nothing to the core */
    }
}

static bool add_commands(struct kl_recording *r, uint32_t frame, const struct kl_commands *set) {
    for (unsigned i = 0; i < set->count; i++) {
        char text[KL_RECORDING_TEXT] = "";
        command_words(text, &set->at[i]);
        if (set->at[i].kind == KL_COMMAND_MASK && !r->mask.count &&
            kl_mask_hear(&r->heard, &set->at[i], &r->mask))
            r->mask_from = frame;
        if (set->at[i].kind == KL_COMMAND_SNAPSHOT) kl_copy_cut(text, sizeof text, serialized(r, frame));
        if (*text && !add_deed(r, frame, KL_DEED_COMMAND, text)) return false;
    }
    return true;
}

static bool add_frame(struct kl_recording *r, const struct kl_frame *f, const struct kl_commands *set) {
    static const struct kl_input neutral;
    if (f->number != r->frames) {
        snprintf(r->damage, sizeof r->damage, "frame %" PRIu32 " is due, it has frame %" PRIu32, r->frames,
                 f->number);
        return false;
    }
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        const struct kl_input *in = f->active >> s & 1 ? &f->in[s] : &neutral;
        if (kl_input_equal(in, &r->now[s])) continue;
        if (!ADD(r->input, r->inputs)) return false;
        r->input[r->inputs++] = (struct kl_recorded_input){f->number, (uint8_t)s, *in};
        r->now[s] = *in;
    }
    if (r->whole == f->number) r->whole++;
    r->frames = f->number + 1;
    if (!r->actives || r->active[r->actives - 1].seats != f->active) {
        if (!ADD(r->active, r->actives)) return false;
        r->active[r->actives++] = (struct kl_recorded_active){f->number, f->active};
    }
    if (f->flags & KL_FRAME_HASH) {
        if (!ADD(r->mark, r->marks)) return false;
        r->mark[r->marks++] = f->number;
    }
    return !(f->flags & KL_FRAME_COMMANDS) || add_commands(r, f->number, set);
}

static bool note_commands(struct kl_recording *r, uint32_t frame, const uint8_t *piece, size_t len) {
    if (!ADD(r->command, r->commands)) return false;
    r->command[r->commands++] = (struct kl_recorded_commands){frame, piece, len};
    return true;
}

static bool read_pieces(struct kl_recording *r, struct kl_reader *in) {
    const uint8_t *piece;
    size_t len;
    while ((piece = kl_klr_read_piece(in, &len))) {
        struct kl_frames frames;
        struct kl_frame f;
        if (kl_piece_open(&frames, piece, len) != KL_OK) return false;
        while (kl_frames_next(&frames, &f))
            if (!add_frame(r, &f, &frames.commands) ||
                (f.flags & KL_FRAME_COMMANDS && !note_commands(r, f.number, piece, len)))
                return false;
    }
    return true;
}

/* --- the rest --- */

/* From that frame on. */
static void drop_hashes(struct kl_recording *r, uint32_t frame) {
    while (r->hashes && r->hash[r->hashes - 1].label >= frame)
        r->hashes--;
    while (r->others && r->other[r->others - 1].label >= frame)
        r->others--;
}

/* Frames from this one on no longer count. */
static bool cut(struct kl_recording *r, uint32_t frame) {
    unsigned kept = 0;
    if (frame >= r->frames || frame < r->first) return false;
    while (r->inputs && r->input[r->inputs - 1].frame >= frame)
        r->inputs--;
    memset(r->now, 0, sizeof r->now);
    for (unsigned i = 0; i < r->inputs; i++)
        r->now[r->input[i].seat] = r->input[i].in;
    for (unsigned i = 0; i < r->deeds; i++)
        if (r->deed[i].kind != KL_DEED_COMMAND || r->deed[i].frame < frame) r->deed[kept++] = r->deed[i];
    r->deeds = kept;
    while (r->marks && r->mark[r->marks - 1] >= frame)
        r->marks--;
    while (r->actives && r->active[r->actives - 1].frame >= frame)
        r->actives--;
    while (r->commands && r->command[r->commands - 1].frame >= frame)
        r->commands--;
    drop_hashes(r, frame);
    if (r->digest.end > frame) r->digest = (struct kl_digest){0};
    if (r->seal.end > frame) r->seal = (struct kl_proof){0};
    r->frames = frame;
    if (r->whole > frame) r->whole = frame;
    return true;
}

/* In order of labels; of one label the later one counts. */
static bool put_hash(struct kl_recording *r, const struct kl_klr_hash *h) {
    unsigned at = r->hashes;
    while (at && r->hash[at - 1].label > h->label)
        at--;
    if (at && r->hash[at - 1].label == h->label) {
        r->hash[at - 1] = *h;
        return true;
    }
    if (!ADD(r->hash, r->hashes)) return false;
    memmove(r->hash + at + 1, r->hash + at, (r->hashes++ - at) * sizeof *r->hash);
    r->hash[at] = *h;
    return true;
}

static bool read_hash(struct kl_recording *r, struct kl_reader *in) {
    struct kl_klr_hash h;
    kl_klr_read_hash(in, &h);
    if (in->failed) return false;
    if (r->head.flags & KL_KLR_BY_CLIENT) {
        drop_hashes(r, h.label); /* it went back */
    } else if (h.label == r->said.label && !(h.clients & r->said.clients)) {
        r->said.clients |= h.clients; /* other clients say something else: the most stand first */
        if (!ADD(r->other, r->others)) return false;
        r->other[r->others++] = h;
        return true;
    } else {
        /* A later set of that label takes their place. */
        uint32_t label = h.label;
        unsigned kept = 0;
        for (unsigned i = 0; i < r->others; i++)
            if (r->other[i].label != label) r->other[kept++] = r->other[i];
        r->others = kept;
    }
    r->said.label = h.label;
    r->said.clients = h.clients;
    return put_hash(r, &h);
}

static bool add_serialized(struct kl_recording *r, const struct kl_klr_event *e) {
    if (!ADD(r->serialized, r->serializeds)) return false;
    r->serialized[r->serializeds++] = (struct kl_serialized){e->frame, e->yes};
    return true;
}

static bool add_report(struct kl_recording *r, const struct kl_klr_event *e) {
    if (!ADD(r->report, r->reports)) return false;
    struct kl_recorded_report *p = &r->report[r->reports++];
    p->frame = e->frame;
    p->client = e->client;
    kl_copy_cut(p->text, sizeof p->text, e->text);
    return true;
}

static bool read_event(struct kl_recording *r, struct kl_reader *in) {
    struct kl_klr_event e;
    char text[KL_RECORDING_TEXT];
    kl_klr_read_event(in, &e);
    if (in->failed) return false;
    switch (e.kind) {
    case KL_KLR_OPTION: return add_option(r, e.text);
    case KL_KLR_ALIEN: return add_deed(r, e.frame, KL_DEED_ALIEN, e.text);
    case KL_KLR_SERIALIZED: return add_serialized(r, &e);
    case KL_KLR_CUT: return cut(r, e.frame);
    case KL_KLR_SEATS:
        if (e.seats) kl_copy_cut(r->name[e.client], KL_NAME_MAX, e.text);
        return add_seats(r, e.frame, e.client, e.seats);
    case KL_KLR_REPORT: return add_report(r, &e);
    case KL_KLR_FLIP:
        snprintf(text, sizeof text, "%" PRIu64 "%s", e.offset, e.yes ? " state" : "");
        return add_deed(r, e.frame, KL_DEED_FLIP, text);
    default: return true;
    }
}

static bool read_snapshot(struct kl_recording *r, struct kl_reader *in) {
    struct kl_klr_snapshot s;
    char text[KL_RECORDING_TEXT];
    kl_klr_read_snapshot(in, &s);
    snprintf(text, sizeof text, "this run starts from the room's state of frame %" PRIu32, s.frame);
    if (in->failed || (s.frame < r->frames && r->frames != r->first)) return false;
    if (r->frames == r->first) r->first = r->whole = s.frame;
    r->frames = s.frame;
    return add_deed(r, s.frame, KL_DEED_ALIEN, text);
}

static bool read_digest(struct kl_recording *r, struct kl_reader *in) {
    kl_klr_read_digest(in, &r->digest);
    return true;
}

/* The newest. */
static bool read_seal(struct kl_recording *r, struct kl_reader *in) {
    kl_klr_read_seal(in, &r->seal);
    return r->seal.has ? r->seal.label < r->seal.end : !r->seal.label;
}

static bool read_sign(struct kl_recording *r, struct kl_reader *in) {
    if (!ADD(r->sign, r->signs)) return false;
    kl_klr_read_sign(in, &r->sign[r->signs++]);
    return true;
}

static bool read_end(struct kl_recording *r, struct kl_reader *in) {
    struct kl_klr_end end;
    kl_klr_read_end(in, &end);
    r->ended = true;
    kl_copy_cut(r->end, sizeof r->end, end.why);
    return true;
}

/* False: the body says what it may not. */
static bool read_block(struct kl_recording *r, const struct kl_klr_cursor *c) {
    static bool (*const by_type[])(struct kl_recording *, struct kl_reader *) = {
        [KL_KLR_HEAD] = read_head,         [KL_KLR_ROOM] = read_room,     [KL_KLR_START] = read_start,
        [KL_KLR_SNAPSHOT] = read_snapshot, [KL_KLR_PIECES] = read_pieces, [KL_KLR_DIGEST] = read_digest,
        [KL_KLR_HASH] = read_hash,         [KL_KLR_EVENT] = read_event,   [KL_KLR_END] = read_end,
        [KL_KLR_SEAL] = read_seal,         [KL_KLR_SIGN] = read_sign};
    if (c->type >= sizeof by_type / sizeof *by_type || !by_type[c->type])
        return true; /* of a later keylock */
    struct kl_reader in = kl_reader(c->body, c->body_len);
    return by_type[c->type](r, &in) && !in.failed && kl_reader_left(&in) == 0;
}

/* Before one frame: the commands as they came, then a planted desync. */
static int deed_order(const void *a, const void *b) {
    const struct kl_recorded_deed *x = a, *y = b;
    if (x->frame != y->frame) return x->frame < y->frame ? -1 : 1;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* The blocks, up to damage. 0, or -1: of another version, which `head` says. */
static int read_blocks(struct kl_recording *r, struct kl_klr_cursor *c) {
    enum kl_klr_next next;
    char why[80];
    for (uint64_t at = c->place.at; (next = kl_klr_next(c)) == KL_KLR_BLOCK; at = c->place.at, r->blocks++) {
        bool good = (r->blocks == 0) == (c->type == KL_KLR_HEAD) && read_block(r, c);
        if (r->blocks == 0 && good && r->head.version > KL_KLR_VERSION) return -1;
        if (good) continue;
        kl_copy_cut(why, sizeof why, *r->damage ? r->damage : "its body is malformed");
        snprintf(r->damage, sizeof r->damage, "block %u at byte %" PRIu64 " (%s): %s", r->blocks, at,
                 kl_klr_type_name(c->type), why);
        return 0;
    }
    if (next == KL_KLR_WHOLE) return 0;
    snprintf(r->damage, sizeof r->damage, "block %u at byte %" PRIu64 " (%s): %s", r->blocks, c->place.at,
             kl_klr_type_name(c->type),
             next == KL_KLR_TORN ? "the file ends within it" : "its check is wrong");
    return 0;
}

static int unpack(struct kl_recording *r, struct kl_klr_unpacked *u, const char *name, char *err,
                  size_t err_len) {
    int result = kl_klr_unpack(u, r->bytes, r->len, name, err, err_len);
    free(r->bytes);
    r->packed = r->len;
    r->packed_frames = u->frames;
    r->bytes = u->bytes;
    r->len = u->len;
    return result;
}

int kl_recording_parse(struct kl_recording *r, void *bytes, size_t len, const char *name, char *err,
                       size_t err_len) {
    struct kl_klr_unpacked u = {.damage = ""};
    struct kl_klr_cursor c;
    memset(r, 0, sizeof *r);
    r->bytes = bytes;
    r->len = len;
    if (kl_klr_is_packed(bytes, len) && unpack(r, &u, name, err, err_len) != 0) return -1;
    bool begins = kl_klr_open(&c, r->bytes, r->len);
    if (!begins && !*u.damage) return 1;
    if (begins && read_blocks(r, &c) != 0) {
        snprintf(err, err_len, "%s: expected a recording of version %d or less, got version %u", name,
                 KL_KLR_VERSION, r->head.version);
        return -1;
    }
    if (*u.damage && !*r->damage) {
        /* Of the match's minutes: 60 frames a second, where ROOM does not say it. */
        uint64_t minute =
            r->room.has_params ? 60 * (uint64_t)r->room.params.fps_uhz / 1000000 : KL_KLR_MINUTE_FRAMES;
        snprintf(r->damage, sizeof r->damage,
                 "in the packed frame %u, minute %" PRIu64 " of the match, at byte %" PRIu64 ": %s",
                 u.frames + 1, r->frames / minute + 1, u.at, u.damage);
    }
    memset(r->now, 0, sizeof r->now);
    if (r->deeds) qsort(r->deed, r->deeds, sizeof *r->deed, deed_order);
    return 0;
}

int kl_recording_read(struct kl_recording *r, const char *path, char *err, size_t err_len) {
    void *bytes;
    size_t len;
    memset(r, 0, sizeof *r);
    if (kl_file_read(path, KL_KLR_BYTES_MAX, 0, &bytes, &len, err, err_len) != 0) return -1;
    return kl_recording_parse(r, bytes, len, path, err, err_len);
}

void kl_recording_free(struct kl_recording *r) {
    free(r->bytes);
    free(r->option);
    free(r->input);
    free(r->hash);
    free(r->other);
    free(r->file);
    free(r->mark);
    free(r->sign);
    free(r->deed);
    free(r->serialized);
    free(r->seats);
    free(r->active);
    free(r->report);
    free(r->command);
    memset(r, 0, sizeof *r);
}

const struct kl_input *kl_recording_at(struct kl_recording *r, uint32_t frame) {
    if (frame < r->at) {
        r->next = 0;
        memset(r->now, 0, sizeof r->now);
    }
    r->at = frame;
    for (; r->next < r->inputs && r->input[r->next].frame <= frame; r->next++)
        r->now[r->input[r->next].seat] = r->input[r->next].in;
    return r->now;
}

bool kl_recording_commands(const struct kl_recording *r, uint32_t frame, struct kl_commands *out) {
    unsigned lo = 0, hi = r->commands;
    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        if (r->command[mid].frame < frame)
            lo = mid + 1;
        else
            hi = mid;
    }
    struct kl_frames frames;
    struct kl_frame f;
    if (lo == r->commands || r->command[lo].frame != frame ||
        kl_piece_open(&frames, r->command[lo].piece, r->command[lo].len) != KL_OK)
        return false;
    while (kl_frames_next(&frames, &f))
        if (f.number == frame) {
            *out = frames.commands;
            return true;
        }
    return false;
}
