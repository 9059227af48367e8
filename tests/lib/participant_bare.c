#include "tests/lib/participant_bare.h"

struct kl_participant *s;

void begin_participant(bool has_password, bool fresh) {
    const struct kl_participant_config config = {
        .relay = "relay:1", .has_password = has_password, .fresh = fresh};
    kl_participant_init(s, &config);
    s->joined = true;
    s->dial.s.stage = KL_DIAL_CONNECTED;
}

int make(void **state) {
    (void)state;
    s = calloc(1, sizeof *s);
    if (!s || sodium_init() < 0) return -1;
    begin_participant(false, false);
    return 0;
}
int drop(void **state) {
    (void)state;
    kl_participant_free(s);
    free(s);
    return 0;
}
