/* identity.h - the facts that must be the same in a room. docs/design.md §5.
 *
 * A value has a part that is compared, then in " (…)" a part for people only: "xxh3 0123456789abcdef (24592
 * bytes, croom.nes)". */
#ifndef KLW_IDENTITY_H
#define KLW_IDENTITY_H

#include "net/engine/msg.h"
#include "core_wrapper/content.h"

/* "core": name and version. */
void kl_identity_core(struct kl_facts *facts, const struct retro_system_info *info);
/* The same in a room whose players have agreed to try other versions: the version is a remark. */
void kl_identity_any_version(struct kl_facts *facts, const struct retro_system_info *info);
/* Adds "content", or "content 1", "content 2" … of a subsystem: the hash of the frontend's bytes if it gave
 * them (soft-patched ones included), else of the file. For a zip: its members, whatever its packing, and its
 * name, because arcade cores go by the name. */
void kl_identity_content(struct kl_facts *facts, const struct kl_content *content);
/* Adds "file NAME" for every file that the core has opened (kl_world_files) and not written, below
 * system_dir or beside the content: BIOS images, further tracks. For a zip "set NAME", by its own name and
 * its members, in any folder. Files beyond the room for facts are folded into "more files". */
void kl_identity_files(struct kl_facts *facts, const char *system_dir, const struct kl_content *content);
/* The sets alone: with the content they are "this very game" of an arcade core, its parent's and its BIOS. */
void kl_identity_sets(struct kl_facts *facts, const char *system_dir, const struct kl_content *content);

/* One file as a value. Returns 0, or -1 if it cannot be read. */
int kl_identity_hash_file(const char *path, char *out, size_t cap);

#endif
