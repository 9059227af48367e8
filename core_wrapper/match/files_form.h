/* files_form.h - the files that a core has written, as bytes of a snapshot. net/PROTOCOL.md §12, "A
 * snapshot's bytes". They come from another machine, so names and lengths are checked before anything is
 * kept. */
#ifndef KLW_FILES_FORM_H
#define KLW_FILES_FORM_H

#include "core_wrapper/world/fileset.h"
#include "net/engine/wire.h"

/* The name of a file that cannot be given to other machines, borrowed: it lies in no folder that all machines
 * have, or a system cannot have its name. NULL: all can be given. k NULL: there are none. */
const char *kl_files_kept_back(const struct kl_fileset *k);
/* k: kl_files_kept_back() is NULL. Places in files that the core only reads are left out. */
size_t kl_files_bound(const struct kl_fileset *k);
void kl_files_write(struct kl_writer *w, const struct kl_fileset *k);

/* Reads up to the end of the files; fails if they are malformed. */
void kl_files_read(struct kl_reader *r);
/* The same as a set, which the caller frees; NULL if nothing was written. r: of files that kl_files_read()
 * took. False: no memory, or a name that not every machine can have. */
bool kl_files_make(struct kl_reader r, struct kl_fileset **out);

#endif
