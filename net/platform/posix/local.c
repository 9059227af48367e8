#include "net/platform/local.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/platform/file.h"
#include "net/platform/socket.h"

static_assert(sizeof(struct sockaddr_un) <= sizeof(((struct kl_local_peer *)0)->of_system), "kl_local_peer");

/* Writes the path of a file, or an abstract name: it begins with a zero byte and has no file. */
static socklen_t write_name(struct sockaddr_un *a, const char *name) {
    const size_t at = *name != '/';
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(a->sun_path + at, sizeof a->sun_path - at, "%s", name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + at + (size_t)n);
}

bool kl_local_private(char out[KL_LOCAL_NAME_MAX], const char *folder, const char *name) {
    int n = snprintf(out, KL_LOCAL_NAME_MAX, "%s/%s", folder, name);
    return *folder == '/' && n > 0 && n < KL_LOCAL_NAME_MAX;
}

/* An abstract name has no permissions; instead the kernel reports the sender of each message. A file takes
 * the permissions that its socket has before. */
int kl_local_open(const char *name) {
    struct sockaddr_un a;
    int on = 1, s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s < 0) return KL_LOCAL_NONE;
    socklen_t len = name ? write_name(&a, name) : sizeof(sa_family_t);
    if (!name) a = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (name && *name == '/') {
        /* A process that was killed has left its file. s: not bound yet. */
        struct stat st;
        if (connect(s, (const struct sockaddr *)&a, len) != 0 && errno == ECONNREFUSED &&
            lstat(a.sun_path, &st) == 0 && S_ISSOCK(st.st_mode))
            (void)unlink(a.sun_path);
    }
    bool told = setsockopt(s, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0 && fchmod(s, 0600) == 0;
    if (told && bind(s, (struct sockaddr *)&a, len) == 0) return s;
    told = told && errno == EADDRINUSE;
    close(s);
    return told ? KL_LOCAL_TAKEN : KL_LOCAL_NONE;
}

void kl_local_close(int s) {
    struct sockaddr_un a = {0};
    socklen_t len = sizeof a;
    if (s >= 0 && getsockname(s, (struct sockaddr *)&a, &len) == 0 && *a.sun_path == '/')
        (void)unlink(a.sun_path);
    kl_socket_close(s);
}

static bool is_mine(long pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld", pid);
    return kl_file_is_ours(path);
}

/* The kernel lists abstract names with an @ for the zero byte. */
unsigned kl_local_find(const char *begins, long *number, unsigned max) {
    char line[512];
    unsigned n = 0;
    FILE *f = fopen("/proc/net/unix", "re");
    while (f && n < max && fgets(line, sizeof line, f)) {
        const char *at = strchr(line, '@');
        if (!at || strncmp(at + 1, begins, strlen(begins)) != 0) continue;
        number[n] = strtol(at + 1 + strlen(begins), NULL, 10);
        n += number[n] > 0 && is_mine(number[n]);
    }
    if (f) fclose(f);
    return n;
}

int kl_local_send(int s, const char *name, const void *bytes, size_t len) {
    struct sockaddr_un a;
    socklen_t a_len = write_name(&a, name);
    return sendto(s, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&a, a_len) < 0 ? errno : 0;
}

void kl_local_answer(int s, const struct kl_local_peer *to, const void *bytes, size_t len) {
    struct sockaddr_un a;
    if (to->len <= offsetof(struct sockaddr_un, sun_path)) return; /* the sender has no name */
    memcpy(&a, to->of_system, sizeof a);
    (void)!sendto(s, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&a, to->len);
}

static bool is_trusted(struct msghdr *m) {
    struct ucred who;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS) continue;
        memcpy(&who, CMSG_DATA(c), sizeof who);
        return who.uid == geteuid() || who.uid == 0;
    }
    return false;
}

int kl_local_receive(int s, void *bytes, size_t cap, struct kl_local_peer *from, bool *trusted) {
    union {
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr align;
    } control;
    struct iovec part = {bytes, cap};
    struct msghdr m = {.msg_name = from->of_system,
                       .msg_namelen = sizeof from->of_system,
                       .msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof control};
    ssize_t n = recvmsg(s, &m, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
    if (n < 0) return -1;
    from->len = m.msg_namelen;
    *trusted = is_trusted(&m);
    return (int)n;
}

bool kl_local_is_root(void) {
    return geteuid() == 0;
}
