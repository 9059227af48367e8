#include "tests/conformance/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/netplay/channel.h"
#include "core_wrapper/match/snapshot_form.h"
#include "core_wrapper/start/start.h"
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
    printf("],[%d,%d,%u],[", in->gun_x, in->gun_y, in->gun_buttons);
    for (unsigned i = 0; i < in->key_count; i++)
        printf("%s[%u,%u,%d,%u]", i ? "," : "", in->key[i].code, in->key[i].character, in->key[i].down,
               in->key[i].modifiers);
    printf("]]");
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
    if (kl_ctrl_open(&c, seats, b, len) != 0) return KL_E_MALFORMED;
    printf("{\"stamp\":%u,\"away\":%d,\"resume\":%d,\"sparing\":%d,", c.stamp, c.away, c.resume, c.sparing);
    print_echo(c.has_echo, c.echo, c.hold_us);
    printf("\"acked\":%u,\"backlog\":%u,\"need_first\":%u,\"needs\":[", c.frame_acked, c.backlog,
           c.need_first);
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

static int print_update(const uint8_t *b, size_t len) {
    struct kl_update u;
    if (kl_update_open(&u, b, len) != 0) return KL_E_MALFORMED;
    printf("{\"stamp\":%u,\"absent\":%d,\"returning\":%d,\"paused\":%d,\"away\":%u,", u.stamp,
           u.presence == KL_ABSENT, u.presence == KL_RETURNING, u.paused, u.away);
    print_echo(u.has_echo, u.echo, u.hold_us);
    printf("\"next_sample\":%u,\"waiting\":%u,\"first\":%u,", u.next_sample, u.waiting_for, u.first);
    if (u.has_schedule)
        printf("\"due\":%lld,\"mark\":", (long long)u.due_us);
    else
        printf("\"due\":null,\"mark\":");
    if (u.has_mark)
        print_hex(u.mark, sizeof u.mark);
    else
        printf("null");
    printf(",\"frames\":");
    print_frames(&u.frames, u.count);
    putchar('}');
    return 0;
}

static void print_params(const struct kl_params *p) {
    printf("[%u,%d,%d,%d,%u,%u,%u,%u,%u,%u,%u]", p->policy, p->subframes, p->clocked, p->half_steps,
           p->players, p->spacing_fixed, p->lead_max, p->wait_budget_ms, p->hash_every, p->fps_uhz,
           p->desync);
}

static void print_facts(const struct kl_facts *f) {
    putchar('[');
    for (unsigned i = 0; i < f->count; i++) {
        printf("%s[", i ? "," : "");
        print_string(f->fact[i].key);
        putchar(',');
        print_string(f->fact[i].value);
        putchar(']');
    }
    putchar(']');
}

static void print_roster(const struct kl_roster *o) {
    printf(",%u,%u,%u,%u,[", o->filled, o->players, o->doors, o->farthest);
    for (unsigned i = 0; i < o->count; i++) {
        const struct kl_member *m = &o->member[i];
        printf("%s[%u,%u,%u,%d,", i ? "," : "", m->client, m->seats, m->state, m->host);
        print_string(m->name);
        putchar(']');
    }
    printf("],%u,%u,[", o->watchers, o->delay_s);
    for (unsigned i = 0; i < o->waiting; i++) {
        printf("%s[%u,%d,", i ? "," : "", o->queue[i].client, o->queue[i].turn);
        print_string(o->queue[i].name);
        putchar(']');
    }
    putchar(']');
}

static void print_hashes(const struct kl_msg *m) {
    const struct kl_hash *h = &m->hash;
    printf(",%u", h->frame);
    const bool has[] = {h->has_ram, h->has_state, h->has_av};
    const uint64_t value[] = {h->ram, h->state, h->av};
    for (unsigned i = 0; i < 3; i++) {
        if (has[i])
            printf(",%llu", (unsigned long long)value[i]);
        else
            printf(",null");
    }
    printf(",%d", h->full | h->noted << 1);
}

static void print_hello(const struct kl_hello *h) {
    printf(",%u,", h->version);
    print_string(h->name);
    putchar(',');
    print_string(h->room);
    printf(",%u,", h->seats_wanted);
    print_params(&h->params);
    putchar(',');
    print_facts(&h->facts);
    printf(",%u,%u,%u,", h->door, h->consent, h->seat_time_s);
    print_hex(h->seat_key, sizeof h->seat_key);
}

static void print_welcome(const struct kl_welcome *w) {
    printf(",%u,%u,%u,%d,", w->session, w->client, w->seats, w->host);
    print_params(&w->params);
    putchar(',');
    print_hex(w->room_id, sizeof w->room_id);
    putchar(',');
    print_hex(w->token, sizeof w->token);
    printf(",%u", w->seat_time_s);
}

static void print_return(const struct kl_return *b) {
    putchar(',');
    print_string(b->room);
    putchar(',');
    print_hex(b->token, sizeof b->token);
    putchar(',');
    print_hex(b->seat_key, sizeof b->seat_key);
    putchar(',');
    print_hex(b->signature, sizeof b->signature);
    printf(",%d,%d,%u,%u,%u,", b->fresh, b->can_bring, b->have, b->first, b->tags);
    print_hex(b->digest, sizeof b->digest);
    putchar(',');
    print_facts(&b->facts);
    printf(",%u", b->consent);
}

static void print_piece(const struct kl_piece *p) {
    printf(",%u,%u,", p->offset, p->total);
    print_hex(p->bytes, p->len);
}

static void print_past(const struct kl_past *p) {
    struct kl_frames f;
    if (kl_piece_open(&f, p->bytes, p->len) != 0) abort();
    printf(",%u,", f.first);
    print_frames(&f, f.count);
}

static void print_tags(const struct kl_tags *t) {
    printf(",%u,%u,[", t->first, t->end_frame);
    for (unsigned i = 0; i < t->count; i++) {
        if (i) putchar(',');
        print_hex(t->tag[i], sizeof t->tag[i]);
    }
    putchar(']');
}

static void print_bring(const struct kl_bring *b) {
    printf(",%u", b->what);
    switch (b->what) {
    case KL_BRING_HISTORY: print_past(&b->past); break;
    case KL_BRING_TAGS: print_tags(&b->tags); break;
    case KL_BRING_END: break;
    case KL_BRING_MARK:
        printf(",%u,", b->mark.end);
        print_hex(b->mark.mark, sizeof b->mark.mark);
        break;
    default: print_piece(&b->piece); break;
    }
}

static int print_message(const uint8_t *b, size_t len) {
    static struct kl_msg m;
    int result = kl_msg_decode(&m, b, len);
    if (result != 0) return result;
    printf("[%u", m.kind);
    switch (m.kind) {
    case KL_MSG_HELLO: print_hello(&m.hello); break;
    case KL_MSG_DATA:
        printf(",%u,%u,", m.data.offset, m.data.total);
        print_hex(m.data.bytes, m.data.len);
        break;
    case KL_MSG_READY: putchar(','), print_facts(&m.ready.facts); break;
    case KL_MSG_HASH: print_hashes(&m); break;
    case KL_MSG_COMMAND:
        printf(",%u,", m.order.kind);
        print_hex(m.order.data, m.order.len);
        break;
    case KL_MSG_WELCOME: print_welcome(&m.welcome); break;
    case KL_MSG_ROSTER: print_roster(&m.roster); break;
    case KL_MSG_PREPARE:
        printf(",%llu,%u", (unsigned long long)m.prepare.epoch_s, m.prepare.data_bytes);
        break;
    case KL_MSG_SEND: printf(",%d", m.bare); break;
    case KL_MSG_VERDICT:
        printf(",%u,%u,%u,%d,%u,%u,%u", m.verdict.frame, m.verdict.first, m.verdict.differs,
               m.verdict.complete, m.verdict.minority, m.verdict.healed, m.verdict.agreed);
        break;
    case KL_MSG_PROVE:
        printf(",%u,", m.prove.what), print_hex(m.prove.share, KL_SHARE_BYTES);
        putchar(','), print_hex(m.prove.mac, KL_MAC_BYTES);
        break;
    case KL_MSG_RETURN: print_return(&m.back); break;
    case KL_MSG_BRING: print_bring(&m.bring); break;
    case KL_MSG_DOOR:
        printf(",%u,", m.door.what), print_hex(m.door.salt, KL_SALT_BYTES);
        putchar(','), print_hex(m.door.share, KL_SHARE_BYTES);
        break;
    case KL_MSG_PROVED: putchar(','), print_hex(m.proved.mac, KL_MAC_BYTES); break;
    case KL_MSG_HISTORY: print_past(&m.past); break;
    case KL_MSG_TAGS: print_tags(&m.tags); break;
    case KL_MSG_TICKET: print_piece(&m.piece); break;
    case KL_MSG_STATE:
        printf(",%u,%d,%u,", m.state.keyframe, m.state.has, m.state.bytes);
        print_hex(m.state.hash, sizeof m.state.hash);
        break;
    case KL_MSG_GIVE:
        printf(",%u,%d", m.shot.keyframe, m.shot.based);
        print_piece(&m.shot.piece);
        break;
    case KL_MSG_SNAPSHOT: printf(",%u", m.shot.keyframe), print_piece(&m.shot.piece); break;
    case KL_MSG_HEALED: printf(",%u,%u,%u", m.healed.keyframe, m.healed.next, m.healed.how); break;
    case KL_MSG_ASK:
        printf(",%u,%d", m.ask.keyframe, m.ask.based);
        if (m.ask.based) printf(",%u,", m.ask.base), print_hex(m.ask.hash, sizeof m.ask.hash);
        break;
    case KL_MSG_OFFER:
        printf(",%u,%u,%u,%u,%u,", m.offer.keyframe, m.offer.interval, m.offer.begin, m.offer.bytes,
               m.offer.packed);
        print_hex(m.offer.hash, sizeof m.offer.hash);
        break;
    case KL_MSG_WANT: printf(",%u,%u", m.want.what, m.want.from); break;
    case KL_MSG_SEAT: printf(",%u,%u", m.seat.client, m.seat.seats); break;
    case KL_MSG_REWIND: printf(",%u", m.rewind.keyframe); break;
    default: printf(",%u,", m.text.code), print_string(m.text.text); break;
    }
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

static void print_profile(const struct kl_profile_room *p) {
    printf("[%d,%u,[", p->show_all | p->load_own << 1 | p->states_equal << 2 | p->no_snapshots << 3,
           p->mask.state_bytes);
    for (unsigned i = 0; i < p->mask.count; i++)
        printf("%s[%u,%u]", i ? "," : "", p->mask.range[i].from, p->mask.range[i].to);
    putchar(']');
}

static int print_start(const uint8_t *b, size_t len) {
    static struct kl_start s;
    if (kl_start_decode(&s, b, len) != 0) return KL_E_MALFORMED;
    print_profile(&s.profile);
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
    printf("]]");
    return 0;
}

static int print_snapshot(const uint8_t *b, size_t len) {
    struct kl_snapshot_view v;
    char key[KL_SNAPSHOT_KEY_MAX], value[KL_SNAPSHOT_VALUE_MAX];
    if (kl_snapshot_open(&v, b, len) != KL_OK) return KL_E_MALFORMED;
    const struct kl_snapshot_head *h = &v.head;
    printf("[%u,%llu,%lld,%u,%u,", h->frame, (unsigned long long)h->chance, (long long)h->time.base_ns,
           h->time.base_frame, h->time.fps_uhz);
    print_hex(h->plays, sizeof h->plays);
    printf(",%u,%u,%u,%d,%u,%u,%u,%d,[", h->policy, h->wait_budget_ms, h->spacing_fixed, h->tray_open,
           h->tray_frame, h->tray_index, h->disk, h->ejected);
    for (unsigned i = 0; kl_snapshot_option(&v, key, value); i++) {
        printf(i ? ",[" : "["), print_string(key);
        putchar(','), print_string(value), putchar(']');
    }
    printf("],");
    print_hex(v.state, v.state_len);
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
               l->waiting, l->lead_max, l->playing | l->password << 1 | l->locked << 2 | l->quick << 3);
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
