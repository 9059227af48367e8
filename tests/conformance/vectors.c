/* vectors - what the C code says on the wire, for a decoder written from net/PROTOCOL.md alone (decode.py).
 *
 *   vectors          JSON lines: {"what": "ctrl" | "update" | "message", "seats": N, "hex": …,
 * "fields": …} vectors --judge  reads lines "WHAT SEATS HEX" and answers each with the fields, or
 * "malformed", or "version"
 *
 * seats: of the client, for a CTRL; else 0. Strings stand as hex. The fields are laid out in decode.py. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock_wire.h"
#include "msg.h"

/* --- fields ------------------------------------------------------------------------------------------------
 */

static void print_hex(const void *p, size_t len) {
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
    printf("[%u,%d,%d,%d,%u,%u,%u,%u,%u,%u]", p->policy, p->subframes, p->clocked, p->half_steps, p->players,
           p->spacing_fixed, p->wait_budget_ms, p->hash_every, p->fps_uhz, p->desync);
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
    printf(",%u,%u,%u,[", o->filled, o->players, o->doors);
    for (unsigned i = 0; i < o->count; i++) {
        const struct kl_member *m = &o->member[i];
        printf("%s[%u,%u,%u,%d,", i ? "," : "", m->client, m->seats, m->state, m->host);
        print_string(m->name);
        putchar(']');
    }
    putchar(']');
}

static void print_hashes(const struct kl_hash *h) {
    printf(",%u", h->frame);
    const bool has[] = {h->has_ram, h->has_state, h->has_av};
    const uint64_t value[] = {h->ram, h->state, h->av};
    for (unsigned i = 0; i < 3; i++) {
        if (has[i])
            printf(",%llu", (unsigned long long)value[i]);
        else
            printf(",null");
    }
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
    printf(",%u,%u,", h->door, h->seat_time_s);
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
    printf(",%d,%d,%u,%u,", b->fresh, b->can_bring, b->have, b->tags);
    print_hex(b->digest, sizeof b->digest);
    putchar(',');
    print_facts(&b->facts);
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
    case KL_MSG_HASH: print_hashes(&m.hash); break;
    case KL_MSG_COMMAND:
        printf(",%u,", m.order.kind);
        print_hex(m.order.data, m.order.len);
        break;
    case KL_MSG_WELCOME: print_welcome(&m.welcome); break;
    case KL_MSG_ROSTER: print_roster(&m.roster); break;
    case KL_MSG_PREPARE:
        printf(",%llu,%u", (unsigned long long)m.prepare.epoch_s, m.prepare.data_bytes);
        break;
    case KL_MSG_SEND: break;
    case KL_MSG_VERDICT:
        printf(",%u,%u,%u,%d,%u,%u", m.verdict.frame, m.verdict.first, m.verdict.differs, m.verdict.complete,
               m.verdict.minority, m.verdict.healed);
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
    case KL_MSG_SNAPSHOT: printf(",%u", m.shot.keyframe), print_piece(&m.shot.piece); break;
    case KL_MSG_HEALED: printf(",%u,%u,%u", m.healed.keyframe, m.healed.next, m.healed.how); break;
    case KL_MSG_ASK: printf(",%u", m.ask); break;
    case KL_MSG_OFFER:
        printf(",%u,%u,%u,", m.offer.keyframe, m.offer.bytes, m.offer.packed);
        print_hex(m.offer.hash, sizeof m.offer.hash);
        break;
    case KL_MSG_WANT: printf(",%u,%u", m.want.what, m.want.from); break;
    case KL_MSG_SEAT: printf(",%u,%u", m.seat.client, m.seat.seats); break;
    default: printf(",%u,", m.text.code), print_string(m.text.text); break;
    }
    putchar(']');
    return 0;
}

static int print_fields(const char *what, unsigned seats, const uint8_t *b, size_t len) {
    if (strcmp(what, "ctrl") == 0) return print_ctrl(b, len, seats);
    if (strcmp(what, "update") == 0) return print_update(b, len);
    return print_message(b, len);
}

/* --- vectors -----------------------------------------------------------------------------------------------
 */

static void vector(const char *what, unsigned seats, const uint8_t *b, size_t len) {
    if (len == 0) abort();
    printf("{\"what\":\"%s\",\"seats\":%u,\"hex\":", what, seats);
    print_hex(b, len);
    printf(",\"fields\":");
    if (print_fields(what, seats, b, len) != 0) abort();
    printf("}\n");
}

/* Every group moves now and then, each at its own rhythm. */
static struct kl_input input_at(uint32_t n) {
    struct kl_input in = {.joypad = (uint16_t)(n / 2 * 0x1111), .mouse_buttons = (uint16_t)(n / 5)};
    if (n % 3 == 1) in.mouse_x = (int16_t)(n * 700), in.mouse_y = (int16_t) - (int32_t)n;
    for (unsigned i = 0; i < 4; i++)
        in.stick[i] = (int16_t)(n / 4 * 9000 * (i + 1));
    in.trigger[1] = (int16_t)(n / 6 * 5000);
    in.gun_x = (int16_t)(n / 7 * 31);
    in.gun_buttons = n / 7 * 0x12345 & 0xfffff;
    in.touch[n & 1] = (struct kl_touch){(int16_t)(n / 8), -5, n % 8 > 3};
    in.key_count = (uint8_t)(n % 5 == 4 ? 1 + n % KL_KEYS : 0);
    for (unsigned i = 0; i < in.key_count; i++)
        in.key[i] =
            (struct kl_key){(uint16_t)(n * 77 + i), (uint16_t)(n * 13), n % 2 ? 0x10ffff - n : 0, i % 2};
    return in;
}

static void ctrl_vectors(void) {
    static struct kl_input ring[KL_WINDOW_FRAMES][KL_MAX_SEATS];
    uint8_t buf[KL_DATAGRAM_MAX];
    for (uint32_t n = 0; n < KL_WINDOW_FRAMES; n++)
        for (unsigned s = 0; s < KL_MAX_SEATS; s++)
            if (n % 50 < 20) ring[n][s] = input_at(n + 17 * s);
    for (unsigned seats = 0; seats <= KL_MAX_SEATS; seats += seats < 2 ? 1 : 3)
        for (uint32_t count = 0; count < 12; count += 3) {
            struct kl_ctrl c = {.stamp = 0xfffffff0 + count,
                                .has_echo = count > 3,
                                .echo = 12345,
                                .hold_us = 300000,
                                .frame_acked = 1000000,
                                .backlog = 3,
                                .away = seats % 2,
                                .resume = count % 2,
                                .sparing = seats % 3 == 1,
                                .sample_late = 9,
                                .turn_late = count == 6 ? 300 : 0,
                                .sample_batch = (uint8_t)count,
                                .sample_first = 250 + count};
            c.sample_count = seats ? count : 0;
            c.need_count = (uint8_t)(count * 2);
            c.need_first = c.need_count ? 999000 : 0;
            for (unsigned i = 0; i < c.need_count; i++)
                c.need[i] = (uint8_t)(i * 11);
            size_t len = kl_ctrl_write(&c, ring, seats, buf, sizeof buf);
            if (len > 0) vector("ctrl", seats, buf, len);
        }
}

/* What is said before keyframe f, of every length that the room allows. */
static struct kl_commands commands_at(uint32_t f, unsigned count) {
    struct kl_commands set = {.keyframe = f, .count = (uint8_t)count};
    for (unsigned i = 0; i < count; i++) {
        struct kl_command *c = &set.at[i];
        c->client = i % 3 == 2 ? KL_RELAY_CLIENT : (uint8_t)i;
        c->kind = (uint8_t)(i < 3 ? i + 1 : 13 + i);
        c->len = (uint8_t)(count == 1 ? KL_COMMAND_BYTES : i * 380 / count / count);
        for (unsigned k = 0; k < c->len; k++)
            c->data[k] = (uint8_t)(f + k * 7);
    }
    return set;
}

static struct kl_frame ring[KL_KEPT_FRAMES];
static struct kl_commands commands[KL_COMMAND_SETS];

static void fill_ring(void) {
    unsigned sets = 0;
    static const uint16_t spacing[] = {1, 4, 30, 5, 2};
    for (uint32_t f = 0, k = 0, i = 0; f < KL_WINDOW_FRAMES; f++) {
        if (f == k + spacing[i % 5]) k = f, i++;
        ring[f] = (struct kl_frame){
            .number = f, .keyframe = k, .spacing = spacing[i % 5], .active = (uint8_t)(i | 1)};
        if (f == k) ring[f].flags = (uint8_t)(KL_FRAME_KEY | (i % 3 == 2 ? KL_FRAME_HASH : 0));
        if (i % 7 > 4) ring[f].flags |= KL_FRAME_BY_CLOCK;
        if (f == k && i % 2 && sets < KL_COMMAND_SETS) {
            ring[f].flags |= KL_FRAME_COMMANDS;
            commands[sets] = commands_at(f, 1 + sets % KL_COMMANDS_MAX);
            sets++;
        }
        for (unsigned s = 0; s < KL_MAX_SEATS; s++)
            if (f % 60 < 15 && (f / 60 + s) % 3 == 0) ring[f].in[s] = input_at(f + s);
    }
}

static void update_vectors(void) {
    uint8_t buf[KL_DATAGRAM_MAX];
    for (uint32_t first = 0; first < 200; first += 9)
        for (uint32_t count = 0; count < 50; count += 7) {
            struct kl_update u = {.stamp = first * 1000,
                                  .has_echo = first % 2,
                                  .echo = UINT32_MAX,
                                  .hold_us = UINT32_MAX,
                                  .next_sample = first + 3,
                                  .waiting_for = (uint8_t)first,
                                  .away = (uint8_t)(first * 5),
                                  .presence = (uint8_t)(first % 3),
                                  .paused = count % 3 == 1,
                                  .has_schedule = count % 2,
                                  .due_us = (int64_t)first * 100000 - 5000000,
                                  .has_mark = count % 2,
                                  .mark = {1, (uint8_t)first, 3, 4, 5, 6, 7, (uint8_t)count},
                                  .first = first,
                                  .count = count};
            size_t len = kl_update_write(&u, ring, commands, buf, sizeof buf);
            if (len > 0) vector("update", 0, buf, len);
        }
}

static void message(const struct kl_msg *m) {
    static uint8_t buf[KL_MSG_MAX];
    int len = kl_msg_encode(m, buf, sizeof buf);
    vector("message", 0, buf, len > 0 ? (size_t)len : 0);
}

static void count_up(uint8_t *out, size_t len, uint8_t from) {
    for (size_t i = 0; i < len; i++)
        out[i] = (uint8_t)(from * 40 + i);
}

static void seat_messages(void) {
    static struct kl_msg m;
    for (unsigned n = 0; n < 3; n++) {
        m = (struct kl_msg){.kind = KL_MSG_RETURN,
                            .back = {.room = "arcade", .fresh = n == 0, .can_bring = n == 1}};
        count_up(m.back.token, sizeof m.back.token, 1);
        count_up(m.back.seat_key, sizeof m.back.seat_key, 2);
        count_up(m.back.signature, sizeof m.back.signature, 3);
        if (n) count_up(m.back.digest, sizeof m.back.digest, 4);
        if (n) m.back.have = 70000, m.back.tags = 9000;
        if (n == 0) kl_facts_add(&m.back.facts, "core", "nestopia 1.52");
        message(&m);
    }
    for (uint8_t what = 0; what < 2; what++) {
        m = (struct kl_msg){.kind = KL_MSG_DOOR, .door.what = what};
        count_up(m.door.salt, sizeof m.door.salt, 4);
        if (what == KL_PROVE) count_up(m.door.share, sizeof m.door.share, 5);
        message(&m);
        m = (struct kl_msg){.kind = KL_MSG_PROVE, .prove.what = what};
        count_up(m.prove.share, sizeof m.prove.share, 1);
        if (what == KL_PROVE) count_up(m.prove.mac, sizeof m.prove.mac, 2);
        message(&m);
    }
    m = (struct kl_msg){.kind = KL_MSG_PROVED};
    count_up(m.proved.mac, sizeof m.proved.mac, 3);
    message(&m);
}

static void put_piece(struct kl_past *p, uint32_t first) {
    struct kl_frames_from from = {ring, KL_KEPT_FRAMES, commands, KL_COMMAND_SETS};
    uint32_t count;
    p->len = (uint16_t)kl_piece_write(&from, first, KL_PIECE_FRAMES, p->bytes, sizeof p->bytes, &count);
}

static void bulk_messages(void) {
    static struct kl_msg m;
    for (uint32_t first = 0; first < 200; first += 60) {
        m = (struct kl_msg){.kind = KL_MSG_HISTORY};
        put_piece(&m.past, first);
        message(&m);
    }
    m = (struct kl_msg){.kind = KL_MSG_TAGS, .tags = {.first = 9000, .end_frame = 70010, .count = 2}};
    count_up(m.tags.tag[1], KL_TAG_BYTES, 1);
    message(&m);
    m = (struct kl_msg){.kind = KL_MSG_TICKET,
                        .piece = {.offset = 4, .total = 10, .len = 6, .bytes = "sealed"}};
    message(&m);
    for (uint8_t what = KL_BRING_TICKET; what <= KL_BRING_START; what++) {
        m = (struct kl_msg){.kind = KL_MSG_BRING, .bring.what = what};
        m.bring.piece = (struct kl_piece){.offset = 4, .total = 10, .len = 6, .bytes = "pieces"};
        message(&m);
    }
    m.bring.piece = (struct kl_piece){0};
    message(&m);
    m.bring.what = KL_BRING_HISTORY;
    put_piece(&m.bring.past, 40);
    message(&m);
    m.bring.what = KL_BRING_TAGS;
    m.bring.tags = (struct kl_tags){.first = 1, .end_frame = 5, .count = KL_TAGS_MAX};
    message(&m);
    m.bring.what = KL_BRING_MARK;
    m.bring.mark = (struct kl_mark){.end = UINT32_MAX, .mark = {8, 7, 6, 5, 4, 3, 2, 1}};
    message(&m);
    m.bring.what = KL_BRING_END;
    message(&m);
    m = (struct kl_msg){.kind = KL_MSG_WANT, .want = {3, 70000}};
    message(&m);
}

static void snapshot_messages(void) {
    static struct kl_msg m;
    m = (struct kl_msg){.kind = KL_MSG_STATE, .state = {.keyframe = 606}};
    message(&m);
    m.state = (struct kl_state_said){.keyframe = 607, .bytes = KL_SNAPSHOT_MAX, .has = true};
    count_up(m.state.hash, sizeof m.state.hash, 4);
    message(&m);
    for (uint8_t kind = KL_MSG_GIVE; kind; kind = kind == KL_MSG_GIVE ? KL_MSG_SNAPSHOT : 0) {
        m = (struct kl_msg){.kind = kind,
                            .shot = {600, {.total = 4004, .len = KL_BULK_MAX, .bytes = {1, 2}}}};
        message(&m);
        m.shot.piece = (struct kl_piece){.offset = KL_SNAPSHOT_MAX - 3, .total = KL_SNAPSHOT_MAX, .len = 3};
        message(&m);
    }
    for (uint8_t how = 0; how <= KL_HEALED_NOT; how++) {
        m = (struct kl_msg){.kind = KL_MSG_HEALED, .healed = {600, 660, how}};
        message(&m);
    }
    m = (struct kl_msg){.kind = KL_MSG_ASK, .ask = 600};
    message(&m);
    m = (struct kl_msg){.kind = KL_MSG_OFFER, .offer = {600, 20000, 1500, {9}}};
    message(&m);
}

static void message_vectors(void) {
    static struct kl_msg m;
    static const struct kl_params params = {KL_POLICY_BOUNDED, true, true, 8, 30, 250, 60, 60098800, true,
                                            KL_DESYNC_IGNORE};
    m = (struct kl_msg){.kind = KL_MSG_HELLO,
                        .hello = {.version = KL_PROTOCOL_VERSION,
                                  .name = "Zo\xc3\xab",
                                  .room = "arcade",
                                  .seats_wanted = 2,
                                  .params = params}};
    message(&m);
    m.hello.door = KL_DOOR_UNLISTED | KL_DOOR_PASSWORD | KL_DOOR_LET_GO;
    m.hello.seat_time_s = 300;
    count_up(m.hello.seat_key, sizeof m.hello.seat_key, 1);
    kl_facts_add(&m.hello.facts, "core", "nestopia 1.52");
    kl_facts_add(&m.hello.facts, "content", "xxh3 0123 (\xe2\x82\xac.nes)");
    m.hello.params = (struct kl_params){.players = 1, .fps_uhz = 1000000};
    message(&m);
    m = (struct kl_msg){.kind = KL_MSG_DATA,
                        .data = {.offset = 1000, .total = 1u << 24, .len = 5, .bytes = {1, 2, 3}}};
    message(&m);
    m.data.len = 0;
    message(&m);
    m = (struct kl_msg){.kind = KL_MSG_READY};
    kl_facts_add(&m.ready.facts, "system", "none");
    message(&m);
    for (unsigned has = 0; has < 8; has++) {
        m = (struct kl_msg){.kind = KL_MSG_HASH, .hash = {59, has & 1, has & 2, has & 4, 1, UINT64_MAX, 3}};
        message(&m);
    }
    static const uint8_t texts[] = {KL_MSG_BYE, KL_MSG_REFUSE, KL_MSG_NOTICE};
    for (unsigned i = 0; i < 3; i++) {
        m = (struct kl_msg){.kind = texts[i],
                            .text = {(uint8_t)(i + 1), "content differs: room has a, you have b"}};
        message(&m);
    }
    m = (struct kl_msg){.kind = KL_MSG_COMMAND, .order = {3, 0, {0}}};
    message(&m);
    m.order = (struct kl_order){255, KL_COMMAND_BYTES, {1, 2, 3, [KL_COMMAND_BYTES - 1] = 4}};
    message(&m);
    m = (struct kl_msg){.kind = KL_MSG_WELCOME, .welcome = {0xfeedbeef, 15, 0xc0, true, params}};
    count_up(m.welcome.room_id, sizeof m.welcome.room_id, 2);
    count_up(m.welcome.token, sizeof m.welcome.token, 3);
    m.welcome.seat_time_s = 60;
    message(&m);
    m = (struct kl_msg){
        .kind = KL_MSG_ROSTER,
        .roster = {2, 8, 3, 5, {{0, 1, 5, true, "ann"}, {3, 2, 6, false, "bob"}, {15, 0xfe, 0, false, ""}}}};
    message(&m);
    m = (struct kl_msg){.kind = KL_MSG_PREPARE, .prepare = {1700000000, 4000}};
    message(&m);
    m = (struct kl_msg){.kind = KL_MSG_SEND};
    message(&m);
    m = (struct kl_msg){.kind = KL_MSG_VERDICT, .verdict = {119, 59, 2, true, 0x8001, 513}};
    message(&m);
    m = (struct kl_msg){.kind = KL_MSG_SEAT, .seat = {15, 0x81}};
    message(&m);
    seat_messages();
    bulk_messages();
    snapshot_messages();
}

/* --- judging -----------------------------------------------------------------------------------------------
 */

static size_t parse_hex(const char *text, uint8_t *out, size_t cap) {
    size_t n = 0;
    for (; n < cap && isxdigit((unsigned char)text[0]) && isxdigit((unsigned char)text[1]); text += 2) {
        char pair[3] = {text[0], text[1], 0};
        out[n++] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return n;
}

static void judge(void) {
    static char line[40000], what[16], hex[32000];
    static uint8_t bytes[16000];
    while (fgets(line, sizeof line, stdin)) {
        unsigned seats = 0;
        hex[0] = 0;
        if (sscanf(line, "%15s %u %31999s", what, &seats, hex) < 2) return;
        size_t len = parse_hex(hex, bytes, sizeof bytes);
        uint8_t *exact = malloc(len ? len : 1);
        if (!exact) abort();
        memcpy(exact, bytes, len);
        int result = print_fields(what, seats, exact, len);
        puts(result == 0 ? "" : result == KL_E_VERSION ? "version" : "malformed");
        free(exact);
    }
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--judge") == 0) return judge(), 0;
    if (argc > 1) return fputs("vectors [--judge]\n", stderr), 2;
    fill_ring();
    ctrl_vectors();
    update_vectors();
    message_vectors();
    return 0;
}
