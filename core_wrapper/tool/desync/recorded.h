/* recorded.h - the core and the content that a recording was made with, found on this machine. */
#ifndef KLT_RECORDED_H
#define KLT_RECORDED_H

#include "core_wrapper/record/recording.h"
#include "net/platform/file.h"

/* The core of the name in the recording. 0, or -1 with a line in err. */
int kl_recorded_core(const struct kl_recording *r, char out[KL_FILE_PATH], char *err, size_t err_len);
/* True if the core in that file says that it is the recording's. Else err says how they differ. */
bool kl_recorded_core_is(const struct kl_recording *r, const char *core, char *err, size_t err_len);

/* The content, by its checksum, in these folders and files. False: it is in none. "" in out: there was none.
 */
bool kl_recorded_content(const struct kl_recording *r, const char *const *places, unsigned count,
                         char out[KL_FILE_PATH]);

#endif
