#include "net/platform/file.h"

#include <windows.h>

#include "net/platform/windows/disk.h"

static HANDLE open_now(const char *path, DWORD access, DWORD share, DWORD creation) {
    wchar_t wide[KL_WIDE_PATH];
    if (!kl_wide_path(wide, path)) return INVALID_HANDLE_VALUE;
    return CreateFileW(wide, access, share, NULL, creation,
                       FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS, NULL);
}

uint64_t kl_file_mark(const char *path) {
    BY_HANDLE_FILE_INFORMATION is;
    uint64_t number = 0;
    HANDLE file = kl_file_kind_here(path) == KL_FILE_IS_PLAIN
                      ? open_now(path, FILE_READ_ATTRIBUTES, KL_DISK_SHARE, OPEN_EXISTING)
                      : INVALID_HANDLE_VALUE;
    if (file == INVALID_HANDLE_VALUE) return 0;
    if (GetFileInformationByHandle(file, &is)) number = (uint64_t)is.nFileIndexHigh << 32 | is.nFileIndexLow;
    CloseHandle(file);
    return number;
}

bool kl_file_touched(const char *path, uint64_t number) {
    (void)path, (void)number;
    return true;
}

int kl_file_put(const char *path, const void *bytes, size_t len) {
    LARGE_INTEGER end = {.QuadPart = (LONGLONG)len};
    HANDLE file = open_now(path, GENERIC_WRITE, KL_DISK_SHARE, OPEN_ALWAYS);
    if (file == INVALID_HANDLE_VALUE) return -1;
    bool good = kl_disk_write(file, bytes, len, 0) && SetFilePointerEx(file, end, NULL, FILE_BEGIN) &&
                SetEndOfFile(file);
    CloseHandle(file);
    return good ? 0 : -1;
}

unsigned kl_file_holders(const char *path) {
    HANDLE file = open_now(path, GENERIC_READ, 0, OPEN_EXISTING);
    bool held = file == INVALID_HANDLE_VALUE && GetLastError() == ERROR_SHARING_VIOLATION;
    if (file != INVALID_HANDLE_VALUE) CloseHandle(file);
    return held;
}
