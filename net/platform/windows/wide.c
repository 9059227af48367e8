#include <winsock2.h> /* before windows.h */
#include <windows.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/windows/disk.h"

/* Units from which a path is written with \\?\. The limit is 260, and 248 for a new folder; a temporary name
 * beside the path is longer by some thirty. */
#define LONG_PATH 200

/* --- UTF-8 and UTF-16 --- */

static bool refuse(DWORD code) {
    SetLastError(code);
    return false;
}

/* The system's word for "no room" is another one for each function. */
static bool refuse_as_converted(void) {
    return GetLastError() == ERROR_INSUFFICIENT_BUFFER && refuse(ERROR_FILENAME_EXCED_RANGE);
}

bool kl_wide_text(wchar_t *out, size_t cap, const char *text) {
    return MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, out, (int)cap) > 0 ||
           refuse_as_converted();
}

wchar_t *kl_wide_copy(const char *text) {
    int cap = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
    wchar_t *out = cap > 0 ? malloc((size_t)cap * sizeof *out) : NULL;
    if (cap > 0 && !out) SetLastError(ERROR_NOT_ENOUGH_MEMORY);
    if (out) MultiByteToWideChar(CP_UTF8, 0, text, -1, out, cap);
    return out;
}

bool kl_narrow_text(char *out, size_t cap, const wchar_t *text) {
    if (cap && WideCharToMultiByte(CP_UTF8, WC_ERR_INVALID_CHARS, text, -1, out, (int)cap, NULL, NULL) > 0)
        return true;
    if (cap) *out = 0;
    return refuse_as_converted();
}

/* --- paths --- */

/* \\?\C:\..., \\.\pipe\..., also with slashes: the system takes what follows as it is. */
static bool is_verbatim(const wchar_t *path) {
    return path[0] == L'\\' && path[1] == L'\\' && (path[2] == L'?' || path[2] == L'.') && path[3] == L'\\';
}

/* Puts \\?\ before an absolute path, and \\?\UNC\ before what follows the slashes of \\server\share. */
static bool make_verbatim(wchar_t out[KL_WIDE_PATH], const wchar_t *full) {
    bool share = full[0] == L'\\' && full[1] == L'\\';
    const wchar_t *before = share ? L"\\\\?\\UNC\\" : L"\\\\?\\", *rest = full + (share ? 2 : 0);
    if (wcslen(before) + wcslen(rest) >= KL_WIDE_PATH) return refuse(ERROR_FILENAME_EXCED_RANGE);
    wcscpy(out, before);
    wcscat(out, rest);
    return true;
}

/* long_from: units from which the path is written with \\?\. */
static bool write_path(wchar_t out[KL_WIDE_PATH], const char *path, DWORD long_from) {
    wchar_t full[KL_WIDE_PATH];
    if (!kl_wide_text(out, KL_WIDE_PATH, path)) return false;
    for (wchar_t *p = out; *p; p++)
        if (*p == L'/') *p = L'\\';
    if (!*out || is_verbatim(out)) return true;
    DWORD n = GetFullPathNameW(out, KL_WIDE_PATH, full, NULL);
    if (n == 0) return false;
    if (n >= KL_WIDE_PATH) return refuse(ERROR_FILENAME_EXCED_RANGE);
    if (n >= long_from && !is_verbatim(full)) return make_verbatim(out, full);
    wcscpy(out, full);
    return true;
}

bool kl_wide_path(wchar_t out[KL_WIDE_PATH], const char *path) {
    return write_path(out, path, LONG_PATH);
}

bool kl_wide_long_path(wchar_t out[KL_WIDE_PATH], const char *path) {
    return write_path(out, path, 0);
}

bool kl_narrow_path(char *out, size_t cap, const wchar_t *path) {
    bool share = wcsncmp(path, L"\\\\?\\UNC\\", 8) == 0;
    const wchar_t *rest = path + (share ? 7 : wcsncmp(path, L"\\\\?\\", 4) == 0 ? 4 : 0);
    if (cap) *out = 0;
    if (cap < 2) return refuse(ERROR_FILENAME_EXCED_RANGE);
    if (!kl_narrow_text(out + share, cap - share, rest)) return false;
    if (share) out[0] = '/';
    for (char *p = out; *p; p++)
        if (*p == '\\') *p = '/';
    return true;
}

/* --- errors --- */

static const struct {
    DWORD code;
    int of_c;
    bool same_words; /* C's text says as much as the system's */
} table[] = {
    {ERROR_FILE_NOT_FOUND, ENOENT, true},
    {ERROR_PATH_NOT_FOUND, ENOENT, true},
    {ERROR_INVALID_NAME, ENOENT, false},
    {ERROR_BAD_NETPATH, ENOENT, false},
    {ERROR_NO_UNICODE_TRANSLATION, EILSEQ, false},
    {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG, true},
    {ERROR_BUFFER_OVERFLOW, ENAMETOOLONG, true},
    {ERROR_ACCESS_DENIED, EACCES, true},
    {ERROR_SHARING_VIOLATION, EBUSY, false},
    {ERROR_LOCK_VIOLATION, EBUSY, false},
    {ERROR_PRIVILEGE_NOT_HELD, EPERM, false},
    {ERROR_FILE_EXISTS, EEXIST, true},
    {ERROR_ALREADY_EXISTS, EEXIST, true},
    {ERROR_DIRECTORY, ENOTDIR, true},
    {ERROR_DIR_NOT_EMPTY, ENOTEMPTY, true},
    {ERROR_DISK_FULL, ENOSPC, true},
    {ERROR_HANDLE_DISK_FULL, ENOSPC, true},
    {ERROR_WRITE_PROTECT, EROFS, true},
    {ERROR_NOT_SAME_DEVICE, EXDEV, false},
    {ERROR_NOT_ENOUGH_MEMORY, ENOMEM, false},
    {ERROR_OUTOFMEMORY, ENOMEM, false},
    {ERROR_TOO_MANY_OPEN_FILES, EMFILE, true},
    {ERROR_INVALID_HANDLE, EBADF, false},
    {ERROR_BROKEN_PIPE, EPIPE, true},
    {ERROR_BAD_EXE_FORMAT, ENOEXEC, false},
    {WSAEINTR, EINTR, false},
    {WSAEBADF, EBADF, false},
    {WSAEACCES, EACCES, true},
    {WSAEINVAL, EINVAL, true},
    {WSAEMFILE, EMFILE, true},
    {WSAEWOULDBLOCK, EAGAIN, false},
    {WSAEMSGSIZE, EMSGSIZE, false},
    {WSAEADDRINUSE, EADDRINUSE, false},
    {WSAEADDRNOTAVAIL, EADDRNOTAVAIL, false},
    {WSAENETUNREACH, ENETUNREACH, false},
    {WSAEHOSTUNREACH, EHOSTUNREACH, false},
    {WSAECONNABORTED, ECONNABORTED, false},
    {WSAECONNRESET, ECONNRESET, false},
    {WSAENOBUFS, ENOBUFS, false},
    {WSAENOTCONN, ENOTCONN, false},
    {WSAETIMEDOUT, ETIMEDOUT, false},
    {WSAECONNREFUSED, ECONNREFUSED, false},
};

int kl_windows_errno(unsigned long code) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].code == code) return table[i].of_c;
    return EIO;
}

static bool has_same_words(DWORD code) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].code == code) return table[i].same_words;
    return false;
}

/* The system's text ends with ".\r\n". */
static bool ask_system(DWORD code, DWORD language, char *out, size_t cap) {
    wchar_t wide[512];
    char all[3 * 512];
    DWORD n = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, code, language,
                             wide, sizeof wide / sizeof *wide, NULL);
    while (n && wcschr(L" .\r\n", wide[n - 1]))
        wide[--n] = 0;
    if (!n || !kl_narrow_text(all, sizeof all, wide)) return false;
    for (char *p = all; *p; p++)
        if (*p == '\r' || *p == '\n') *p = ' ';
    snprintf(out, cap, "%s", all);
    return true;
}

const char *kl_windows_error(unsigned long code, char *out, size_t cap) {
    if (code == ERROR_NO_UNICODE_TRANSLATION)
        snprintf(out, cap, "the name is not valid UTF-8");
    else if (has_same_words(code))
        snprintf(out, cap, "%s", strerror(kl_windows_errno(code)));
    else if (!ask_system(code, MAKELANGID(LANG_ENGLISH, SUBLANG_ENGLISH_US), out, cap) &&
             !ask_system(code, 0, out, cap))
        snprintf(out, cap, "Windows error %lu", code);
    return out;
}

/* --- command lines --- */

/* --- arguments --- */

static bool needs_quotes(const char *argument) {
    return !*argument || argument[strcspn(argument, " \t\n\v\"")];
}

/* Backslashes count double before a quote, and are themselves anywhere else. Returns the end. */
static char *quote(char *out, const char *argument) {
    *out++ = '"';
    for (const char *c = argument;; c++) {
        size_t slashes = strspn(c, "\\");
        c += slashes;
        for (size_t i = 0; i < (!*c || *c == '"' ? 2 * slashes : slashes); i++)
            *out++ = '\\';
        if (!*c) break;
        if (*c == '"') *out++ = '\\';
        *out++ = *c;
    }
    *out++ = '"';
    return out;
}

wchar_t *kl_command_line(const char *first, const char *const *arguments) {
    size_t room = 2 + (first ? strlen(first) : 0);
    for (unsigned i = 0; arguments[i]; i++)
        room += 2 * strlen(arguments[i]) + 3;
    char *all = malloc(room), *end = all;
    if (!all) {
        SetLastError(ERROR_NOT_ENOUGH_MEMORY);
        return NULL;
    }
    if (first) end += sprintf(end, "%s", first);
    for (unsigned i = 0; arguments[i]; i++) {
        size_t len = strlen(arguments[i]);
        if (end > all) *end++ = ' ';
        if (needs_quotes(arguments[i])) {
            end = quote(end, arguments[i]);
        } else {
            memcpy(end, arguments[i], len);
            end += len;
        }
    }
    *end = 0;
    wchar_t *line = kl_wide_copy(all);
    free(all);
    return line;
}

/* --- environment --- */

/* The first = may stand before a name: "=C:=C:\dir" is the folder of a drive. */
static size_t name_len(const wchar_t *variable) {
    return *variable ? 1 + wcscspn(variable + 1, L"=") : 0;
}

static bool is_replaced(const wchar_t *variable, const wchar_t *by) {
    size_t n = name_len(variable);
    for (; *by; by += wcslen(by) + 1)
        if (n == name_len(by) && !_wcsnicmp(variable, by, n)) return true;
    return false;
}

/* Writes one variable with its NUL, and a second NUL, which ends all. Returns the place of that; NULL on
 * failure. */
static wchar_t *add(wchar_t *end, const char *variable) {
    size_t room = strlen(variable) + 1;
    if (!end || !kl_wide_text(end, room, variable)) return NULL;
    end += wcslen(end) + 1;
    *end = 0;
    return end;
}

/* Appends to `all`, which ends at `end`, those of `ours` that it has not. */
static void append_others(const wchar_t *ours, const wchar_t *all, wchar_t *end) {
    wchar_t *at = end;
    for (const wchar_t *v = ours; *v; v += wcslen(v) + 1) {
        wchar_t kept = *end; /* only those before may replace it */
        *end = 0;
        bool replaced = is_replaced(v, all);
        *end = kept;
        if (replaced) continue;
        wcscpy(at, v);
        at += wcslen(at) + 1;
        *at = 0;
    }
}

wchar_t *kl_command_environment(const char *const *more, const char *last) {
    wchar_t *ours = GetEnvironmentStringsW();
    size_t room = 2 + (last ? strlen(last) + 1 : 0);
    for (const wchar_t *v = ours; v && *v; v += wcslen(v) + 1)
        room += wcslen(v) + 1;
    for (unsigned i = 0; more && more[i]; i++)
        room += strlen(more[i]) + 1;
    wchar_t *all = ours ? calloc(room, sizeof *all) : NULL, *end = all;
    if (!all) SetLastError(ERROR_NOT_ENOUGH_MEMORY);
    for (unsigned i = 0; more && more[i]; i++)
        end = add(end, more[i]);
    if (last) end = add(end, last);
    if (end) append_others(ours, all, end);
    if (ours) FreeEnvironmentStringsW(ours);
    if (end) return all;
    free(all);
    return NULL;
}
