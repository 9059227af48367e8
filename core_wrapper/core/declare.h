/* declare.h - deep copies of a core's declarations to its frontend.
 *
 * Frontends keep pointers into declarations, and a room unloads the library with the declarations. So the
 * frontend gets copies, which are never freed: they must outlive every use. A repeated declaration gives the
 * same copy. */
#ifndef KLW_DECLARE_H
#define KLW_DECLARE_H

#include <libretro.h>

struct kl_declared {
    char *text; /* the declaration as text, for comparison */
    void *copy; /* for the frontend; NULL: nothing was declared yet */
};

/* Each returns true if the declaration is new or differs from the last; d->copy is then a new copy. data
 * NULL, or no memory: false, and nothing changes. */
bool kl_declare_controllers(struct kl_declared *d, const struct retro_controller_info *data);
/* True for a device of the plain kinds, which every core must expect, or one that it declared for this port.
 */
bool kl_declared_device(const struct kl_declared *controllers, unsigned port, unsigned device);
bool kl_declare_subsystems(struct kl_declared *d, const struct retro_subsystem_info *data);
bool kl_declare_descriptors(struct kl_declared *d, const struct retro_input_descriptor *data);
bool kl_declare_overrides(struct kl_declared *d, const struct retro_system_content_info_override *data);

#endif
