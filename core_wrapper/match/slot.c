#include "core_wrapper/match/slot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/engine/wire.h"
#include "net/engine/command.h"
#include "core_wrapper/match/room_profile.h"
#include "core_wrapper/context/wrapper.h"

static struct {
    bool any, told; /* a SAVE has been done; the relay knows */
    uint32_t frame; /* its keyframe */
    uint8_t *state; /* NULL: the core did not serialize */
    size_t bytes;
    uint64_t hash;
} slot;

/* The part of the machine that must be equal: as with marked keyframes, RAM if there is any, else the
 * unmasked part of the state. */
static uint64_t hash_now(void) {
    struct retro_memory_map map = kl_memory_inner(&kl_w.emu.memory);
    uint64_t h;
    struct kl_hash ignored;
    kl_ram_find(&kl_w.play.ram, &kl_w.emu.core, map.num_descriptors ? &map : NULL);
    if (kl_ram_hash(&kl_w.play.ram, &h)) return h;
    return kl_room_profile_hash(slot.state, slot.bytes, &ignored);
}

bool kl_slot_save(uint32_t frame) {
    size_t bytes = kl_w.emu.core.serialize_size();
    uint8_t *state = bytes ? calloc(1, bytes) : NULL;
    kl_slot_clear();
    slot.any = true;
    slot.frame = frame;
    if (!state || !kl_core_serialize(&kl_w.emu.core, state, bytes)) {
        free(state);
        return false;
    }
    slot.state = state;
    slot.bytes = bytes;
    slot.hash = hash_now();
    return true;
}

int kl_slot_load(const struct kl_command *c, char *why, size_t cap) {
    struct kl_reader in;
    kl_reader_init(&in, c->data, c->len);
    uint32_t frame = kl_read_u32(&in);
    if (in.failed || !slot.any || slot.frame != frame)
        snprintf(why, cap, "the saved state of frame %u was replaced: load again", frame);
    else if (!slot.state)
        snprintf(why, cap, "out of sync: no saved state of frame %u on this machine", frame);
    else if (!kl_w.emu.core.unserialize(slot.state, slot.bytes))
        snprintf(why, cap, "the core refused the saved state of frame %u", frame);
    else
        return 0;
    return -1;
}

bool kl_slot_wanted(struct kl_order *o, char *why, size_t cap) {
    struct kl_writer w;
    kl_writer_init(&w, o->data, sizeof o->data);
    kl_write_u32(&w, slot.frame);
    o->len = KL_LOAD_BYTES;
    if (slot.state) return true;
    if (!slot.any)
        snprintf(why, cap, "the room has no saved state: save first");
    else
        snprintf(why, cap, "this core could not save the state of frame %u", slot.frame);
    return false;
}

void kl_slot_turn(void) {
    uint8_t data[KL_SAVED_BYTES];
    struct kl_writer w;
    if (!slot.any || slot.told || !kl_w.link) return;
    kl_writer_init(&w, data, sizeof data);
    kl_write_u32(&w, slot.frame);
    kl_write_u8(&w, slot.state != NULL);
    kl_write_u64(&w, slot.hash);
    slot.told = kl_link_order(kl_w.link, KL_COMMAND_SAVED, data, sizeof data) == KL_OK;
}

void kl_slot_connected(void) {
    slot.told = false;
}

void kl_slot_clear(void) {
    free(slot.state);
    memset(&slot, 0, sizeof slot);
}
