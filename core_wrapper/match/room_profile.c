#include "core_wrapper/match/room_profile.h"

#include <stdio.h>
#include <string.h>

#include "net/platform/dir.h"
#include "core_wrapper/start/identity.h"
#include "core_wrapper/start/seat_file.h"
#include "core_wrapper/context/wrapper.h"

#define SHOWN_MS 5000

static struct kl_profile own;       /* the profile of the loaded core and content; room zero: none */
static struct kl_profile_room room; /* in force */
static bool said_size;

/* ---- finding ours ---- */

/* Of the loaded core, with its very version. */
static const char *core_fact(void) {
    static struct kl_facts loaded;
    struct retro_system_info info = {0};
    loaded.count = 0;
    kl_w.emu.core.get_system_info(&info);
    kl_identity_core(&loaded, &info);
    return loaded.fact[0].value;
}

static const char *fact(const struct kl_facts *facts, const char *key) {
    for (unsigned i = 0; i < facts->count; i++)
        if (!strcmp(facts->fact[i].key, key)) return facts->fact[i].value;
    return NULL;
}

static struct kl_profile for_core; /* of all games of the core with states of this size; room zero: none */

/* The file, and whether it was named itself. False: there is nowhere to look. */
static bool find_path(char *out, size_t cap, bool *named, const char *core, const char *content) {
    char usual[KL_FILE_PATH], name[KL_PROFILE_NAME_MAX], err[256];
    const char *said = kl_w.config.profile;
    kl_profile_name(name, core, content);
    *named = *said && !kl_dir_exists(said);
    if (*named) return snprintf(out, cap, "%s", said) < (int)cap;
    if (!*said && kl_state_folder("profiles", usual, err, sizeof err) != 0) return false;
    return snprintf(out, cap, "%s/%s", *said ? said : usual, name) < (int)cap;
}

static void tell(const char *path, const struct kl_profile_room *p) {
    kl_screen_log(
        &kl_w.screen, kl_w.front.environment,
        "profile file=%s state_bytes=%u mask_bytes=%llu states_equal=%d load_own=%d hide=%d snapshots=%d "
        "hash_every=%u",
        path, p->mask.state_bytes, (unsigned long long)kl_mask_bytes(&p->mask), p->states_equal, p->load_own,
        !p->show_all, !p->no_snapshots, p->hash_every);
}

bool kl_room_profile_find(const struct kl_facts *facts) {
    char path[KL_CONFIG_PATH_MAX + KL_PROFILE_NAME_MAX], err[KLW_TEXT_MAX] = "";
    const char *core = core_fact(), *content = fact(facts, "content");
    bool named = false;
    memset(&own, 0, sizeof own);
    if (!strcmp(kl_w.config.profile, "off") || !core || !content) return true;
    if (!find_path(path, sizeof path, &named, core, content)) return true;
    int result = kl_profile_read(&own, path, err, sizeof err);
    if (result == 0 && kl_profile_fits(&own, core, content, err, sizeof err)) {
        tell(path, &own.room);
        return true;
    }
    memset(&own, 0, sizeof own);
    if (result == 0)
        kl_wrapper_say(KL_SCREEN_WARNING, SHOWN_MS, "the profile %s is ignored: %s", path, err);
    else if (named)
        kl_wrapper_fail("KEYLOCK_PROFILE: %s", err);
    else if (result < 0)
        kl_wrapper_say(KL_SCREEN_WARNING, SHOWN_MS, "a profile is ignored: %s", err);
    return result == 0 || !named;
}

bool kl_room_profile_known(void) {
    return own.core[0];
}

void kl_room_profile_wish(struct kl_params *p) {
    if (own.room.hash_every && !kl_w.config.hash_every_set) p->hash_every = own.room.hash_every;
}

bool kl_room_profile_find_any(void) {
    char path[KL_CONFIG_PATH_MAX + KL_PROFILE_NAME_MAX], err[KLW_TEXT_MAX], any[KL_FACT_VAL_MAX];
    size_t bytes = kl_w.emu.core.serialize_size();
    bool named = false;
    memset(&for_core, 0, sizeof for_core);
    if (!strcmp(kl_w.config.profile, "off") || !bytes) return false;
    for (unsigned i = 0; i < 2; i++) { /* states of this size, then of no constant size */
        kl_profile_any(any, i ? 0 : bytes);
        if (!find_path(path, sizeof path, &named, core_fact(), any) || named) return false;
        if (kl_profile_read(&for_core, path, err, sizeof err) == 0 &&
            kl_profile_fits(&for_core, core_fact(), any, err, sizeof err))
            return true;
        memset(&for_core, 0, sizeof for_core);
    }
    return false;
}

/* ---- the room's ---- */

void kl_room_profile_put(struct kl_profile_room *out) {
    *out = own.room;
    if (!own.core[0] && kl_room_profile_find_any()) *out = for_core.room;
    out->show_all = out->show_all || !kl_w.config.hide;
    out->load_own = out->load_own || kl_w.config.load_own;
}

void kl_room_profile_take(const struct kl_profile_room *in) {
    room = *in;
    said_size = false;
    kl_w.show_all = room.show_all || !kl_w.config.hide;
    kl_w.load_own = room.load_own;
    kl_w.no_snapshots = room.no_snapshots;
    tell("the-room's", &room);
}

uint64_t kl_room_profile_hash(const uint8_t *state, size_t len, struct kl_hash *h) {
    bool used;
    uint64_t hash = kl_mask_hash(&room.mask, state, len, &used);
    h->full = used && room.states_equal;
    h->noted = used && room.mask.count;
    if (!used)
        kl_wrapper_say_once(
            &said_size,
            "the room's profile of this core is ignored for its hashes: it is of states of %u "
            "bytes, this one has %zu",
            room.mask.state_bytes, len);
    return hash;
}
