/* A PE module has one entry point. It runs the constructors as the module is loaded, hears of threads, and
 * runs the destructors as the module is unloaded. In the copy its first bytes are a function that says yes;
 * once loaded, they are put back, so the loader calls the true one from then on. */
#include "core_wrapper/core/ctors.h"

#include <windows.h>

#include <stdbool.h>
#include <string.h>

/* mov eax, 1; ret */
static const uint8_t yes[8] = {0xb8, 1, 0, 0, 0, 0xc3, 0xcc, 0xcc};

struct file {
    uint8_t *bytes;
    size_t len;
    const IMAGE_NT_HEADERS64 *nt;
    const IMAGE_SECTION_HEADER *section;
};

static bool read_headers(struct file *f) {
    const IMAGE_DOS_HEADER *dos = (const void *)f->bytes;
    if (f->len < sizeof *dos || dos->e_magic != IMAGE_DOS_SIGNATURE || dos->e_lfanew < 0 ||
        (size_t)dos->e_lfanew > f->len || f->len - (size_t)dos->e_lfanew < sizeof *f->nt)
        return false;
    const IMAGE_NT_HEADERS64 *nt = f->nt = (const void *)(f->bytes + dos->e_lfanew);
    size_t at = (size_t)dos->e_lfanew + offsetof(IMAGE_NT_HEADERS64, OptionalHeader) +
                nt->FileHeader.SizeOfOptionalHeader;
    f->section = (const void *)(f->bytes + at);
    return nt->Signature == IMAGE_NT_SIGNATURE && nt->FileHeader.Machine == IMAGE_FILE_MACHINE_AMD64 &&
           nt->OptionalHeader.Magic == IMAGE_NT_OPTIONAL_HDR64_MAGIC && at <= f->len &&
           (f->len - at) / sizeof *f->section >= nt->FileHeader.NumberOfSections;
}

/* The place in the file of `len` bytes of the loaded module; NULL: no section of the file has them. */
static uint8_t *in_file(const struct file *f, uint32_t rva, size_t len) {
    for (unsigned i = 0; i < f->nt->FileHeader.NumberOfSections; i++) {
        const IMAGE_SECTION_HEADER *s = &f->section[i];
        size_t from = s->PointerToRawData, off = rva - s->VirtualAddress;
        if (rva < s->VirtualAddress || off > s->SizeOfRawData || s->SizeOfRawData - off < len) continue;
        return from <= f->len && f->len - from >= off + len ? f->bytes + from + off : NULL;
    }
    return NULL;
}

/* The loader adds the module's address to numbers of eight bytes in its code. True if one of them touches
 * these bytes, or the table of them is malformed. */
static bool relocated(const struct file *f, uint32_t from, uint32_t to) {
    const IMAGE_DATA_DIRECTORY *d = &f->nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_BASERELOC];
    const size_t head = sizeof(IMAGE_BASE_RELOCATION);
    for (uint32_t at = 0; at + head <= d->Size;) {
        const IMAGE_BASE_RELOCATION *b = (const void *)in_file(f, d->VirtualAddress + at, head);
        if (!b || b->SizeOfBlock < head || !in_file(f, d->VirtualAddress + at, b->SizeOfBlock)) return true;
        const uint16_t *word = (const void *)(b + 1);
        for (size_t i = 0; i < (b->SizeOfBlock - head) / sizeof *word; i++) {
            uint32_t rva = b->VirtualAddress + (word[i] & 0xfffu);
            if (word[i] >> 12 != IMAGE_REL_BASED_ABSOLUTE && rva + 8 > from && rva < to) return true;
        }
        at += b->SizeOfBlock;
    }
    return false;
}

int kl_ctors_take(void *file, size_t len, struct kl_ctors *out) {
    struct file f = {.bytes = file, .len = len};
    memset(out, 0, sizeof *out);
    if (!read_headers(&f)) return -1;
    uint32_t entry = f.nt->OptionalHeader.AddressOfEntryPoint;
    if (!entry) return 0;
    uint8_t *code = in_file(&f, entry, sizeof yes);
    if (!code || relocated(&f, entry, entry + (uint32_t)sizeof yes)) return -1;
    out->init = entry;
    memcpy(&out->array, code, sizeof yes);
    memcpy(code, yes, sizeof yes);
    return 0;
}

void kl_ctors_run(struct kl_ctors *c, void *handle) {
    typedef BOOL(WINAPI * function)(HINSTANCE, DWORD, void *);
    const struct kl_ctors todo = *c;
    uint8_t *code = (uint8_t *)handle + todo.init;
    DWORD before;
    memset(c, 0, sizeof *c);
    if (!todo.init || !VirtualProtect(code, sizeof yes, PAGE_EXECUTE_READWRITE, &before)) return;
    memcpy(code, &todo.array, sizeof yes);
    VirtualProtect(code, sizeof yes, before, &before);
    FlushInstructionCache(GetCurrentProcess(), code, sizeof yes);
    ((function)(uintptr_t)code)(handle, DLL_PROCESS_ATTACH, NULL);
}
