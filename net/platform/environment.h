/* environment.h - the variables of this process's environment, in UTF-8. Its children inherit them.
 *
 * Only one thread may call these while another sets. */
#ifndef KL_PLATFORM_ENVIRONMENT_H
#define KL_PLATFORM_ENVIRONMENT_H

/* NULL: unset, or no valid text. Valid until this variable is set, or asked for again. */
const char *kl_environment_get(const char *name);
/* value NULL: unsets it. Without memory the variable stays as it was. */
void kl_environment_set(const char *name, const char *value);

#endif
