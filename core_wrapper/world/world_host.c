/* The host's facts, as far as both systems have them. The replacements of the calls are in elf/ and pe/. */
#include "core_wrapper/world/world_private.h"

#include <string.h>
#include <strings.h>

bool kl_world_own_name(const struct kl_world *w, const char *path, unsigned long real,
                       char out[KL_FILE_PATH]) {
    char number[16], own[48];
    snprintf(number, sizeof number, "%d", KL_HOST_PID);
    const char *at = strstr(path, number);
    bool process = strncmp(path, "/proc/", 6) == 0;
    snprintf(own, sizeof own, process ? "%lu" : "%lu-%d", real, (int)(w - kl_world_at));
    return at && (size_t)snprintf(out, KL_FILE_PATH, "%.*s%s%s", (int)(at - path), path, own,
                                  at + strlen(number)) < KL_FILE_PATH;
}

const char *kl_world_variable(struct kl_world *w, const char *name, bool there) {
    static const char *const constant[][2] = {{"TZ", "UTC0"},
                                              {"LANG", "C"},
                                              {"LANGUAGE", "C"},
                                              {"USER", KL_HOST_NAME},
                                              {"LOGNAME", KL_HOST_NAME},
                                              {"USERNAME", KL_HOST_NAME},
                                              {"HOSTNAME", KL_HOST_NAME},
                                              {"COMPUTERNAME", KL_HOST_NAME}};
    char what[64];
    for (size_t i = 0; i < sizeof constant / sizeof *constant; i++)
        if (strcasecmp(name, constant[i][0]) == 0) return constant[i][1];
    if (strncasecmp(name, "LC_", 3) == 0) return "C";
    snprintf(what, sizeof what, "$%s", name);
    if (there) kl_world_leaves(w, what, KL_PLAYER_REASON);
    return NULL;
}
