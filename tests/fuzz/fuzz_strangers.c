/* Questions of strangers and answers of relays: each has one form, and no answer is longer than its question.
 */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "net/engine/engine.h"
#include "net/transport/strangers.h"

static const uint8_t *rest;
static size_t left;

/* Rooms whose lines are the bytes themselves. */
static bool next_line(void *ctx, unsigned *from, struct kl_room_line *out) {
    (void)ctx;
    if (left < 30) return false;
    memset(out, 0, sizeof *out);
    memcpy(out->name, rest, 1 + rest[0] % 22);
    memcpy(out->content, rest + 4, 25);
    out->players = rest[1] % 9;
    ++*from;
    rest += 30;
    left -= 30;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint8_t out[KL_LIST_BYTES];
    static struct kl_rooms rooms;
    struct kl_question q;
    struct kl_pong pong;
    if (kl_question_read(&q, data, size) == KL_OK) {
        MUST(size == KL_PING_BYTES || size == KL_LIST_BYTES);
        rest = data;
        left = size;
        size_t len = kl_rooms_write(&q, next_line, NULL, out);
        MUST(len <= KL_LIST_BYTES);
        MUST(kl_question_write(&q, out) == size);
    }
    if (kl_pong_read(&pong, data, size) == KL_OK)
        MUST(kl_pong_write(&pong, out) == size && memcmp(out, data, size) == 0);
    if (kl_rooms_read(&rooms, data, size) == KL_OK) MUST(rooms.count <= KL_ROOMS_MAX);
    return 0;
}
