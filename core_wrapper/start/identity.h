/* identity.h - the facts that must be the same in a room. docs/design.md §5.
 *
 * A value has a part that is compared, then in " (…)" a part for people only: "xxh3 0123456789abcdef (24592
 * bytes, croom.nes)". */
#ifndef KLW_IDENTITY_H
#define KLW_IDENTITY_H

#include "net/engine/msg.h"
#include "core_wrapper/core/content.h"
#include "core_wrapper/world/world.h"

#define KL_IDENTITY_RAND "rand()" /* a fact's key */

/* "core": name and version. */
void kl_identity_core(struct kl_facts *facts, const struct retro_system_info *info);
/* The same in a room whose players have agreed to try other versions: the version is a remark. */
void kl_identity_any_version(struct kl_facts *facts, const struct retro_system_info *info);
/* Adds "rand()" with the bits that this system's has, if the core asks for it, unless the core was found to
 * play the same game on all systems. report: of the core's world, once the core is loaded. */
void kl_identity_rand(struct kl_facts *facts, const struct retro_system_info *info,
                      const struct kl_world_report *report);
/* Adds "content", or "content 1", "content 2" … of a subsystem: the hash of the frontend's bytes if it gave
 * them (soft-patched ones included), else of the file. For an archive that the core opens itself only its
 * name without ending, because arcade cores go by the name; its members follow in the files' facts. */
void kl_identity_content(struct kl_facts *facts, const struct kl_content *content);
/* Adds the files that the core of this world has opened (kl_world_files) and not written, below system_dir or
 * beside the content:
 * - "members 1", "members 2" …: the members of all archives, with their checksums and whether the core has
 *   read them (archive.h), in whatever archive they are;
 * - "file NAME": other files, such as BIOS images and further tracks; an archive that cannot be read here,
 * too. Not the host's small files (gifts.h). A file that does not fit is folded into "more members" and "more
 * files". */
void kl_identity_files(struct kl_facts *facts, struct kl_world *w, const char *system_dir,
                       const struct kl_content *content);

/* A file as the content's value. Returns 0, or -1 if it cannot be read. */
int kl_identity_hash_file(const char *path, char *out, size_t cap);

#endif
