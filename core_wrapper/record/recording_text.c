/* A recording as lines of text, for people and for grep. docs/testers.md has the lines. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core_wrapper/record/recording.h"

#define HEX_BYTES 256

static void put_hex(FILE *out, const uint8_t *p, size_t len) {
    for (size_t i = 0; i < len; i++)
        fprintf(out, "%02x", p[i]);
}

static void put_beginning(const struct kl_recording *r, FILE *out) {
    fprintf(out, "core %s\ncontent %s\n", r->core, r->content);
    if (r->head.flags & KL_KLR_HAS_EPOCH) fprintf(out, "epoch %" PRIu64 "\n", r->head.epoch_s);
    if (*r->room.name) fprintf(out, "room %s\n", r->room.name);
    for (unsigned i = 0; i < r->room.members; i++)
        fprintf(out, "player %u %02x %s\n", r->room.member[i].client, r->room.member[i].seats,
                r->room.member[i].name);
    for (unsigned i = 0; i < r->options; i++)
        fprintf(out, "option %s\n", r->option[i]);
    for (KL_EACH(p, r->device_set))
        fprintf(out, "device %u %" PRIu32 "\n", p, r->device[p]);
    for (unsigned i = 0; i < r->memories; i++)
        for (size_t at = 0; at < r->memory[i].len; at += HEX_BYTES) {
            size_t left = r->memory[i].len - at;
            fprintf(out, "memory %" PRIu32 " %zu ", r->memory[i].id, at);
            put_hex(out, r->memory[i].bytes + at, left < HEX_BYTES ? left : HEX_BYTES);
            fputc('\n', out);
        }
    for (unsigned i = 0; i < r->files; i++)
        fprintf(out, "file %zu %s\n", r->file[i].len, r->file[i].path);
}

static void put_input(const struct kl_recorded_input *i, FILE *out) {
    struct kl_input pad = {.joypad = i->in.joypad};
    uint8_t bytes[HEX_BYTES];
    struct kl_input_coder coder;
    struct kl_writer w;
    fprintf(out, "input %" PRIu32 " %u %04x", i->frame, i->seat, i->in.joypad);
    if (!kl_input_equal(&i->in, &pad)) {
        w = kl_writer(bytes, sizeof bytes);
        kl_input_coder_init(&coder);
        kl_input_encode(&coder, &w, &i->in);
        fputc(' ', out);
        put_hex(out, bytes, (size_t)(w.at - bytes));
    }
    fputc('\n', out);
}

int kl_recording_text(struct kl_recording *r, FILE *out) {
    static const char *const word[] = {
        [KL_DEED_COMMAND] = "do", [KL_DEED_FLIP] = "flip", [KL_DEED_ALIEN] = "alien"};
    unsigned input = 0, hash = 0, deed = 0;
    put_beginning(r, out);
    while (input < r->inputs || hash < r->hashes || deed < r->deeds) {
        uint32_t f = UINT32_MAX;
        if (deed < r->deeds) f = r->deed[deed].frame;
        if (input < r->inputs && r->input[input].frame < f) f = r->input[input].frame;
        if (hash < r->hashes && r->hash[hash].label < f) f = r->hash[hash].label;
        for (; deed < r->deeds && r->deed[deed].frame <= f; deed++)
            fprintf(out, "%s %" PRIu32 " %s\n", word[r->deed[deed].kind], r->deed[deed].frame,
                    r->deed[deed].text);
        for (; input < r->inputs && r->input[input].frame <= f; input++)
            put_input(&r->input[input], out);
        for (; hash < r->hashes && r->hash[hash].label <= f; hash++) {
            const struct kl_klr_hash *h = &r->hash[hash];
            char ram[17] = "-", state[17] = "-";
            if (h->has & KL_HASH_RAM) snprintf(ram, sizeof ram, "%016" PRIx64, h->ram);
            if (h->has & KL_HASH_STATE) snprintf(state, sizeof state, "%016" PRIx64, h->state);
            fprintf(out, "hash %" PRIu32 " %s %s\n", h->label, ram, state);
        }
    }
    fprintf(out, "frames %" PRIu32 " %" PRIu32 "\n", r->first, r->frames);
    if (*r->damage) fprintf(out, "damage %s\n", r->damage);
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}
