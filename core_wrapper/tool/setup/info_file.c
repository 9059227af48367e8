#include "core_wrapper/tool/setup/install.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/buffer.h"
#include "net/platform/cfg_file.h"
#include "core_wrapper/core/core.h"

/* "serialized": states work, but not for run-ahead, pre-emptive frames or RetroArch's own rollback netplay,
 * all of which would break the lock. */
static const char *const own[] = {"display_name",         "corename",       "savestate_features",
                                  "supported_extensions", "needs_fullpath", "description"};
#define OWN (sizeof own / sizeof *own)

static bool is_own(const char *key) {
    for (size_t i = 0; i < OWN; i++)
        if (!strcmp(own[i], key)) return true;
    return false;
}

static void copy_line(void *ctx, const struct kl_cfg_line *line) {
    if (line->key && !is_own(line->key)) kl_buffer_add(ctx, "%s\n", line->whole);
}

/* A value cannot hold a quote, nor more than its line. */
static void put(struct kl_buffer *f, const char *key, const char *value, const char *more) {
    kl_buffer_add(f, "%s = \"", key);
    for (const char *p = value; *p; p++)
        if (*p != '"' && (unsigned char)*p >= 0x20) kl_buffer_add_bytes(f, p, 1);
    kl_buffer_add(f, "%s\"\n", more);
}

/* For a core without an info file: the usual values of a present core. */
static void put_usual(struct kl_buffer *f) {
    static const char *const keys[] = {"savestate",          "cheats",         "input_descriptors",
                                       "memory_descriptors", "libretro_saves", "core_options"};
    put(f, "categories", "Emulator", "");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        put(f, keys[i], "true", "");
}

/* "NES" of "Nintendo - NES / Famicom (Nestopia UE)": without the maker, the other names and the core. Its
 * length. */
static int system_of(const char *display, const char **begin) {
    const char *maker = strstr(display, " - "), *core = strstr(display, " (");
    *begin = maker && maker + strlen(" - ") <= core ? maker + strlen(" - ") : display;
    const char *other = strstr(*begin, " / ");
    return (int)((other && other < core ? other : core) - *begin);
}

void kl_info_title(const struct kl_settings *inner, const struct kl_card *card, char out[KL_TITLE_BYTES]) {
    char display[8192], core[8192];
    const char *system;
    if (!kl_settings_get(inner, "display_name", display, sizeof display) || !*display)
        snprintf(display, sizeof display, "%s", card->name);
    if (!kl_settings_get(inner, "corename", core, sizeof core) || !*core)
        snprintf(core, sizeof core, "%s", card->name);
    if (strstr(display, " (")) {
        int len = system_of(display, &system);
        snprintf(out, KL_TITLE_BYTES, "Keylock: %.*s (%.100s)", len < 100 ? len : 100, system, core);
    } else
        snprintf(out, KL_TITLE_BYTES, "Keylock: %.200s", display);
}

char *kl_info_make(const struct kl_settings *inner, const struct kl_card *card) {
    char value[8192], locked[KL_CORE_NAME_BYTES], title[KL_TITLE_BYTES];
    struct kl_buffer text = {0}, *f = &text;
    kl_core_locked_name(locked, card->name);
    kl_buffer_add(f, "# Made by keylock install of the info file of \"%s\".\n", card->name);
    kl_info_title(inner, card, title);
    put(f, "display_name", title, "");
    put(f, "corename", locked, "");
    put(f, "savestate_features", "serialized", "");
    put(f, "supported_extensions",
        kl_settings_get(inner, "supported_extensions", value, sizeof value) && *value ? value
                                                                                      : card->extensions,
        "");
    put(f, "needs_fullpath", card->full_path ? "true" : "false", "");
    kl_settings_get(inner, "description", value, sizeof value);
    put(f, "description", value,
        *value ? " Through Keylock: alone, or online in lock."
               : "Through Keylock: alone, or online in lock.");
    if (!inner->there)
        put_usual(f);
    else if (!kl_cfg_each(inner->text, copy_line, f))
        text.failed = true;
    return kl_buffer_take(&text);
}
