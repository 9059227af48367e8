/* own_folder.h - if RetroArch's folder of cores or info files belongs to root: makes a folder of the user's
 * own, with links to all files there, and names it in RetroArch's settings. Also undoes that. */
#ifndef KLT_OWN_FOLDER_H
#define KLT_OWN_FOLDER_H

#include "core_wrapper/tool/setup/place.h"

enum kl_folder_kind { KL_FOLDER_CORES, KL_FOLDER_INFO };

/* Makes sure that the user can write into that folder, and prints each change on standard output. A folder
 * made earlier gets links to new files. Returns 0, or -1 with a line in err. */
int kl_own_folder(struct kl_place *p, enum kl_folder_kind kind, char *err, size_t err_len);

/* The folder holds none of our files any more: removes links and folder, if kl_own_folder() made them, and
 * sets RetroArch's setting back. Returns as kl_own_folder(). */
int kl_own_folder_undo(struct kl_place *p, enum kl_folder_kind kind, char *err, size_t err_len);

#endif
