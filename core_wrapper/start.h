/* start.h - the start data of a room: what every client's core begins with, as the host had it.
 *
 * Opaque to network and relay. What the room does of the host's profile of the core, options,
 * controller devices, save memory and save files, in one run of bytes:
 *     "KLS2"
 *     u8 flags: 1 frames that nobody sees are not hidden from the core, 2 at a snapshot every machine loads
 *     its own state, 4 an unequal state counts as unequal RAM does, 8 no snapshots are taken; others are
 * malformed, and so is 4 with a mask varint bytes of a state (0: of any size), varint count, then each:
 * varint bytes that count before it (from the end of the last; 0 for the first only), varint bytes that do
 * not, 1 at least       mask varint count, then each: string key, string value              core options
 *     varint count, then each: u8 port, u32 device                   retro_set_controller_port_device
 *     varint count, then each: u32 id, varint len, bytes             retro_get_memory_data
 *     varint count, then each: string path, varint len, bytes        files below the save directory
 * in the integers of net/engine/wire.h. It comes from another player's machine: the decoder trusts nothing.
 */
#ifndef KLW_START_H
#define KLW_START_H

#include "net/engine/engine.h"
#include "core_wrapper/profile.h"

#define KL_START_MAX       (16u << 20) /* bytes in all; the link carries no more */
#define KL_START_OPTIONS   1024
#define KL_START_KEY_MAX   128 /* bytes, NUL included */
#define KL_START_VALUE_MAX 256
#define KL_START_MEMORIES  8
#define KL_START_FILES     256
#define KL_START_PATH_MAX  256

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
/* Some 450 KB: allocate it. */
struct kl_start {
    struct kl_profile_room profile; /* but for hash_every */
    unsigned option_count, device_count, memory_count, file_count;
    struct kl_start_option option[KL_START_OPTIONS];
    struct kl_start_device device[KL_MAX_SEATS];
    struct kl_start_memory memory[KL_START_MEMORIES];
    struct kl_start_file file[KL_START_FILES];
};

/* A path that may be written below a folder: relative, of plain components; no "", ".", "..", backslash or
 * control character; shorter than KL_START_PATH_MAX. */
bool kl_start_path_ok(const char *path);

/* A string that the decoder takes back: valid UTF-8, no control characters, shorter than cap (<= 512). */
bool kl_start_text_ok(const char *text, size_t cap);

/* Bytes that encoding takes at most. */
size_t kl_start_bound(const struct kl_start *s);
/* Returns the length, or KL_E_SPACE. */
int kl_start_encode(const struct kl_start *s, uint8_t *buf, size_t cap);
/* 0, or KL_E_MALFORMED: a mask that is not good (mask.h), too many, too long, a path that is not ok,
 * something twice, bytes left over. Borrows from buf. */
int kl_start_decode(struct kl_start *s, const uint8_t *buf, size_t len);

#endif
