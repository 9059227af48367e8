/* Start data of a room, from another player's machine. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "core_wrapper/start/start.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct kl_start s, again;
    if (kl_start_decode(&s, data, size) != 0) return 0;
    for (unsigned i = 0; i < s.file_count; i++) {
        const char *path = s.file[i].path;
        MUST(kl_start_path_ok(path));
        MUST(path[0] != '/' && strncmp(path, "../", 3) != 0 && !strstr(path, "/../") &&
             strcmp(path, "..") != 0);
    }
    MUST(!kl_mask_bad(&s.profile.mask) && kl_mask_bytes(&s.profile.mask) * 100 <= s.profile.mask.state_bytes);
    MUST(!s.profile.states_equal || !s.profile.mask.count);
    size_t cap = kl_start_bound(&s);
    uint8_t *buf = malloc(cap ? cap : 1);
    MUST(buf);
    int len = kl_start_encode(&s, buf, cap);
    MUST(len >= 0 && (size_t)len <= cap);
    MUST(kl_start_decode(&again, buf, (size_t)len) == 0);
    MUST(memcmp(&again.profile, &s.profile, sizeof s.profile) == 0);
    MUST(again.option_count == s.option_count && again.file_count == s.file_count &&
         again.memory_count == s.memory_count && again.device_count == s.device_count);
    char words[KL_START_WORDS];
    kl_start_state_words(&s.state, words);
    MUST(again.state.bytes == s.state.bytes && again.state.packed_len == s.state.packed_len);
    MUST(s.state.bytes <= KL_SNAPSHOT_MAX && strlen(words) < sizeof words);
    free(buf);
    return 0;
}
