/* start.h - the start data of a room: the host's profile of the core, options, controller devices, save
 * memory and save files, with which every client's core begins. net/PROTOCOL.md §12, "Start data", has the
 * layout.
 *
 * Relay and network do not look into the start data. It comes from another player's machine, so the decoder
 * trusts nothing. */
#ifndef KLW_START_H
#define KLW_START_H

#include "net/engine/engine.h"
#include "core_wrapper/profile/profile.h"

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
/* An option that is no core's: the host's system, as kl_world_system names it. Left out on Linux. */
#define KL_START_SYSTEM "keylock_system"
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

/* The host's system. Adding one may fail for want of a place; then the room takes the host for a Linux
 * machine. */
void kl_start_put_system(struct kl_start *s, const char *system);
const char *kl_start_system(const struct kl_start *s);

/* Bytes that encoding takes at most. */
size_t kl_start_bound(const struct kl_start *s);
/* Returns the length, or KL_E_SPACE. */
int kl_start_encode(const struct kl_start *s, uint8_t *buf, size_t cap);
/* 0, or KL_E_MALFORMED: a mask that is not good (mask.h), too many, too long, a path that is not ok,
 * something twice, bytes left over. Borrows from buf. */
int kl_start_decode(struct kl_start *s, const uint8_t *buf, size_t len);

#endif
