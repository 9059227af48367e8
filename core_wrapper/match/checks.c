#include "core_wrapper/match/join.h"

#include <stdio.h>
#include <string.h>

#include "core_wrapper/match/match.h"
#include "core_wrapper/match/state.h"
#include "core_wrapper/start/sums.h"
#include "core_wrapper/start/identity.h"
#include "net/platform/clock.h"

#define SMALL_US 100000  /* files that take less time are waited for */
#define LOOK_US  100000  /* between looks at the core's files in play */
#define BUSY_US  1000000 /* between words on a disk that is being read */

bool kl_checks_known(struct kl_match *m) {
    kl_identity_ask_content(&m->emu.content, &m->join.checks.sums);
    return kl_sums_idle(&m->join.checks.sums, kl_now_us() + SMALL_US);
}

void kl_checks_joins(struct kl_match *m) {
    struct kl_checks *f = &m->join.checks;
    f->owed = f->check.on = false;
    f->lates = 0;
}

static bool say_file(struct kl_match *m, const struct kl_file_said *said) {
    bool taken = kl_participant_say_file(kl_link_hold(m->link), said);
    kl_link_release(m->link);
    return taken;
}

/* --- the start --- */

static void say_ready(struct kl_match *m, uint64_t until_us) {
    static struct kl_facts facts;
    struct kl_checks *f = &m->join.checks;
    if (!f->owed || m->status.phase != KL_PARTICIPANT_LOAD || !kl_sums_idle(&f->sums, until_us)) return;
    f->owed = false;
    facts.count = 0;
    kl_identity_files(&facts, m->emu.world, m->front.system_dir, &m->emu.content, &f->sums);
    f->seen = kl_world_files(m->emu.world);
    kl_participant_ready(kl_link_hold(m->link), &facts);
    kl_link_release(m->link);
}

void kl_checks_loaded(struct kl_match *m) {
    m->join.checks.owed = true;
    m->join.checks.lates = 0;
    kl_identity_ask_content(&m->emu.content, &m->join.checks.sums);
    kl_identity_ask_files(m->emu.world, m->front.system_dir, &m->emu.content, &m->join.checks.sums);
    say_ready(m, kl_now_us() + SMALL_US);
}

/* --- a disk --- */

/* By the core; else by the list of disks that is the content. */
static bool find_image(struct kl_match *m, unsigned disk, char out[KL_FILE_PATH]) {
    const struct retro_disk_control_ext_callback *d = &m->emu.told.disk_control;
    const struct kl_content *c = &m->emu.content;
    const char *content = c->count == 1 ? c->item[0].path : NULL;
    char said[KL_FILE_PATH] = "";
    if (d->get_image_path && d->get_image_path(disk, said, sizeof said) && *said) {
        said[sizeof said - 1] = 0;
        kl_file_use_slashes(said);
        const char *slash = content ? strrchr(content, '/') : NULL;
        bool whole = kl_file_is_absolute(said) || kl_file_kind(said) == KL_FILE_IS_PLAIN || !slash;
        int len =
            snprintf(out, KL_FILE_PATH, "%.*s%s", whole ? 0 : (int)(slash + 1 - content), content, said);
        return len > 0 && len < KL_FILE_PATH;
    }
    return content && kl_filelist_disk(content, disk, out, KL_FILE_PATH);
}

static struct kl_file_said look_at_disk(struct kl_match *m, unsigned disk) {
    static const uint8_t words[] = {KL_FILE_BUSY, KL_FILE_HERE, KL_FILE_MISSING, KL_FILE_UNKNOWN};
    const struct retro_disk_control_ext_callback *d = &m->emu.told.disk_control;
    struct kl_file_said said = {.disk = (uint16_t)disk, .is = KL_FILE_UNKNOWN};
    char path[KL_FILE_PATH], name[KL_FACT_KEY_MAX];
    struct kl_sum sum;
    if (!d->get_num_images || disk >= d->get_num_images())
        said.is = KL_FILE_NO_DISK;
    else if (find_image(m, disk, path)) {
        said.is = words[kl_identity_image(path, &m->join.checks.sums, name, &sum)];
        snprintf(said.name, sizeof said.name, "%s", name);
        if (said.is == KL_FILE_HERE) said.hash = sum.hash;
        if (said.is == KL_FILE_HERE) said.bytes = sum.bytes;
    }
    return said;
}

static void check_disk(struct kl_match *m, uint64_t now_us) {
    struct kl_checks *f = &m->join.checks;
    uint16_t disk;
    bool asked = kl_participant_check(kl_link_hold(m->link), &disk);
    kl_link_release(m->link);
    if (asked) {
        f->check.on = true;
        f->check.disk = disk;
        f->check.said_us = now_us;
        f->check.looked_us = now_us;
    }
    if (!f->check.on || now_us < f->check.looked_us) return;
    f->check.looked_us = now_us + LOOK_US;
    struct kl_file_said said = look_at_disk(m, f->check.disk);
    if (said.is == KL_FILE_BUSY) {
        uint64_t all;
        if (now_us - f->check.said_us < BUSY_US) return;
        kl_sums_progress(&f->sums, &said.bytes, &all);
        f->check.said_us = now_us;
    }
    if (!say_file(m, &said) || said.is == KL_FILE_BUSY) return;
    f->check.on = false;
    kl_frontend_log(&m->front, "disk=%u file=%s is=%u bytes=%llu xxh3=%016llx", said.disk + 1u, said.name,
                    said.is, (unsigned long long)said.bytes, (unsigned long long)said.hash);
}

/* --- files opened in play --- */

static void say_late(struct kl_match *m, struct kl_checks_late *late) {
    struct kl_checks *f = &m->join.checks;
    struct kl_file_said said = {.late = true, .is = KL_FILE_MISSING};
    char name[KL_FACT_KEY_MAX], real[KL_FILE_PATH];
    struct kl_sum sum = {0};
    uint64_t bytes = 0, changed;
    bool counts = kl_identity_name(m->emu.world, late->at, m->front.system_dir, &m->emu.content, name, real);
    if (counts && kl_file_stamp(real, &bytes, &changed)) counts = bytes <= KL_LATE_BYTES;
    enum kl_sum_state is = counts ? kl_sums_get(&f->sums, real, &sum) : KL_SUM_FULL;
    if (is == KL_SUM_BUSY) return;
    late->said = true;
    if (is == KL_SUM_FULL) return; /* the core has written it by now, or it is too large */
    snprintf(said.name, sizeof said.name, "%s", name);
    if (is == KL_SUM_KNOWN) said.is = KL_FILE_HERE;
    said.bytes = sum.bytes;
    said.hash = sum.hash;
    late->said = say_file(m, &said);
    if (late->said)
        kl_frontend_log(&m->front, "opened file=%s is=%u bytes=%llu xxh3=%016llx frame=%u", said.name,
                        said.is, (unsigned long long)said.bytes, (unsigned long long)said.hash,
                        m->play.next_frame);
}

static void follow_late(struct kl_match *m, uint64_t now_us) {
    struct kl_checks *f = &m->join.checks;
    char name[KL_FACT_KEY_MAX], real[KL_FILE_PATH];
    if (now_us - f->looked_us < LOOK_US) return;
    f->looked_us = now_us;
    for (unsigned files = kl_world_files(m->emu.world); f->seen < files; f->seen++)
        if (f->lates < KL_LATE_FILES &&
            kl_identity_name(m->emu.world, f->seen, m->front.system_dir, &m->emu.content, name, real))
            f->late[f->lates++] = (struct kl_checks_late){.at = f->seen};
    for (unsigned i = 0; i < f->lates; i++)
        if (!f->late[i].said) say_late(m, &f->late[i]);
}

/* --- both --- */

void kl_checks_turn(struct kl_match *m, uint64_t now_us) {
    say_ready(m, 0);
    if (m->emu.phase != KL_PHASE_PLAYING || m->status.phase != KL_PARTICIPANT_PLAYING) return;
    check_disk(m, now_us);
    follow_late(m, now_us);
}

void kl_checks_connected(struct kl_match *m) {
    for (unsigned i = 0; i < m->join.checks.lates; i++)
        m->join.checks.late[i].said = false;
}

bool kl_checks_checking(struct kl_match *m, unsigned *disk, unsigned *percent) {
    struct kl_checks *f = &m->join.checks;
    uint64_t done, all;
    bool start = (f->owed && m->link) || kl_match_reads(m->state);
    if (!start && !f->check.on) return false;
    kl_sums_progress(&f->sums, &done, &all);
    *disk = start ? 0 : f->check.disk + 1u;
    *percent = all ? (unsigned)(done * 100 / all) : 100;
    return all > 0;
}

void kl_checks_close(struct kl_match *m) {
    kl_checks_joins(m);
    kl_sums_close(&m->join.checks.sums);
}
