#include "core_wrapper/tool/replay/replay_export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/frame/latch.h"
#include "net/engine/wire.h"

/* --- parts that a file does not hold --- */

static void add_left(char left[KLT_EXPORT_LEFT], unsigned count, const char *format) {
    size_t used = strlen(left);
    if (!count) return;
    used += (size_t)snprintf(left + used, KLT_EXPORT_LEFT - used, "; ");
    if (used < KLT_EXPORT_LEFT) snprintf(left + used, KLT_EXPORT_LEFT - used, format, count);
}

static bool is_pad_alone(const struct kl_input *in) {
    struct kl_input pad = {.joypad = in->joypad};
    return kl_input_equal(in, &pad);
}

/* Of `seats` the file has the pads, or, with `devices`, all; resets: the file has them. Snapshots and planted
 * desyncs are no part of the game. */
static void list_left(const struct kl_recording *r, unsigned seats, bool devices, bool resets,
                      char left[KLT_EXPORT_LEFT]) {
    unsigned others = 0, commands = 0, more = 0;
    left[0] = 0;
    for (unsigned i = 0; i < r->inputs; i++) {
        more += r->input[i].seat >= seats;
        others += !devices && r->input[i].seat < seats && !is_pad_alone(&r->input[i].in);
    }
    for (unsigned i = 0; i < r->deeds; i++)
        commands += r->deed[i].kind == KL_DEED_COMMAND && strncmp(r->deed[i].text, "snapshot", 8) != 0 &&
                    !(resets && !strcmp(r->deed[i].text, "reset"));
    add_left(left, others, "%u inputs of other devices than pads");
    add_left(left, more, "%u inputs of other seats");
    add_left(left, commands, "%u commands of the room");
    add_left(left, r->memories + r->files, "the host's saves (%u)");
}

/* --- lines for keylock run --- */

int kl_export_inputs(struct kl_recording *r, FILE *out, char left[KLT_EXPORT_LEFT]) {
    uint16_t last[KL_MAX_SEATS] = {0};
    list_left(r, KL_MAX_SEATS, false, false, left);
    for (unsigned i = 0; i < r->inputs; i++) {
        const struct kl_recorded_input *in = &r->input[i];
        if (in->in.joypad == last[in->seat]) continue;
        last[in->seat] = in->in.joypad;
        fprintf(out, "%" PRIu32 " %u %x\n", in->frame - r->first, in->seat, in->in.joypad);
    }
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}

/* --- .fm2 --- */

static void put_pad(FILE *out, uint16_t pad) {
    static const struct {
        char letter;
        unsigned id;
    } button[] = {{'R', RETRO_DEVICE_ID_JOYPAD_RIGHT}, {'L', RETRO_DEVICE_ID_JOYPAD_LEFT},
                  {'D', RETRO_DEVICE_ID_JOYPAD_DOWN},  {'U', RETRO_DEVICE_ID_JOYPAD_UP},
                  {'T', RETRO_DEVICE_ID_JOYPAD_START}, {'S', RETRO_DEVICE_ID_JOYPAD_SELECT},
                  {'B', RETRO_DEVICE_ID_JOYPAD_B},     {'A', RETRO_DEVICE_ID_JOYPAD_A}};
    for (unsigned i = 0; i < sizeof(button) / sizeof(*button); i++)
        fputc(pad >> button[i].id & 1 ? button[i].letter : '.', out);
    fputc('|', out);
}

int kl_export_fm2(struct kl_recording *r, FILE *out, char left[KLT_EXPORT_LEFT]) {
    unsigned deed = 0;
    list_left(r, 2, false, true, left);
    fprintf(out, "version 3\nemuVersion 20604\nrerecordCount 0\npalFlag 0\nromFilename unknown\n"
                 "romChecksum base64:AAAAAAAAAAAAAAAAAAAAAA==\nguid 00000000-0000-0000-0000-000000000000\n"
                 "fourscore 0\nmicrophone 0\nport0 1\nport1 1\nport2 0\nFDS 0\nNewPPU 0\n");
    fprintf(out, "comment keylock core %s\ncomment keylock content %s\n", r->core, r->content);
    for (uint32_t f = r->first; f < r->whole; f++) {
        const struct kl_input *in = kl_recording_at(r, f);
        bool reset = false;
        for (; deed < r->deeds && r->deed[deed].frame <= f; deed++)
            reset |= r->deed[deed].kind == KL_DEED_COMMAND && !strcmp(r->deed[deed].text, "reset");
        fprintf(out, "|%d|", reset);
        put_pad(out, in[0].joypad);
        put_pad(out, in[1].joypad);
        fputs("|\n", out);
    }
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}

/* --- .replay --- */

#define REPLAY_MAGIC   0x42535632u /* "BSV2" */
#define REPLAY_VERSION 1
#define REPLAY_KEYS    128 /* RetroArch's arrays */

/* The frame as it is written: its keys at `keys`, its events behind them. */
struct replay_frame {
    uint8_t keys[1 + REPLAY_KEYS * 12], events[2 + KLT_ASKED * 8 + 1];
    struct kl_writer key, event;
};

static void put_key(void *ctx, const struct kl_key *k) {
    struct replay_frame *to = ctx;
    if (to->keys[0] == REPLAY_KEYS) return;
    to->keys[0]++;
    kl_write_u8(&to->key, k->down);
    kl_write_u8(&to->key, 0);
    kl_write_u16(&to->key, k->modifiers);
    kl_write_u32(&to->key, k->code);
    kl_write_u32(&to->key, k->character);
}

static bool put_frame(struct replay_frame *to, struct kl_latch *latch, const struct kl_frame *f,
                      const struct kl_asked *asked, FILE *out) {
    to->key = kl_writer(to->keys, sizeof(to->keys));
    to->event = kl_writer(to->events, sizeof(to->events));
    kl_write_u8(&to->key, 0);
    kl_latch_frame(latch, f, put_key, to);
    kl_write_u16(&to->event, (uint16_t)asked->count);
    for (unsigned i = 0; i < asked->count; i++) {
        const struct kl_question *q = &asked->at[i];
        kl_write_u8(&to->event, q->port);
        kl_write_u8(&to->event, q->device);
        kl_write_u8(&to->event, q->index);
        kl_write_u8(&to->event, 0);
        kl_write_u16(&to->event, q->id);
        kl_write_u16(&to->event, (uint16_t)kl_latch_state(latch, q->port, q->device, q->index, q->id));
    }
    kl_write_u8(&to->event, 'f');
    size_t keys = (size_t)(to->key.at - to->keys), events = (size_t)(to->event.at - to->events);
    return fwrite(to->keys, 1, keys, out) == keys && fwrite(to->events, 1, events, out) == events;
}

/* Runs all of it: the core's questions. */
static int ask(const struct kl_recording *r, const struct kl_machine_setup *setup, struct kl_asked *asked,
               char *err, size_t err_len) {
    static struct kl_machine m;
    static struct kl_hashline lines[KLT_MACHINE_BATCH];
    uint8_t what[KLT_MACHINE_BATCH];
    memset(what, KLT_HASH_NONE, sizeof(what));
    int result = kl_machine_start(&m, setup, err, err_len);
    while (result == 0 && m.frame < r->whole) {
        uint32_t left = r->whole - m.frame;
        result = kl_machine_run(&m, left < KLT_MACHINE_BATCH ? left : KLT_MACHINE_BATCH, what, lines, err,
                                err_len);
    }
    if (result == 0) result = kl_machine_asked(&m, asked, err, err_len);
    kl_machine_stop(&m);
    return result;
}

int kl_export_replay(struct kl_recording *r, const struct kl_machine_setup *setup, FILE *out,
                     char left[KLT_EXPORT_LEFT], char *err, size_t err_len) {
    static struct kl_asked asked;
    static struct replay_frame frame;
    static struct kl_latch latch;
    if (ask(r, setup, &asked, err, err_len) != 0) return -1;
    if (asked.more) {
        snprintf(err, err_len, "the core asks for more than %d inputs a frame, which no .replay holds",
                 KLT_ASKED);
        return -1;
    }
    list_left(r, KL_MAX_SEATS, true, false, left);
    kl_latch_init(&latch, true);
    uint8_t head[24] = {0};
    struct kl_writer w = kl_writer(head, sizeof(head));
    kl_write_u32(&w, REPLAY_MAGIC);
    kl_write_u32(&w, REPLAY_VERSION); /* then the content's checksum, the state's size, the time: zeros */
    bool good = fwrite(head, 1, sizeof(head), out) == sizeof(head);
    for (uint32_t n = r->first; good && n < r->whole; n++) {
        struct kl_frame f = {.number = n};
        memcpy(f.in, kl_recording_at(r, n), sizeof(f.in));
        good = put_frame(&frame, &latch, &f, &asked, out);
    }
    if (good && fflush(out) == 0) return 0;
    snprintf(err, err_len, "cannot write all of it");
    return -1;
}
