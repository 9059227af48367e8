#include "net/platform/dir.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
#include <shlobj.h>

#include "net/platform/clock.h"
#include "net/platform/file.h"
#include "net/platform/windows/disk.h"

#define TRIES 100 /* attempts at a temporary name */

/* --- making --- */

static int fail(char *err, size_t err_len, const char *path, DWORD why) {
    SetLastError(why);
    return kl_disk_fail(err, err_len, "make the folder", path);
}

/* 0, or the code of an error. */
static DWORD make_one(const char *path, bool only_ours) {
    wchar_t wide[KL_WIDE_PATH];
    SECURITY_ATTRIBUTES *rights = only_ours ? kl_rights_private() : NULL;
    if ((only_ours && !rights) || !kl_wide_path(wide, path) || !CreateDirectoryW(wide, rights))
        return GetLastError();
    return 0;
}

/* The bytes of a path before its first folder: C:/, //server/share/, or a slash. */
static size_t skip_drive(const char *path) {
    if (path[0] && path[1] == ':') return strspn(path + 2, "/") + 2;
    if (strncmp(path, "//", 2) != 0) return 1;
    size_t n = 2 + strcspn(path + 2, "/");
    if (path[n]) n += 1 + strcspn(path + n + 1, "/");
    return path[n] ? n + 1 : n;
}

int kl_dir_make(const char *path, bool only_ours, char *err, size_t err_len) {
    char copy[KL_FILE_PATH];
    if (!*path) return fail(err, err_len, path, ERROR_PATH_NOT_FOUND);
    if ((size_t)snprintf(copy, sizeof copy, "%s", path) >= sizeof copy)
        return fail(err, err_len, path, ERROR_FILENAME_EXCED_RANGE);
    kl_file_use_slashes(copy);
    for (char *p = copy + skip_drive(copy);; p++) {
        if (*p != '/' && *p) continue;
        char was = *p;
        *p = 0;
        DWORD why = make_one(copy, only_ours);
        if (why && !kl_dir_exists(copy)) /* a drive's own folder is refused before it is looked for */
            return fail(err, err_len, copy, why == ERROR_ALREADY_EXISTS ? ERROR_DIRECTORY : why);
        *p = was;
        if (!was) break;
    }
    return 0;
}

int kl_dir_make_new(const char *path, char *err, size_t err_len) {
    DWORD why = make_one(path, true);
    return why ? fail(err, err_len, path, why) : 0;
}

int kl_dir_make_temporary(char *out, size_t cap, const char *prefix, char *err, size_t err_len) {
    static atomic_uint counter;
    char name[128];
    DWORD why = ERROR_ALREADY_EXISTS;
    for (unsigned i = 0; i < TRIES && why == ERROR_ALREADY_EXISTS; i++) {
        uint64_t seed = (kl_wall_us() + (uint64_t)GetCurrentProcessId() * 1000003) * 1000003 +
                        atomic_fetch_add(&counter, 1);
        snprintf(name, sizeof name, "%.100s-%06x", prefix, (unsigned)(seed % 0xffffff));
        if (kl_dir_known(KL_DIR_TEMPORARY, name, out, cap, err, err_len) != 0) {
            out[0] = 0;
            return -1;
        }
        why = make_one(out, true);
    }
    if (!why) return 0;
    SetLastError(why);
    kl_disk_fail(err, err_len, "make the temporary folder", out);
    out[0] = 0;
    return -1;
}

/* --- looking --- */

bool kl_dir_exists(const char *path) {
    return kl_file_kind(path) == KL_FILE_IS_DIR;
}

static HANDLE open_folder(const char *path, DWORD access) {
    if (!kl_dir_exists(path)) return INVALID_HANDLE_VALUE;
    return kl_disk_open(path, access, OPEN_EXISTING, 0, NULL);
}

bool kl_dir_writable(const char *path) {
    HANDLE folder = open_folder(path, FILE_ADD_FILE);
    if (folder == INVALID_HANDLE_VALUE) return false;
    CloseHandle(folder);
    return true;
}

bool kl_dir_others_write(const char *path) {
    HANDLE folder = open_folder(path, READ_CONTROL);
    if (folder == INVALID_HANDLE_VALUE) return true;
    bool others = kl_rights_of_others(folder) & KL_RIGHTS_WRITE;
    CloseHandle(folder);
    return others;
}

/* A name of a file, or a folder, is at most 255 units long. A name that is no UTF-16 has none in UTF-8: it is
 * left out. */
static int list_all(struct kl_dir_list *list, HANDLE find, WIN32_FIND_DATAW *found, const char *ending) {
    char name[4 * MAX_PATH];
    do {
        if (!kl_narrow_text(name, sizeof name, found->cFileName)) continue;
        if (kl_dir_list_add(list, name, ending) != 0) {
            SetLastError(ERROR_NOT_ENOUGH_MEMORY);
            return -1;
        }
    } while (FindNextFileW(find, found));
    return GetLastError() == ERROR_NO_MORE_FILES ? 0 : -1;
}

int kl_dir_list(struct kl_dir_list *list, const char *path, const char *ending, char *err, size_t err_len) {
    char all[KL_FILE_PATH];
    wchar_t wide[KL_WIDE_PATH];
    WIN32_FIND_DATAW found;
    *list = (struct kl_dir_list){NULL, 0};
    if (!*path || (size_t)snprintf(all, sizeof all, "%s/*", path) >= sizeof all)
        SetLastError(*path ? ERROR_FILENAME_EXCED_RANGE : ERROR_PATH_NOT_FOUND);
    else if (kl_wide_path(wide, all)) {
        HANDLE find = FindFirstFileW(wide, &found);
        bool empty =
            find == INVALID_HANDLE_VALUE && GetLastError() == ERROR_FILE_NOT_FOUND && kl_dir_exists(path);
        int result = empty ? 0 : find == INVALID_HANDLE_VALUE ? -1 : list_all(list, find, &found, ending);
        DWORD why = GetLastError();
        if (find != INVALID_HANDLE_VALUE) FindClose(find);
        kl_dir_list_sort(list);
        if (result == 0) return 0;
        SetLastError(why);
    }
    kl_disk_fail(err, err_len, "read the folder", path);
    kl_dir_list_free(list);
    return -1;
}

/* --- removing --- */

static void remove_tree(wchar_t path[KL_WIDE_PATH], size_t len);

/* path: the folder, then `len` units on the name of what it holds. */
static void remove_found(wchar_t path[KL_WIDE_PATH], size_t len, const WIN32_FIND_DATAW *found) {
    DWORD is = found->dwFileAttributes;
    if (!wcscmp(found->cFileName, L".") || !wcscmp(found->cFileName, L"..")) return;
    if (len + 1 + wcslen(found->cFileName) >= KL_WIDE_PATH) return;
    path[len] = L'\\';
    wcscpy(path + len + 1, found->cFileName);
    if (is & FILE_ATTRIBUTE_READONLY) SetFileAttributesW(path, is & ~(DWORD)FILE_ATTRIBUTE_READONLY);
    if (is & FILE_ATTRIBUTE_REPARSE_POINT && kl_disk_names_link(path))
        kl_disk_remove_link(path);
    else if (is & FILE_ATTRIBUTE_DIRECTORY)
        remove_tree(path, wcslen(path));
    else
        DeleteFileW(path);
}

static void remove_tree(wchar_t path[KL_WIDE_PATH], size_t len) {
    WIN32_FIND_DATAW found;
    if (len + 2 >= KL_WIDE_PATH) return;
    wcscpy(path + len, L"\\*");
    HANDLE find = FindFirstFileW(path, &found);
    if (find != INVALID_HANDLE_VALUE) {
        do
            remove_found(path, len, &found);
        while (FindNextFileW(find, &found));
        FindClose(find);
    }
    path[len] = 0;
    RemoveDirectoryW(path);
}

void kl_dir_remove_tree(const char *path) {
    wchar_t wide[KL_WIDE_PATH];
    if (!*path) return;
    if (kl_file_kind_here(path) != KL_FILE_IS_DIR)
        (void)kl_file_remove(path, NULL, 0);
    else if (kl_wide_long_path(wide, path)) {
        size_t len = wcslen(wide);
        while (len && wide[len - 1] == L'\\')
            len--;
        remove_tree(wide, len);
    }
}

void kl_dir_remove_empty(const char *path) {
    wchar_t wide[KL_WIDE_PATH];
    if (kl_wide_path(wide, path)) (void)RemoveDirectoryW(wide);
}

/* --- standard folders --- */

/* The variable's value with slashes, if it is a whole path: with a drive, or a server. False: it is none, or
 * unset. */
static bool read_variable(char out[KL_FILE_PATH], const wchar_t *variable) {
    wchar_t value[KL_WIDE_PATH];
    DWORD n = variable ? GetEnvironmentVariableW(variable, value, KL_WIDE_PATH) : 0;
    return n > 0 && n < KL_WIDE_PATH && kl_narrow_path(out, KL_FILE_PATH, value) && kl_file_is_absolute(out);
}

/* GetTempPathW() looks at TMP, TEMP and USERPROFILE. */
static bool read_temporary(char out[KL_FILE_PATH]) {
    wchar_t path[MAX_PATH + 1];
    DWORD n = GetTempPathW(MAX_PATH + 1, path);
    return n > 0 && n <= MAX_PATH && kl_narrow_path(out, KL_FILE_PATH, path);
}

static bool find_known(enum kl_dir_known which, char out[KL_FILE_PATH]) {
    static const struct {
        const wchar_t *first, *then;
        int folder;
    } table[] = {[KL_DIR_HOME] = {L"HOME", L"USERPROFILE", CSIDL_PROFILE},
                 [KL_DIR_STATE] = {L"XDG_STATE_HOME", L"LOCALAPPDATA", CSIDL_LOCAL_APPDATA},
                 [KL_DIR_CONFIG] = {L"XDG_CONFIG_HOME", L"APPDATA", CSIDL_APPDATA}};
    wchar_t path[MAX_PATH];
    if (which >= KL_DIR_RUN) return read_variable(out, L"TMPDIR") || read_temporary(out);
    return read_variable(out, table[which].first) || read_variable(out, table[which].then) ||
           (SHGetFolderPathW(NULL, table[which].folder, NULL, SHGFP_TYPE_CURRENT, path) == S_OK &&
            kl_narrow_path(out, KL_FILE_PATH, path));
}

int kl_dir_known(enum kl_dir_known which, const char *sub, char *out, size_t cap, char *err, size_t err_len) {
    char base[KL_FILE_PATH];
    if (!find_known(which, base)) {
        snprintf(err, err_len, "the user has no such folder: Windows names none");
        return -1;
    }
    for (size_t n = strlen(base); n > 3 && base[n - 1] == '/';)
        base[--n] = 0;
    const bool ours = which == KL_DIR_FALLBACK || which == KL_DIR_RUN;
    int n = snprintf(out, cap, "%s%s%s%s", base, ours ? "/keylock" : "", sub ? "/" : "", sub ? sub : "");
    if (n > 0 && (size_t)n < cap) return 0;
    snprintf(err, err_len, "the path %.200s is longer than %zu bytes", base, cap - 1);
    return -1;
}
