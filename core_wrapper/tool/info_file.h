/* info_file.h - the core info file of a wrapped core: the inner core's, with what is the wrapper's own. */
#ifndef KLT_INFO_FILE_H
#define KLT_INFO_FILE_H

#include "core_wrapper/tool/card.h"
#include "core_wrapper/tool/settings.h"

/* inner: the inner core's info file, possibly not there. The text, malloced; NULL without memory. */
char *kl_info_make(const struct kl_settings *inner, const struct kl_card *card);

#endif
