/* room_hand.h - a room whose clients are played by hand: CTRLs written to order, closed frames taken out. */
#ifndef TEST_ROOM_HAND_H
#define TEST_ROOM_HAND_H

#include "net/engine/room.h"

static struct kl_room r;
static struct kl_input ring[KL_WINDOW_FRAMES][KL_MAX_SEATS]; /* [i][s]: sample i of a client's s-th seat */
static struct kl_frame hand_last;                            /* taken last */
static uint32_t interval __attribute__((unused));            /* length of interval 0 */

static uint16_t hand_late, hand_turn_late;
static uint8_t hand_batch; /* what the next CTRLs say of their newest sample */
static bool hand_has_echo;
static uint32_t hand_echo; /* … and the echo in them */

static inline void hand_begin(struct kl_params p) {
    kl_room_init(&r, &p);
    memset(ring, 0, sizeof ring);
    hand_late = hand_turn_late = hand_batch = 0;
    hand_has_echo = false;
}

enum { HAND_AWAY = 1, HAND_RESUME = 2, HAND_SPARING = 4 };

/* Samples [first, first + count) of this client, its word on itself, and everything closed acknowledged. */
static inline int hand_ctrl(unsigned client, uint32_t first, uint32_t count, unsigned word, uint64_t now_us) {
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
    assert_true(len > 0);
    return kl_room_receive(&r, client, buf, len, now_us);
}

static inline uint32_t hand_take_all(void) {
    uint32_t n = 0;
    while (kl_room_take(&r, &hand_last))
        n++;
    return n;
}

#endif
