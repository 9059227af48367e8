#include "tests/lib/files.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/must.h"

void file_write(const char *path, const void *bytes, size_t len, unsigned mode) {
    (void)unlink(path);
    FILE *f = fopen(path, "wb");
    MUST(f && fwrite(bytes, 1, len, f) == len && fclose(f) == 0);
    MUST(chmod(path, (mode_t)mode) == 0);
}

void file_write_text(const char *path, const char *text) {
    file_write(path, text, strlen(text), 0644);
}

size_t file_read(const char *path, void *out, size_t cap) {
    FILE *f = fopen(path, "rb");
    MUST(f);
    size_t len = fread(out, 1, cap, f);
    MUST(!ferror(f) && fclose(f) == 0 && len < cap);
    ((char *)out)[len] = 0;
    return len;
}
