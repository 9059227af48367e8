#include "core_wrapper/start/rand_use.h"

#include <stddef.h>
#include <string.h>

#include "core_wrapper/core/core.h"

#define NAME_BYTES 90

/* As their sources say, each at the version that docs/cores.md names. set: one game of an arcade core, by its
 * name; NULL: all others. */
static const struct {
    const char *core, *set;
    enum kl_rand_use use;
} known[] = {
    {"FinalBurn Neo", "radarscp", KL_RAND_SYSTEM}, /* half of RAND_MAX; and exp() differs by system */
    {"FinalBurn Neo", "radarscp1", KL_RAND_SYSTEM},
    {"FinalBurn Neo", "radarscpc", KL_RAND_SYSTEM},
    {"FinalBurn Neo", NULL, KL_RAND_LOW},
    {"MAME 2003-Plus", "radarscp", KL_RAND_SYSTEM}, /* RAND_MAX is compared with its own generator's number */
    {"MAME 2003-Plus", NULL, KL_RAND_LOW},
    {"Genesis Plus GX", NULL, KL_RAND_UPPER}, /* divides by RAND_MAX at a reset */
    {"DOSBox-pure", NULL, KL_RAND_LOW},
    {"Mupen64Plus-Next", NULL, KL_RAND_LOW},
    {"Nestopia", NULL, KL_RAND_LOW},
    {"PicoDrive", NULL, KL_RAND_LOW},
    {"ProSystem", NULL, KL_RAND_LOW},
    {"Snes9x", NULL, KL_RAND_LOW},
    {"Stella 2014", NULL, KL_RAND_LOW},
    {"TyrQuake", NULL, KL_RAND_LOW},
};

static bool is_core(const char *name, const char *core) {
    const char *remark = strstr(name, " (");
    int len = kl_core_text_len(name, remark ? (int)(remark - name) : NAME_BYTES);
    return (int)strlen(core) == len && strncmp(name, core, (size_t)len) == 0;
}

/* "radarscp" of "games/radarscp.zip". */
static bool is_set(const char *content, const char *set) {
    const char *slash = strrchr(content, '/'), *base = slash ? slash + 1 : content, *dot = strrchr(base, '.');
    size_t len = dot ? (size_t)(dot - base) : strlen(base);
    return strlen(set) == len && strncmp(base, set, len) == 0;
}

enum kl_rand_use kl_rand_use(const char *library_name, const char *content) {
    if (!library_name) return KL_RAND_SYSTEM;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is_core(library_name, known[i].core) &&
            (!known[i].set || (content && is_set(content, known[i].set))))
            return known[i].use;
    return KL_RAND_SYSTEM;
}
