/* The part of file.h that looks at files, and removes and links them. */
#include "net/platform/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <windows.h>
#include <winioctl.h>

#include "net/platform/clock.h"
#include "net/platform/dir.h"
#include "net/platform/process.h"
#include "net/platform/windows/disk.h"

/* --- looking --- */

static enum kl_file_kind kind_of(const char *path, DWORD flags) {
    BY_HANDLE_FILE_INFORMATION is;
    wchar_t wide[KL_WIDE_PATH];
    enum kl_file_kind kind = KL_FILE_IS_PLAIN;
    if (!kl_wide_path(wide, path)) return KL_FILE_IS_NONE;
    if (!wcsncmp(wide, L"\\\\.\\", 4)) return KL_FILE_IS_OTHER; /* a pipe would take us for its client */
    HANDLE file = kl_disk_open(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING, flags, NULL);
    if (file == INVALID_HANDLE_VALUE) return KL_FILE_IS_NONE;
    if (GetFileType(file) != FILE_TYPE_DISK)
        kind = KL_FILE_IS_OTHER;
    else if (flags & FILE_FLAG_OPEN_REPARSE_POINT && kl_disk_names_link(wide))
        kind = KL_FILE_IS_LINK;
    else if (GetFileInformationByHandle(file, &is) && is.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY)
        kind = KL_FILE_IS_DIR;
    CloseHandle(file);
    return kind;
}

enum kl_file_kind kl_file_kind(const char *path) {
    return kind_of(path, 0);
}

enum kl_file_kind kl_file_kind_here(const char *path) {
    return kind_of(path, FILE_FLAG_OPEN_REPARSE_POINT);
}

bool kl_file_stamp(const char *path, uint64_t *bytes, uint64_t *changed) {
    BY_HANDLE_FILE_INFORMATION is;
    if (kl_file_kind(path) != KL_FILE_IS_PLAIN) return false;
    HANDLE file = kl_disk_open(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING, 0, NULL);
    bool known = file != INVALID_HANDLE_VALUE && GetFileInformationByHandle(file, &is);
    if (file != INVALID_HANDLE_VALUE) CloseHandle(file);
    if (!known) return false;
    *bytes = (uint64_t)is.nFileSizeHigh << 32 | is.nFileSizeLow;
    *changed = (uint64_t)is.ftLastWriteTime.dwHighDateTime << 32 | is.ftLastWriteTime.dwLowDateTime;
    return true;
}

bool kl_file_is_ours(const char *path) {
    HANDLE file = kl_disk_open(path, READ_CONTROL, OPEN_EXISTING, 0, NULL);
    bool ours = file != INVALID_HANDLE_VALUE && kl_rights_ours(file);
    if (file != INVALID_HANDLE_VALUE) CloseHandle(file);
    return ours;
}

static bool may(const char *path, DWORD access) {
    HANDLE file = kl_disk_open(path, access, OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE) return false;
    CloseHandle(file);
    return true;
}

bool kl_file_readable(const char *path) {
    return may(path, GENERIC_READ);
}

/* Rights to run a file are given to nearly all of them: its ending says if it is a program. */
bool kl_file_runnable(const char *path) {
    size_t len = strlen(path);
    return len > 4 && !strcasecmp(path + len - 4, ".exe") && kl_file_kind(path) == KL_FILE_IS_PLAIN &&
           may(path, FILE_EXECUTE);
}

bool kl_file_real(const char *path, char *out, size_t cap) {
    wchar_t real[KL_WIDE_PATH];
    if (kl_disk_real(path, real) && kl_narrow_path(out, cap, real)) return true;
    errno = kl_windows_errno(GetLastError());
    return false;
}

static bool is_slash(char c) {
    return c == '/' || c == '\\';
}

bool kl_file_is_absolute(const char *path) {
    return (path[0] && path[1] == ':' && is_slash(path[2])) || (is_slash(path[0]) && is_slash(path[1]));
}

static bool is_ascii(const char *text, size_t len) {
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] >= 0x80) return false;
    return true;
}

/* The short name of the path's last component, which a drive may lack. */
static bool find_short_name(char *out, size_t cap, const char *path) {
    wchar_t wide[KL_WIDE_PATH];
    WIN32_FIND_DATAW found;
    HANDLE find = kl_wide_path(wide, path) ? FindFirstFileW(wide, &found) : INVALID_HANDLE_VALUE;
    if (find == INVALID_HANDLE_VALUE) return false;
    FindClose(find);
    return kl_narrow_text(out, cap, found.cAlternateFileName) && *out && is_ascii(out, strlen(out));
}

bool kl_file_ascii_path(char *out, size_t cap, const char *path) {
    char prefix[KL_FILE_PATH], name[64];
    size_t used = 0;
    for (const char *at = path; *at;) {
        size_t len = strcspn(at, "/"), all = (size_t)(at - path) + len + (at[len] == '/');
        const char *take = at;
        int n = snprintf(prefix, sizeof prefix, "%.*s", (int)((size_t)(at - path) + len), path);
        if (n < 0 || (size_t)n >= sizeof prefix) return false;
        if (!is_ascii(at, len)) {
            if (!find_short_name(name, sizeof name, prefix)) return false;
            take = name;
            len = strlen(name);
        }
        n = snprintf(out + used, cap - used, "%.*s%s", (int)len, take, path[all - 1] == '/' ? "/" : "");
        if (n < 0 || (size_t)n >= cap - used) return false;
        used += (size_t)n;
        at = path + all;
    }
    return used > 0;
}

void kl_file_use_slashes(char *path) {
    for (; *path; path++)
        if (*path == '\\') *path = '/';
}

/* --- removing --- */

static bool remove_once(const wchar_t *path) {
    DWORD is = GetFileAttributesW(path);
    if (is == INVALID_FILE_ATTRIBUTES) return false;
    if (is & FILE_ATTRIBUTE_REPARSE_POINT && kl_disk_names_link(path)) return kl_disk_remove_link(path);
    if (is & FILE_ATTRIBUTE_READONLY && !(is & FILE_ATTRIBUTE_DIRECTORY))
        SetFileAttributesW(path, is & ~(DWORD)FILE_ATTRIBUTE_READONLY);
    return DeleteFileW(path);
}

bool kl_file_rename(const char *from, const char *to) {
    wchar_t old[KL_WIDE_PATH], fresh[KL_WIDE_PATH];
    if (kl_wide_path(old, from) && kl_wide_path(fresh, to) &&
        MoveFileExW(old, fresh, MOVEFILE_REPLACE_EXISTING))
        return true;
    errno = kl_windows_errno(GetLastError());
    return false;
}

int kl_file_remove(const char *path, char *err, size_t err_len) {
    wchar_t wide[KL_WIDE_PATH];
    if (!kl_wide_path(wide, path)) return kl_disk_fail(err, err_len, "remove", path);
    for (uint64_t until_us = kl_now_us() + KL_DISK_BUSY_US;;) {
        if (remove_once(wide)) return 0;
        DWORD why = GetLastError();
        if (why != ERROR_SHARING_VIOLATION || kl_now_us() >= until_us) {
            SetLastError(why == ERROR_ACCESS_DENIED && kl_disk_is_used(wide) ? ERROR_SHARING_VIOLATION : why);
            break;
        }
        Sleep(KL_DISK_AGAIN_MS);
    }
    kl_disk_fail(err, err_len, "remove", path);
    return errno == ENOENT ? KL_FILE_ABSENT : -1;
}

/* --- links --- */

/* As the system writes it into a link: backslashes, a relative one kept. */
static bool write_target(wchar_t out[KL_WIDE_PATH], const char *target) {
    if (!kl_wide_text(out, KL_WIDE_PATH, target)) return false;
    for (wchar_t *p = out; *p; p++)
        if (*p == L'/') *p = L'\\';
    return true;
}

/* The path that a target means in a link of this path. */
static bool find_target(char out[KL_FILE_PATH], const char *path, const char *target) {
    const char *slash = strrchr(path, '/');
    bool whole = !slash || *target == '/' || *target == '\\' || (*target && target[1] == ':');
    int n = snprintf(out, KL_FILE_PATH, "%.*s%s", whole ? 0 : (int)(slash + 1 - path), path, target);
    if (n < KL_FILE_PATH) return true;
    SetLastError(ERROR_FILENAME_EXCED_RANGE);
    return false;
}

/* Symbolic links need a right that Windows gives to administrators and in its developer mode. Without it, a
 * second name of the file does on the same drive. Wine 8 says that it has made a symbolic link, and has not.
 */
int kl_file_link(const char *target, const char *path, char *err, size_t err_len) {
    wchar_t to[KL_WIDE_PATH], there[KL_WIDE_PATH], name[KL_WIDE_PATH];
    char whole[KL_FILE_PATH];
    if (!write_target(to, target) || !kl_wide_path(name, path) || !find_target(whole, path, target) ||
        !kl_wide_path(there, whole))
        return kl_disk_fail(err, err_len, "make the link", path);
    DWORD flags = SYMBOLIC_LINK_FLAG_ALLOW_UNPRIVILEGED_CREATE |
                  (kl_dir_exists(whole) ? SYMBOLIC_LINK_FLAG_DIRECTORY : 0);
    if (kl_file_kind_here(path) != KL_FILE_IS_NONE) {
        SetLastError(ERROR_FILE_EXISTS);
    } else if ((CreateSymbolicLinkW(name, to, flags) && kl_file_kind_here(path) != KL_FILE_IS_NONE) ||
               CreateHardLinkW(name, there, NULL)) {
        return 0;
    }
    return kl_disk_fail(err, err_len, "make the link", path);
}

/* A symbolic link as FSCTL_GET_REPARSE_POINT gives it. */
struct reparse {
    ULONG tag;
    USHORT len, reserved, full_at, full_len, shown_at, shown_len;
    ULONG flags;
    wchar_t text[8192];
};

/* The target as it was given to CreateSymbolicLinkW(). */
static bool read_link(HANDLE file, struct reparse *r, wchar_t out[KL_WIDE_PATH]) {
    DWORD n = 0;
    if (!DeviceIoControl(file, FSCTL_GET_REPARSE_POINT, NULL, 0, r, sizeof *r, &n, NULL) ||
        r->tag != IO_REPARSE_TAG_SYMLINK || n < offsetof(struct reparse, text))
        return false;
    size_t room = n - offsetof(struct reparse, text), units = r->shown_len / sizeof(wchar_t);
    if ((size_t)r->shown_at + r->shown_len > room || units >= KL_WIDE_PATH) return false;
    memcpy(out, (const char *)r->text + r->shown_at, units * sizeof(wchar_t));
    out[units] = 0;
    return true;
}

/* True for two names of one file. */
static bool is_second_name(HANDLE file, const char *path, const char *target) {
    BY_HANDLE_FILE_INFORMATION is;
    wchar_t a[KL_WIDE_PATH], b[KL_WIDE_PATH];
    char whole[KL_FILE_PATH];
    if (!GetFileInformationByHandle(file, &is) || is.nNumberOfLinks < 2 ||
        !find_target(whole, path, target) || !kl_wide_path(a, path) || !kl_wide_path(b, whole) ||
        !_wcsicmp(a, b))
        return false;
    HANDLE other =
        kl_disk_open(whole, FILE_READ_ATTRIBUTES, OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    bool same = other != INVALID_HANDLE_VALUE && kl_disk_is_same(file, other);
    if (other != INVALID_HANDLE_VALUE) CloseHandle(other);
    return same;
}

bool kl_file_links_to(const char *path, const char *target) {
    wchar_t to[KL_WIDE_PATH], expected[KL_WIDE_PATH];
    HANDLE file = kl_disk_open(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (file == INVALID_HANDLE_VALUE) return false;
    struct reparse *r = malloc(sizeof *r);
    bool leads = r && read_link(file, r, to) && write_target(expected, target) && !wcscmp(to, expected);
    free(r);
    leads = leads || is_second_name(file, path, target);
    CloseHandle(file);
    return leads;
}

/* --- handing down --- */

static char handed_down[KL_FILE_PATH]; /* removed when this process ends */

static void remove_handed_down(void) {
    (void)kl_file_remove(handed_down, NULL, 0);
}

/* Files of processes that were killed. */
static void remove_left(const char *folder, const char *begin) {
    struct kl_dir_list list;
    char path[KL_FILE_PATH];
    if (kl_dir_list(&list, folder, ".cfg", NULL, 0) != 0) return;
    for (unsigned i = 0; i < list.count; i++) {
        bool ours = !strncmp(list.name[i], begin, strlen(begin));
        long id = ours ? strtol(list.name[i] + strlen(begin), NULL, 10) : 0;
        if (id > 0 && !kl_process_alive(id) &&
            kl_file_join(path, sizeof path, folder, list.name[i], NULL, 0) == 0)
            (void)kl_file_remove(path, NULL, 0);
    }
    kl_dir_list_free(&list);
}

/* The system's own way, a file that ends with its handle, keeps other programs from opening it by its name.
 */
int kl_file_hand_down(const void *bytes, size_t len, char *path, size_t cap, char *err, size_t err_len) {
    static const char begin[] = "keylock-handed-down-";
    char name[64];
    if (kl_dir_known(KL_DIR_TEMPORARY, NULL, path, cap, err, err_len) != 0) return -1;
    remove_left(path, begin);
    snprintf(name, sizeof name, "%s%ld.cfg", begin, kl_process_self());
    if (kl_dir_known(KL_DIR_TEMPORARY, name, path, cap, err, err_len) != 0 ||
        kl_file_write_whole(path, bytes, len, KL_FILE_PRIVATE | KL_FILE_QUICK, err, err_len) != 0)
        return -1;
    if (!*handed_down) atexit(remove_handed_down);
    snprintf(handed_down, sizeof handed_down, "%s", path);
    return 0;
}
