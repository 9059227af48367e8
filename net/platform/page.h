/* page.h - pages of this process's memory: their protection, and writes to those that are protected. Not on
 * Windows yet. */
#ifndef KL_PLATFORM_PAGE_H
#define KL_PLATFORM_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

size_t kl_page_bytes(void);

/* Addresses with zeros, which take memory once they are written. NULL with why. */
uint8_t *kl_page_reserve(size_t bytes, char *why, size_t why_len);
void kl_page_release(uint8_t *at, size_t bytes); /* NULL is allowed */

/* Whole pages. False: the system refuses. */
bool kl_page_protect(uint8_t *at, size_t bytes, bool writable);

/* The arguments of a call of mmap() ask for memory without a file, anywhere, to be read and written. */
bool kl_page_is_plain(const void *at, int protect, int flags);
/* The result of an mmap() that fails. */
#define KL_PAGE_FAILED ((void *)-1)

/* From now on each forbidden access goes to `opens` first: true: the page can be written now, and the access
 * is repeated; false: it is as if this were not here. It runs in the thread of the access and may do nothing
 * but change memory and protection. Returns false if the system refuses. */
bool kl_page_watch(bool (*opens)(uint8_t *at));
/* Somebody else has the signal now, or nobody watches. */
bool kl_page_unwatched(void);
void kl_page_unwatch(void);

#endif
