/* bisect.h - one of the two sides that `keylock bisect` compares: a configuration that runs here, the files
 * of another machine's run (a recording, hashes, states), or both. */
#ifndef KLT_BISECT_H
#define KLT_BISECT_H

#include "core_wrapper/core/statefile.h"
#include "core_wrapper/record/recording.h"
#include "core_wrapper/tool/desync/machine.h"

/* The states that `keylock blame` compares: two files, or the files of two folders that are of the
 * same frames. */

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

#define KLT_BISECT_FRAMES_MAX 10000000

struct kl_side {
    char letter; /* 'A', 'B' */
    struct kl_machine_setup setup;
    char core[4096];
    const char *hashes, *states; /* a file, a folder; NULL: none */
    bool runs;                   /* can be run here */
    struct kl_recording rec;     /* if setup.recording is set */
    struct kl_hashline *known;   /* of another run, in order of frames; heap */
    unsigned knowns;
    struct kl_machine machine;
    struct kl_hashline *line; /* of the run here, by frame; heap */
    uint32_t lines;
};

/* Reads the named files and finds the core. Returns 0, or -1 after a line on standard error. */
int kl_side_open(struct kl_side *s);
void kl_side_close(struct kl_side *s);

/* Starts the machine (anew); nothing has been run. 0, or -1 after a line on standard error. */
int kl_side_start(struct kl_side *s);
/* Runs on to frame `to` (excluded), at most KLT_MACHINE_BATCH frames; what[] selects the hashes of each
 * frame. */
int kl_side_run(struct kl_side *s, uint32_t to, const uint8_t *what);

/* The side's hashes of a frame: known ones, else of the run here. NULL: none. *next: first place to look in
 * `known`; start with 0 and go forward. */
const struct kl_hashline *kl_side_known(const struct kl_side *s, uint32_t frame, unsigned *next);

/* The differences of two lines, in the hashes that both have. */
enum { KLT_PART_RAM = 1, KLT_PART_STATE = 2 };
unsigned kl_lines_part(const struct kl_hashline *a, const struct kl_hashline *b);

#endif
