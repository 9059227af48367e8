/* news.h - the news in the link's newest status: lines for the player, words for the run's report and for the
 * recording. */
#ifndef KLW_NEWS_H
#define KLW_NEWS_H

#include "net/client/participant.h"

struct kl_match;

/* m->status is the newest; was: the one before. */
void kl_news_tell(struct kl_match *m, const struct kl_participant_status *was);

#endif
