#include "tests/lib/stay_bare.h"

struct kl_stay *s;

void begin_stay(bool has_password, bool fresh) {
    const struct kl_stay_config config = {
        .relay = "relay:1", .has_password = has_password, .fresh = fresh, .heap = {malloc, free}};
    kl_stay_init(s, &config);
    s->joined = true;
    s->dial.s.stage = KL_DIAL_CONNECTED;
}

int make(void **state) {
    (void)state;
    s = calloc(1, sizeof *s);
    if (!s || sodium_init() < 0) return -1;
    begin_stay(false, false);
    return 0;
}
int drop(void **state) {
    (void)state;
    kl_stay_free(s);
    free(s);
    return 0;
}
