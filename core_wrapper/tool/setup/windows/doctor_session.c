#include "core_wrapper/tool/setup/doctor.h"

/* A program of the user has a desktop, and needs no session bus. */
void kl_doctor_session(struct kl_doctor *d) {
    (void)d;
}
