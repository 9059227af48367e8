#include "core_wrapper/match/overlay.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core_wrapper/start/identity.h"
#include "net/engine/msg.h"

#define HAS  " differs: room has "
#define YOU  ", you have "
#define NEXT "; "

/* The first fact that differs (net/engine/facts.c). */
struct differs {
    char key[64], room[KL_ADVICE_MAX], you[KL_ADVICE_MAX];
};

static void cut(char *out, size_t cap, const char *from, const char *end) {
    size_t len = (size_t)(end - from);
    if (len >= cap) len = cap - 1;
    memcpy(out, from, len);
    out[len] = 0;
}

static bool parse(const char *reason, struct differs *d) {
    const char *has = strstr(reason, HAS), *you = has ? strstr(has, YOU) : NULL;
    if (!you) return false;
    const char *from = you + strlen(YOU), *end = strstr(from, NEXT);
    cut(d->key, sizeof d->key, reason, has);
    cut(d->room, sizeof d->room, has + strlen(HAS), you);
    cut(d->you, sizeof d->you, from, end ? end : from + strlen(from));
    return true;
}

/* "xxh3 97dc80d49d3d5fc2 (40976 bytes, shooter.nes)": the name behind the comma; "" for none. */
static void file_name(const char *value, char out[64]) {
    const char *patch = strstr(value, " (" KL_FACT_PATCH), *comma = strstr(value, ", ");
    const char *end = strrchr(value, ')');
    if (patch && comma) comma = strstr(comma + strlen(", "), ", ");
    out[0] = 0;
    if (comma && end > comma) cut(out, 64, comma + strlen(", "), end);
}

/* False: neither side plays a soft patch. */
static bool soft_patch(const struct differs *d, char out[KL_ADVICE_MAX]) {
    char room[KL_FACT_PATCH_MAX], yours[KL_FACT_PATCH_MAX];
    bool rooms = kl_fact_patch(room, d->room), is_yours = kl_fact_patch(yours, d->you);
    if (rooms && is_yours)
        snprintf(out, KL_ADVICE_MAX, "Take the room's soft patch, %s, not yours", room);
    else if (rooms)
        snprintf(out, KL_ADVICE_MAX, "The room plays the soft patch %s: use it", room);
    else if (is_yours)
        snprintf(out, KL_ADVICE_MAX, "You play the soft patch %s: remove it", yours);
    return rooms || is_yours;
}

/* "disk2.bin" of the key "file disk2.bin". */
static const char *file_of(const char *key) {
    return strncmp(key, "file ", 5) ? key : key + 5;
}

/* "Nestopia 1.52.0": the version behind the name that both have. NULL: they are two cores. */
static const char *version_of(const char *core, const char *other) {
    const char *space = strrchr(core, ' '), *others = strrchr(other, ' ');
    bool same = space && others && space - core == others - other &&
                strncmp(core, other, (size_t)(space - core)) == 0;
    return same ? space + 1 : NULL;
}

static void identity(const char *reason, char out[KL_ADVICE_MAX]) {
    struct differs d;
    char theirs[64], ours[64];
    if (!parse(reason, &d)) {
        snprintf(out, KL_ADVICE_MAX, "%.*s", KL_ADVICE_MAX - 1, reason);
        return;
    }
    file_name(d.room, theirs);
    file_name(d.you, ours);
    if (!strcmp(d.key, KL_IDENTITY_RAND) &&
        (strstr(d.room, KL_IDENTITY_SHARED) || strstr(d.you, KL_IDENTITY_SHARED)))
        snprintf(out, KL_ADVICE_MAX, "The host has another version of Keylock: use the same");
    else if (!strcmp(d.key, KL_IDENTITY_RAND))
        snprintf(out, KL_ADVICE_MAX, "This core asks rand(): 31 bits on Linux, 15 on Windows. Play on one");
    else if (!strcmp(d.key, "core") && strstr(d.room, ", any version"))
        snprintf(out, KL_ADVICE_MAX, "The room tries any version of the core: set other_version to do so");
    else if (!strcmp(d.key, "core") && version_of(d.room, d.you))
        snprintf(out, KL_ADVICE_MAX,
                 "Your core is version %.40s, the room's %.40s: keylock install FILE, or Other version",
                 version_of(d.you, d.room), version_of(d.room, d.you));
    else if (!strcmp(d.key, "core"))
        snprintf(out, KL_ADVICE_MAX, "Load the room's core: %.60s, not %.60s", d.room, d.you);
    else if (!strncmp(d.key, "content", 7) && soft_patch(&d, out))
        return;
    else if (!strcmp(d.key, "content") && *theirs && strcmp(theirs, ours) != 0)
        snprintf(out, KL_ADVICE_MAX, "Load the room's game: %s", theirs);
    else if (!strcmp(d.key, "content"))
        snprintf(out, KL_ADVICE_MAX, "Your copy of %s is another: take the host's",
                 *ours ? ours : "the game");
    else if (!strncmp(d.key, "content ", 8))
        snprintf(out, KL_ADVICE_MAX, "File %.3s of the subsystem, %.60s, is another: take the host's%s%.60s",
                 d.key + 8, *ours ? ours : d.you, *theirs && strcmp(theirs, ours) ? ", " : "",
                 *theirs && strcmp(theirs, ours) ? theirs : "");
    else if (!strncmp(d.you, KL_IDENTITY_MISSING, strlen(KL_IDENTITY_MISSING)))
        snprintf(out, KL_ADVICE_MAX, "You lack %.64s: put the host's beside your game", file_of(d.key));
    else if (!strncmp(d.room, KL_IDENTITY_MISSING, strlen(KL_IDENTITY_MISSING)))
        snprintf(out, KL_ADVICE_MAX, "The host lacks %.64s: ask them to get it", file_of(d.key));
    else if (!strcmp(d.you, "none"))
        snprintf(out, KL_ADVICE_MAX, "You lack the room's %s: take the host's", d.key);
    else if (!strcmp(d.room, "none"))
        snprintf(out, KL_ADVICE_MAX, "The room has no %s: take yours away", d.key);
    else
        snprintf(out, KL_ADVICE_MAX, "Your %s is another: take the host's", d.key);
}

static const struct {
    const char *part, *advice;
} doors[] = {
    {"banned", "The host has banned you: choose another room"},
    {"locked", "The host has locked the room: ask them to unlock it"},
    {"has a password", "Set the room's password, then try again"},
    {"has no password", "This room has no password: take yours out"},
    {"too many wrong", "Too many wrong passwords: wait a minute, then try again"},
    {"wrong password", "Wrong password: set the right one, then try again"},
    {"a moment ago", "The room has just changed: try again"},
    {"restoring", "The relay is bringing the room back: try again"},
    {"does not answer", "The relay is gone: try again when it is back"},
    {"did not answer", "The relay is gone: try again when it is back"},
    {"no answer from", "The relay does not answer: check its name, then try again"},
    {"cannot find the relay", "The relay is not known: check its name and your network"},
    {"the link is too long", "Your link is too long for this room: the host can raise lead-max"},
    {"all players have left", "All players have left: try again to open the room"},
};

void kl_advice(unsigned refused, const char *reason, const char *room, char out[KL_ADVICE_MAX]) {
    if (refused == KL_REFUSE_IDENTITY) {
        identity(reason, out);
        return;
    }
    for (size_t i = 0; i < sizeof doors / sizeof *doors; i++)
        if (strstr(reason, doors[i].part)) {
            snprintf(out, KL_ADVICE_MAX, "%s", doors[i].advice);
            return;
        }
    if (refused == KL_REFUSE_FULL)
        snprintf(out, KL_ADVICE_MAX, "Room %.60s is full: watch it, or choose another", room);
    else if (refused == KL_REFUSE_VERSION)
        snprintf(out, KL_ADVICE_MAX, "The relay has another version of Keylock: use the same");
    else
        snprintf(out, KL_ADVICE_MAX, "%.*s", KL_ADVICE_MAX - 1, reason);
}
