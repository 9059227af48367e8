/* wire.h - bounded reading and writing of the wire's integers. net/PROTOCOL.md §1.
 *
 * Both sides carry a sticky `failed` flag instead of an error per call: write or read a whole message, then
 * look once. After a failure a writer writes nothing more and a reader yields zeros. Little-endian; varints
 * are base-128, least significant group first, at most 10 bytes, shortest form required. */
#ifndef KL_WIRE_H
#define KL_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kl_writer {
    uint8_t *at, *end;
    bool failed;
};
struct kl_reader {
    const uint8_t *at, *end;
    bool failed;
};

void kl_writer_init(struct kl_writer *w, uint8_t *buf, size_t cap);
void kl_write_u8(struct kl_writer *w, uint8_t v);
void kl_write_u16(struct kl_writer *w, uint16_t v);
void kl_write_u32(struct kl_writer *w, uint32_t v);
void kl_write_u64(struct kl_writer *w, uint64_t v);
void kl_write_number(struct kl_writer *w, uint64_t v, unsigned bytes); /* of 1 to 8 bytes */
void kl_write_var(struct kl_writer *w, uint64_t v);
void kl_write_svar(struct kl_writer *w, int64_t v); /* zigzag */
void kl_write_bytes(struct kl_writer *w, const void *p, size_t len);
/* Varint length, then the bytes without the NUL. Characters that a reader would reject are written as '?'. */
void kl_write_string(struct kl_writer *w, const char *s);

void kl_reader_init(struct kl_reader *r, const void *buf, size_t len);
size_t kl_reader_left(const struct kl_reader *r);
uint8_t kl_read_u8(struct kl_reader *r);
uint16_t kl_read_u16(struct kl_reader *r);
uint32_t kl_read_u32(struct kl_reader *r);
uint64_t kl_read_u64(struct kl_reader *r);
uint64_t kl_read_number(struct kl_reader *r, unsigned bytes);
uint64_t kl_read_var(struct kl_reader *r, uint64_t max); /* fails above max */
int64_t kl_read_svar(struct kl_reader *r);
const uint8_t *kl_read_bytes(struct kl_reader *r, size_t len);    /* borrowed; NULL on failure */
void kl_read_into(struct kl_reader *r, uint8_t *out, size_t len); /* copies them */
/* Copies a string of at most cap-1 bytes and ends it with NUL. Fails if it is longer, or holds a control
 * character (below 0x20, 0x7f) or bytes that are not UTF-8. */
void kl_read_string(struct kl_reader *r, char *out, size_t cap);
/* Characters of a text in UTF-8. */
size_t kl_characters(const char *text);

#endif
