#include "net/engine/record_rule.h"

#include <string.h>

enum kl_record_match kl_record_match(const uint8_t *ours, const uint8_t *theirs) {
    if (!ours) return KL_RECORD_UNKNOWN;
    return memcmp(ours, theirs, KL_RECORD_DIGEST) == 0 ? KL_RECORD_SAME : KL_RECORD_OTHER;
}

static bool covers(const struct kl_record_facts *f) {
    return f->have <= f->end && (f->complete || f->match == KL_RECORD_SAME);
}

enum kl_record_rule kl_record_rule(const struct kl_record_facts *f) {
    if (f->fresh) return KL_RECORD_ANEW;
    if (covers(f)) {
        if (!f->can_catch_up) return KL_RECORD_ANEW;
        return f->have == f->end ? KL_RECORD_GO_ON : KL_RECORD_FRAMES;
    }
    bool back = f->state > 0 && f->state <= f->have && f->state < f->end && f->state_can_catch_up;
    return back ? KL_RECORD_BACK : KL_RECORD_ANEW;
}

const char *kl_record_why(const struct kl_record_facts *f) {
    return f->fresh    ? "this relay does not keep the game's beginning any more"
           : covers(f) ? "this relay no longer keeps the frames that you miss"
                       : "this relay lost frames that you have run, and keeps no beginning";
}
