#include "core_wrapper/tool/desync/machine.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core_wrapper/start/identity.h"
#include "core_wrapper/tool/common/card.h"
#include "core_wrapper/tool/common/tool.h"
#include "core_wrapper/world/archive.h"
#include "net/engine/facts.h"
#include "net/platform/dir.h"

/* --- the core --- */

/* "nestopia" of "Nestopia 1.51.1": the name's words, as files of cores are named, less and less of them. */
int kl_recorded_core(const struct kl_recording *r, char out[KL_FILE_PATH], char *err, size_t err_len) {
    char name[KL_FACT_VAL_MAX] = "";
    size_t used = 0;
    for (const char *c = r->core; *c && used + 1 < sizeof(name); c++)
        if (isalnum((unsigned char)*c))
            name[used++] = (char)tolower((unsigned char)*c);
        else if (used && name[used - 1] != '_')
            name[used++] = '_';
    name[used] = 0;
    for (char *end = name + used; end; end = strrchr(name, '_')) {
        char other[KL_FACT_VAL_MAX + 8];
        *end = 0;
        if (*name && tool_find_core(name, out, KL_FILE_PATH, err, err_len) == 0) return 0;
        snprintf(other, sizeof(other), "mednafen%s", name + strcspn(name, "_"));
        if (!strncmp(name, "beetle_", 7) && tool_find_core(other, out, KL_FILE_PATH, err, err_len) == 0)
            return 0;
    }
    snprintf(err, err_len, "core missing: none is found by the name %s; --core names it", r->core);
    return -1;
}

bool kl_recorded_core_is(const struct kl_recording *r, const char *core, char *err, size_t err_len) {
    struct kl_card card;
    struct kl_facts room = {0}, here = {0};
    if (kl_card_read(&card, core, err, err_len) != 0) return false;
    struct retro_system_info info = {.library_name = card.name, .library_version = card.version};
    kl_facts_add(&room, "core", r->core);
    if (strstr(r->core, ", any version"))
        kl_identity_any_version(&here, &info);
    else
        kl_identity_core(&here, &info);
    return !kl_facts_differ(&room, &here, err, err_len);
}

/* --- the content --- */

struct look {
    const char *wanted;
    uint64_t bytes; /* 0: not said */
    char *out;
};

static bool is_wanted(void *ctx, const char *path) {
    const struct look *l = ctx;
    char value[KL_FACT_VAL_MAX];
    uint64_t bytes, ignored;
    size_t len = kl_fact_length(l->wanted);
    if (!kl_file_stamp(path, &bytes, &ignored) || (l->bytes && bytes != l->bytes)) return false;
    if (kl_archive_is(path) != !strncmp(l->wanted, "set ", 4)) return false;
    if (kl_identity_hash_file(path, value, sizeof(value)) != 0) return false;
    if (kl_fact_length(value) != len || memcmp(value, l->wanted, len) != 0) return false;
    snprintf(l->out, KL_FILE_PATH, "%s", path);
    return true;
}

bool kl_recorded_content(const struct kl_recording *r, const char *const *places, unsigned count,
                         char out[KL_FILE_PATH]) {
    const char *wanted = r->content, *note = strstr(wanted, " (");
    struct look look = {.wanted = wanted, .out = out};
    struct kl_walk walk = {.look = is_wanted, .ctx = &look};
    bool found = !strcmp(wanted, "none");
    out[0] = 0;
    if (!strncmp(wanted, "xxh3 ", 5) && note) look.bytes = strtoull(note + 2, NULL, 10);
    for (unsigned i = 0; i < count && !found; i++)
        found = kl_dir_exists(places[i]) ? kl_walk_folder(&walk, places[i], KLT_WALK_DEEP)
                                         : kl_walk_file(&walk, places[i]);
    kl_walk_free(&walk);
    return found;
}
