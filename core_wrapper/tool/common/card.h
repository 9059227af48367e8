/* card.h - a core's own description before it has content, asked in a process of its own: if the core
 * crashes or hangs while it loads, nothing else ends with it. */
#ifndef KLT_CARD_H
#define KLT_CARD_H

#include <stdbool.h>
#include <stddef.h>

struct kl_card {
    char name[128], version[128], extensions[1024]; /* library_name and the like */
    bool full_path;                                 /* it wants the content's path, not its bytes */
    bool ours;                                      /* it is a wrapper itself */
};

/* 0, or -1 with a line in err that names the file. */
int kl_card_read(struct kl_card *card, const char *core, char *err, size_t err_len);

#endif
