/* A profile of a core, as `keylock probe` writes it and somebody may have changed it. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "core_wrapper/profile/profile.h"
#include "core_wrapper/start/start.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct kl_profile p;
    static struct kl_start s, back;
    static uint8_t buf[16384];
    char err[300] = "", name[KL_PROFILE_NAME_MAX];
    char *text = malloc(size + 1);
    MUST(text);
    if (size) memcpy(text, data, size);
    text[size] = 0;
    int result = kl_profile_parse(&p, text, size, err, sizeof err);
    free(text);
    if (result != 0) {
        MUST(err[0] != 0 && memchr(err, 0, sizeof err));
        return 0;
    }
    MUST(memchr(p.core, 0, sizeof p.core) && memchr(p.content, 0, sizeof p.content));
    MUST(!kl_mask_bad(&p.room.mask) && p.room.hash_every > 0);
    kl_profile_name(name, p.core, p.content);
    MUST(!strchr(name, '/') && name[0] != '.' && strlen(name) > 5);
    s.profile = p.room; /* a good profile goes over the wire and comes back */
    int len = kl_start_encode(&s, buf, sizeof buf);
    MUST(len > 0 && kl_start_decode(&back, buf, (size_t)len) == 0);
    MUST(back.profile.mask.count == p.room.mask.count && back.profile.states_equal == p.room.states_equal);
    return 0;
}
