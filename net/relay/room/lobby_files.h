/* lobby_files.h - files that the machines of a room open in play: the disks that the players put in, and
 * others that a core opens late. Their checksums are compared before a difference can part the game, or
 * while its cause can still be named. net/ROOMS.md §7, Files in play. Only inside net/relay. */
#ifndef KL_LOBBY_FILES_H
#define KL_LOBBY_FILES_H

#include "net/engine/msg.h"

#define KL_FILES_LATE    (2 * KL_LATE_FILES) /* names of a room; half of them by one member */
#define KL_CHECK_US      (60 * 1000000ULL)   /* for a member to say a disk's checksum */
#define KL_CHECK_MORE_US (20 * 1000000ULL)   /* after each word that it has read more */
#define KL_CHECK_MOST_US (300 * 1000000ULL)  /* for that checksum, at most */
#define KL_CHECK_TOLD_US (2 * 1000000ULL)    /* then all are told who is waited for */
#define KL_LATE_US       (1 * 1000000ULL)    /* from a difference to its judgement: others say theirs */

struct kl_lobby_room;
struct kl_lobby_watcher;

/* A word on a file, of the member that had joined with this number; 0: none. */
struct kl_file_word {
    uint32_t joined;
    uint8_t is; /* enum kl_file_is */
    uint64_t bytes, hash;
};

/* Of a room; from the heap, with the first word or disk. */
struct kl_lobby_files {
    struct kl_lobby_check {
        bool on, told;
        uint16_t disk;
        unsigned by;        /* the member that wants the disk in, or KL_RELAY_CLIENT */
        uint32_t by_joined; /* its number */
        uint64_t since_us, until_us;
        unsigned peer[KL_MAX_CLIENTS]; /* the connection that was asked, plus 1 */
        struct kl_file_word word[KL_MAX_CLIENTS];
        char name[KL_MAX_CLIENTS][KL_FILE_NAME_MAX];
    } check;
    struct kl_late_file {
        char name[KL_FILE_NAME_MAX];
        uint8_t first;     /* the member that said it first */
        uint16_t told;     /* members that were named */
        uint64_t judge_us; /* 0: all words are the same */
        struct kl_file_word word[KL_MAX_CLIENTS];
    } late[KL_FILES_LATE];
    unsigned lates;
    bool full; /* a name found no place */
};

/* The room wants this disk in: it is given to the lock once all members have said the same checksum. by: a
 * member, or KL_RELAY_CLIENT. Answers of kl_lock_command(); KL_E_STATE: another disk is being checked. The
 * host's wish takes the place of another member's, and the operator's that of all. */
int kl_lobby_files_disk(struct kl_lobby_room *r, unsigned by, uint16_t disk, uint64_t now_us);
/* FILE of a member, in a room that plays. */
void kl_lobby_files_said(struct kl_lobby_room *r, unsigned member, const struct kl_file_said *f,
                         uint64_t now_us);
/* FILE of a watcher, whose own machine alone parts: it is told if its file is not the players'. */
void kl_lobby_files_watched(struct kl_lobby_room *r, const struct kl_lobby_watcher *w,
                            const struct kl_file_said *f);
/* From time to time, in a room that plays. */
void kl_lobby_files_run(struct kl_lobby_room *r, uint64_t now_us);

#endif
