/* The part of file.h about files that stay open: appended to, or locked. */
#include "net/platform/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

#include "net/platform/clock.h"
#include "net/platform/windows/disk.h"

/* A handle of the system fits in 32 bits. */
static HANDLE of(const struct kl_file *f) {
    return (HANDLE)(intptr_t)f->handle;
}

static int give_reason(char *why, size_t why_len) {
    (void)kl_windows_error(GetLastError(), why, why_len);
    return -1;
}

int kl_file_open(struct kl_file *f, const char *path, bool fresh, char *why, size_t why_len) {
    char text[KL_WINDOWS_ERROR];
    uint64_t ignored;
    SECURITY_ATTRIBUTES *rights = kl_rights_private();
    f->handle = -1;
    HANDLE file = !rights
                      ? INVALID_HANDLE_VALUE
                      : kl_disk_open(path, GENERIC_READ | GENERIC_WRITE, fresh ? CREATE_NEW : OPEN_EXISTING,
                                     FILE_FLAG_OPEN_REPARSE_POINT, rights);
    if (file == INVALID_HANDLE_VALUE) {
        int of_c = kl_windows_errno(GetLastError());
        give_reason(why, why_len);
        return of_c == ENOENT ? KL_FILE_ABSENT : -1;
    }
    f->handle = (int)(intptr_t)file;
    const char *bad = kl_disk_refusal(file, SIZE_MAX, KL_FILE_PRIVATE, &ignored, text, sizeof text);
    if (!bad) return 0;
    snprintf(why, why_len, "%s", bad);
    kl_file_close(f);
    return -1;
}

int kl_file_read_open(const struct kl_file *f, uint8_t **bytes, uint64_t *cap, uint64_t *len, char *why,
                      size_t why_len) {
    LARGE_INTEGER size;
    if (!GetFileSizeEx(of(f), &size)) return give_reason(why, why_len);
    *len = (uint64_t)size.QuadPart;
    if (*cap < *len + 1) {
        free(*bytes);
        *cap = *len + 1;
        *bytes = malloc(*cap);
        if (!*bytes) {
            *cap = 0;
            snprintf(why, why_len, "there is no memory for it");
            return -1;
        }
    }
    return kl_disk_read(of(f), *bytes, *len) ? 0 : give_reason(why, why_len);
}

static bool cut(const struct kl_file *f, uint64_t at) {
    FILE_END_OF_FILE_INFO end = {.EndOfFile.QuadPart = (LONGLONG)at};
    return SetFileInformationByHandle(of(f), FileEndOfFileInfo, &end, sizeof end);
}

int kl_file_append(const struct kl_file *f, uint64_t at, const struct kl_file_part *part, unsigned parts,
                   char *why, size_t why_len) {
    bool good = true;
    uint64_t end = at;
    for (unsigned i = 0; good && i < parts; i++) {
        good = kl_disk_write(of(f), part[i].bytes, part[i].len, end);
        end += part[i].len;
    }
    if (good) return 0;
    give_reason(why, why_len);
    return cut(f, at) ? -1 : give_reason(why, why_len);
}

int kl_file_cut(const struct kl_file *f, uint64_t at, char *why, size_t why_len) {
    return cut(f, at) ? 0 : give_reason(why, why_len);
}

void kl_file_close(struct kl_file *f) {
    if (f->handle != -1) CloseHandle(of(f));
    f->handle = -1;
}

/* --- locks --- */

/* The byte that is locked. It lies behind all contents: nobody may read a locked byte. */
static bool take(HANDLE file, bool wait) {
    OVERLAPPED at = {.OffsetHigh = 0x7fffffff};
    return LockFileEx(file, LOCKFILE_EXCLUSIVE_LOCK | (wait ? 0 : LOCKFILE_FAIL_IMMEDIATELY), 0, 1, 0, &at);
}

/* False if another process has removed the lock's file: a lock on a file without a name protects nothing. */
static bool has_name(HANDLE file, const char *path) {
    HANDLE named =
        kl_disk_open(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    bool same = named != INVALID_HANDLE_VALUE && kl_disk_is_same(file, named);
    if (named != INVALID_HANDLE_VALUE) CloseHandle(named);
    return same;
}

/* A removed file that some process still has open refuses to be opened, until the last has closed it. */
static bool is_going(DWORD why, uint64_t until_us) {
    if (why != ERROR_ACCESS_DENIED || kl_now_us() >= until_us) return false;
    Sleep(KL_DISK_AGAIN_MS);
    return true;
}

int kl_file_lock(struct kl_file *lock, const char *path, bool wait, char *err, size_t err_len) {
    SECURITY_ATTRIBUTES *rights = kl_rights_private();
    lock->handle = -1;
    for (uint64_t until_us = kl_now_us() + KL_DISK_BUSY_US; rights;) {
        HANDLE file = kl_disk_open(path, GENERIC_READ | GENERIC_WRITE, OPEN_ALWAYS,
                                   FILE_FLAG_OPEN_REPARSE_POINT, rights);
        DWORD why = GetLastError();
        if (file == INVALID_HANDLE_VALUE) {
            if (is_going(why, until_us)) continue;
            SetLastError(why);
            break;
        }
        lock->handle = (int)(intptr_t)file;
        bool taken = take(file, wait);
        why = GetLastError();
        if (taken && has_name(file, path)) return 0;
        kl_file_close(lock);
        if (!taken && (why == ERROR_LOCK_VIOLATION || why == ERROR_IO_PENDING)) return KL_FILE_KEPT;
        if (taken) continue;
        SetLastError(why);
        break;
    }
    return kl_disk_fail(err, err_len, "lock", path);
}

void kl_file_unlock(struct kl_file *lock, const char *path) {
    char ignored[64];
    if (lock->handle != -1 && path) (void)kl_file_remove(path, ignored, sizeof ignored);
    kl_file_close(lock);
}
