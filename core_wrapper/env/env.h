/* env.h - the core's environment calls. env_table.c has the answer to every call, with the reason. */
#ifndef KLW_ENV_H
#define KLW_ENV_H

#include <libretro.h>
#include <stdbool.h>
#include <stdint.h>

enum kl_env_way {
    KL_ENV_FORWARD, /* to the frontend as it is */
    KL_ENV_ANSWER,  /* by the wrapper, which may use the frontend */
    KL_ENV_REFUSE,  /* as a frontend that does not know it */
};

struct kl_env_entry {
    unsigned cmd; /* with its flags: 44 and 44|EXPERIMENTAL are two calls */
    const char *name;
    enum kl_env_way alone, room;
    bool (*answer)(unsigned cmd, void *data); /* the answer in a room, if `room` is KL_ENV_ANSWER */
    const char *why;
};

/* NULL for a call that libretro has not, or not yet. */
const struct kl_env_entry *kl_env_find(unsigned cmd);
/* All of them, for the tests. */
const struct kl_env_entry *kl_env_all(unsigned *count);

/* What a core's calls cause outside of this folder: the caller's functions, each may be NULL. */
struct kl_env_hooks {
    int (*pad)(unsigned port); /* our pad that plays this port of the core; -1: none of ours does */
    void (*rate)(double fps);  /* the core's rate has changed in play */
    bool (*typed)(bool down, unsigned code, uint32_t character); /* a key; true: the game does not get it */
    int (*disk)(uint16_t index);           /* the frontend's choice of a disk, or KL_DISK_NONE; 0: taken */
    bool (*netpacket)(const void *theirs); /* the core's own packet interface; true: it is served */
};
/* Before the core is loaded. hooks: copied. */
void kl_env_hook(const struct kl_env_hooks *hooks);

/* After the first load: the frontend's keys come here for chat, also if the core takes none. */
void kl_env_listen(void);

/* The core's environment callback. */
bool kl_env_alone(unsigned cmd, void *data);
bool kl_env_room(unsigned cmd, void *data);

#endif
