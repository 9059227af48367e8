/* series.h - the states that `keylock blame` compares: two files, or the files of two folders that are of the
 * same frames. */
#ifndef KLT_SERIES_H
#define KLT_SERIES_H

#include "core_wrapper/core/statefile.h"

struct kl_pair {
    uint32_t frame; /* by the files' names; of two files that were named, 0 */
    char a[4096], b[4096];
};
struct kl_series {
    struct kl_pair *at; /* heap, in order of frames */
    unsigned count;
    unsigned only_a, only_b; /* files whose frame the other folder has not */
};

/* a and b: two files, or two folders with files FRAME.state. 0, or -1 with a line in err. Free it in any
 * case. */
int kl_series_open(struct kl_series *s, const char *a, const char *b, char *err, size_t err_len);
void kl_series_free(struct kl_series *s);

/* The file of the first frame of a folder that is `frame` or later. False: there is none. */
bool kl_series_from(const char *dir, uint32_t frame, uint32_t *found, char *path, size_t cap);

#endif
