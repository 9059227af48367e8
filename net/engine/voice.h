/* voice.h - datagrams of speech. net/ROOMS.md §7, Voice. Pure.
 *
 * The lock knows nothing of voice: no frame waits for it, and neither journal nor recording has it. Payloads
 * are the speakers' own (Opus): the relay never reads them. */
#ifndef KL_VOICE_H
#define KL_VOICE_H

#include "net/engine/engine.h"

#define KL_VOICE_BYTES    140 /* of a speaker's payload */
#define KL_VOICE_SEAL     20  /* a counter of 4 bytes and a tag, if sealed end to end */
#define KL_VOICE_WIRE     (KL_VOICE_BYTES + KL_VOICE_SEAL)
#define KL_VOICE_DATAGRAM (4 + KL_VOICE_WIRE) /* bytes of a body */
#define KL_VOICE_ID       16                  /* random bytes of a speaker */

enum {
    KL_VOICE_LAST = 1, /* the last packet of a spurt of talk */
    KL_VOICE_SHUT = 2, /* sealed end to end */
    KL_VOICE_FLAGS = KL_VOICE_LAST | KL_VOICE_SHUT
};

/* One packet: 20 ms, or 40 ms, of somebody's voice. */
struct kl_voice {
    uint8_t client; /* the speaker, 0..15; on the way up it means nothing */
    uint8_t flags;
    uint16_t number; /* of its first 20 ms: counts 20 ms units of this speaker, also in its silences; wraps */
    uint8_t len;     /* 0 only with KL_VOICE_LAST: an end without sound */
    uint8_t bytes[KL_VOICE_WIRE];
};

/* Listeners that the host allows: the players; none; watchers too, if they see the game at once. */
enum kl_voice_allowed { KL_VOICE_PLAYERS, KL_VOICE_NONE, KL_VOICE_ALL };

/* HEAR: this client takes part, or no longer, and wants these clients' voices. */
struct kl_hear {
    bool on;
    uint16_t mask;           /* a bit for each client; 0 without `on` */
    uint8_t id[KL_VOICE_ID]; /* random, of this speaker; its key comes of it (net/session/voice_key.h) */
};
/* VOICES: to those that take part. */
struct kl_speaker {
    uint8_t client, id[KL_VOICE_ID];
};
struct kl_voices {
    uint8_t allowed;   /* enum kl_voice_allowed */
    uint16_t hearers;  /* clients that get the receiver's packets, a bit each */
    uint16_t watchers; /* number of watchers that get them */
    uint8_t salt[16];  /* of the room's password; zeros: it has none */
    uint8_t count;     /* other clients that take part */
    struct kl_speaker speaker[KL_MAX_CLIENTS];
};

/* down: from the relay, with the speaker. Returns the length. */
size_t kl_voice_write(const struct kl_voice *v, bool down, uint8_t out[KL_VOICE_DATAGRAM]);
/* 0 or KL_E_MALFORMED; all fields are in range then. */
int kl_voice_read(struct kl_voice *v, bool down, const uint8_t *body, size_t len);

#endif
