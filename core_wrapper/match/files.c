#include "core_wrapper/match/files.h"

#include <stdio.h>

#include "core_wrapper/match/files_form.h"
#include "core_wrapper/match/match.h"

static void say_history_only(struct kl_match *m, const char *why) {
    if (!m->front.said.files) kl_frontend_log(&m->front, "files kept=no reason=\"%s\"", why);
    kl_frontend_say_once(&m->front, &m->front.said.files, "files: history only, no states of this game");
}

bool kl_files_keep(struct kl_match *m, struct kl_fileset **out) {
    char why[256];
    *out = NULL;
    if (!m->emu.world) return true; /* a test's match without a core */
    if (kl_world_files_keep(m->emu.world, out, why, sizeof why) == 0) return true;
    say_history_only(m, why);
    return false;
}

bool kl_files_give(struct kl_match *m, struct kl_fileset **out) {
    char why[512];
    if (!kl_files_keep(m, out)) return false;
    const char *name = kl_files_kept_back(*out);
    if (!name) return true;
    snprintf(why, sizeof why, "%s is mapped, or this machine's alone", name);
    say_history_only(m, why);
    return false;
}

bool kl_files_back(struct kl_match *m, struct kl_emulator *emu, const struct kl_fileset *files, bool ours) {
    if (!emu->world || kl_world_files_back(emu->world, files, ours)) return true;
    kl_frontend_log(&m->front, "files back=no");
    return false;
}
