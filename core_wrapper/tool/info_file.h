/* info_file.h - the core info file of a wrapped core: the inner core's file with the wrapper's own values. */
#ifndef KLT_INFO_FILE_H
#define KLT_INFO_FILE_H

#include "core_wrapper/tool/card.h"
#include "core_wrapper/tool/settings.h"

/* inner: the inner core's info file, possibly not there. The text, malloced; NULL without memory. */
char *kl_info_make(const struct kl_settings *inner, const struct kl_card *card);

#endif
