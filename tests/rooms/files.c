/* Files that machines open in play, and disks: what honest clients say of them in a room with an attack. */
#include "tests/rooms/liar.h"

#define DISKS 2
#define FILES 8

void files_say_of(struct kl_file_said *f, unsigned number) {
    *f = (struct kl_file_said){.late = true, .is = KL_FILE_HERE, .bytes = 9, .hash = number % FILES};
    snprintf(f->name, sizeof f->name, "file %u", number % FILES);
}

static void say_of_disk(struct client *c, uint16_t disk) {
    struct kl_file_said f = {.disk = disk, .is = disk < DISKS ? KL_FILE_HERE : KL_FILE_NO_DISK};
    if (f.is == KL_FILE_HERE) {
        f.bytes = 9;
        f.hash = disk;
        snprintf(f.name, sizeof f.name, "disk %u", disk);
    }
    (void)kl_participant_say_file(&c->p.participant, &f);
}

void files_step(struct client *c) {
    uint16_t disk;
    struct kl_file_said f;
    if (kl_participant_check(&c->p.participant, &disk) && !liar_is(c, LIAR_DUMB)) say_of_disk(c, disk);
    files_say_of(&f, c->files_said);
    if (c->files_said < FILES && kl_participant_say_file(&c->p.participant, &f)) c->files_said++;
}
