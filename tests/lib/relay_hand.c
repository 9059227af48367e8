#include "tests/lib/relay_hand.h"

#include <string.h>

#include "tests/lib/lock_memory.h"
#include "tests/lib/must.h"

struct kl_lock_relay r;
struct kl_input ring[KL_WINDOW_FRAMES][KL_MAX_SEATS];
struct kl_frame hand_last;
uint32_t interval;

uint16_t hand_late, hand_turn_late;
uint8_t hand_batch;
uint32_t hand_missing, hand_waited_us;
bool hand_has_echo;
uint32_t hand_echo;

struct kl_params hand_params(uint8_t policy, uint8_t players, uint8_t spacing) {
    return (struct kl_params){.policy = policy,
                              .subframes = true,
                              .clocked = true,
                              .players = players,
                              .wait_budget_ms = HAND_BUDGET_US / 1000,
                              .spacing_fixed = spacing,
                              .fps_uhz = 50000000};
}

uint64_t hand_line(uint32_t f) {
    return 51000 + f * UINT64_C(20000);
}

void hand_begin(struct kl_params p) {
    lock_begin(&r, &p, NULL);
    memset(ring, 0, sizeof ring);
    hand_late = hand_turn_late = hand_batch = 0;
    hand_missing = hand_waited_us = 0;
    hand_has_echo = false;
}

int hand_ctrl(unsigned client, uint32_t first, uint32_t count, unsigned word, uint64_t now_us) {
    uint8_t buf[KL_DATAGRAM_MAX];
    struct kl_ctrl m = {.stamp = (uint32_t)now_us,
                        .has_echo = hand_has_echo,
                        .echo = hand_echo,
                        .frame_acked = r.next_close,
                        .sample_first = first,
                        .sample_count = count,
                        .sample_late = hand_late,
                        .turn_late = hand_turn_late,
                        .sample_batch = hand_batch,
                        .away = word & HAND_AWAY,
                        .resume = word & HAND_RESUME,
                        .sparing = word & HAND_SPARING};
    size_t len = kl_ctrl_write(&m, (const struct kl_input(*)[KL_MAX_SEATS])ring, r.client[client].seat_count,
                               buf, sizeof buf);
    MUST(len > 0);
    return kl_lock_receive(&r, client, buf, len, hand_missing, hand_waited_us, now_us);
}

uint32_t hand_take_all(void) {
    uint32_t n = 0;
    while (kl_lock_take(&r, &hand_last))
        n++;
    return n;
}

void hand_begin_three(struct kl_params p) {
    hand_begin(p);
    for (unsigned i = 0; i < 3; i++)
        MUST(kl_lock_add(&r, i, (uint8_t)(1u << i), 0) == 0);
    kl_lock_add(&r, 9, 0, 0);
    for (unsigned i = 0; i < KL_WINDOW_FRAMES; i++)
        ring[i][0].joypad = 0x10;
    MUST(kl_lock_start(&r, 1000) == 0);
    interval = hand_take_all();
}

void hand_all_say(unsigned clients, uint32_t n) {
    for (unsigned i = 0; i < 3; i++)
        if (clients >> i & 1) MUST(hand_ctrl(i, n, 1, 0, hand_line(n)) == 0);
}
