/* env.h - the core's environment calls. env_table.c has the answer to every call, with the reason. */
#ifndef KLW_ENV_H
#define KLW_ENV_H

#include "core_wrapper/env/emulator.h"

enum kl_env_way {
    KL_ENV_FORWARD, /* to the frontend as it is */
    KL_ENV_ANSWER,  /* by the wrapper, which may use the frontend */
    KL_ENV_GIVE,    /* one value everywhere */
    KL_ENV_REFUSE,  /* as a frontend that does not know it */
};

/* The part of the machine beside the savestate that a declaration belongs to (outside.h). */
enum kl_env_part {
    KL_PART_NONE,   /* it declares nothing */
    KL_PART_LOCKED, /* follows from locked frames alone, as numbers: in a snapshot's agreed bytes */
    KL_PART_CORE,   /* pointers into the core: a snapshot has its name, only the core can make it */
    KL_PART_LOCAL,  /* for this machine's frontend alone; a core that makes none plays the same */
};

struct kl_env_entry {
    unsigned cmd; /* with its flags: 44 and 44|EXPERIMENTAL are two calls */
    const char *name;
    enum kl_env_part part;
    enum kl_env_way room; /* alone, all calls but GET_LIBRETRO_PATH go to the frontend */
    bool (*answer)(struct kl_emulator *e, unsigned cmd, void *data); /* if `room` is KL_ENV_ANSWER */
    const void *value;                                               /* if `room` is KL_ENV_GIVE */
    size_t value_bytes;
    const char *why;
};

/* NULL for a call that libretro has not, or not yet. */
const struct kl_env_entry *kl_env_find(unsigned cmd);
/* All of them, for the tests. */
const struct kl_env_entry *kl_env_all(unsigned *count);

/* After the first load: the frontend's keys come here for chat, also if the core takes none. */
void kl_env_listen(struct kl_emulator *e);

/* The core's environment call. */
bool kl_env_call(struct kl_emulator *e, unsigned cmd, void *data);

#endif
