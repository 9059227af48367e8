/* rights.h - rights to files and other named things of Windows: this user's alone, and how far others may use
 * one.
 *
 * "Others" are all but this user, the administrators and the system, who can take any right anyway. */
#ifndef KL_PLATFORM_WINDOWS_RIGHTS_H
#define KL_PLATFORM_WINDOWS_RIGHTS_H

#include <stdbool.h>
#include <windows.h>

/* For whatever is made anew: this user's, the administrators' and the system's alone. Valid until the program
 * ends. NULL without memory; then nothing may be made. */
SECURITY_ATTRIBUTES *kl_rights_private(void);

/* True if this user runs the process of this number. False also if it has ended. */
bool kl_rights_runs(DWORD process);

enum kl_rights {
    KL_RIGHTS_READ = 1,  /* others may read it */
    KL_RIGHTS_WRITE = 2, /* others may change it, or what is in the folder */
};
/* The rights that others have to a file or folder, opened with READ_CONTROL; all of them if that is unknown.
 */
unsigned kl_rights_of_others(HANDLE file);
/* True if it belongs to this user, or to a group in whose name this user makes files (administrators). */
bool kl_rights_ours(HANDLE file);
/* Gives `to` the access list of `from`: a file that replaces another keeps its rights. False leaves those of
 * `to`. */
bool kl_rights_copy(HANDLE from, HANDLE to);

#endif
