/* buffer.h - a text that grows, in memory: what a stream into memory or strndup() would give, which not every
 * system has. */
#ifndef KL_PLATFORM_BUFFER_H
#define KL_PLATFORM_BUFFER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A zeroed struct is an empty text. */
struct kl_buffer {
    char *at; /* from malloc; a NUL follows the len bytes. NULL: nothing was added yet */
    size_t len, cap;
    bool failed; /* no memory: the text lacks something, and gets nothing more */
};

void kl_buffer_add(struct kl_buffer *t, const char *format, ...) __attribute__((format(__printf__, 2, 3)));
void kl_buffer_add_bytes(struct kl_buffer *t, const void *bytes, size_t len);
/* Empties the text and keeps its memory. */
void kl_buffer_clear(struct kl_buffer *t);
void kl_buffer_free(struct kl_buffer *t);
/* The text, which the caller frees, and NULL if it failed. t is empty afterwards. */
char *kl_buffer_take(struct kl_buffer *t);

/* The first len bytes of a text as a text of their own (fewer if it ends before). From malloc; NULL without
 * memory. */
char *kl_buffer_copy(const char *text, size_t len);

/* In a function with a format and its arguments: what snprintf(out, size, format, arguments) gives. */
#define KL_FORMAT(out, size, format)                                                                         \
    __extension__({                                                                                          \
        va_list arguments_;                                                                                  \
        va_start(arguments_, format);                                                                        \
        int length_ = vsnprintf(out, size, format, arguments_);                                              \
        va_end(arguments_);                                                                                  \
        length_;                                                                                             \
    })

#endif
