/* doctor.h - the findings of `keylock doctor`, and its checks. Each check adds findings, good or bad; a
 * finding that is not good names its remedy. */
#ifndef KLT_DOCTOR_H
#define KLT_DOCTOR_H

#include "core_wrapper/words/config.h"
#include "core_wrapper/tool/setup/place.h"

enum kl_health {
    KL_WELL,
    KL_ODD,   /* works, and could be better */
    KL_WRONG, /* does not work */
};

#define KLT_FINDINGS 64
struct kl_finding {
    enum kl_health health;
    const char *code; /* for programs, never changed: "relay_silent"; a literal */
    char about[24];   /* "RetroArch", "relay" and the like */
    char text[1024];  /* the finding, for people */
    char todo[1024];  /* the remedy; "" with KL_WELL */
};

struct kl_doctor {
    bool json;  /* the answer is one JSON object */
    bool voice; /* microphone and loudspeaker are tried */
    struct kl_place place[KL_PLACES];
    int places;
    const char *wrapper; /* path; NULL: as tool_find_wrapper() finds it */
    const char *relay;   /* HOST[:PORT]; NULL: as environment and keylock.cfg have it */
    const char *relays;  /* a list (relay_list.h), of which the nearest becomes relay; or NULL */
    char wrapper_path[KLT_PATH];
    struct kl_finding finding[KLT_FINDINGS];
    unsigned count;
};

/* Adds a finding. code: a literal of small letters and '_', for programs. todo: the remedy, or NULL. */
__attribute__((format(__printf__, 6, 7))) void kl_doctor_find(struct kl_doctor *d, enum kl_health health,
                                                              const char *code, const char *about,
                                                              const char *todo, const char *format, ...);

void kl_doctor_retroarch(struct kl_doctor *d); /* the program, its settings and folders; fills in place */
void kl_doctor_session(struct kl_doctor *d); /* after it: display and session bus, where windows need them */
void kl_doctor_wrapper(struct kl_doctor *d); /* does it load; Keylock's own folder */
void kl_doctor_cores(struct kl_doctor *d);   /* the installed cores, their inner cores and info files */
void kl_doctor_relay(struct kl_doctor *d);   /* keylock.cfg; the relay's round trip, jitter, protocol */
void kl_doctor_clock(struct kl_doctor *d);   /* wake-up delays of this machine; its wall clock */
void kl_doctor_voice(struct kl_doctor *d);   /* asks the player to speak, and plays that back: 5 s */

#endif
