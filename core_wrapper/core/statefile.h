/* statefile.h - savestates as files, in RetroArch's container since 1.10 ("RASTATE", version 1), so that
 * either program reads the other's. The container has blocks of a four-letter name, a 32-bit little-endian
 * length and the bytes, padded to 8: "MEM " is the core's state, "END " the end; a reader passes over
 * unknown blocks. Ours also has "KLCK", a text: the state's origin. A bare state without container is read
 * as it is; RetroArch's compressed form (RZIP) is not. */
#ifndef KLW_STATEFILE_H
#define KLW_STATEFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_STATEFILE_MAX  ((size_t)1 << 30)
#define KL_STATEFILE_TEXT 128

/* The origin of a state; "" and false if the file does not say. */
struct kl_origin {
    char core[KL_STATEFILE_TEXT];    /* name and version */
    char content[KL_STATEFILE_TEXT]; /* as identity.h has it */
    bool has_frame, has_world;
    uint32_t frame;           /* the one that was run last */
    uint64_t epoch_s, chance; /* of the virtual world, world.h */
};

struct kl_statefile {
    struct kl_origin origin;
    uint8_t *bytes; /* heap */
    size_t len;
};

/* Returns 0, or -1 with a line in err that names the file, the expected and the actual value. */
int kl_statefile_read(struct kl_statefile *s, const char *path, char *err, size_t err_len);
/* kl_statefile_read() from memory; data is copied. name: for err. */
int kl_statefile_parse(struct kl_statefile *s, const void *data, size_t len, const char *name, char *err,
                       size_t err_len);
void kl_statefile_free(struct kl_statefile *s);

/* Writes the file anew, whole or not at all; it is not forced to the disk. 0, or -1 with a line in err. */
int kl_statefile_write(const char *path, const struct kl_origin *origin, const void *bytes, size_t len,
                       char *err, size_t err_len);

/* "DIR/000000599.state": the files of a series in order. */
void kl_statefile_name(char *out, size_t cap, const char *dir, uint32_t frame);

#endif
