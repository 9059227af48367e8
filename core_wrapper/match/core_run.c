#include "core_wrapper/match/core_run.h"

#include "core_wrapper/match/command.h"
#include "core_wrapper/match/match.h"
#include "net/platform/clock.h"

/* How many of them a snapshot taken among them has in it. */
static unsigned in_snapshot(const struct kl_commands *set) {
    unsigned i = 0;
    while (i < set->count && (set->at[i].client != KL_RELAY_CLIENT || set->at[i].kind != KL_COMMAND_SNAPSHOT))
        i++;
    return i < set->count ? i + 1 : i;
}

bool kl_core_run_frame(struct kl_match *m, struct kl_core_run *r, const struct kl_frame *f,
                       const struct kl_commands *set, bool from_snapshot, bool hidden) {
    r->number = f->number;
    r->hidden = hidden;
    kl_world_frame(r->emu->world, f->number);
    if (!from_snapshot) kl_emulator_tray(r->emu, f->number);
    for (unsigned i = set && from_snapshot ? in_snapshot(set) : 0; set && i < set->count; i++)
        if (!kl_command_obey(m, r, &set->at[i])) return false;
    if (r->how == KL_RUN_NEW && kl_record_frame(r->record, f)) kl_chain_reloaded(&m->play.chain);
    kl_emulator_run(r->emu, f, hidden && !m->profile.show_all && !m->play.draws);
    if (r->how != KL_RUN_AHEAD) kl_chain_frame(&m->play.chain);
    r->hidden = false;
    return true;
}

struct kl_spent kl_core_spent(struct kl_spent since) {
    return (struct kl_spent){kl_now_us() - since.time_us, kl_thread_us() - since.thread_us};
}

/* A frontend may wait here for its screen. */
void kl_core_show(struct kl_match *m, const void *data, unsigned width, unsigned height, size_t pitch,
                  bool hidden) {
    struct kl_spent since = kl_core_spent((struct kl_spent){0});
    kl_picture_take(&m->emu.picture, data, width, height, pitch, hidden, m->front.call.video);
    struct kl_spent spent = kl_core_spent(since), *all = &m->play.showing;
    *all = (struct kl_spent){all->time_us + spent.time_us, all->thread_us + spent.thread_us};
}
