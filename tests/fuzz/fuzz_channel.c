/* A packet of RetroArch's netplay, from whoever reached the player's RetroArch. */
#include "fuzz.h"

#include <string.h>

#include "channel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct kl_channel_packet p, again;
    uint8_t buf[KL_CHANNEL_MAX];
    if (kl_channel_decode(&p, data, size) != KL_OK) return 0;
    int len = kl_channel_encode(&p, buf, sizeof buf);
    MUST(len > 0);
    MUST(kl_channel_decode(&again, buf, (size_t)len) == KL_OK);
    MUST(memcmp(&again, &p, sizeof p) == 0);
    return 0;
}
