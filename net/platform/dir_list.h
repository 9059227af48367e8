/* dir_list.h - how a list of names grows, on every system: for kl_dir_list() alone. */
#ifndef KL_PLATFORM_DIR_LIST_H
#define KL_PLATFORM_DIR_LIST_H

#include "net/platform/dir.h"

/* Adds a copy of the name if it has this ending and is not "." or "..". 0; -1 without memory, with errno. */
int kl_dir_list_add(struct kl_dir_list *list, const char *name, const char *ending);
/* By bytes. */
void kl_dir_list_sort(struct kl_dir_list *list);

#endif
