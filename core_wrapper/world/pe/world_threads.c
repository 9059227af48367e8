/* The core's own threads are not brought to rest on Windows: whether one waits stands only in a list of all
 * programs' threads (NtQuerySystemInformation). */
#include "core_wrapper/world/world_private.h"

bool kl_world_rest(struct kl_world *w) {
    return (void)w, true;
}

const struct kl_hook kl_world_thread_hooks[] = {KL_HOOK_END};
