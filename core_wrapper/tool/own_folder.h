/* own_folder.h - where RetroArch's folder of cores or info files is root's: one of the user's own, with links
 * to all that is there, named in RetroArch's settings; and the way back. */
#ifndef KLT_OWN_FOLDER_H
#define KLT_OWN_FOLDER_H

#include "core_wrapper/tool/place.h"

enum kl_folder_kind { KL_FOLDER_CORES, KL_FOLDER_INFO };

/* Makes sure that files can be put into that folder, and tells on standard output what was changed for it. A
 * folder that was made so before gets links to what is new. 0, or -1 with a line in err. */
int kl_own_folder(struct kl_place *p, enum kl_folder_kind kind, char *err, size_t err_len);

/* Nothing of ours is in it any more: takes links and folder away again, where it was made so, and sets
 * RetroArch's setting back. The same returns. */
int kl_own_folder_undo(struct kl_place *p, enum kl_folder_kind kind, char *err, size_t err_len);

#endif
