#include "net/platform/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "net/platform/dir.h"

/* --- files --- */

/* The part of file.h that is the same on every system. */

bool kl_file_equal(const char *a, const char *b) {
    void *x = NULL, *y = NULL;
    size_t x_len = 0, y_len = 0;
    bool equal = kl_file_read(a, KL_FILE_COPY_MAX, 0, &x, &x_len, NULL, 0) == 0 &&
                 kl_file_read(b, KL_FILE_COPY_MAX, 0, &y, &y_len, NULL, 0) == 0 && x_len == y_len &&
                 memcmp(x, y, x_len) == 0;
    free(x);
    free(y);
    return equal;
}

const char *kl_file_base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int kl_file_join(char *out, size_t cap, const char *dir, const char *name, char *err, size_t err_len) {
    int n = snprintf(out, cap, "%s/%s", dir, name);
    if (*dir && n > 0 && (size_t)n < cap) return 0;
    errno = *dir ? ENAMETOOLONG : ENOENT;
    snprintf(err, err_len, "cannot use the folder %s: %s", dir, strerror(errno));
    return -1;
}

/* Windows's devices. An ending changes nothing, nor do blanks before it; superscript digits count as digits.
 */
static bool is_device(const char *name) {
    static const char *const devices[] = {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"};
    static const char *const numbers[] = {"0", "1", "2", "3",      "4",      "5",     "6",
                                          "7", "8", "9", "\u00b9", "\u00b2", "\u00b3"};
    size_t len = strcspn(name, ".");
    while (len && name[len - 1] == ' ')
        len--;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (len == strlen(devices[i]) && !strncasecmp(name, devices[i], len)) return true;
    if (len < 4 || (strncasecmp(name, "COM", 3) != 0 && strncasecmp(name, "LPT", 3) != 0)) return false;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (len - 3 == strlen(numbers[i]) && !memcmp(name + 3, numbers[i], len - 3)) return true;
    return false;
}

bool kl_file_name_portable(const char *name) {
    size_t len = strlen(name);
    if (len == 0 || name[len - 1] == '.' || name[len - 1] == ' ' || is_device(name)) return false;
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < ' ' || strchr("<>:\"/\\|?*", *c)) return false;
    return true;
}

/* --- folders --- */

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
