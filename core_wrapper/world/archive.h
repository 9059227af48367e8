/* archive.h - the members of an archive, by the bytes that a core gets from them. Pure but for libarchive,
 * which is loaded only for a .7z.
 *
 * A zip's members lie at known places: those that the core has read count, the others do not. A core unpacks
 * a .7z whole, so each of its members may have been read. Checksums are taken from the unpacked bytes,
 * because the maker of an archive can write anything into its directory. */
#ifndef KLW_ARCHIVE_H
#define KLW_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_ARCHIVE_MEMBERS 4096       /* of one archive */
#define KL_ARCHIVE_BYTES   (1u << 30) /* unpacked, of one archive: the bound of the work */
#define KL_ARCHIVE_NAME    20         /* bytes kept of a member's name, NUL included: its last ones */

/* The characters stand in the facts (net/PROTOCOL.md §12). */
enum kl_archive_use {
    KL_ARCHIVE_READ = '=',
    KL_ARCHIVE_PERHAPS = '?', /* of a .7z, or of a zip whose reading was not seen */
    KL_ARCHIVE_UNREAD = '-',
};

struct kl_archive_member {
    char name[KL_ARCHIVE_NAME]; /* without folder; printable ASCII without blanks, brackets and quotes */
    char use;                   /* enum kl_archive_use */
    uint32_t crc, hash;         /* CRC-32; low half of XXH3-64 */
};

/* Bytes [from, to) of a file. */
struct kl_archive_span {
    uint64_t from, to;
};

/* .zip or .7z, by the path's ending. */
bool kl_archive_is(const char *path);

/* The byte at which a zip's directory begins; 0: no zip that is understood here. */
size_t kl_archive_directory(const uint8_t *bytes, size_t len);

/* Lists the members of a .zip or .7z. span: the parts in front of the directory that were read, sorted, apart
 * from each other; NULL: unknown. Folders are left out; of members that were perhaps read, also texts and
 * pictures (a readme). out: from malloc, the caller frees it. Returns the number, or -1: no such archive,
 * damaged, encrypted, packed in a way unknown here, beyond a bound above, or bytes were read that are no
 * member's. Such a file is to be compared whole. */
int kl_archive_list(const uint8_t *bytes, size_t len, const struct kl_archive_span *span, unsigned spans,
                    struct kl_archive_member **out);

#endif
