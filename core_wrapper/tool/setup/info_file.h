/* info_file.h - the core info file of a wrapped core: the inner core's file with the wrapper's own values. */
#ifndef KLT_INFO_FILE_H
#define KLT_INFO_FILE_H

#include "core_wrapper/tool/common/card.h"
#include "core_wrapper/tool/setup/settings.h"

#define KL_TITLE_BYTES 256

/* The wrapped core's name in RetroArch's list, "Keylock: NES (Nestopia)". RetroArch's default menu cuts long
 * names, so the part comes first that tells it from the bare core's "Nintendo - NES / Famicom (Nestopia UE)".
 */
void kl_info_title(const struct kl_settings *inner, const struct kl_card *card, char out[KL_TITLE_BYTES]);

/* inner: the inner core's info file, possibly not there. The text, malloced; NULL without memory. */
char *kl_info_make(const struct kl_settings *inner, const struct kl_card *card);

#endif
