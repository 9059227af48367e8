#include "net/transport/rate.h"

bool kl_rate_let_in(uint64_t *until_ns, uint64_t now_ns, uint64_t cost_ns, uint64_t ahead_ns) {
    uint64_t from_ns = *until_ns > now_ns ? *until_ns : now_ns;
    if (from_ns + cost_ns > now_ns + ahead_ns) return false;
    *until_ns = from_ns + cost_ns;
    return true;
}
