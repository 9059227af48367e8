/* pages.h - a core that goes back by the pages of its memory, without savestates. README.md "Going back
 * without savestates".
 *
 * Its memory is the writable segments of its library, its thread-local block and its heap, which is an arena
 * of ours. All pages are write-protected; the first write to one keeps its bytes and opens it for good: the
 * page is hot. Only hot pages are copied. One core in a process; Linux. */
#ifndef KLW_PAGES_H
#define KLW_PAGES_H

#include <stdbool.h>
#include <stddef.h>

#define KL_PAGES_SLOTS 64

struct kl_world;
struct kl_pages;

/* Takes the heap of the core `handle`, which has been turned and whose constructors have not run. NULL with a
 * line in why: this system has no such thing, another core has it, or there is no memory. */
struct kl_pages *kl_pages_take(struct kl_world *w, void *handle, char *why, size_t why_len);
/* Its core has been unloaded. NULL: harmless. */
void kl_pages_release(struct kl_pages *p);

/* The reason why a core that has loaded cannot go back by its pages; "": it can, as far as is known. */
const char *kl_pages_unfit(struct kl_pages *p);

/* Protects the memory of the loaded core and drops all that was kept. False: it cannot be had; nothing is
 * protected. */
bool kl_pages_begin(struct kl_pages *p);
/* Keeps the memory as it is. False: there is too much, no memory, or somebody else has the signal. */
bool kl_pages_keep(struct kl_pages *p, unsigned slot);
/* Writes the kept memory back. The slot stays, others stay valid if they were kept before it. False: nothing
 * is kept there. */
bool kl_pages_back(struct kl_pages *p, unsigned slot);
/* Bytes of one slot, as of now. */
size_t kl_pages_bytes(const struct kl_pages *p);
/* Opens all pages again and drops all that was kept; harmless if it has not begun. Call it before the core
 * is unloaded. */
void kl_pages_end(struct kl_pages *p);

#endif
