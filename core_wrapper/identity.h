/* identity.h - the facts that must be the same in a room. docs/design.md §5.
 *
 * A value is what is compared, then in " (…)" what only helps people: "xxh3 0123456789abcdef (24592 bytes,
 * croom.nes)". */
#ifndef KLW_IDENTITY_H
#define KLW_IDENTITY_H

#include "net/engine/msg.h"
#include "core_wrapper/content.h"

/* "core": name and version. */
void kl_identity_core(struct kl_facts *facts, const struct retro_system_info *info);
/* "content", or "content 1", "content 2" … of a subsystem: as delivered by the frontend where it gave the
 * bytes (soft-patched ones included), else of the file; of a zip its members, for their packing does not
 * matter, and its name, for arcade cores go by it. */
void kl_identity_content(struct kl_facts *facts, const struct kl_content *content);
/* "file NAME" for every file that the core has opened (kl_world_files) and not written below system_dir or
 * beside the content: BIOS images, further tracks; of a zip "set NAME", by its own name and its members,
 * wherever it lies. What finds no place of its own is folded into "more files". */
void kl_identity_files(struct kl_facts *facts, const char *system_dir, const struct kl_content *content);
/* The sets alone: with the content they are "this very game" of an arcade core, its parent's and its BIOS. */
void kl_identity_sets(struct kl_facts *facts, const char *system_dir, const struct kl_content *content);

/* One file as a value: 0, or -1 where it cannot be read. */
int kl_identity_hash_file(const char *path, char *out, size_t cap);

#endif
