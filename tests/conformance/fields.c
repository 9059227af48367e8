#include "tests/conformance/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/netplay/channel.h"
#include "core_wrapper/match/snapshot_form.h"
#include "core_wrapper/start/start.h"
#include "net/engine/wire.h"
#include "net/engine/lock_wire.h"
#include "net/engine/msg.h"
#include "net/transport/strangers.h"

void print_hex(const void *p, size_t len) {
    const uint8_t *b = p;
    putchar('"');
    for (size_t i = 0; i < len; i++)
        printf("%02x", b[i]);
    putchar('"');
}
static void print_string(const char *s) {
    print_hex(s, strlen(s));
}

static void print_input(const struct kl_input *in) {
    printf("[%u,[%d,%d,%d,%d],[%d,%d],[%d,%d,%u],[", in->joypad, in->stick[0], in->stick[1], in->stick[2],
           in->stick[3], in->trigger[0], in->trigger[1], in->mouse_x, in->mouse_y, in->mouse_buttons);
    for (unsigned i = 0; i < KL_TOUCHES; i++)
        printf("%s[%d,%d,%d]", i ? "," : "", in->touch[i].x, in->touch[i].y, in->touch[i].pressed);
    printf("],[%d,%d,%u],[%d,[", in->gun_x, in->gun_y, in->gun_buttons, in->all_up);
    for (unsigned i = 0; i < in->key_count; i++)
        printf("%s[%u,%u,%d,%u]", i ? "," : "", in->key[i].code, in->key[i].character, in->key[i].down,
               in->key[i].modifiers);
    printf("]]]");
}

static void print_echo(bool has, uint32_t echo, uint32_t hold_us) {
    if (has)
        printf("\"echo\":[%u,%u],", echo, hold_us);
    else
        printf("\"echo\":null,");
}

static int print_ctrl(const uint8_t *b, size_t len, unsigned seats) {
    struct kl_ctrl c;
    struct kl_input in[KL_MAX_SEATS];
    if (kl_ctrl_open(&c, seats, 0, b, len) != 0) return KL_E_MALFORMED;
    printf("{\"stamp\":%u,\"away\":%d,\"resume\":%d,\"sparing\":%d,\"guesses\":%d,", c.stamp, c.away,
           c.resume, c.sparing, c.guesses);
    print_echo(c.has_echo, c.echo, c.hold_us);
    printf("\"acked\":%u,\"backlog\":%u,\"needs\":[", c.frame_acked, c.backlog);
    for (unsigned i = 0; i < c.need_count; i++)
        printf("%s%u", i ? "," : "", c.need[i]);
    printf("],\"first\":%u,\"late\":%u,\"turn_late\":%u,\"batch\":%u,\"samples\":[", c.sample_first,
           c.sample_late, c.turn_late, c.sample_batch);
    for (uint32_t n = 0; n < c.sample_count; n++) {
        kl_ctrl_sample(&c, in);
        printf("%s[", n ? "," : "");
        for (unsigned s = 0; s < seats; s++) {
            if (s) putchar(',');
            print_input(&in[s]);
        }
        putchar(']');
    }
    printf("]}");
    return 0;
}

static void print_commands(const struct kl_commands *set) {
    putchar('[');
    for (unsigned i = 0; set && i < set->count; i++) {
        printf("%s[%u,%u,", i ? "," : "", set->at[i].client, set->at[i].kind);
        print_hex(set->at[i].data, set->at[i].len);
        putchar(']');
    }
    printf("],");
}

static void print_frames(struct kl_frames *frames, uint32_t count) {
    struct kl_frame f;
    putchar('[');
    for (unsigned n = 0; n < count && kl_frames_next(frames, &f); n++) {
        printf("%s[%u,%u,%u,%d,%d,%d,", n ? "," : "", f.number, f.keyframe, f.spacing,
               !!(f.flags & KL_FRAME_KEY), !!(f.flags & KL_FRAME_HASH), !!(f.flags & KL_FRAME_BY_CLOCK));
        print_commands(f.flags & KL_FRAME_COMMANDS ? &frames->commands : NULL);
        printf("%u,[", f.active);
        for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
            if (s) putchar(',');
            print_input(&f.in[s]);
        }
        printf("]]");
    }
    putchar(']');
}

static void print_hints(const struct kl_hints *h, uint32_t next) {
    bool first = true;
    if (h->ports) printf("[%u,[", next - h->first);
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        if (!(h->ports >> s & 1)) continue;
        printf("%s[%u,%u,", first ? "" : ",", s, h->count[s]);
        first = false;
        for (unsigned i = 0; !(h->held >> s & 1) && i < h->count[s]; i++)
            printf("%s%u", i ? "," : "[", h->joypad[s][i]);
        printf("%s]", h->held >> s & 1 ? "null" : "]");
    }
    printf(h->ports ? "]]" : "null");
}

static int print_update(const uint8_t *b, size_t len) {
    struct kl_update u;
    if (kl_update_open(&u, b, len) != 0) return KL_E_MALFORMED;
    printf("{\"stamp\":%u,\"absent\":%d,\"returning\":%d,\"paused\":%d,\"away\":%u,", u.stamp,
           u.presence == KL_ABSENT, u.presence == KL_RETURNING, u.paused, u.away);
    print_echo(u.has_echo, u.echo, u.hold_us);
    printf("\"next_sample\":%u,\"waiting\":%u,\"first\":%u,", u.next_sample, u.waiting_for, u.first);
    if (u.has_schedule)
        printf("\"due\":%lld,\"hints\":", (long long)u.due_us);
    else
        printf("\"due\":null,\"hints\":");
    print_hints(&u.hints, u.first + u.count);
    printf(",\"frames\":");
    print_frames(&u.frames, u.count);
    putchar('}');
    return 0;
}

/* --- reliable messages, by their tables --- */

static void print_group(const struct kl_field *table, const uint8_t *at);

static void print_list(const struct kl_field *f, const uint8_t *at, uint64_t count) {
    putchar('[');
    for (uint64_t i = 0; i < count; i++) {
        if (i) putchar(',');
        print_group(f->of, at + i * (f->size / f->max));
    }
    putchar(']');
}

/* first: no comma comes before it. */
static void print_table(const struct kl_field *f, const uint8_t *from, bool first) {
    for (; f->type; f++, first = false) {
        const uint8_t *at = from + f->place;
        uint64_t count = f->type == KL_FIELD_REST || f->type == KL_FIELD_LIST
                             ? kl_field_number(from + f->count, f->width)
                             : 0;
        if (!kl_field_is_there(f, from)) continue;
        if (!first && f->type != KL_FIELD_BITS && f->type != KL_FIELD_PART) putchar(',');
        switch (f->type) {
        case KL_FIELD_NUMBER: printf("%llu", (unsigned long long)kl_field_number(at, f->size)); break;
        case KL_FIELD_TEXT: print_string((const char *)at); break;
        case KL_FIELD_BYTES: print_hex(at, f->size); break;
        case KL_FIELD_REST: print_hex(at, (size_t)count); break;
        case KL_FIELD_LIST: print_list(f, at, count); break;
        case KL_FIELD_GROUP: print_group(f->of, at); break;
        default: print_table(f->of, at, first);
        }
    }
}

static void print_group(const struct kl_field *table, const uint8_t *at) {
    putchar('[');
    print_table(table, at, true);
    putchar(']');
}

/* With null for a hash that is left out. */
static void print_hashes(const struct kl_hash *h) {
    printf(",%u,%u", h->frame, h->layout);
    const uint64_t value[] = {h->ram, h->state, h->picture, h->sound};
    for (unsigned i = 0; i < 4; i++) {
        if (h->has >> i & 1)
            printf(",%llu", (unsigned long long)value[i]);
        else
            printf(",null");
    }
    printf(",%d", h->has >> 4);
}

static void print_past(const struct kl_past *p) {
    struct kl_frames f;
    if (kl_piece_open(&f, p->bytes, p->len) != 0) abort();
    printf(",%u,", f.first);
    print_frames(&f, f.count);
}

static int print_message(const uint8_t *b, size_t len) {
    static struct kl_msg m;
    int result = kl_msg_decode(&m, b, len);
    if (result != 0) return result;
    printf("[%u", m.kind);
    const struct kl_msg_form *form = kl_msg_form(m.kind);
    if (m.kind == KL_MSG_HASH)
        print_hashes(&m.hash);
    else if (m.kind == KL_MSG_HISTORY)
        print_past(&m.past);
    else
        print_table(form->table, (const uint8_t *)&m + form->place, false);
    putchar(']');
    return 0;
}

/* --- RetroArch's packet channel --- */

static int print_channel(const uint8_t *b, size_t len) {
    static struct kl_channel_packet p;
    int result = kl_channel_decode(&p, b, len);
    if (result != KL_OK) return result;
    printf("[%u", p.kind);
    if (p.kind == KL_CHANNEL_GREET) printf(",%u,%u", p.version, p.protocol);
    if (p.kind == KL_CHANNEL_TICKET) {
        printf(",%d,", p.hosted), print_string(p.url.host);
        printf(",%u,", p.url.port), print_string(p.url.room);
        putchar(','), print_string(p.url.fingerprint);
    }
    if (p.kind == KL_CHANNEL_OUTCOME) printf(",%u", p.outcome);
    if (p.kind == KL_CHANNEL_REFUSE) putchar(','), print_string(p.text);
    if (p.kind == KL_CHANNEL_CARRY) printf(",%u,", p.taken), print_hex(p.datagram, p.len);
    putchar(']');
    return 0;
}

/* --- the core's data --- */

static void print_mask(const struct kl_mask *m) {
    putchar('[');
    for (unsigned i = 0; i < m->count; i++)
        printf("%s[%u,%u]", i ? "," : "", m->range[i].from, m->range[i].to);
    putchar(']');
}

static void print_profile(const struct kl_profile_room *p, bool has_state) {
    printf("[%d,%u,",
           p->show_all | p->load_own << 1 | p->states_equal << 2 | p->no_snapshots << 3 | has_state << 4,
           p->mask.state_bytes);
    print_mask(&p->mask);
}

static void print_state(const struct kl_start_state *s) {
    printf(",[%u,", s->frame), print_hex(s->room_id, sizeof s->room_id);
    putchar(','), print_string(s->match), putchar(','), print_string(s->players);
    printf(",%llu,%u,", (unsigned long long)s->chance, s->bytes), print_hex(s->hash, sizeof s->hash);
    putchar(','), print_hex(s->packed, s->packed_len), putchar(']');
}

static int print_start(const uint8_t *b, size_t len) {
    static struct kl_start s;
    if (kl_start_decode(&s, b, len) != 0) return KL_E_MALFORMED;
    print_profile(&s.profile, s.state.bytes);
    printf(",[");
    for (unsigned i = 0; i < s.option_count; i++) {
        printf(i ? ",[" : "["), print_string(s.option[i].key);
        putchar(','), print_string(s.option[i].value), putchar(']');
    }
    printf("],[");
    for (unsigned i = 0; i < s.device_count; i++)
        printf("%s[%u,%u]", i ? "," : "", s.device[i].port, s.device[i].device);
    printf("],[");
    for (unsigned i = 0; i < s.memory_count; i++) {
        printf("%s[%u,", i ? "," : "", s.memory[i].id);
        print_hex(s.memory[i].bytes, s.memory[i].len), putchar(']');
    }
    printf("],[");
    for (unsigned i = 0; i < s.file_count; i++) {
        printf(i ? ",[" : "["), print_string(s.file[i].path);
        putchar(','), print_hex(s.file[i].bytes, s.file[i].len), putchar(']');
    }
    putchar(']');
    if (s.state.bytes) print_state(&s.state);
    putchar(']');
    return 0;
}

static void print_settings(struct kl_reader *r, bool choices) {
    char text[KL_OPTIONS_VALUE_MAX];
    unsigned count = (unsigned)kl_read_var(r, KL_OPTIONS_LISTED);
    putchar('[');
    for (unsigned i = 0; i < count; i++) {
        kl_read_string(r, text, KL_OPTIONS_KEY_MAX);
        printf(i ? ",[" : "["), print_string(text);
        kl_read_string(r, text, sizeof text);
        putchar(','), print_string(text);
        unsigned offered = choices ? (unsigned)kl_read_var(r, KL_OPTIONS_CHOICES) : 0;
        if (choices) printf(",[");
        for (unsigned c = 0; c < offered; c++) {
            kl_read_string(r, text, sizeof text);
            if (c) putchar(',');
            print_string(text);
        }
        printf(choices ? "]]" : "]");
    }
    putchar(']');
}

static void print_outside(const struct kl_outside *o) {
    uint8_t ports[4 * KL_MAX_SEATS];
    bool any = false;
    printf(",%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,", o->base_width, o->base_height, o->max_width, o->max_height,
           o->aspect_e6, o->fps_uhz, o->rate_mhz, o->format, o->rotation, o->supports, o->quirks);
    print_string(o->platform);
    struct kl_writer w = kl_writer(ports, sizeof ports);
    for (unsigned p = 0; p < KL_MAX_SEATS; p++)
        kl_write_u32(&w, o->device[p]);
    putchar(','), print_hex(ports, sizeof ports);
    printf(",%u,%u,%u,%d,%d,%u,%u,[", o->subsystem, o->disk, o->disks, o->ejected, o->tray.open,
           o->tray.frame, o->tray.index);
    for (unsigned i = 0; i < 512 * KL_MAX_SEATS; i++) {
        if (!kl_key_in(&o->held[i / 512], i % 512)) continue;
        printf(any ? ",%u" : "%u", i);
        any = true;
    }
    uint8_t lasting[4 * KL_MAX_SEATS + 2 * KL_LASTING_LIGHTS];
    w = kl_writer(lasting, sizeof lasting);
    for (unsigned p = 0; p < KL_MAX_SEATS; p++) {
        kl_write_u16(&w, o->lasting.motor[p][0]);
        kl_write_u16(&w, o->lasting.motor[p][1]);
    }
    for (unsigned i = 0; i < KL_LASTING_LIGHTS; i++)
        kl_write_u16(&w, o->lasting.light[i]);
    printf("],");
    print_hex(lasting, 4 * KL_MAX_SEATS);
    putchar(','), print_hex(lasting + 4 * KL_MAX_SEATS, 2 * KL_LASTING_LIGHTS);
    printf(",[");
    for (unsigned i = 0; i < o->only_count; i++) {
        printf(i ? ",[" : "["), print_string(o->only[i].name);
        printf(",%llu]", (unsigned long long)o->only[i].shape);
    }
    printf("],%d,", o->updated);
    struct kl_reader options = kl_reader(o->options, o->options_len);
    print_settings(&options, true);
    putchar(','), print_settings(&options, false);
}

static void print_files(struct kl_reader r) {
    char name[KL_FILESET_NAME];
    unsigned files = (unsigned)kl_read_var(&r, KL_FILESET_FILES);
    printf(",[");
    for (unsigned i = 0; i < files; i++) {
        kl_read_string(&r, name, sizeof name);
        printf(i ? ",[" : "["), print_string(name);
        unsigned kept = kl_read_u8(&r);
        printf(",%u,%llu,", kept, (unsigned long long)kl_read_u64(&r));
        size_t len = (size_t)kl_read_var(&r, KL_FILESET_BYTES);
        print_hex(kl_read_bytes(&r, len), len), putchar(']');
    }
    unsigned places = (unsigned)kl_read_var(&r, KL_FILESET_PLACES);
    printf("],[");
    for (unsigned i = 0; i < places; i++) {
        unsigned file = kl_read_u16(&r);
        printf(i ? ",[%u,%llu]" : "[%u,%llu]", file, (unsigned long long)kl_read_u64(&r));
    }
    putchar(']');
}

static int print_snapshot(const uint8_t *b, size_t len) {
    static struct kl_snapshot_view v;
    if (kl_snapshot_open(&v, b, len) != KL_OK) return KL_E_MALFORMED;
    const struct kl_snapshot_head *h = &v.head;
    printf("[%u,%llu,%lld,%u,", h->frame, (unsigned long long)h->chance, (long long)h->time.base_ns,
           h->time.base_frame);
    print_hex(h->plays, sizeof h->plays);
    printf(",%u,%u,%u,%u,", h->policy, h->wait_budget_ms, h->spacing_fixed, h->mask.state_bytes);
    print_mask(&h->mask);
    print_outside(&v.outside);
    print_files(v.files);
    putchar(','), print_hex(v.state, v.state_len);
    putchar(']');
    return 0;
}

/* --- strangers --- */

static int print_question(const uint8_t *b, size_t len) {
    struct kl_question q;
    if (kl_question_read(&q, b, len) != 0) return KL_E_MALFORMED;
    printf("[%u,", q.kind), print_hex(q.echo, sizeof q.echo);
    printf(",%u,%u]", q.version, q.from);
    return 0;
}

static int print_pong(const uint8_t *b, size_t len) {
    struct kl_pong p;
    if (kl_pong_read(&p, b, len) != 0) return KL_E_MALFORMED;
    putchar('['), print_hex(p.echo, sizeof p.echo);
    printf(",%u,%d,%u,%u]", p.version, p.insecure_lan, p.rooms, p.clients);
    return 0;
}

static int print_rooms(const uint8_t *b, size_t len) {
    static struct kl_rooms r;
    if (kl_rooms_read(&r, b, len) != 0) return KL_E_MALFORMED;
    putchar('['), print_hex(r.echo, sizeof r.echo);
    printf(",%u,[", r.next);
    for (unsigned i = 0; i < r.count; i++) {
        const struct kl_room_line *l = &r.line[i];
        printf(i ? ",[" : "["), print_string(l->name);
        putchar(','), print_string(l->content);
        putchar(','), print_string(l->core);
        printf(",%u,%u,%u,%u,%u,%u,%u,%d,", l->rtt_ms, l->players, l->filled, l->open, l->watchers,
               l->waiting, l->lead_max,
               l->playing | l->password << 1 | l->locked << 2 | l->quick << 3 | l->recorded << 4 |
                   l->economy << 5);
        print_hex(l->identity, sizeof l->identity), putchar(']');
    }
    printf("]]");
    return 0;
}

int print_fields(const char *what, unsigned seats, const uint8_t *b, size_t len) {
    if (strcmp(what, "ctrl") == 0) return print_ctrl(b, len, seats);
    if (strcmp(what, "update") == 0) return print_update(b, len);
    if (strcmp(what, "channel") == 0) return print_channel(b, len);
    if (strcmp(what, "start") == 0) return print_start(b, len);
    if (strcmp(what, "snapshot") == 0) return print_snapshot(b, len);
    if (strcmp(what, "ask") == 0) return print_question(b, len);
    if (strcmp(what, "pong") == 0) return print_pong(b, len);
    if (strcmp(what, "rooms") == 0) return print_rooms(b, len);
    return print_message(b, len);
}
