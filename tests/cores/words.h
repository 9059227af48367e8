/* words.h - the words by which a test asks a core made for tests to misbehave: a list with commas, in the
 * process's environment. A word may have a value behind a colon. */
#ifndef TEST_CORE_WORDS_H
#define TEST_CORE_WORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32 /* the process's own variables, which every C runtime copies */
#include <windows.h>
#define setenv(name, value, overwrite) SetEnvironmentVariableA(name, value)
#define unsetenv(name)                 SetEnvironmentVariableA(name, NULL)
/* The result holds until the fourth call after this one. */
static inline char *variable(const char *name) {
    static char value[4][256];
    static unsigned turn;
    char *at = value[turn++ % 4];
    return GetEnvironmentVariableA(name, at, sizeof value[0]) ? at : NULL;
}
#define getenv variable
#endif

/* The value of that word, empty without a colon; it ends at the next comma. NULL: the list does not have the
 * word. list may be NULL. */
static inline const char *find_word(const char *list, const char *word) {
    size_t len = strlen(word);
    while (list && *list) {
        size_t n = strcspn(list, ",");
        if (n >= len && strncmp(list, word, len) == 0 && (list[len] == ':' || n == len))
            return list + len + (list[len] == ':');
        list += n + (list[n] == ',');
    }
    return NULL;
}

/* True if the list has the word with this frame as its value. */
static inline bool names_frame(const char *list, const char *word, uint32_t frame) {
    const char *value = find_word(list, word);
    return value && strtoul(value, NULL, 10) == frame;
}

#endif
