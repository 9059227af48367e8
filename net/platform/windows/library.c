#include "net/platform/library.h"

#include <stdio.h>
#include <windows.h>

#include "net/platform/windows/disk.h"

/* A library beside the one that needs it is found, too: with a whole path, which the flag must have. */
static HMODULE load(const char *path) {
    wchar_t wide[KL_WIDE_PATH];
    bool whole = path[0] && (path[1] == ':' || path[0] == '/' || path[0] == '\\');
    bool good = whole ? kl_wide_path(wide, path) : kl_wide_text(wide, KL_WIDE_PATH, path);
    return good ? LoadLibraryExW(wide, NULL, whole ? LOAD_WITH_ALTERED_SEARCH_PATH : 0) : NULL;
}

/* The system shows a dialog for a library that lacks another, unless it is told not to. */
void *kl_library_open(const char *path, char *err, size_t err_len) {
    char text[KL_WINDOWS_ERROR];
    DWORD before = 0;
    (void)SetThreadErrorMode(SEM_FAILCRITICALERRORS | SEM_NOOPENFILEERRORBOX, &before);
    HMODULE library = load(path);
    DWORD why = GetLastError();
    (void)SetThreadErrorMode(before, NULL);
    if (!library) snprintf(err, err_len, "%s: %s", path, kl_windows_error(why, text, sizeof text));
    return library;
}

/* The usual place stays taken until the process ends. */
void kl_library_move(const char *path) {
    wchar_t wide[KL_WIDE_PATH];
    HMODULE there = kl_wide_path(wide, path) ? LoadLibraryExW(wide, NULL, DONT_RESOLVE_DLL_REFERENCES) : NULL;
    if (!there) return;
    FreeLibrary(there);
    (void)VirtualAlloc(there, 1, MEM_RESERVE, PAGE_NOACCESS);
}

void kl_library_close(void *library) {
    if (library) FreeLibrary(library);
}

/* Another library with the same name in another folder is another one: the path decides. */
bool kl_library_loaded(const char *path) {
    wchar_t wide[KL_WIDE_PATH];
    return kl_wide_path(wide, path) && GetModuleHandleW(wide) != NULL;
}

/* A function's address; ISO C has no conversion of one into a pointer to data, Windows and Linux have. */
bool kl_library_share(const char *path) {
    return kl_library_loaded(path);
}

void *kl_library_find(void *library, const char *symbol) {
    return (void *)(uintptr_t)GetProcAddress(library, symbol);
}

bool kl_library_file(void *library, char *out, size_t cap) {
    wchar_t path[KL_WIDE_PATH];
    DWORD n = library ? GetModuleFileNameW(library, path, KL_WIDE_PATH) : 0;
    return n > 0 && n < KL_WIDE_PATH && kl_narrow_path(out, cap, path);
}

bool kl_library_file_of(const void *address, char *out, size_t cap) {
    HMODULE library;
    return GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                                  GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                              (LPCWSTR)address, &library) &&
           kl_library_file(library, out, cap);
}

/* The import table. The loader has mapped the image, and checked it. */
unsigned kl_library_needs(void *library, char name[][KL_LIBRARY_NAME], unsigned max) {
    const uint8_t *base = library;
    unsigned count = 0;
    if (!base) return 0;
    const IMAGE_DOS_HEADER *dos = library;
    const IMAGE_NT_HEADERS *head = (const IMAGE_NT_HEADERS *)(const void *)(base + dos->e_lfanew);
    DWORD at = head->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT].VirtualAddress;
    const IMAGE_IMPORT_DESCRIPTOR *needed = (const IMAGE_IMPORT_DESCRIPTOR *)(const void *)(base + at);
    for (; at && needed->Name && count < max; needed++)
        snprintf(name[count++], KL_LIBRARY_NAME, "%s", (const char *)base + needed->Name);
    return count;
}

const void *kl_library_record(void *library) {
    return library;
}
