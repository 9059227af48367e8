#include "net/platform/windows/disk.h"

#include <errno.h>
#include <stdio.h>

#include "net/platform/clock.h"

#define AT_ONCE ((size_t)1 << 30) /* bytes for one call of the system, which counts in 32 bits */

HANDLE kl_disk_open(const char *path, DWORD access, DWORD creation, DWORD flags,
                    SECURITY_ATTRIBUTES *rights) {
    wchar_t wide[KL_WIDE_PATH];
    if (!kl_wide_path(wide, path)) return INVALID_HANDLE_VALUE;
    for (uint64_t until_us = kl_now_us() + KL_DISK_BUSY_US;;) {
        HANDLE file = CreateFileW(wide, access, KL_DISK_SHARE, rights, creation,
                                  flags | FILE_FLAG_BACKUP_SEMANTICS, NULL);
        DWORD why = GetLastError();
        if (file != INVALID_HANDLE_VALUE || why != ERROR_SHARING_VIOLATION || kl_now_us() >= until_us) {
            SetLastError(why);
            return file;
        }
        Sleep(KL_DISK_AGAIN_MS);
    }
}

int kl_disk_fail(char *err, size_t err_len, const char *what, const char *path) {
    char text[KL_WINDOWS_ERROR];
    DWORD why = GetLastError();
    snprintf(err, err_len, "cannot %s %s: %s", what, path, kl_windows_error(why, text, sizeof text));
    errno = kl_windows_errno(why);
    return -1;
}

const char *kl_disk_refusal(HANDLE file, size_t max, unsigned how, uint64_t *size, char *text, size_t cap) {
    BY_HANDLE_FILE_INFORMATION is;
    if (GetFileType(file) != FILE_TYPE_DISK) return "a plain file was expected";
    if (!GetFileInformationByHandle(file, &is)) return kl_windows_error(GetLastError(), text, cap);
    *size = (uint64_t)is.nFileSizeHigh << 32 | is.nFileSizeLow;
    if (how & (KL_FILE_PRIVATE | KL_FILE_NO_LINK) && kl_disk_is_link(file))
        return "a plain file was expected, it is a link";
    if (is.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) return "a plain file was expected";
    if (how & KL_FILE_PRIVATE && kl_rights_of_others(file) & KL_RIGHTS_READ)
        return "it may be read by others: expected that only this user may";
    if (how & KL_FILE_PRIVATE && !kl_rights_ours(file)) return "it is another user's";
    if (*size <= max) return NULL;
    snprintf(text, cap, "it is too long: expected at most %zu bytes, found %llu", max,
             (unsigned long long)*size);
    return text;
}

/* The part of a file from byte `at` on, for one call. */
static OVERLAPPED from_byte(uint64_t at) {
    return (OVERLAPPED){.Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32)};
}

bool kl_disk_read(HANDLE file, void *out, size_t len) {
    DWORD n;
    for (size_t got = 0; got < len; got += n) {
        OVERLAPPED at = from_byte(got);
        size_t left = len - got;
        if (!ReadFile(file, (char *)out + got, (DWORD)(left < AT_ONCE ? left : AT_ONCE), &n, &at))
            return false;
        if (n > 0) continue;
        SetLastError(ERROR_HANDLE_EOF); /* the file became shorter */
        return false;
    }
    return true;
}

bool kl_disk_write(HANDLE file, const void *bytes, size_t len, uint64_t at) {
    DWORD n;
    for (size_t done = 0; done < len; done += n) {
        OVERLAPPED to = from_byte(at + done);
        size_t left = len - done;
        if (!WriteFile(file, (const char *)bytes + done, (DWORD)(left < AT_ONCE ? left : AT_ONCE), &n, &to))
            return false;
        if (n > 0) continue;
        SetLastError(ERROR_DISK_FULL);
        return false;
    }
    return true;
}

static bool is_link(HANDLE file, bool *special) {
    FILE_ATTRIBUTE_TAG_INFO is;
    *special = GetFileInformationByHandleEx(file, FileAttributeTagInfo, &is, sizeof is) &&
               is.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT;
    return *special && IsReparseTagNameSurrogate(is.ReparseTag);
}

bool kl_disk_is_link(HANDLE file) {
    bool ignored;
    return is_link(file, &ignored);
}

static HANDLE open_itself(const wchar_t *path, DWORD access) {
    return CreateFileW(path, access, KL_DISK_SHARE, NULL, OPEN_EXISTING,
                       FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS, NULL);
}

/* Wine opens the folder behind a link of Linux's in its place. */
bool kl_disk_names_link(const wchar_t *path) {
    DWORD named = GetFileAttributesW(path);
    bool special;
    if (named == INVALID_FILE_ATTRIBUTES || !(named & FILE_ATTRIBUTE_REPARSE_POINT)) return false;
    HANDLE file = open_itself(path, FILE_READ_ATTRIBUTES);
    if (file == INVALID_HANDLE_VALUE) return true;
    bool link = is_link(file, &special) || !special;
    CloseHandle(file);
    return link;
}

/* RemoveDirectoryW() would remove the folder behind a link of Linux's under Wine. */
bool kl_disk_remove_link(const wchar_t *path) {
    FILE_DISPOSITION_INFO remove = {.DeleteFile = TRUE};
    HANDLE file = open_itself(path, DELETE | FILE_READ_ATTRIBUTES);
    if (file == INVALID_HANDLE_VALUE) return false;
    bool link = kl_disk_is_link(file);
    bool removed = link && SetFileInformationByHandle(file, FileDispositionInfo, &remove, sizeof remove);
    DWORD why = link ? GetLastError() : ERROR_ACCESS_DENIED;
    CloseHandle(file);
    SetLastError(why);
    return removed;
}

bool kl_disk_is_same(HANDLE a, HANDLE b) {
    BY_HANDLE_FILE_INFORMATION x, y;
    return GetFileInformationByHandle(a, &x) && GetFileInformationByHandle(b, &y) &&
           x.dwVolumeSerialNumber == y.dwVolumeSerialNumber && x.nFileIndexHigh == y.nFileIndexHigh &&
           x.nFileIndexLow == y.nFileIndexLow;
}

bool kl_disk_is_used(const wchar_t *path) {
    HANDLE file = CreateFileW(path, GENERIC_WRITE, KL_DISK_SHARE, NULL, OPEN_EXISTING,
                              FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (file == INVALID_HANDLE_VALUE) return GetLastError() == ERROR_SHARING_VIOLATION;
    CloseHandle(file);
    return false;
}

/* Some drives have no letter that the system could name (a RAM disk's): the path as it was given then. */
bool kl_disk_real(const char *path, wchar_t out[KL_WIDE_PATH]) {
    HANDLE file = kl_disk_open(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE) return false;
    DWORD n = GetFinalPathNameByHandleW(file, out, KL_WIDE_PATH, FILE_NAME_NORMALIZED | VOLUME_NAME_DOS);
    CloseHandle(file);
    if (n < KL_WIDE_PATH) return n || kl_wide_path(out, path);
    SetLastError(ERROR_FILENAME_EXCED_RANGE);
    return false;
}
