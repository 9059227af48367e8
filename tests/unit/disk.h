/* disk.h - the means of tests of files and folders that net/platform does not have, on each system. */
#ifndef TEST_UNIT_DISK_H
#define TEST_UNIT_DISK_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <windows.h>
#include <aclapi.h>
#include <sddl.h>

#include "net/platform/windows/disk.h"

/* Everybody may read the file, or make files in the folder. */
static inline bool disk_open_to_others(const char *path) {
    wchar_t wide[KL_WIDE_PATH];
    PSECURITY_DESCRIPTOR all = NULL;
    return kl_wide_path(wide, path) &&
           ConvertStringSecurityDescriptorToSecurityDescriptorW(L"D:P(A;;FA;;;WD)", SDDL_REVISION_1, &all,
                                                                NULL) &&
           SetFileSecurityW(wide, DACL_SECURITY_INFORMATION, all) && !LocalFree(all);
}

static inline void disk_forbid_writing(const char *path, bool forbid) {
    wchar_t wide[KL_WIDE_PATH];
    if (kl_wide_path(wide, path))
        SetFileAttributesW(wide, forbid ? FILE_ATTRIBUTE_READONLY : FILE_ATTRIBUTE_NORMAL);
}

/* Wine 8 neither makes nor removes links; the programs of the system below it do. path: of a file or folder
 * that is there; end: what stands below it. False: this is no Wine, or it failed. */
static inline bool disk_run_unix(const char *program, const char *first, const char *path, const char *end) {
    wchar_t wide[KL_WIDE_PATH], run[64], line[3 * KL_FILE_PATH], by_linux[2][KL_WIDE_PATH] = {L"", L""};
    STARTUPINFOW startup = {.cb = sizeof startup};
    PROCESS_INFORMATION made;
    char *(CDECL * unix_name)(const wchar_t *);
    void (*found)(void) =
        (void (*)(void))GetProcAddress(GetModuleHandleW(L"kernel32.dll"), "wine_get_unix_file_name");
    unix_name = (char *(CDECL *)(const wchar_t *))found;
    const char *paths[2] = {first, path};
    for (unsigned i = 0; found && i < 2; i++) {
        char *name = paths[i] && kl_wide_path(wide, paths[i]) ? unix_name(wide) : NULL;
        if (name) (void)kl_wide_text(by_linux[i], KL_WIDE_PATH, name);
    }
    swprintf(run, 64, L"Z:\\bin\\%hs", program);
    if (first)
        swprintf(line, sizeof line / sizeof *line, L"%hs -s %ls %ls/%hs", program, by_linux[0], by_linux[1],
                 end);
    else
        swprintf(line, sizeof line / sizeof *line, L"%hs %ls/%hs", program, by_linux[1], end);
    if (!found || !CreateProcessW(run, line, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &made)) return false;
    CloseHandle(made.hProcess);
    CloseHandle(made.hThread);
    return true;
}

static inline bool disk_is_there(const char *folder, const char *name) {
    char path[KL_FILE_PATH];
    wchar_t wide[KL_WIDE_PATH];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return kl_wide_path(wide, path) && GetFileAttributesW(wide) != INVALID_FILE_ATTRIBUTES;
}

/* Makes FOLDER/NAME a link to a folder. False: there is no way here. */
static inline bool disk_link_folder(const char *target, const char *folder, const char *name) {
    char path[KL_FILE_PATH];
    wchar_t to[KL_WIDE_PATH], wide[KL_WIDE_PATH];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (disk_run_unix("ln", target, folder, name)) {
        for (unsigned i = 0; i < 500 && !disk_is_there(folder, name); i++)
            Sleep(10);
        return disk_is_there(folder, name);
    }
    return kl_wide_path(to, target) && kl_wide_path(wide, path) &&
           CreateSymbolicLinkW(wide, to, SYMBOLIC_LINK_FLAG_DIRECTORY);
}

/* Under Wine a link stays otherwise. */
static inline void disk_unlink_folder(const char *folder, const char *name) {
    if (!disk_run_unix("rm", NULL, folder, name)) return;
    for (unsigned i = 0; i < 500 && disk_is_there(folder, name); i++)
        Sleep(10);
}

#define DISK_NO_DIRECTORY "No such file" /* a file stands where a folder was expected */
#define DISK_DRIVE        "C:"
#define DISK_DEVICE       "NUL"
#define DISK_PROGRAM      ".exe"
#else
#include <sys/stat.h>
#include <unistd.h>

static inline bool disk_open_to_others(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && chmod(path, S_ISDIR(st.st_mode) ? 0777 : 0644) == 0;
}

static inline void disk_forbid_writing(const char *path, bool forbid) {
    (void)!chmod(path, forbid ? 0400 : 0600);
}

static inline bool disk_link_folder(const char *target, const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return symlink(target, path) == 0;
}

static inline void disk_unlink_folder(const char *folder, const char *name) {
    (void)folder, (void)name;
}

#define DISK_NO_DIRECTORY "Not a directory"
#define DISK_DRIVE        ""
#define DISK_DEVICE       "/dev/null"
#define DISK_PROGRAM      ""
#endif

#endif
