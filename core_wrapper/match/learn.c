#include "core_wrapper/match/learn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/environment.h"
#include "net/platform/file.h"
#include "net/platform/process.h"
#include "core_wrapper/match/room_profile.h"
#include "core_wrapper/match/match.h"

/* A path as it is, a name on PATH. */
static bool find_program(struct kl_match *m, char *out, size_t cap) {
    const char *name = m->config.learn, *path = kl_environment_get("PATH");
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
static const char *content_path(struct kl_match *m) {
    const struct kl_content *c = &m->emu.content;
    return !c->special && c->count == 1 ? c->item[0].path : NULL;
}

void kl_learn_begin(struct kl_match *m) {
    char program[KL_CONFIG_PATH_MAX], err[KLW_TEXT_MAX];
    const char *content = content_path(m);
    bool off = !strcmp(m->config.learn, "off") || !strcmp(m->config.profile, "off");
    if (off || m->profile.measuring.id || !content || !kl_file_readable(content) || *m->emu.content.refusal)
        return;
    if (!m->profile.size_bytes || kl_room_profile_known(m) || kl_room_profile_find_any(m)) return;
    if (!find_program(m, program, sizeof program)) return;
    const char *arguments[] = {
        "keylock",           "probe",     "--learn", "--core",
        m->emu.core.path,    "--content", content,   *m->front.system_dir ? "--system" : NULL,
        m->front.system_dir, NULL};
    struct kl_process_setup setup = {.program = program, .arguments = arguments};
    if (kl_process_start(&m->profile.measuring, &setup, err, sizeof err) == 0)
        kl_frontend_log(&m->front, "measures the core's states in the background");
    else
        kl_frontend_log(&m->front, "the core's states are not measured: %s", err);
}

bool kl_learn_busy(struct kl_match *m) {
    if (!m->profile.measuring.id) return false;
    if (!kl_process_gone(&m->profile.measuring)) return true;
    kl_learn_end(m);
    return false;
}

void kl_learn_end(struct kl_match *m) {
    if (m->profile.measuring.id) kl_process_end(&m->profile.measuring, 0, NULL);
}
