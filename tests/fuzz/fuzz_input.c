/* Coded inputs: what a reader accepts a writer can say again, no longer than it was. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "net/engine/input.h"

#define INPUTS 64

/* Of all inputs in one frame, and what is left in frames after it: the seat holds the same keys. */
static void fold_keys(const struct kl_input *in, unsigned count) {
    static struct kl_keyboard plain, folded;
    static struct kl_keys waits;
    struct kl_input frame[KL_MAX_SEATS] = {{0}};
    memset(&plain, 0, sizeof plain);
    memset(&folded, 0, sizeof folded);
    kl_keys_clear(&waits);
    for (unsigned i = 0; i < count; i++) {
        frame[0] = in[i];
        kl_keyboard_play(&plain, frame, NULL, NULL);
        kl_keys_put(&waits, &in[i]);
    }
    do {
        kl_keys_take(&waits, &frame[0]);
        kl_keyboard_play(&folded, frame, NULL, NULL);
    } while (frame[0].all_up || frame[0].key_count > 0);
    MUST(memcmp(plain.held, folded.held, sizeof plain.held) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct kl_input in[INPUTS];
    struct kl_input_decoder d;
    unsigned count = 0;
    kl_input_decoder_init(&d);
    struct kl_reader r = kl_reader(data, size);
    while (count < INPUTS && (kl_reader_left(&r) > 0 || d.run_left > 0)) {
        kl_input_decode(&d, &r, &in[count]);
        if (r.failed) break;
        MUST(in[count].key_count <= KL_KEYS && in[count].gun_buttons < 1u << 20);
        count++;
    }
    size_t used = r.failed ? size : (size_t)(r.at - data);
    static uint8_t buf[4096];
    struct kl_input_coder c;
    kl_input_coder_init(&c);
    struct kl_writer w = kl_writer(buf, sizeof buf);
    for (unsigned i = 0; i < count; i++)
        kl_input_encode(&c, &w, &in[i]);
    MUST(w.failed || (size_t)(w.at - buf) <= used);
    if (w.failed) return 0;
    kl_input_decoder_init(&d);
    r = kl_reader(buf, (size_t)(w.at - buf));
    for (unsigned i = 0; i < count; i++) {
        struct kl_input out;
        kl_input_decode(&d, &r, &out);
        MUST(!r.failed && kl_input_equal(&out, &in[i]));
    }
    MUST(kl_reader_left(&r) == 0 && d.run_left == 0);
    fold_keys(in, count);
    return 0;
}
