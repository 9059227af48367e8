/* reach.h - finding a relay on a machine of whose addresses one leads there: asked in a thread of its own. */
#ifndef KLW_REACH_H
#define KLW_REACH_H

#include <stdint.h>

#include "net/platform/address.h"

#define KL_REACH_MAX 8 /* addresses */
#define KL_REACH_US  3000000

struct kl_reach_list {
    char address[KL_REACH_MAX][KL_ADDRESS_TEXT];
    unsigned count;
};
/* An address, once. Anything else is passed over. */
void kl_reach_add(struct kl_reach_list *list, const char *address);
/* Adds the other ends of this process's TCP connections. */
void kl_reach_add_peers(struct kl_reach_list *list);
/* This machine's address for others: its first address outside its own loop, else the loop's. */
void kl_reach_own(char out[KL_ADDRESS_TEXT]);

struct kl_reach;
enum kl_reach_news { KL_REACH_ASKING, KL_REACH_FOUND, KL_REACH_NOWHERE };
/* Asks them all at the same time, again and again for KL_REACH_US at most. NULL without memory or thread. */
struct kl_reach *kl_reach_open(const struct kl_reach_list *list, uint16_t port);
/* address: the host's address, if found. */
enum kl_reach_news kl_reach_look(struct kl_reach *r, char address[KL_ADDRESS_TEXT]);
/* Ends it at once. NULL is allowed. */
void kl_reach_close(struct kl_reach *r);

#endif
