#include "net/platform/file.h"

#include <windows.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "net/platform/clock.h"
#include "net/platform/windows/disk.h"

/* --- reading and writing --- */

#define NAME_MAX_ 80 /* units of the original name within a temporary name */
#define RENAME_INFO_EX                                                                                       \
    ((FILE_INFO_BY_HANDLE_CLASS)22) /* FileRenameInfoEx: mingw's headers of Debian 12 hide it */
#define TRIES 100                   /* attempts at a temporary name; killed processes may leave such files */

/* --- reading --- */

int kl_file_read(const char *path, size_t max, unsigned how, void **bytes, size_t *len, char *err,
                 size_t err_len) {
    bool no_link = how & (KL_FILE_PRIVATE | KL_FILE_NO_LINK);
    HANDLE file =
        kl_disk_open(path, GENERIC_READ, OPEN_EXISTING, no_link ? FILE_FLAG_OPEN_REPARSE_POINT : 0, NULL);
    char text[KL_WINDOWS_ERROR];
    uint64_t size = 0;
    uint8_t *out = NULL;
    *bytes = NULL;
    if (file == INVALID_HANDLE_VALUE) {
        kl_disk_fail(err, err_len, "read", path);
        return errno == ENOENT ? KL_FILE_ABSENT : -1;
    }
    const char *why = kl_disk_refusal(file, max, how, &size, text, sizeof text);
    if (!why) {
        *len = (size_t)size;
        out = malloc(*len + 1);
        if (!out || !kl_disk_read(file, out, *len))
            why = out ? kl_windows_error(GetLastError(), text, sizeof text) : "out of memory";
    }
    CloseHandle(file);
    if (!why) {
        out[*len] = 0;
        *bytes = out;
        return 0;
    }
    free(out);
    snprintf(err, err_len, "cannot read %s: %s", path, why);
    return -1;
}

int kl_file_map(const char *path, const void **bytes, size_t *len) {
    HANDLE file = kl_disk_open(path, GENERIC_READ, OPEN_EXISTING, 0, NULL), map = NULL;
    char ignored[KL_WINDOWS_ERROR];
    uint64_t size = 0;
    *bytes = NULL;
    if (file == INVALID_HANDLE_VALUE) return -1;
    if (!kl_disk_refusal(file, SIZE_MAX, 0, &size, ignored, sizeof ignored)) {
        *len = (size_t)size;
        map = size ? CreateFileMappingW(file, NULL, PAGE_READONLY, 0, 0, NULL) : NULL;
        *bytes = map ? MapViewOfFile(map, FILE_MAP_READ, 0, 0, 0) : size ? NULL : "";
    }
    if (map) CloseHandle(map);
    CloseHandle(file);
    return *bytes ? 0 : -1;
}

void kl_file_unmap(const void *bytes, size_t len) {
    if (len) UnmapViewOfFile(bytes);
}

FILE *kl_file_stream(const char *path, const char *mode) {
    wchar_t wide[KL_WIDE_PATH];
    char bytes[8];
    int how = strchr(mode, '+') ? _O_RDWR : *mode == 'w' ? _O_WRONLY : _O_RDONLY;
    if (*mode == 'w') how |= _O_CREAT | _O_TRUNC;
    if (!kl_wide_path(wide, path)) {
        errno = kl_windows_errno(GetLastError());
        return NULL;
    }
    int fd = _wopen(wide, how | _O_BINARY | _O_NOINHERIT, _S_IREAD | _S_IWRITE);
    snprintf(bytes, sizeof bytes, "%sb", mode);
    return fd < 0 ? NULL : _fdopen(fd, bytes);
}

/* --- writing --- */

/* Opens a new file DIR\.NAME.PID-N beside path. */
static HANDLE open_beside(const wchar_t *path, wchar_t beside[KL_WIDE_PATH], SECURITY_ATTRIBUTES *rights) {
    static atomic_uint counter;
    const wchar_t *slash = wcsrchr(path, L'\\'), *name = slash ? slash + 1 : path;
    int kept = (int)wcsnlen(name, NAME_MAX_);
    if (kept && IS_HIGH_SURROGATE(name[kept - 1])) kept--;
    for (unsigned i = 0; i < TRIES; i++) {
        int n = swprintf(beside, KL_WIDE_PATH, L"%.*ls.%.*ls.%lu-%u", (int)(name - path), path, kept, name,
                         GetCurrentProcessId(), atomic_fetch_add(&counter, 1));
        if (n < 0) break;
        HANDLE file = CreateFileW(beside, GENERIC_READ | GENERIC_WRITE | DELETE | WRITE_DAC, KL_DISK_SHARE,
                                  rights, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, NULL);
        if (file != INVALID_HANDLE_VALUE || GetLastError() != ERROR_FILE_EXISTS) return file;
    }
    SetLastError(ERROR_FILENAME_EXCED_RANGE);
    return INVALID_HANDLE_VALUE;
}

/* Renames an open file as Linux does: a program that has the replaced file open keeps it. */
static bool rename_open(HANDLE file, const wchar_t *path, bool replace) {
    union {
        FILE_RENAME_INFO info;
        char room[sizeof(FILE_RENAME_INFO) + KL_WIDE_PATH * sizeof(wchar_t)];
    } to;
    memset(&to.info, 0, sizeof to.info);
    to.info.Flags = FILE_RENAME_FLAG_POSIX_SEMANTICS | (replace ? FILE_RENAME_FLAG_REPLACE_IF_EXISTS : 0);
    to.info.FileNameLength = (DWORD)(wcslen(path) * sizeof(wchar_t));
    wcscpy(to.info.FileName, path);
    return SetFileInformationByHandle(file, RENAME_INFO_EX, &to, sizeof to);
}

/* True if only another program's use of the file was in the way. */
static bool is_busy(DWORD code, const wchar_t *path) {
    if (code == ERROR_SHARING_VIOLATION || code == ERROR_LOCK_VIOLATION) return true;
    DWORD is = GetFileAttributesW(path);
    return code == ERROR_ACCESS_DENIED && is != INVALID_FILE_ATTRIBUTES &&
           !(is & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_READONLY));
}

/* File systems other than NTFS, and Windows before 10, know only the second way: it fails while any program
 * has the old file open. */
static int give_name(HANDLE file, const wchar_t *beside, const wchar_t *path, unsigned how) {
    bool replace = !(how & KL_FILE_KEEP);
    for (uint64_t until_us = kl_now_us() + KL_DISK_BUSY_US;;) {
        if (rename_open(file, path, replace)) return 0;
        if (MoveFileExW(beside, path, MOVEFILE_WRITE_THROUGH | (replace ? MOVEFILE_REPLACE_EXISTING : 0)))
            return 0;
        DWORD why = GetLastError();
        if (!replace && (why == ERROR_FILE_EXISTS || why == ERROR_ALREADY_EXISTS)) return KL_FILE_KEPT;
        bool again = is_busy(why, path) && kl_now_us() < until_us;
        SetLastError(why == ERROR_ACCESS_DENIED && kl_disk_is_used(path) ? ERROR_SHARING_VIOLATION : why);
        if (!again) return -1;
        Sleep(KL_DISK_AGAIN_MS);
    }
}

/* Gives the new file the rights of the one that it will replace. That one must be closed before it is
 * replaced. */
static void keep_rights(const wchar_t *path, HANDLE fresh) {
    HANDLE old = CreateFileW(path, READ_CONTROL, KL_DISK_SHARE, NULL, OPEN_EXISTING, 0, NULL);
    if (old == INVALID_HANDLE_VALUE) return;
    (void)kl_rights_copy(old, fresh);
    CloseHandle(old);
}

static int write_to(const wchar_t *path, const void *bytes, size_t len, unsigned how) {
    wchar_t beside[KL_WIDE_PATH];
    SECURITY_ATTRIBUTES *rights = how & KL_FILE_PRIVATE ? kl_rights_private() : NULL;
    int result = -1;
    DWORD is = how & KL_FILE_KEEP ? INVALID_FILE_ATTRIBUTES : GetFileAttributesW(path);
    if (how & KL_FILE_PRIVATE && !rights) return -1;
    if (is != INVALID_FILE_ATTRIBUTES && is & FILE_ATTRIBUTE_READONLY) {
        SetLastError(ERROR_ACCESS_DENIED); /* the player protected it; not every Windows looks at that */
        return -1;
    }
    HANDLE file = open_beside(path, beside, rights);
    if (file == INVALID_HANDLE_VALUE) return -1;
    if (!(how & KL_FILE_PRIVATE)) keep_rights(path, file);
    if (kl_disk_write(file, bytes, len, 0) && (how & KL_FILE_QUICK || FlushFileBuffers(file)))
        result = give_name(file, beside, path, how);
    DWORD why = GetLastError();
    CloseHandle(file);
    if (result != 0) DeleteFileW(beside);
    SetLastError(why);
    return result;
}

/* Writes into a pipe or a device; a rename would not replace it. */
static int write_into(const char *path, const void *bytes, size_t len) {
    HANDLE file = kl_disk_open(path, GENERIC_WRITE, OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE) return -1;
    bool good = kl_disk_write(file, bytes, len, 0);
    DWORD why = GetLastError();
    CloseHandle(file);
    SetLastError(why);
    return good ? 0 : -1;
}

int kl_file_write_whole(const char *path, const void *bytes, size_t len, unsigned how, char *err,
                        size_t err_len) {
    wchar_t to[KL_WIDE_PATH];
    if (!kl_wide_path(to, path)) return kl_disk_fail(err, err_len, "write", path);
    if (!(how & (KL_FILE_PRIVATE | KL_FILE_NO_LINK))) {
        if (kl_file_kind(path) == KL_FILE_IS_OTHER)
            return write_into(path, bytes, len) ? kl_disk_fail(err, err_len, "write", path) : 0;
        if (kl_file_kind_here(path) == KL_FILE_IS_LINK && !kl_disk_real(path, to))
            return kl_disk_fail(err, err_len, "write through the link", path);
    }
    int result = write_to(to, bytes, len, how);
    return result < 0 ? kl_disk_fail(err, err_len, "write", path) : result;
}

int kl_file_copy(const char *from, const char *to, unsigned how, char *err, size_t err_len) {
    void *bytes;
    size_t len;
    if (kl_file_equal(from, to)) return KL_FILE_KEPT;
    if (kl_file_read(from, KL_FILE_COPY_MAX, 0, &bytes, &len, err, err_len) != 0) return -1;
    int result = kl_file_write_whole(to, bytes, len, how, err, err_len);
    free(bytes);
    return result;
}

/* --- writing below a folder --- */

static int refuse_name(const char *path, const char *name, char *err, size_t err_len) {
    snprintf(err, err_len, "cannot write %s: Windows has no file of the name \"%s\"", path, name);
    return -1;
}

/* Makes the folders of the path's last component, none of which may be a link. whole: the path below its
 * folder, from `at` on. */
static int make_parents(const char *path, char *whole, char *at, char *err, size_t err_len) {
    for (char *slash; (slash = strchr(at, '/')); at = slash + 1) {
        wchar_t wide[KL_WIDE_PATH];
        *slash = 0;
        if (!kl_file_name_portable(at)) return refuse_name(path, at, err, err_len);
        if (!kl_wide_path(wide, whole)) return kl_disk_fail(err, err_len, "make a folder for", path);
        (void)CreateDirectoryW(wide, kl_rights_private());
        if (kl_file_kind_here(whole) != KL_FILE_IS_DIR) {
            SetLastError(ERROR_DIRECTORY);
            return kl_disk_fail(err, err_len, "make a folder for", path);
        }
        *slash = '/';
    }
    return kl_file_name_portable(at) ? 0 : refuse_name(path, at, err, err_len);
}

int kl_file_write_below(const char *dir, const char *path, const void *bytes, size_t len, char *err,
                        size_t err_len) {
    char whole[KL_FILE_PATH];
    FILE_DISPOSITION_INFO unwritten = {.DeleteFile = TRUE};
    if (kl_file_join(whole, sizeof whole, dir, path, err, err_len) != 0 ||
        make_parents(path, whole, whole + strlen(dir) + 1, err, err_len) != 0)
        return -1;
    HANDLE file = kl_disk_open(whole, GENERIC_WRITE | DELETE, CREATE_NEW, FILE_FLAG_OPEN_REPARSE_POINT,
                               kl_rights_private());
    if (file == INVALID_HANDLE_VALUE) return kl_disk_fail(err, err_len, "write", path);
    int result = kl_disk_write(file, bytes, len, 0) ? 0 : kl_disk_fail(err, err_len, "write", path);
    if (result != 0)
        (void)SetFileInformationByHandle(file, FileDispositionInfo, &unwritten, sizeof unwritten);
    CloseHandle(file);
    return result;
}

/* --- files that stay open --- */

/* The part of file.h about files that stay open: appended to, or locked. */

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
    if (lock->handle != -1 && path) (void)kl_file_remove(path, NULL, 0);
    kl_file_close(lock);
}

/* --- marks of files --- */

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
