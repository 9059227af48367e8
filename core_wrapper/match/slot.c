#include "core_wrapper/match/slot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/wire.h"
#include "net/engine/command.h"
#include "core_wrapper/match/snapshot.h"
#include "core_wrapper/match/room_profile.h"
#include "core_wrapper/match/match.h"

/* The part of the machine that must be equal: RAM if there is any, else the part of the state that the room's
 * profile vouches for, else the picture. */
static uint64_t hash_now(struct kl_match *m) {
    uint64_t h;
    struct kl_hash is = {0};
    kl_emulator_find_ram(&m->emu, &m->play.ram);
    if (kl_ram_hash(&m->play.ram, &h)) return h;
    h = kl_room_profile_hash(m, m->slot.state, m->slot.bytes, &is);
    if (!kl_quirks_allow(m->emu.quirks, KL_STATE_COMPARED)) is.has = 0;
    bool whole = is.has & (KL_HASH_FULL | KL_HASH_NOTED);
    return whole || !m->play.chain.known ? h : m->play.chain.last; /* states may hold addresses */
}

bool kl_slot_save(struct kl_match *m, uint32_t frame) {
    size_t bytes = m->emu.core.serialize_size();
    uint8_t *state = bytes ? calloc(1, bytes) : NULL;
    kl_slot_clear(m);
    m->slot.any = true;
    m->slot.frame = frame;
    if (!state || !kl_core_serialize(&m->emu.core, state, bytes) ||
        !kl_outside_collect(&m->slot.outside, &m->emu) || !kl_files_keep(m, &m->slot.files)) {
        free(state);
        return false;
    }
    m->slot.state = state;
    m->slot.bytes = bytes;
    m->slot.hash = hash_now(m) ^ kl_fileset_hash(m->slot.files);
    return true;
}

static bool has(struct kl_match *m, const struct kl_command *c, char *why, size_t cap) {
    struct kl_reader in = kl_reader(c->data, c->len);
    uint32_t frame = kl_read_u32(&in);
    if (in.failed || !m->slot.any || m->slot.frame != frame)
        snprintf(why, cap, "the saved state of frame %u was replaced: load again", frame);
    else if (!m->slot.state)
        snprintf(why, cap, "out of sync: no saved state of frame %u on this machine", frame);
    else
        return true;
    return false;
}

int kl_slot_load(struct kl_match *m, struct kl_emulator *emu, const struct kl_command *c, char *why,
                 size_t cap) {
    struct kl_slot *slot = &m->slot;
    if (!has(m, c, why, cap)) return -1;
    if (!kl_files_back(m, emu, slot->files, emu == &m->emu)) {
        snprintf(why, cap, "the files of frame %u cannot be had again", slot->frame);
        return -1;
    }
    memcpy(slot->outside.held, emu->latch.keyboard.held, sizeof slot->outside.held); /* the players' */
    if (!kl_outside_lacks(emu, &slot->outside) && kl_outside_apply(emu, &slot->outside) &&
        emu->core.unserialize(slot->state, slot->bytes) && kl_outside_apply(emu, &slot->outside))
        return 0;
    snprintf(why, cap, "the core refused the saved state of frame %u", slot->frame);
    return -1;
}

bool kl_slot_wanted(struct kl_match *m, struct kl_order *o, char *why, size_t cap) {
    struct kl_writer w = kl_writer(o->data, sizeof o->data);
    kl_write_u32(&w, m->slot.frame);
    o->len = KL_LOAD_BYTES;
    if (m->slot.state) return true;
    if (!m->slot.any)
        snprintf(why, cap, "the room has no saved state: save first");
    else
        snprintf(why, cap, "this core could not save the state of frame %u", m->slot.frame);
    return false;
}

void kl_slot_turn(struct kl_match *m) {
    uint8_t data[KL_SAVED_BYTES];
    if (!m->slot.any || m->slot.told || !m->link) return;
    struct kl_writer w = kl_writer(data, sizeof data);
    kl_write_u32(&w, m->slot.frame);
    kl_write_u8(&w, m->slot.state != NULL);
    kl_write_u64(&w, m->slot.hash);
    m->slot.told = kl_participant_order(kl_link_hold(m->link), KL_COMMAND_SAVED, data, sizeof data) == KL_OK;
    kl_link_release(m->link);
}

void kl_slot_clear(struct kl_match *m) {
    free(m->slot.state);
    kl_outside_free(&m->slot.outside);
    kl_fileset_free(m->slot.files);
    memset(&m->slot, 0, sizeof m->slot);
}

uint32_t kl_slot_saved(const struct kl_match *m) {
    return m->slot.any ? m->slot.frame + 1 : 0;
}
