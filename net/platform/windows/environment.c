#include "net/platform/environment.h"

#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "net/platform/thread.h"
#include "net/platform/windows/disk.h"

/* The texts that were given out: one for each name that was ever asked for, a few dozen. */
struct given {
    struct given *next;
    char *value; /* malloced */
    char name[];
};
static struct given *all;
static struct kl_mutex mutex;

static struct given *find(const char *name) {
    struct given *g = all;
    while (g && strcmp(g->name, name) != 0)
        g = g->next;
    if (g || !(g = malloc(sizeof *g + strlen(name) + 1))) return g;
    *g = (struct given){.next = all};
    strcpy(g->name, name);
    return all = g;
}

/* From malloc; NULL: unset, no valid text, or no memory. */
static char *read_value(const char *name) {
    wchar_t wide_name[256], *wide = NULL;
    char *value = NULL;
    DWORD n = kl_wide_text(wide_name, 256, name) ? GetEnvironmentVariableW(wide_name, NULL, 0) : 0;
    size_t cap = 3 * (size_t)n + 1;
    if (n) wide = calloc(n, sizeof *wide);
    if (wide && GetEnvironmentVariableW(wide_name, wide, n) < n) value = malloc(cap);
    if (value && !kl_narrow_text(value, cap, wide)) {
        free(value);
        value = NULL;
    }
    free(wide);
    return value;
}

const char *kl_environment_get(const char *name) {
    kl_mutex_lock(&mutex);
    struct given *g = find(name);
    if (g) {
        free(g->value);
        g->value = read_value(name);
    }
    const char *value = g ? g->value : NULL;
    kl_mutex_unlock(&mutex);
    return value;
}

/* The C library has a copy of its own, in which an empty value unsets: it is set for code that is not ours.
 */
void kl_environment_set(const char *name, const char *value) {
    wchar_t *wide_name = kl_wide_copy(name), *wide = value ? kl_wide_copy(value) : NULL;
    if (wide_name && (wide || !value)) {
        (void)_wputenv_s(wide_name, wide ? wide : L"");
        SetEnvironmentVariableW(wide_name, wide);
    }
    free(wide_name);
    free(wide);
}
