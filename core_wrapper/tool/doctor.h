/* doctor.h - what `keylock doctor` finds, and the checks that find it. Each check adds what it found, good or
 * bad; a finding that is not good says what to do. */
#ifndef KLT_DOCTOR_H
#define KLT_DOCTOR_H

#include "core_wrapper/config.h"
#include "core_wrapper/tool/place.h"

enum kl_health {
    KL_WELL,
    KL_ODD,   /* works, and could be better */
    KL_WRONG, /* does not work */
};

#define KLT_FINDINGS 64
struct kl_finding {
    enum kl_health health;
    char about[24];  /* "RetroArch", "relay", … */
    char text[1024]; /* what was found */
    char todo[1024]; /* what to do; "" where it is well */
};

struct kl_doctor {
    struct kl_place place[KL_PLACES];
    int places;
    const char *wrapper; /* path; NULL: as tool_find_wrapper() finds it */
    const char *relay;   /* HOST[:PORT]; NULL: as environment and keylock.cfg have it */
    char wrapper_path[KLT_PATH];
    struct kl_finding finding[KLT_FINDINGS];
    unsigned count;
};

/* todo NULL or "": well enough. */
__attribute__((format(printf, 5, 6))) void kl_doctor_find(struct kl_doctor *d, enum kl_health health,
                                                          const char *about, const char *todo,
                                                          const char *format, ...);

void kl_doctor_retroarch(struct kl_doctor *d); /* the program, its settings and folders; fills in place */
void kl_doctor_wrapper(struct kl_doctor *d);   /* loads; our own folder */
void kl_doctor_cores(struct kl_doctor *d);     /* the installed ones, their inner cores and info files */
void kl_doctor_relay(struct kl_doctor *d);     /* keylock.cfg; reached, how far, how steady, which protocol */
void kl_doctor_clock(struct kl_doctor *d);     /* how late this machine wakes a program; its wall clock */

#endif
