#include "net/platform/windows/disk.h"

#include <string.h>
#include <wchar.h>
#include <aclapi.h>
#include <sddl.h>

#include "net/platform/thread.h"

#define READING (FILE_READ_DATA | GENERIC_READ | GENERIC_ALL)
#define WRITING                                                                                              \
    (FILE_WRITE_DATA | FILE_APPEND_DATA | FILE_DELETE_CHILD | DELETE | WRITE_DAC | WRITE_OWNER |             \
     GENERIC_WRITE | GENERIC_ALL)

union user {
    TOKEN_USER user;
    BYTE bytes[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
};
static struct {
    struct kl_once once;
    union user who;
    bool known;
    SECURITY_ATTRIBUTES only_ours; /* without a descriptor: there was no memory */
} us;

/* --- this user --- */

/* P: nothing is inherited from the folder. OICI: what is made in a folder has the same rights. */
static void make_descriptor(void) {
    wchar_t text[400], *sid = NULL;
    if (!us.known || !ConvertSidToStringSidW(us.who.user.User.Sid, &sid)) return;
    int n = swprintf(text, sizeof text / sizeof *text,
                     L"O:%lsD:P(A;OICI;FA;;;%ls)(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)", sid, sid);
    LocalFree(sid);
    us.only_ours.nLength = sizeof us.only_ours;
    if (n > 0)
        (void)ConvertStringSecurityDescriptorToSecurityDescriptorW(text, SDDL_REVISION_1,
                                                                   &us.only_ours.lpSecurityDescriptor, NULL);
}

static bool read_user(HANDLE process, union user *out) {
    HANDLE token;
    DWORD ignored;
    if (!OpenProcessToken(process, TOKEN_QUERY, &token)) return false;
    bool read = GetTokenInformation(token, TokenUser, out, sizeof *out, &ignored);
    CloseHandle(token);
    return read;
}

static void find_us(void) {
    us.known = read_user(GetCurrentProcess(), &us.who);
    make_descriptor();
}

SECURITY_ATTRIBUTES *kl_rights_private(void) {
    kl_once(&us.once, find_us);
    if (us.only_ours.lpSecurityDescriptor) return &us.only_ours;
    SetLastError(ERROR_NOT_ENOUGH_MEMORY);
    return NULL;
}

static bool is_user(PSID who) {
    kl_once(&us.once, find_us);
    return us.known && EqualSid(who, us.who.user.User.Sid);
}

bool kl_rights_runs(DWORD process) {
    union user user;
    HANDLE p = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, process);
    bool ours = p && read_user(p, &user) && is_user(user.user.User.Sid);
    if (p) CloseHandle(p);
    return ours;
}

/* --- others --- */

/* CREATOR OWNER and OWNER RIGHTS (S-1-3-*) are the owner's, whom kl_rights_ours() knows. */
static bool is_other(PSID who) {
    SID_IDENTIFIER_AUTHORITY creator = SECURITY_CREATOR_SID_AUTHORITY;
    if (is_user(who) || IsWellKnownSid(who, WinLocalSystemSid) ||
        IsWellKnownSid(who, WinBuiltinAdministratorsSid))
        return false;
    return memcmp(GetSidIdentifierAuthority(who), &creator, sizeof creator) != 0;
}

/* A list may give another kind of entry to others only by their names, so an unknown kind counts as all
 * rights. */
static unsigned rights_of(const ACE_HEADER *ace) {
    if (ace->AceFlags & INHERIT_ONLY_ACE || ace->AceType == ACCESS_DENIED_ACE_TYPE) return 0;
    if (ace->AceType != ACCESS_ALLOWED_ACE_TYPE) return KL_RIGHTS_READ | KL_RIGHTS_WRITE;
    const ACCESS_ALLOWED_ACE *allowed = (const ACCESS_ALLOWED_ACE *)(const void *)ace;
    if (!is_other((PSID)(uintptr_t)&allowed->SidStart)) return 0;
    return (allowed->Mask & READING ? KL_RIGHTS_READ : 0U) | (allowed->Mask & WRITING ? KL_RIGHTS_WRITE : 0U);
}

unsigned kl_rights_of_others(HANDLE file) {
    PSECURITY_DESCRIPTOR all = NULL;
    PACL list = NULL;
    unsigned rights = 0;
    void *ace;
    if (GetSecurityInfo(file, SE_FILE_OBJECT, DACL_SECURITY_INFORMATION, NULL, NULL, &list, NULL, &all) !=
            ERROR_SUCCESS ||
        !list) /* without a list everybody has all rights, as on a stick with FAT */
        rights = KL_RIGHTS_READ | KL_RIGHTS_WRITE;
    for (DWORD i = 0; list && i < list->AceCount; i++)
        rights |= GetAce(list, i, &ace) ? rights_of(ace) : KL_RIGHTS_READ | KL_RIGHTS_WRITE;
    LocalFree(all);
    return rights;
}

bool kl_rights_ours(HANDLE file) {
    PSECURITY_DESCRIPTOR all = NULL;
    PSID owner = NULL;
    BOOL member = FALSE;
    if (GetSecurityInfo(file, SE_FILE_OBJECT, OWNER_SECURITY_INFORMATION, &owner, NULL, NULL, NULL, &all) ==
            ERROR_SUCCESS &&
        owner)
        member = is_user(owner) || (CheckTokenMembership(NULL, owner, &member) && member);
    LocalFree(all);
    return member;
}

/* --- a file in another's place --- */

bool kl_rights_copy(HANDLE from, HANDLE to) {
    PSECURITY_DESCRIPTOR all = NULL;
    PACL list = NULL;
    SECURITY_DESCRIPTOR_CONTROL control = 0;
    DWORD ignored, what = DACL_SECURITY_INFORMATION;
    bool good = GetSecurityInfo(from, SE_FILE_OBJECT, what, NULL, NULL, &list, NULL, &all) == ERROR_SUCCESS &&
                GetSecurityDescriptorControl(all, &control, &ignored);
    what |= control & SE_DACL_PROTECTED ? PROTECTED_DACL_SECURITY_INFORMATION
                                        : UNPROTECTED_DACL_SECURITY_INFORMATION;
    good = good && SetSecurityInfo(to, SE_FILE_OBJECT, what, NULL, NULL, list, NULL) == ERROR_SUCCESS;
    LocalFree(all);
    return good;
}
