/* machine.h - a core that runs in a process of its own and is driven from here: for commands that need two of
 * them (libretro knows one core a process), for states that may crash it, and so that address space, heap and
 * clock differ as between two machines. The process is this program again, as `keylock machine`. */
#ifndef KLT_MACHINE_H
#define KLT_MACHINE_H

#include "core_wrapper/core/statefile.h"
#include "core_wrapper/record/recording.h"
#include "core_wrapper/tool/common/dump.h"
#include "core_wrapper/tool/common/hashfile.h"
#include "core_wrapper/tool/desync/measure.h"
#include "core_wrapper/tool/headless/headless.h"
#include "net/engine/facts.h"
#include "net/platform/file.h"
#include "net/platform/process.h"

/* The core and the content that a recording was made with, found on this machine. */

/* The core of the name in the recording. 0, or -1 with a line in err. */
int kl_recorded_core(const struct kl_recording *r, char out[KL_FILE_PATH], char *err, size_t err_len);
/* True if the core in that file says that it is the recording's. Else err says how they differ. */
bool kl_recorded_core_is(const struct kl_recording *r, const char *core, char *err, size_t err_len);

/* The content, by its checksum, in these folders and files. False: it is in none. "" in out: there was none.
 */
bool kl_recorded_content(const struct kl_recording *r, const char *const *places, unsigned count,
                         char out[KL_FILE_PATH]);

/* The core's description of itself, and the values of the run. */
struct kl_machine_info {
    char name[128], version[128], content[KL_STATEFILE_TEXT];
    uint64_t epoch_s;
    struct kl_facts facts; /* with `verifies`: of content and files, as a room has them */
};

struct kl_machine {
    struct kl_process process;
    uint32_t frame;    /* the next one */
    char scratch[256]; /* for its files; goes with it */
    bool gone;         /* it ended, hangs or talks nonsense: no_answer says which */
    enum kl_process_result no_answer;
    struct kl_process_end end; /* once it is gone or stopped */
    char said[300];            /* the last line that it printed before it was gone; "": none */
    struct kl_machine_info info;
};

/* Starts it; nothing has been run. 0, or -1 with a line in err, and nothing is left behind. setup->core is
 * resolved by the caller's rules (tool_find_core). */
int kl_machine_start(struct kl_machine *m, const struct kl_machine_setup *setup, char *err, size_t err_len);
void kl_machine_stop(struct kl_machine *m);

/* All functions below return 0, or -1 with a line in err that also tells at which frame the core crashed;
 * after -1 only kl_machine_stop() is allowed. */

#define KLT_MACHINE_BATCH 600 /* frames at most in one call of kl_machine_run */
enum kl_hashes {
    KLT_HASH_RAM,  /* of RAM: does nothing to the core */
    KLT_HASH_FULL, /* of RAM and state */
    KLT_HASH_NONE,
};
/* Runs n frames; out[i] gets the hashes after each. what[i] selects them. */
int kl_machine_run(struct kl_machine *m, uint32_t n, const uint8_t *what, struct kl_hashline *out, char *err,
                   size_t err_len);
/* Loads a state; the next frame is origin->frame + 1 if the file names a frame, else next. Returns 1 with a
 * line in err if the core refused it and goes on as it was. */
int kl_machine_load(struct kl_machine *m, const struct kl_statefile *s, uint32_t next, char *err,
                    size_t err_len);
/* Copies the core's shown memory and its state into d (kl_dump_free). */
int kl_machine_look(struct kl_machine *m, struct kl_dump *d, char *err, size_t err_len);
/* Makes a state of it: s->bytes, s->origin. 1 with a line in err: it has none. */
int kl_machine_save(struct kl_machine *m, struct kl_statefile *s, char *err, size_t err_len);

/* The core's options, a line each: key, value in force, choices, with tabs between. Heap. */
int kl_machine_options(struct kl_machine *m, char **list, char *err, size_t err_len);

/* The inputs that the core has asked for, of a setup that `asks`. */
int kl_machine_asked(struct kl_machine *m, struct kl_asked *out, char *err, size_t err_len);

/* A setup that `measures`: runs n frames and checks. *state: heap; NULL: they are not wanted. */
int kl_machine_check(struct kl_machine *m, uint32_t n, struct kl_measure_check *out, uint8_t **state,
                     char *err, size_t err_len);
int kl_machine_figures(struct kl_machine *m, struct kl_measure_figures *out, char *err, size_t err_len);

#define KLT_ANSWER_S 300 /* for some hundred frames on a slow machine, with a sanitizer */

/* The messages of both: the struct, then bytes. machine.c and machine_child.c. */
enum kl_machine_op {
    KLT_OP_RUN = 1,
    KLT_OP_LOAD,
    KLT_OP_LOOK,
    KLT_OP_SAVE,
    KLT_OP_OPTIONS,
    KLT_OP_ASKED,
    KLT_OP_CHECK,
    KLT_OP_FIGURES
};
#define KLT_MACHINE_MAX ((size_t)2 << 30) /* bytes of one message */
struct kl_machine_request {
    uint32_t op, frame; /* RUN, CHECK: how many; LOAD: which is next */
    uint64_t epoch_s, chance;
    uint32_t has_world;
    uint32_t with_state; /* CHECK: the state follows */
};
struct kl_machine_reply {
    int32_t status; /* 0; 1, -1: the bytes are a line of text */
    uint32_t frame;
    uint64_t chance;
};

#endif
