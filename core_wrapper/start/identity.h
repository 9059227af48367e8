/* identity.h - the facts that must be the same in a room. docs/design.md §5.
 *
 * A value has a part that is compared, then in " (…)" a part for people only: "xxh3 0123456789abcdef (24592
 * bytes, croom.nes)". */
#ifndef KLW_IDENTITY_H
#define KLW_IDENTITY_H

#include "net/engine/msg.h"
#include "core_wrapper/core/content.h"
#include "core_wrapper/start/sums.h"
#include "core_wrapper/world/world.h"

#define KL_IDENTITY_RAND    "rand()"          /* a fact's key */
#define KL_IDENTITY_SHARED  "on every system" /* rand()'s remark, if the core's use of it is known */
#define KL_IDENTITY_MISSING "missing" /* the value of a file that the content names and that is not there */

/* "core": name and version. */
void kl_identity_core(struct kl_facts *facts, const struct retro_system_info *info);
/* The same in a room whose players have agreed to try other versions: the version is a remark. */
void kl_identity_any_version(struct kl_facts *facts, const struct retro_system_info *info);
/* Adds "rand()", if the core asks for it: with the bits that this system's has, or with the use that is known
 * of the core. Another version of Keylock may know another use. report: of the core's world, once the core is
 * loaded. use: kl_rand_use(). */
void kl_identity_rand(struct kl_facts *facts, const struct kl_world_report *report, enum kl_rand_use use);
/* Adds "content", or "content 1", "content 2" … of a subsystem: the hash of the frontend's bytes if it
 * gave them (soft-patched ones included), else of the file. For an archive that the core opens itself only
 * its name without ending, because arcade cores go by the name; its members follow in the files' facts.
 * sums: reads the file unless it has; NULL: this thread does. */
void kl_identity_content(struct kl_facts *facts, const struct kl_content *content, struct kl_sums *sums);
/* Adds the files that the core of this world has opened (kl_world_files) and not written, below system_dir
 * or beside the content:
 * - "members 1", "members 2" …: the members of all archives, with their checksums and whether the core has
 * read them (archive.h), in whatever archive they are;
 * - "file NAME": other files, such as BIOS images and further tracks; an archive that cannot be read here,
 * too. Not the host's small files (savedir.h). So are the files that the content names (sums.h), opened
 * or not; one that is not there has the value "missing". A file that does not fit is folded into "more
 * members" and "more files". */
void kl_identity_files(struct kl_facts *facts, struct kl_world *w, const char *system_dir,
                       const struct kl_content *content, struct kl_sums *sums);

/* Has the content and the files that it names read, by the thread of `sums`. */
void kl_identity_ask_content(const struct kl_content *content, struct kl_sums *sums);
/* The same of the files that the core has opened. Then kl_sums_idle() says whether kl_identity_files() would
 * have to wait. */
void kl_identity_ask_files(struct kl_world *w, const char *system_dir, const struct kl_content *content,
                           struct kl_sums *sums);

/* The name by which file i of the world (kl_world_file()) is compared, as in "file NAME"; real gets its path.
 * False: it is not compared: the core wrote it, it lies in neither folder, it is the content or the host's. A
 * missing file has the name that it would have. */
bool kl_identity_name(struct kl_world *w, unsigned i, const char *system_dir,
                      const struct kl_content *content, char name[KL_FACT_KEY_MAX], char real[KL_FILE_PATH]);

/* A disk's image with all files that it names. KL_SUM_BUSY: call again. name: the last part of the image's
 * path, or with KL_SUM_MISSING of the first file that is not there. sum: with KL_SUM_KNOWN of all of them;
 * with KL_SUM_BUSY bytes only, those that are read. */
enum kl_sum_state kl_identity_image(const char *path, struct kl_sums *sums, char name[KL_FACT_KEY_MAX],
                                    struct kl_sum *sum);

/* A file as the content's value. Returns 0, or -1 if it cannot be read. */
int kl_identity_hash_file(const char *path, char *out, size_t cap);

#endif
