#include "core_wrapper/match/learn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/file.h"
#include "net/platform/process.h"
#include "core_wrapper/match/room_profile.h"
#include "core_wrapper/context/wrapper.h"

static struct kl_process measuring;

/* A path as it is, a name on PATH. */
static bool find_program(char *out, size_t cap) {
    const char *name = kl_w.config.learn, *path = getenv("PATH");
    if (strchr(name, '/')) return snprintf(out, cap, "%s", name) < (int)cap && kl_file_runnable(out);
    for (const char *at = path ? path : ""; *at;) {
        size_t len = strcspn(at, ":");
        bool fits = len && snprintf(out, cap, "%.*s/%s", (int)len, at, name) < (int)cap;
        if (fits && kl_file_runnable(out)) return true;
        at += len + (at[len] == ':');
    }
    return false;
}

/* The child loads the game by its path. */
static const char *content_path(void) {
    const struct kl_content *c = &kl_w.emu.content;
    return !c->special && c->count == 1 ? c->item[0].path : NULL;
}

void kl_learn_begin(void) {
    char program[KL_CONFIG_PATH_MAX], err[KLW_TEXT_MAX];
    const char *content = content_path();
    bool off = !strcmp(kl_w.config.learn, "off") || !strcmp(kl_w.config.profile, "off");
    if (off || measuring.id || !content || !kl_file_readable(content) || *kl_w.emu.content.refusal) return;
    if (kl_w.emu.core.serialize_size() == 0 || kl_room_profile_known() || kl_room_profile_find_any()) return;
    if (!find_program(program, sizeof program)) return;
    const char *arguments[] = {
        "keylock",          "probe",     "--learn", "--core",
        kl_w.emu.core.path, "--content", content,   *kl_w.system_dir ? "--system" : NULL,
        kl_w.system_dir,    NULL};
    struct kl_process_setup setup = {.program = program, .arguments = arguments};
    if (kl_process_start(&measuring, &setup, err, sizeof err) == 0)
        kl_screen_log(&kl_w.screen, kl_w.front.environment, "measures the core's states in the background");
    else
        kl_screen_log(&kl_w.screen, kl_w.front.environment, "the core's states are not measured: %s", err);
}

void kl_learn_end(void) {
    if (measuring.id) kl_process_end(&measuring, 0, NULL);
}
