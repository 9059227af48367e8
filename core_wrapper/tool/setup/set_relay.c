#include "core_wrapper/tool/setup/set_relay.h"

#include <stdio.h>
#include <stdlib.h>

#include "net/platform/environment.h"
#include "core_wrapper/tool/setup/place.h"

static int of_place(const struct kl_place *p, char out[KLT_RELAY_BYTES], char *err, size_t err_len) {
    struct kl_settings s = {0};
    char path[KLT_PATH + 16];
    snprintf(path, sizeof path, "%s/keylock.cfg", p->system);
    int result = kl_settings_read(&s, path, err, err_len);
    if (result == 0) result = kl_settings_get(&s, "relay", out, KLT_RELAY_BYTES) && *out;
    kl_settings_free(&s);
    return result;
}

int kl_set_relay(char out[KLT_RELAY_BYTES], char *err, size_t err_len) {
    struct kl_place place[KL_PLACES];
    const char *relay = kl_environment_get("KEYLOCK_RELAY");
    if (relay && *relay) {
        snprintf(out, KLT_RELAY_BYTES, "%s", relay);
        return 1;
    }
    int places = kl_place_find(place, err, err_len), result = places < 0 ? -1 : 0;
    for (int i = 0; i < places; i++) {
        if (result == 0) result = of_place(&place[i], out, err, err_len);
        kl_place_free(&place[i]);
    }
    return result;
}
