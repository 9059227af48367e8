/* Hostile UPDATE bodies into a live client. The first byte says what kind of client; then records. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "net/engine/lock_client.h"

static struct kl_client c, before;

static void turn(uint64_t now_us) {
    struct kl_plan p = kl_client_plan(&c, now_us, 4);
    MUST(p.runs <= 4 && p.runs <= p.backlog && p.samples <= KL_WINDOW_FRAMES);
    struct kl_input in[KL_MAX_SEATS];
    memset(in, 0, sizeof in);
    in[0].joypad = (uint16_t)now_us;
    for (uint32_t i = 0; i < p.samples; i++)
        kl_client_sample(&c, in, now_us);
    struct kl_frame f;
    for (uint32_t i = 0; i < p.runs; i++) {
        uint32_t expected = c.stats.next_run;
        MUST(kl_client_take(&c, &f));
        MUST(f.number == expected);
    }
    uint8_t buf[KL_DATAGRAM_MAX];
    size_t len, rounds = 0;
    while ((len = kl_client_send(&c, now_us, buf, sizeof buf)) > 0) {
        MUST(len <= sizeof buf);
        MUST(++rounds <= KL_BURST_MAX);
        struct kl_ctrl m; /* our own CTRL is one that we would take */
        MUST(kl_ctrl_open(&m, c.seat_count, 0, buf, len) == 0);
    }
    MUST(c.stats.next_sample - c.sample_acked <= KL_WINDOW_FRAMES);
    MUST(c.stats.next_closed - c.stats.next_run <= KL_WINDOW_FRAMES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    struct kl_params p = {
        .subframes = data[0] & 1, .clocked = data[0] & 2, .players = 2, .fps_uhz = 60098800};
    static struct kl_held held[KL_WINDOW_FRAMES];
    kl_client_init(&c, &p, data[0] >> 2 & 0x0f, held, KL_WINDOW_FRAMES, 1000000);
    data++, size--;
    uint64_t now_us = 1000000;
    for (struct record r; next_record(&data, &size, &r);) {
        now_us += 1000 * (uint64_t)r.extra;
        before = c;
        int result = kl_client_receive(&c, r.bytes, r.len, now_us);
        MUST(result == 0 || memcmp(&c, &before, sizeof c) == 0);
        MUST(c.stats.next_closed >= before.stats.next_closed);
        turn(now_us);
    }
    return 0;
}
