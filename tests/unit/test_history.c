#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "net/engine/engine.h"
#include "net/engine/history.h"

#define FRAMES   20000
#define COMMANDS 4000

/* A made-up past: frames, and the commands before some keyframes. */
static struct kl_frame past[FRAMES];
static struct kl_commands commands[COMMANDS];
static unsigned command_sets;
static struct kl_history h;
static unsigned blocks;
static uint32_t seed;

static uint32_t chance(uint32_t below) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static void press(struct kl_input *in, bool everything) {
    if (chance(3) == 0) in->joypad ^= (uint16_t)(1u << chance(16));
    if (!everything) return;
    in->joypad = (uint16_t)chance(65536);
    for (unsigned i = 0; i < 4; i++)
        in->stick[i] = (int16_t)chance(65536);
    in->trigger[0] = (int16_t)chance(65536);
    in->mouse_x = (int16_t)(chance(65536) - 32768);
    in->mouse_y = (int16_t)(chance(65536) - 32768);
    in->gun_x = (int16_t)chance(65536);
    in->gun_buttons = chance(1u << 20);
    in->touch[0] = (struct kl_touch){(int16_t)chance(65536), 3, chance(2)};
    in->key_count = KL_KEYS;
    for (unsigned k = 0; k < KL_KEYS; k++)
        in->key[k] = (struct kl_key){(uint16_t)chance(KL_KEY_CODES), (uint16_t)chance(65536),
                                     chance(0x110000) & KL_UTF32, chance(2) & 1};
}

static void command(uint32_t keyframe, unsigned count, unsigned len) {
    struct kl_commands *set = &commands[command_sets++];
    *set = (struct kl_commands){.keyframe = keyframe, .count = (uint8_t)count};
    for (unsigned i = 0; i < count; i++) {
        set->at[i] = (struct kl_command){.client = (uint8_t)i, .kind = 19, .len = (uint8_t)len};
        memset(set->at[i].data, (int)chance(256), len);
    }
}

struct manner {
    unsigned seats, spacing; /* spacing 0: any */
    bool idle, everything;
    unsigned command_every; /* one keyframe in so many, 0: none */
};

static void make_past(struct manner m, uint32_t with_seed) {
    static struct kl_input held[KL_MAX_SEATS];
    memset(held, 0, sizeof held);
    seed = with_seed;
    command_sets = 0;
    uint32_t key = 0, length = 0;
    uint8_t flags = 0;
    for (uint32_t n = 0; n < FRAMES; n++) {
        struct kl_frame *f = &past[n];
        memset(f, 0, sizeof *f);
        if (n == key + length) {
            key = n;
            length = m.spacing ? m.spacing : 1 + chance(KL_SPACING_MAX);
            flags = chance(5) == 0 ? KL_FRAME_BY_CLOCK : 0;
        }
        *f = (struct kl_frame){n, key, (uint16_t)length, flags, (uint8_t)((1u << m.seats) - 1), {{0}}};
        if (n == key) f->flags |= KL_FRAME_KEY;
        if (n == key && n && chance(10) == 0) f->flags |= KL_FRAME_HASH;
        if (n == key && m.command_every && command_sets < COMMANDS && chance(m.command_every) == 0) {
            f->flags |= KL_FRAME_COMMANDS;
            command(n, 1 + chance(4), chance(KL_COMMAND_BYTES + 1));
        }
        for (unsigned s = 0; s < m.seats && !m.idle; s++) {
            press(&held[s], m.everything);
            f->in[s] = held[s];
            kl_input_repeat(&held[s]);
        }
    }
}

static const struct kl_commands *commands_at(uint32_t keyframe) {
    for (unsigned i = 0; i < command_sets; i++)
        if (commands[i].keyframe == keyframe) return &commands[i];
    return NULL;
}

static void give_block(void) {
    kl_history_give(&h, malloc(KL_HISTORY_BLOCK));
    blocks++;
}

static int append(uint32_t n) {
    static struct kl_history_devices devices;
    static struct kl_pad pads[KL_MAX_SEATS][KL_PIECE_FRAMES];
    int result;
    for (KL_EACH(s, kl_history_wants_pads(&h, &past[n])))
        kl_history_give_pads(&h, s, pads[s]);
    while ((result = kl_history_append(
                &h, &past[n], past[n].flags & KL_FRAME_COMMANDS ? commands_at(n) : NULL)) == KL_E_SPACE)
        if (kl_history_wants_devices(&h, &past[n]))
            kl_history_give_devices(&h, &devices);
        else
            give_block();
    return result;
}

static void begin(void) {
    kl_history_init(&h, 0, 0);
    blocks = 0;
}

static void end(void) {
    for (void *b; (b = kl_history_drop(&h)); blocks--)
        free(b);
    assert_int_equal(blocks, 0);
}

static void same_commands(const struct kl_commands *a, const struct kl_commands *b) {
    assert_non_null(b);
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->keyframe, b->keyframe);
    for (unsigned i = 0; i < a->count; i++) {
        assert_int_equal(a->at[i].kind, b->at[i].kind);
        assert_int_equal(a->at[i].client, b->at[i].client);
        assert_int_equal(a->at[i].len, b->at[i].len);
        assert_memory_equal(a->at[i].data, b->at[i].data, a->at[i].len);
    }
}

static void same_frame(const struct kl_frame *a, const struct kl_frame *b, const struct kl_commands *read) {
    assert_int_equal(a->number, b->number);
    assert_int_equal(a->keyframe, b->keyframe);
    assert_int_equal(a->spacing, b->spacing);
    assert_int_equal(a->flags, b->flags);
    assert_int_equal(a->active, b->active);
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        assert_true(kl_input_equal(&a->in[s], &b->in[s]));
    if (b->flags & KL_FRAME_COMMANDS) same_commands(read, commands_at(b->number));
}

static uint32_t first_of_interval(uint32_t n) {
    return past[n].keyframe;
}

/* The bytes of the interval as they must be: one run, written from the past itself. */
static void check_interval(uint32_t n) {
    static uint8_t is[KL_INTERVAL_BYTES], must[KL_INTERVAL_BYTES];
    const struct kl_commands *set = commands_at(first_of_interval(n));
    struct kl_frames_from from = {
        .ring = past, .places = FRAMES, .sets = set, .set_count = set != NULL, .for_digest = true};
    struct kl_writer w = kl_writer(must, sizeof must);
    kl_frames_write(&w, &from, first_of_interval(n), past[n].spacing);
    assert_false(w.failed);
    size_t len = kl_history_interval(&h, is, sizeof is);
    assert_int_equal(len, w.at - must);
    assert_memory_equal(is, must, len);
}

static void check_reading(uint32_t from, uint32_t to) {
    static struct kl_history_cursor c;
    struct kl_frame f;
    kl_history_seek(&c, &h, from);
    for (; from < to; from++) {
        assert_true(kl_history_next(&c, &f));
        same_frame(&f, &past[from], &c.frames.commands);
    }
    if (to == h.next) assert_false(kl_history_next(&c, &f));
}

static void check_all(struct manner m, uint32_t with_seed, uint32_t frames) {
    make_past(m, with_seed);
    begin();
    uint32_t intervals = 0;
    for (uint32_t n = 0; n < frames; n++) {
        int result = append(n);
        bool last = n + 1 == past[n].keyframe + past[n].spacing;
        assert_int_equal(result, last);
        intervals += last;
        if (last) check_interval(n);
        if (!last) assert_int_equal(kl_history_interval(&h, NULL, 0), 0);
    }
    assert_int_equal(h.intervals, intervals);
    check_reading(0, frames);
    for (unsigned i = 0; i < 40; i++) {
        uint32_t from = chance(frames), to = from + 1 + chance(200);
        check_reading(from, to < frames ? to : frames);
    }
    end();
}

TEST(test_reads_what_was_appended) {
    check_all((struct manner){.seats = 2}, 1, FRAMES);
    check_all((struct manner){.seats = 8, .command_every = 3}, 2, FRAMES);
    check_all((struct manner){.seats = 4, .spacing = 1, .command_every = 1}, 3, 3000);
    check_all((struct manner){.seats = 8, .everything = true, .command_every = 2}, 4, 4000);
    check_all((struct manner){.seats = 1, .idle = true, .spacing = 30}, 5, FRAMES);
}

/* Any piece, opened as a HISTORY message is, holds the frame that was asked for. */
TEST(test_pieces) {
    static struct kl_frames run;
    uint8_t piece[KL_PIECE_BYTES + 1];
    uint32_t at = 0, last;
    make_past((struct manner){.seats = 8, .everything = true, .command_every = 4}, 7);
    begin();
    for (uint32_t n = 0; n < 1000; n++)
        append(n);
    for (size_t len; (len = kl_history_read(&h, at, piece, KL_PIECE_BYTES, &last)) > 0; at = last) {
        struct kl_frame f;
        assert_in_range(len, 1, KL_PIECE_BYTES);
        assert_int_equal(kl_piece_open(&run, piece, len), 0);
        assert_true(run.first <= at && at < run.first + run.count);
        assert_int_equal(run.first + run.count, last);
        while (kl_frames_next(&run, &f))
            same_frame(&f, &past[f.number], &run.commands);
        piece[len] = 0;
        assert_int_equal(kl_piece_open(&run, piece, len + 1), KL_E_MALFORMED);
        assert_int_equal(kl_piece_open(&run, piece, len - 1), KL_E_MALFORMED);
    }
    assert_int_equal(at, 1000);
    static uint8_t large[64 * 1024]; /* never more than a message takes, however large the buffer */
    assert_in_range(kl_history_read(&h, h.sealed, large, sizeof large, &last), 1, KL_PIECE_BYTES);
    struct kl_frames_from from = {
        .ring = past, .places = FRAMES, .sets = commands, .set_count = command_sets};
    assert_in_range(kl_piece_write(&from, 0, KL_PIECE_FRAMES, large, sizeof large, &last), 1, KL_PIECE_BYTES);
    assert_in_range(last, 1, KL_PIECE_FRAMES - 1);
    uint8_t none[] = {0, 0, 0, 0, 0, 0},
            many[] = {0, 0, 0, 0, KL_PIECE_FRAMES + 1, 0, 30, 0, 30, 0, 30, 0, 0};
    assert_int_equal(kl_piece_open(&run, none, sizeof none), KL_E_MALFORMED);
    assert_int_equal(kl_piece_open(&run, many, sizeof many), KL_E_MALFORMED);
    many[4] = KL_PIECE_FRAMES;
    assert_int_equal(kl_piece_open(&run, many, sizeof many), 0);
    end();
}

TEST(test_says_what_it_wants) {
    make_past((struct manner){.seats = 8, .spacing = 10, .everything = true}, 9);
    begin();
    assert_true(kl_history_wants_block(&h));
    uint32_t n = 1;
    assert_int_equal(kl_history_append(&h, &past[0], NULL), KL_E_SPACE);
    assert_int_equal(kl_history_wants_pads(&h, &past[0]), 0xff);
    assert_true(kl_history_wants_devices(&h, &past[0]));
    assert_int_equal(append(0), 0);
    assert_int_equal(kl_history_wants_pads(&h, &past[1]), 0);
    assert_false(kl_history_wants_devices(&h, &past[1]));
    while (kl_history_append(&h, &past[n], NULL) >= 0)
        n++;
    assert_int_equal(n, KL_PIECE_FRAMES);
    assert_int_equal(kl_history_append(&h, &past[n], NULL), KL_E_SPACE);
    assert_int_equal(h.next, n);
    kl_history_give(&h, NULL);
    assert_true(kl_history_wants_block(&h));
    assert_int_equal(kl_history_append(&h, &past[n], NULL), KL_E_SPACE);
    for (; n < 2000; n++)
        assert_true(append(n) >= 0);
    assert_true(blocks > 5);
    check_reading(0, n);
    end();
}

TEST(test_refuses_what_cannot_follow) {
    make_past((struct manner){.seats = 1, .spacing = 10, .command_every = 1}, 11);
    begin();
    struct kl_frame f = past[0];
    assert_int_equal(kl_history_append(&h, &past[1], NULL), KL_E_WINDOW);
    assert_int_equal(kl_history_append(&h, &f, NULL), KL_E_MALFORMED);
    assert_int_equal(kl_history_append(&h, &f, commands_at(10)), KL_E_MALFORMED);
    assert_int_equal(append(0), 0);
    f = past[1];
    f.spacing = 9;
    assert_int_equal(kl_history_append(&h, &f, NULL), KL_E_WINDOW);
    f = past[1];
    f.keyframe = 1;
    assert_int_equal(kl_history_append(&h, &f, NULL), KL_E_WINDOW);
    for (uint32_t n = 1; n < 10; n++)
        assert_int_equal(append(n), n == 9);
    f = past[10];
    f.keyframe = 0, f.spacing = 11; /* the interval was over */
    assert_int_equal(kl_history_append(&h, &f, commands_at(10)), KL_E_WINDOW);
    assert_int_equal(append(10), 0);
    end();
}

/* At any keyframe: what is left can be read, and the same frames follow as before. */
static void cut_again_and_again(struct manner m, uint32_t with_seed) {
    uint32_t n = 0, intervals[FRAMES + 1];
    make_past(m, with_seed);
    begin();
    for (unsigned i = 0; i < 200; i++) {
        uint32_t end = n + chance(300), least = n < 500 ? 0 : n - 500;
        if (i % 20 == 19) least = 0;
        for (; n < end; n++) {
            if (past[n].number == past[n].keyframe) intervals[n] = h.intervals;
            assert_int_equal(append(n), n + 1 == past[n].keyframe + past[n].spacing);
        }
        if (n == 0) continue;
        uint32_t cut = first_of_interval(least + chance(n - least));
        kl_history_cut(&h, cut, intervals[cut]);
        assert_int_equal(h.next, cut);
        check_reading(cut > 400 ? cut - 400 : 0, cut);
        if (cut) assert_int_equal(append(cut - 1), KL_E_WINDOW);
        n = cut;
    }
    check_reading(0, n);
    end();
}

TEST(test_cuts) {
    cut_again_and_again((struct manner){.seats = 2, .spacing = 3, .command_every = 4}, 31);
    cut_again_and_again((struct manner){.seats = 8, .everything = true, .command_every = 2}, 32);
    cut_again_and_again((struct manner){.seats = 8, .everything = true, .spacing = 1}, 33);
    cut_again_and_again((struct manner){.seats = 1, .idle = true, .spacing = 30}, 34);
}

TEST(test_drops_the_oldest) {
    make_past((struct manner){.seats = 8, .everything = true, .command_every = 3}, 13);
    begin();
    for (uint32_t n = 0; n < 3000; n++) {
        assert_true(append(n) >= 0);
        if (blocks < 4) continue;
        uint32_t before = h.first;
        free(kl_history_drop(&h));
        blocks--;
        assert_true(h.first > before);
    }
    uint8_t piece[KL_PIECE_BYTES];
    uint32_t last;
    assert_true(h.first > 0);
    assert_int_equal(kl_history_read(&h, h.first - 1, piece, sizeof piece, &last), 0);
    assert_int_equal(kl_history_read(&h, h.next, piece, sizeof piece, &last), 0);
    check_reading(h.first, 3000);
    while (h.oldest) {
        free(kl_history_drop(&h));
        blocks--;
    }
    check_reading(h.first, 3000); /* those that are in no block */
    for (uint32_t n = 3000; n < 3100; n++)
        assert_true(append(n) >= 0);
    check_reading(h.first, 3100);
    end();
}

/* The bytes of a minute; docs/options.md (--history-kib) and net/PROTOCOL.md quote it. */
static unsigned minute(unsigned seats, bool idle) {
    make_past((struct manner){.seats = seats, .spacing = 4, .idle = idle}, 17);
    begin();
    uint32_t n, bytes = 0;
    for (n = 0; n < 18000; n++)
        append(n);
    for (const struct kl_history_block *b = h.oldest; b; b = b->next)
        bytes += b->used;
    end();
    return bytes / 5;
}

TEST(test_costs_little) {
    static const unsigned seats[] = {2, 4, 8};
    for (unsigned i = 0; i < COUNT(seats); i++) {
        unsigned idle = minute(seats[i], true), mashing = minute(seats[i], false);
        print_message("history bytes a minute: seats=%u idle=%u mashing=%u\n", seats[i], idle, mashing);
        assert_in_range(idle, 500, 3000);
        assert_in_range(mashing, 1000, 3000 + seats[i] * 6000);
    }
}
