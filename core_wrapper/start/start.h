/* start.h - the start data of a room: the host's profile of the core, options, controller devices, save
 * memory and save files, with which every client's core begins; also a state, if the game goes on from a
 * frame of a recording. net/PROTOCOL.md §12, "Start data", has the layout.
 *
 * Relay and network do not look into the start data. It comes from another player's machine, so the decoder
 * trusts nothing. */
#ifndef KLW_START_H
#define KLW_START_H

#include "net/engine/engine.h"
#include "net/engine/msg.h"
#include "core_wrapper/profile/profile.h"

#define KL_START_MAX       (16u << 20) /* bytes in all; the link carries no more */
#define KL_START_OPTIONS   1024
#define KL_START_KEY_MAX   128 /* bytes, NUL included */
#define KL_START_VALUE_MAX 256
#define KL_START_MEMORIES  8
#define KL_START_FILES     256
#define KL_START_PATH_MAX  256
#define KL_START_WHO_MAX   160 /* bytes of the players' names, NUL included */
#define KL_START_WARM_UP   60  /* frames at most, in a core that takes no state before it has run */

struct kl_start_option {
    char key[KL_START_KEY_MAX], value[KL_START_VALUE_MAX];
};
struct kl_start_device {
    uint8_t port;
    uint32_t device;
};
struct kl_start_memory {
    uint32_t id;
    const uint8_t *bytes; /* borrowed */
    size_t len;
};
struct kl_start_file {
    char path[KL_START_PATH_MAX]; /* relative to the save directory */
    const uint8_t *bytes;         /* borrowed */
    size_t len;
};
/* An option that is no core's: the host's system, as kl_world_system names it. Left out on Linux. */
#define KL_START_SYSTEM "keylock_system"
/* The state of a recording's frame, with which the game begins: its giver's word. */
struct kl_start_state {
    uint32_t frame;                    /* of the recording, that would run next there */
    uint8_t room_id[KL_ROOM_ID_BYTES]; /* of the recording; zero: of no room */
    char match[KL_MATCH_MAX];          /* its maker's id of the match; "": none */
    char players[KL_START_WHO_MAX];    /* of the seats then, for people */
    uint64_t chance;                   /* counter of the world's random numbers */
    uint32_t bytes;                    /* of the state; 0: the game begins at power-on */
    uint8_t hash[KL_SNAPSHOT_HASH];    /* of them: BLAKE2b */
    const uint8_t *packed;             /* by zstd; borrowed */
    size_t packed_len;
};
#define KL_START_WORDS 320
/* "frame 600 of match cup-3: ann (1), bob (2)", plain text. */
void kl_start_state_words(const struct kl_start_state *s, char out[KL_START_WORDS]);

/* Some 450 KB: allocate it. */
struct kl_start {
    struct kl_profile_room profile; /* but for hash_every */
    unsigned option_count, device_count, memory_count, file_count;
    struct kl_start_option option[KL_START_OPTIONS];
    struct kl_start_device device[KL_MAX_SEATS];
    struct kl_start_memory memory[KL_START_MEMORIES];
    struct kl_start_file file[KL_START_FILES];
    struct kl_start_state state;
};

/* A path that may be written below a folder: relative, of plain components; no "", ".", "..", backslash or
 * control character; shorter than KL_START_PATH_MAX. */
bool kl_start_path_ok(const char *path);

/* A string that the decoder takes back: valid UTF-8, no control characters, shorter than cap (<= 512). */
bool kl_start_text_ok(const char *text, size_t cap);

/* The host's system. Adding one may fail for want of a place; then the room takes the host for a Linux
 * machine. */
void kl_start_put_system(struct kl_start *s, const char *system);
const char *kl_start_system(const struct kl_start *s);

/* Bytes that encoding takes at most. */
size_t kl_start_bound(const struct kl_start *s);
/* Returns the length, or KL_E_SPACE. */
int kl_start_encode(const struct kl_start *s, uint8_t *buf, size_t cap);
/* 0, or KL_E_MALFORMED: a mask that is not good (mask.h), too many, too long, a path that is not ok,
 * something twice, bytes left over. Borrows from buf. A state is not unpacked. */
int kl_start_decode(struct kl_start *s, const uint8_t *buf, size_t len);

#endif
