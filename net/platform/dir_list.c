#include "net/platform/dir.h"

#include <stdlib.h>
#include <string.h>

static bool ends_with(const char *text, const char *ending) {
    size_t n = strlen(text), m = strlen(ending);
    return n >= m && strcmp(text + n - m, ending) == 0;
}

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int kl_dir_list_add(struct kl_dir_list *list, const char *name, const char *ending) {
    if (!strcmp(name, ".") || !strcmp(name, "..") || !ends_with(name, ending)) return 0;
    if ((list->count & (list->count - 1)) == 0) { /* a power of two: full */
        char **grown = realloc(list->name, (list->count ? 2 * (size_t)list->count : 1) * sizeof *grown);
        if (!grown) return -1;
        list->name = grown;
    }
    list->name[list->count] = strdup(name);
    return list->name[list->count++] ? 0 : -1;
}

void kl_dir_list_sort(struct kl_dir_list *list) {
    if (list->count) qsort(list->name, list->count, sizeof *list->name, by_bytes);
}

bool kl_dir_list_has(const struct kl_dir_list *list, const char *name) {
    return list->count && bsearch(&name, list->name, list->count, sizeof *list->name, by_bytes);
}

void kl_dir_list_free(struct kl_dir_list *list) {
    for (unsigned i = 0; i < list->count; i++)
        free(list->name[i]);
    free(list->name);
    *list = (struct kl_dir_list){NULL, 0};
}
