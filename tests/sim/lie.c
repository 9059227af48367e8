#include "tests/sim/lie.h"

#include <string.h>

#include "net/engine/wire.h"

#define STAMP_BYTES 4
#define HAS_ECHO    1
#define MOST_NEED   254

const char *lie_name(enum lie lie) {
    static const char *const names[] = {"far", "near", "needs"};
    return names[lie];
}

static void shift_echo(uint8_t *ctrl, uint32_t by_us) {
    uint8_t *echo = ctrl + STAMP_BYTES + 1;
    uint32_t value = 0;
    if (!(ctrl[STAMP_BYTES] & HAS_ECHO)) return;
    for (unsigned i = 0; i < 4; i++)
        value |= (uint32_t)echo[i] << 8 * i;
    value += by_us;
    for (unsigned i = 0; i < 4; i++)
        echo[i] = (uint8_t)(value >> 8 * i);
}

static void greatest_needs(uint8_t *ctrl, size_t len) {
    struct kl_reader r;
    kl_reader_init(&r, ctrl, len);
    kl_read_u32(&r);
    if (kl_read_u8(&r) & HAS_ECHO) {
        kl_read_u32(&r);
        kl_read_var(&r, UINT32_MAX);
    }
    kl_read_var(&r, UINT32_MAX);
    kl_read_var(&r, UINT32_MAX);
    uint8_t count = kl_read_u8(&r);
    if (count == 0) return;
    kl_read_var(&r, UINT32_MAX);
    if (!r.failed) memset(ctrl + (r.at - ctrl), MOST_NEED, count);
}

void lie_about(enum lie lie, uint32_t held_us, uint8_t *ctrl, size_t len) {
    if (lie == LIE_NEAR) shift_echo(ctrl, held_us);
    if (lie == LIE_NEEDS) greatest_needs(ctrl, len);
}
