/* Datagrams that somebody with a session may put before ENet: judged without reading past its end, and what
 * passes keeps the bounds that ENet itself does not. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "net/transport/enet_common.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint16_t base[KL_ENET_CHANNELS] = {65000, 3};
    struct record r;
    while (next_record(&data, &size, &r)) {
        uint8_t *bytes = malloc(r.len ? r.len : 1); /* of its own, so that a sanitizer sees its end */
        if (!bytes) return 0;
        memcpy(bytes, r.bytes, r.len);
        struct kl_udp_verdict v =
            kl_udp_judge(r.extra & 1 ? KL_UDP_CLIENT : KL_UDP_RELAY, bytes, r.len, r.extra & 2 ? base : NULL);
        if (v.pass) MUST(r.len <= KL_ENET_MAX && r.len > 6 && !(bytes[0] & 0x40));
        if (v.pass && v.peer == 0xfff) MUST(!(r.extra & 1));
        free(bytes);
    }
    return 0;
}
