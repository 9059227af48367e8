/* service.h - this program as a service of Windows, if the system's service manager started it. */
#ifndef KL_PLATFORM_WINDOWS_SERVICE_H
#define KL_PLATFORM_WINDOWS_SERVICE_H

#include <stdbool.h>

/* Answers the service manager, if there is one, from threads of its own. stop: called in such a thread when
 * the service is to stop; the program then has 30 s to end. Call it once. */
void kl_service_begin(void (*stop)(void));
/* True once the service manager has begun the service. */
bool kl_service_runs(void);

#endif
