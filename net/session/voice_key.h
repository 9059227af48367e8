/* voice_key.h - speech sealed from end to end, in rooms with a password. net/PROTOCOL.md §9, Voices.
 *
 * The relay knows the room's stretched password (door.h), but not the key of its voices: that is stretched
 * from other bytes, with the same salt. Each speaker seals with a key of its own, from 16 random bytes that
 * it tells all, and with a counter, so no counter is used twice under one key. A packet is valid for its
 * speaker's number in the room alone.
 *
 * Pure but for libsodium, and but for the memory of the stretching. */
#ifndef KL_VOICE_KEY_H
#define KL_VOICE_KEY_H

#include "net/engine/msg.h"
#include "net/engine/voice.h"
#include "net/session/door.h"

#define KL_VOICE_KEY 32

/* The key of a room's voices. Costs and results as of kl_door_stretch(). */
int kl_voice_room_key(const char *password, const uint8_t salt[KL_DOOR_SALT], uint8_t key[KL_VOICE_KEY]);

/* A speaker: id is its random bytes, client its number in the room. */
struct kl_voice_speaker {
    uint8_t room_id[KL_ROOM_ID_BYTES], client, id[KL_VOICE_ID];
};
void kl_voice_speaker_key(const uint8_t room[KL_VOICE_KEY], const struct kl_voice_speaker *s,
                          uint8_t key[KL_VOICE_KEY]);

/* Seals a packet of at most KL_VOICE_BYTES, in place. *counter: of the last one under this speaker's id; it
 * never goes back. False, and v is unchanged: it is longer, or the counter is used up. */
bool kl_voice_seal(const uint8_t key[KL_VOICE_KEY], uint32_t *counter, struct kl_voice *v);

/* Counters that were opened under one key; all zero: none. */
struct kl_voice_seen {
    uint32_t highest;
    uint64_t below; /* bit i: highest - 1 - i was seen */
};
/* Opens a packet in place. False: it is not sealed, tampered with, seen before, or 64 counters old; v may be
 * changed. */
bool kl_voice_open(const uint8_t key[KL_VOICE_KEY], struct kl_voice_seen *seen, struct kl_voice *v);

#endif
