/* Coded inputs: what a reader accepts a writer can say again, no longer than it was. */
#include "tests/fuzz/fuzz.h"

#include "net/engine/input.h"

#define INPUTS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct kl_input in[INPUTS];
    struct kl_input_decoder d;
    struct kl_reader r;
    unsigned count = 0;
    kl_input_decoder_init(&d);
    kl_reader_init(&r, data, size);
    while (count < INPUTS && (kl_reader_left(&r) > 0 || d.run_left > 0)) {
        kl_input_decode(&d, &r, &in[count]);
        if (r.failed) break;
        MUST(in[count].key_count <= KL_KEYS && in[count].gun_buttons < 1u << 20);
        count++;
    }
    size_t used = r.failed ? size : (size_t)(r.at - data);
    static uint8_t buf[4096];
    struct kl_input_coder c;
    struct kl_writer w;
    kl_input_coder_init(&c);
    kl_writer_init(&w, buf, sizeof buf);
    for (unsigned i = 0; i < count; i++)
        kl_input_encode(&c, &w, &in[i]);
    MUST(w.failed || (size_t)(w.at - buf) <= used);
    if (w.failed) return 0;
    kl_input_decoder_init(&d);
    kl_reader_init(&r, buf, (size_t)(w.at - buf));
    for (unsigned i = 0; i < count; i++) {
        struct kl_input out;
        kl_input_decode(&d, &r, &out);
        MUST(!r.failed && kl_input_equal(&out, &in[i]));
    }
    MUST(kl_reader_left(&r) == 0 && d.run_left == 0);
    for (unsigned i = 1; i < count; i++) { /* folding never reads past what is there */
        struct kl_input acc = in[i - 1];
        unsigned lost = kl_input_fold(&acc, &in[i]);
        MUST(acc.key_count + lost == in[i - 1].key_count + in[i].key_count);
    }
    return 0;
}
