#include "core_wrapper/tool/card.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core_wrapper/core.h"
#include "core_wrapper/wrapper_api.h"

#define SECONDS 20 /* a core of many machines has some tables to build */

struct answer {
    bool good;
    char err[512];
    struct kl_card card;
};

static void ask(struct answer *a, const char *path) {
    static struct kl_core core;
    struct retro_system_info info = {0};
    struct kl_card *c = &a->card;
    if (kl_core_open(&core, path, a->err, sizeof a->err) != 0) return;
    c->ours = dlsym(core.handle, KLW_API_SYMBOL) != NULL;
    if (!c->ours) core.get_system_info(&info);
    snprintf(c->name, sizeof c->name, "%.*s", kl_core_text_len(info.library_name, 120),
             info.library_name ? info.library_name : "");
    snprintf(c->version, sizeof c->version, "%.*s", kl_core_text_len(info.library_version, 120),
             info.library_version ? info.library_version : "");
    snprintf(c->extensions, sizeof c->extensions, "%s", info.valid_extensions ? info.valid_extensions : "");
    c->full_path = info.need_fullpath;
    a->good = c->ours || *c->name;
    if (!a->good) snprintf(a->err, sizeof a->err, "%.300s does not say its name", path);
}

static void be_asked(int to, const char *path) {
    static struct answer a;
    alarm(SECONDS);
    ask(&a, path);
    if (write(to, &a, sizeof a) < 0) {
    }
    _exit(0); /* its destructors are nobody's business */
}

int kl_card_read(struct kl_card *card, const char *core, char *err, size_t err_len) {
    static struct answer a;
    int ends[2], status = 0;
    size_t got = 0;
    if (pipe(ends) != 0) {
        snprintf(err, err_len, "cannot ask %s: %s", core, strerror(errno));
        return -1;
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) be_asked(ends[1], core);
    close(ends[1]);
    for (ssize_t n; child > 0 && (n = read(ends[0], (char *)&a + got, sizeof a - got)) > 0;)
        got += (size_t)n;
    close(ends[0]);
    if (child > 0) waitpid(child, &status, 0);
    if (got != sizeof a && WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(err, err_len, "%s: no answer within %d s of being loaded", core, SECONDS);
    else if (got != sizeof a)
        snprintf(err, err_len, "%s crashed while it was loaded", core);
    else if (!a.good)
        snprintf(err, err_len, "%s", a.err);
    *card = a.card;
    return got == sizeof a && a.good ? 0 : -1;
}
