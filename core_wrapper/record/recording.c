#include "net/platform/file.h"
#include "core_wrapper/record/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/facts.h"

#define LINE_MAX_BYTES 1024
#define HEX_BYTES      256 /* of a coded input (more than any takes) or a piece of memory */

/* --- writing --- */

int kl_recorder_open(struct kl_recorder *r, const char *path) {
    memset(r, 0, sizeof *r);
    r->file = kl_file_stream(path, "w");
    if (!r->file) return -1;
    setvbuf(r->file, NULL, _IOLBF, 1 << 16);
    fputs(KL_RECORDING_MAGIC "\n", r->file);
    return 0;
}

void kl_recorder_line(struct kl_recorder *r, const char *word, const char *value) {
    if (!r->file) return;
    fprintf(r->file, "%s ", word);
    for (unsigned i = 0; i < KL_RECORDING_TEXT - 1 && value[i]; i++)
        fputc((unsigned char)value[i] < ' ' ? ' ' : value[i], r->file);
    fputc('\n', r->file);
}

static void put_hex(FILE *f, const uint8_t *p, size_t len) {
    for (size_t i = 0; i < len; i++)
        fprintf(f, "%02x", p[i]);
}

void kl_recorder_memory(struct kl_recorder *r, unsigned id, const void *bytes, size_t len) {
    for (size_t at = 0; r->file && at < len; at += KL_RECORDING_PIECE) {
        size_t n = len - at < KL_RECORDING_PIECE ? len - at : KL_RECORDING_PIECE;
        fprintf(r->file, "memory %u %zu ", id, at);
        put_hex(r->file, (const uint8_t *)bytes + at, n);
        fputc('\n', r->file);
    }
}

static bool only_pad(const struct kl_input *in) {
    struct kl_input pad = {.joypad = in->joypad};
    return kl_input_equal(in, &pad);
}

static void put_input(FILE *f, uint32_t frame, unsigned seat, const struct kl_input *in) {
    uint8_t bytes[HEX_BYTES];
    struct kl_input_coder coder;
    struct kl_writer w;
    fprintf(f, "input %" PRIu32 " %u %04x", frame, seat, in->joypad);
    if (!only_pad(in)) {
        kl_writer_init(&w, bytes, sizeof bytes);
        kl_input_coder_init(&coder);
        kl_input_encode(&coder, &w, in);
        fputc(' ', f);
        put_hex(f, bytes, (size_t)(w.at - bytes));
    }
    fputc('\n', f);
}

void kl_recorder_frame(struct kl_recorder *r, uint32_t frame, const struct kl_input in[KL_MAX_SEATS]) {
    if (!r->file) return;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        if (kl_input_equal(&in[s], &r->last[s])) continue;
        r->last[s] = in[s];
        put_input(r->file, frame, s, &in[s]);
    }
    r->frames = frame + 1;
}

static void put_hash(FILE *f, bool has, uint64_t hash, char end) {
    if (has)
        fprintf(f, "%016" PRIx64 "%c", hash, end);
    else
        fprintf(f, "-%c", end);
}

void kl_recorder_hash(struct kl_recorder *r, const struct klw_hash *h) {
    r->hashed = h->frame + 1;
    if (!r->file || (!h->has_ram && !h->has_state)) return;
    fprintf(r->file, "hash %" PRIu32 " ", h->frame);
    put_hash(r->file, h->has_ram, h->ram, ' ');
    put_hash(r->file, h->has_state, h->state, '\n');
}

int kl_recorder_close(struct kl_recorder *r) {
    if (!r->file) return 0;
    fprintf(r->file, "end %" PRIu32 "\n", r->frames);
    bool bad = ferror(r->file) != 0;
    bad |= fclose(r->file) != 0;
    r->file = NULL;
    return bad ? -1 : 0;
}

/* --- reading --- */

/* Room for one more in an array that doubles whenever it is full. */
static void *one_more(void *array, unsigned count, size_t size) {
    if (count & (count - 1)) return array;
    return realloc(array, (count ? 2 * (size_t)count : 1) * size);
}
#define ADD(array, count) ((array) = one_more((array), (count), sizeof *(array)))

static bool number(const char **text, int base, uint64_t max, uint64_t *out) {
    char *end;
    if (!strchr("0123456789abcdefABCDEF", **text) || !**text) return false;
    errno = 0;
    *out = strtoull(*text, &end, base);
    if (errno || end == *text || *out > max || (*end && *end != ' ')) return false;
    *text = end + (*end == ' ');
    return true;
}

static int nibble(char c) {
    const char *digits = "0123456789abcdef", *p = c ? strchr(digits, c) : NULL;
    return p ? (int)(p - digits) : -1;
}

/* Bytes, or -1. */
static int take_hex(const char *hex, uint8_t out[HEX_BYTES]) {
    size_t n = strlen(hex) / 2;
    if (strlen(hex) % 2 || n > HEX_BYTES) return -1;
    for (size_t i = 0; i < n; i++) {
        int high = nibble(hex[2 * i]), low = nibble(hex[2 * i + 1]);
        if (high < 0 || low < 0) return -1;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return (int)n;
}

static bool coded(const char *hex, struct kl_input *in) {
    uint8_t bytes[HEX_BYTES];
    struct kl_input_decoder decoder;
    struct kl_reader reader;
    int n = take_hex(hex, bytes);
    if (n < 0) return false;
    kl_reader_init(&reader, bytes, (size_t)n);
    kl_input_decoder_init(&decoder);
    kl_input_decode(&decoder, &reader, in);
    return !reader.failed && !kl_reader_left(&reader) && !decoder.run_left;
}

static bool take_memory(struct kl_recording *r, const char *text) {
    uint64_t id, offset;
    if (!number(&text, 10, UINT32_MAX, &id) || !number(&text, 10, UINT32_MAX - HEX_BYTES, &offset))
        return false;
    if (!ADD(r->memory, r->memories)) return false;
    struct kl_recorded_memory *m = &r->memory[r->memories];
    int len = take_hex(text, m->bytes);
    if (len <= 0) return false;
    m->id = (uint32_t)id;
    m->offset = (uint32_t)offset;
    m->len = (uint32_t)len;
    r->memories++;
    return true;
}

static bool take_input(struct kl_recording *r, const char *text) {
    uint64_t frame, seat, pad;
    struct kl_recorded_input in = {0};
    if (!number(&text, 10, UINT32_MAX - 1, &frame) || !number(&text, 10, KL_MAX_SEATS - 1, &seat) ||
        !number(&text, 16, UINT16_MAX, &pad))
        return false;
    in.frame = (uint32_t)frame;
    in.seat = (uint8_t)seat;
    in.in.joypad = (uint16_t)pad;
    if (*text && (!coded(text, &in.in) || in.in.joypad != pad)) return false;
    if (r->inputs && r->input[r->inputs - 1].frame > in.frame) return false;
    if (!ADD(r->input, r->inputs)) return false;
    r->input[r->inputs++] = in;
    if (r->frames < in.frame + 1) r->frames = in.frame + 1;
    return true;
}

static bool take_one_hash(const char **text, bool *has, uint64_t *out) {
    *has = **text != '-';
    if (*has) return strcspn(*text, " ") == 16 && number(text, 16, UINT64_MAX, out);
    *text += 1 + ((*text)[1] == ' ');
    return true;
}

static bool take_hash(struct kl_recording *r, const char *text) {
    uint64_t frame;
    struct klw_hash h = {0};
    if (!number(&text, 10, UINT32_MAX - 1, &frame) || !take_one_hash(&text, &h.has_ram, &h.ram) ||
        !take_one_hash(&text, &h.has_state, &h.state) || *text)
        return false;
    h.frame = (uint32_t)frame;
    if (r->hashes && r->hash[r->hashes - 1].frame > h.frame) return false;
    if (r->hashes && r->hash[r->hashes - 1].frame == h.frame) r->hashes--; /* RAM alone, then both */
    if (!ADD(r->hash, r->hashes)) return false;
    r->hash[r->hashes++] = h;
    if (r->frames < h.frame + 1) r->frames = h.frame + 1;
    return true;
}

static bool take_deed(struct kl_recording *r, int kind, const char *text) {
    uint64_t frame;
    if (!number(&text, 10, UINT32_MAX - 1, &frame) || !*text || !ADD(r->deed, r->deeds)) return false;
    struct kl_recorded_deed *d = &r->deed[r->deeds++];
    d->frame = (uint32_t)frame;
    d->kind = kind;
    kl_copy_cut(d->text, sizeof d->text, text);
    if (r->frames < d->frame) r->frames = d->frame;
    return true;
}

static bool take_option(struct kl_recording *r, const char *text) {
    if (!strchr(text, '=') || *text == '=' || !ADD(r->option, r->options)) return false;
    kl_copy_cut(r->option[r->options++], KL_RECORDING_TEXT, text);
    return true;
}

static bool take_device(struct kl_recording *r, const char *text) {
    uint64_t port, id;
    if (!number(&text, 10, KL_MAX_SEATS - 1, &port) || !number(&text, 10, UINT32_MAX, &id) || *text)
        return false;
    r->device_set |= (uint8_t)(1u << port);
    r->device[port] = (uint32_t)id;
    return true;
}

static bool take_frames(struct kl_recording *r, const char *text) {
    uint64_t frames;
    if (!number(&text, 10, UINT32_MAX, &frames) || *text) return false;
    if (r->frames < frames) r->frames = (uint32_t)frames;
    return true;
}

static const char *after(const char *line, const char *word) {
    size_t n = strlen(word);
    return strncmp(line, word, n) == 0 && line[n] == ' ' ? line + n + 1 : NULL;
}

static bool take_line(struct kl_recording *r, const char *line) {
    const char *rest;
    if ((rest = after(line, "input"))) return take_input(r, rest);
    if ((rest = after(line, "hash"))) return take_hash(r, rest);
    if ((rest = after(line, "do"))) return take_deed(r, KL_DEED_COMMAND, rest);
    if ((rest = after(line, "flip"))) return take_deed(r, KL_DEED_FLIP, rest);
    if ((rest = after(line, "alien"))) return take_deed(r, KL_DEED_ALIEN, rest);
    if ((rest = after(line, "option"))) return take_option(r, rest);
    if ((rest = after(line, "device"))) return take_device(r, rest);
    if ((rest = after(line, "memory"))) return take_memory(r, rest);
    if ((rest = after(line, "end"))) return take_frames(r, rest);
    if ((rest = after(line, "core"))) return kl_copy_cut(r->core, sizeof r->core, rest), true;
    if ((rest = after(line, "content"))) return kl_copy_cut(r->content, sizeof r->content, rest), true;
    if ((rest = after(line, "epoch")))
        return r->has_epoch = number(&rest, 10, INT64_MAX, &r->epoch_s) && !*rest;
    return false;
}

int kl_recording_parse(struct kl_recording *r, FILE *f, const char *name, char *err, size_t err_len) {
    char line[LINE_MAX_BYTES];
    unsigned count = 0;
    memset(r, 0, sizeof *r);
    while (fgets(line, sizeof line, f)) {
        size_t len = strlen(line);
        bool whole = len && line[len - 1] == '\n';
        line[strcspn(line, "\r\n")] = 0;
        if (count++ == 0) {
            if (strcmp(line, KL_RECORDING_MAGIC) != 0) return 1;
            continue;
        }
        if (take_line(r, line)) continue;
        if (!whole && feof(f)) break; /* broke off */
        snprintf(err, err_len,
                 "%s:%u: expected a line of a recording (input, hash, do, …; frames in order), got \"%.80s\"",
                 name, count, line);
        return -1;
    }
    return count ? 0 : 1;
}

int kl_recording_read(struct kl_recording *r, const char *path, char *err, size_t err_len) {
    FILE *f = kl_file_stream(path, "r");
    memset(r, 0, sizeof *r);
    if (!f) {
        snprintf(err, err_len, "cannot read %s: %s", path, strerror(errno));
        return -1;
    }
    int result = kl_recording_parse(r, f, path, err, err_len);
    fclose(f);
    return result;
}

void kl_recording_free(struct kl_recording *r) {
    free(r->option);
    free(r->memory);
    free(r->input);
    free(r->hash);
    free(r->deed);
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
