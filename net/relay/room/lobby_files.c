#include "net/relay/room/lobby_files.h"

#include <stdio.h>
#include <string.h>

#include "net/engine/command.h"
#include "net/platform/buffer.h"
#include "net/relay/room/lobby_room.h"

#define LINE_BYTES        59 /* of a line on the screen */
#define FILE_BYTES        8  /* of a file's name in it, at least */
#define ANSWERS_UNDER_WAY 64 /* messages under way to a watcher behind which no answer is sent */

static bool equal(const struct kl_file_word *a, const struct kl_file_word *b) {
    return a->is == b->is && (a->is != KL_FILE_HERE || (a->bytes == b->bytes && a->hash == b->hash));
}

static bool said(const struct kl_lobby_room *r, const struct kl_file_word *w, unsigned member) {
    return kl_lobby_here(r->member[member]) && w[member].joined &&
           w[member].joined == r->member[member]->joined + 1;
}

static void put_word(const struct kl_lobby_room *r, unsigned member, const struct kl_file_said *f,
                     struct kl_file_word *to) {
    *to = (struct kl_file_word){r->member[member]->joined + 1, f->is, f->bytes, f->hash};
}

/* The word that the others are measured by: that of most machines, of a file rather than of none; of two such
 * the host's. KL_MAX_CLIENTS: nobody has said anything. */
static unsigned measure(const struct kl_lobby_room *r, const struct kl_file_word *w) {
    unsigned best = KL_MAX_CLIENTS, most = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        unsigned count = 0;
        if (!said(r, w, i) || w[i].is == KL_FILE_BUSY || w[i].is == KL_FILE_UNKNOWN) continue;
        for (unsigned k = 0; k < KL_MAX_CLIENTS; k++)
            count += said(r, w, k) && equal(&w[i], &w[k]);
        count = 4 * count + 2 * (i == r->host) + 64 * 4 * (w[i].is == KL_FILE_HERE) + 1;
        if (count > most) best = i;
        if (count > most) most = count;
    }
    return best;
}

/* A name as all screens and logs can show it. */
static void make_plain(char name[KL_FILE_NAME_MAX]) {
    for (char *c = name; *c; c++)
        if (*c < 0x20 || *c >= 0x7f) *c = '?'; /* bytes above 0x7f are negative */
}

/* Tells all the line, with as much of the end of the file's name as has place. format: has one %s for it. */
__attribute__((format(__printf__, 3, 4))) static void tell(struct kl_lobby_room *r, const char *file,
                                                           const char *format, ...) {
    char line[KL_TEXT_MAX];
    int used = KL_FORMAT(line, sizeof line, format);
    size_t len = strlen(file),
           place = used + 3 + FILE_BYTES < LINE_BYTES ? LINE_BYTES - 3 - (size_t)used : FILE_BYTES;
    if (len)
        kl_lobby_notice(r, "%s (%s)", line, len > place ? file + len - place : file);
    else
        kl_lobby_notice(r, "%s", line);
}

static void log_word(const struct kl_lobby_room *r, const char *event, unsigned member, const char *file,
                     const struct kl_file_word *w) {
    char quoted[2 * KL_FILE_NAME_MAX + 3];
    static const char *const words[] = {"busy", "here", "missing", "no-disk", "unknown"};
    kl_lobby_log_member(KL_LOG_INFO, event, r, member, "file=%s is=%s bytes=%llu xxh3=%016llx frame=%u",
                        kl_log_quote(quoted, sizeof quoted, file), words[w->is], (unsigned long long)w->bytes,
                        (unsigned long long)w->hash, r->lock.next_close);
}

/* --- disks --- */

/* Also a member that catches up. One that is gone, or still loads, is not asked: what it opens is compared
 * as a late file. */
static bool is_asked(const struct kl_lobby_room *r, unsigned member) {
    const struct kl_lobby_member *m = r->member[member];
    return kl_lobby_reaches(m) && m->v.state == KL_MEMBER_PLAYING;
}

static int give(struct kl_lobby_room *r, unsigned by, uint16_t disk) {
    const uint8_t data[] = {(uint8_t)disk, (uint8_t)(disk >> 8)};
    return kl_lock_command(&r->lock, by, KL_COMMAND_DISK, data, sizeof data);
}

/* Also a member whose connection is another by now. */
static void ask(struct kl_lobby_room *r, struct kl_lobby_check *c) {
    const struct kl_msg m = {.kind = KL_MSG_CHECK, .check.disk = c->disk};
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (!is_asked(r, i) || c->peer[i] == r->member[i]->v.peer + 1) continue;
        c->peer[i] = r->member[i]->v.peer + 1;
        kl_lobby_send(r->lobby, r->member[i]->v.peer, &m);
    }
}

int kl_lobby_files_disk(struct kl_lobby_room *r, unsigned by, uint16_t disk, uint64_t now_us) {
    if (disk == KL_DISK_NONE) return give(r, by, disk);
    if (!kl_lobby_memory_files(r)) return KL_E_FULL;
    struct kl_lobby_check *c = &r->start.files->check;
    bool hosts = by == r->host && c->by != r->host && c->by != KL_RELAY_CLIENT;
    if (c->on && c->disk == disk) return KL_OK;
    if (c->on && !hosts && by != KL_RELAY_CLIENT) return KL_E_STATE;
    memset(c, 0, sizeof *c);
    c->on = true;
    c->disk = disk;
    c->by = by;
    c->by_joined = by == KL_RELAY_CLIENT ? 0 : r->member[by]->joined;
    c->since_us = now_us;
    c->until_us = now_us + KL_CHECK_US;
    kl_lobby_log_room(KL_LOG_INFO, "disk_check", r, "disk=%u frame=%u", disk + 1u, r->lock.next_close);
    ask(r, c);
    return KL_OK;
}

static void said_disk(struct kl_lobby_room *r, unsigned member, const struct kl_file_said *f,
                      uint64_t now_us) {
    struct kl_lobby_check *c = &r->start.files->check;
    if (!c->on || f->disk != c->disk) return;
    bool more = f->is == KL_FILE_BUSY && (!said(r, c->word, member) || f->bytes > c->word[member].bytes);
    put_word(r, member, f, &c->word[member]);
    memcpy(c->name[member], f->name, sizeof c->name[member]);
    make_plain(c->name[member]);
    uint64_t until_us = now_us + KL_CHECK_MORE_US, most_us = c->since_us + KL_CHECK_MOST_US;
    if (until_us > most_us) until_us = most_us;
    if (more && until_us > c->until_us) c->until_us = until_us;
}

/* asked: gets their number. */
static uint16_t waited_for(const struct kl_lobby_room *r, const struct kl_lobby_check *c, unsigned *asked) {
    uint16_t who = 0;
    *asked = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        if (!is_asked(r, i)) continue;
        ++*asked;
        if (!said(r, c->word, i) || c->word[i].is == KL_FILE_BUSY) who |= kl_only(i);
    }
    return who;
}

/* Names those whose file is another. True: there are none. */
static bool agree(struct kl_lobby_room *r, const struct kl_lobby_check *c) {
    unsigned by = measure(r, c->word), disk = c->disk + 1u;
    bool good = true;
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++) {
        const struct kl_file_word *w = &c->word[i];
        if (!is_asked(r, i) || !said(r, c->word, i)) continue;
        bool bad = w->is == KL_FILE_MISSING || (w->is != KL_FILE_UNKNOWN && !equal(w, &c->word[by]));
        log_word(r, bad ? "disk_differs" : "disk_said", i, c->name[i], w);
        if (!bad) continue;
        good = false;
        const char *name = r->member[i]->v.name;
        if (w->is == KL_FILE_NO_DISK)
            tell(r, "", "%s has no disk %u: it stays out", name, disk);
        else
            tell(r, c->name[i], "%s: disk %u %s", name, disk,
                 w->is == KL_FILE_MISSING ? "is missing" : "differs");
    }
    return good;
}

static void end_check(struct kl_lobby_room *r, struct kl_lobby_check *c) {
    bool relays = c->by == KL_RELAY_CLIENT;
    c->on = false;
    if (!agree(r, c)) return;
    if (!relays && (!kl_lobby_here(r->member[c->by]) || r->member[c->by]->joined != c->by_joined))
        kl_lobby_notice(r, "disk %u stays out: its player has left", c->disk + 1u);
    else if (give(r, c->by, c->disk) != KL_OK)
        kl_lobby_notice(r, "disk %u stays out: too many commands at once", c->disk + 1u);
}

static void run_check(struct kl_lobby_room *r, struct kl_lobby_check *c, uint64_t now_us) {
    char names[KL_LOBBY_NAMES];
    unsigned asked;
    ask(r, c);
    uint16_t who = waited_for(r, c, &asked);
    if (!who && asked) {
        end_check(r, c);
        return;
    }
    kl_lobby_names_of(r, who, names, sizeof names);
    if (now_us >= c->until_us) {
        c->on = false;
        kl_lobby_log_room(KL_LOG_INFO, "disk_silent", r, "disk=%u clients=%x", c->disk + 1u, who);
        kl_lobby_notice(r, "disk %u stays out: no word from %.24s", c->disk + 1u, names);
    } else if (!c->told && now_us >= c->since_us + KL_CHECK_TOLD_US) {
        c->told = true;
        kl_lobby_notice(r, "checking disk %u: waiting for %.24s", c->disk + 1u, names);
    }
}

/* --- files opened late --- */

static struct kl_late_file *find_late(struct kl_lobby_files *files, const char *name) {
    for (unsigned i = 0; i < files->lates; i++)
        if (!strcmp(files->late[i].name, name)) return &files->late[i];
    return NULL;
}

/* NULL: no place, or this member has used up its share. */
static struct kl_late_file *make_late(struct kl_lobby_room *r, unsigned member, const char *name) {
    struct kl_lobby_files *files = r->start.files;
    unsigned own = 0;
    for (unsigned i = 0; i < files->lates; i++)
        own += files->late[i].first == member;
    if (files->lates == KL_FILES_LATE || own >= KL_LATE_FILES) {
        if (!files->full) kl_lobby_log_member(KL_LOG_INFO, "files_full", r, member, "kept=%u", files->lates);
        files->full = true;
        return NULL;
    }
    struct kl_late_file *l = &files->late[files->lates++];
    memset(l, 0, sizeof *l);
    memcpy(l->name, name, sizeof l->name);
    l->first = (uint8_t)member;
    return l;
}

static void said_late(struct kl_lobby_room *r, unsigned member, const struct kl_file_said *f,
                      uint64_t now_us) {
    char name[KL_FILE_NAME_MAX];
    memcpy(name, f->name, sizeof name);
    make_plain(name);
    struct kl_late_file *l = find_late(r->start.files, name);
    if (!l) l = make_late(r, member, name);
    if (!l) return;
    if (!said(r, l->word, member))
        l->told &= (uint16_t)~kl_only(member); /* of one that had its place before */
    put_word(r, member, f, &l->word[member]);
    for (unsigned i = 0; i < KL_MAX_CLIENTS && !l->judge_us; i++)
        if (said(r, l->word, i) && !equal(&l->word[i], &l->word[member])) l->judge_us = now_us + KL_LATE_US;
}

/* A line of a member's file is one that the member causes, as its chat. Nothing is told of one that has said
 * BYE: its account is closed, and it could come and go for ever more lines. */
static bool may_cause_line(struct kl_lobby_room *r, unsigned member, uint64_t now_us) {
    return kl_lobby_stays(r->member[member]) && kl_bucket_take(&r->member[member]->v.spent.of[KL_SPENDS_CHAT],
                                                               r->lobby->limits.chat_per_min, now_us);
}

static void judge_late(struct kl_lobby_room *r, struct kl_late_file *l, uint64_t now_us) {
    unsigned by = measure(r, l->word);
    l->judge_us = 0;
    for (unsigned i = 0; i < KL_MAX_CLIENTS && by < KL_MAX_CLIENTS; i++) {
        if (!said(r, l->word, i)) continue;
        bool bad = !equal(&l->word[i], &l->word[by]), told = kl_has(l->told, i);
        if (!told) log_word(r, bad ? "file_differs" : "file_said", i, l->name, &l->word[i]);
        if (!bad || told) continue;
        l->told |= kl_only(i);
        if (!may_cause_line(r, i, now_us)) continue;
        if (l->word[i].is == KL_FILE_MISSING)
            kl_lobby_notice(r, "%s lacks the file %s", r->member[i]->v.name, l->name);
        else
            kl_lobby_notice(r, "%s's file %s differs", r->member[i]->v.name, l->name);
    }
}

/* --- both --- */

void kl_lobby_files_said(struct kl_lobby_room *r, unsigned member, const struct kl_file_said *f,
                         uint64_t now_us) {
    struct kl_lobby_member *m = r->member[member];
    if (r->phase != KL_ROOM_PLAYING || !kl_lobby_memory_files(r)) return;
    if (!kl_bucket_take(&m->v.spent.of[KL_SPENDS_COMMANDS], r->lobby->limits.commands_per_min, now_us))
        return;
    if (f->late)
        said_late(r, member, f, now_us);
    else
        said_disk(r, member, f, now_us);
}

void kl_lobby_files_watched(struct kl_lobby_room *r, const struct kl_lobby_watcher *w,
                            const struct kl_file_said *f) {
    const struct kl_lobby_net *net = &r->lobby->net;
    struct kl_file_said plain = *f;
    struct kl_msg m = {.kind = KL_MSG_NOTICE};
    make_plain(plain.name);
    struct kl_late_file *l = f->late && r->start.files ? find_late(r->start.files, plain.name) : NULL;
    unsigned by = l ? measure(r, l->word) : KL_MAX_CLIENTS;
    const struct kl_file_word own = {1, f->is, f->bytes, f->hash};
    if (by == KL_MAX_CLIENTS || equal(&own, &l->word[by]) ||
        net->pending(net->ctx, w->v.peer) > ANSWERS_UNDER_WAY)
        return;
    snprintf(m.text.text, sizeof m.text.text,
             f->is == KL_FILE_MISSING ? "you lack the file %s" : "your file %s differs", l->name);
    kl_lobby_send(r->lobby, w->v.peer, &m);
}

void kl_lobby_files_run(struct kl_lobby_room *r, uint64_t now_us) {
    struct kl_lobby_files *files = r->start.files;
    if (!files) return;
    if (files->check.on) run_check(r, &files->check, now_us);
    for (unsigned i = 0; i < files->lates; i++)
        if (files->late[i].judge_us && now_us >= files->late[i].judge_us)
            judge_late(r, &files->late[i], now_us);
}
