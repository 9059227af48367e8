/* copies.h - the folder of the private copy that a core is loaded from. */
#ifndef KLW_COPIES_H
#define KLW_COPIES_H

#include <stddef.h>

/* Makes a new private folder. On Windows it stays as long as the copy is loaded, and if the process is
 * killed, for ever: so those of processes that are gone are removed first. 0, or -1 with a line in err. */
int kl_copies_folder(char *out, size_t cap, char *err, size_t err_len);

#endif
