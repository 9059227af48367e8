#include "net/relay/program/control.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "net/platform/copies.h"
#include "net/platform/dir.h"
#include "net/platform/process.h"
#include "net/relay/log/relay_log.h"

/* --- names --- */

int kl_control_folder(const char *option, char out[KL_RELAY_PATH], char *err, size_t err_len) {
    const char *of_service = kl_environment_get("RUNTIME_DIRECTORY");
    *out = 0;
    if (!strcmp(option, "off")) return 0;
    if (!*option && (!of_service || !*of_service))
        return kl_dir_known(KL_DIR_RUN, "keylock-relay", out, KL_RELAY_PATH, err, err_len);
    snprintf(out, KL_RELAY_PATH, "%s", *option ? option : of_service);
    return 0;
}

bool kl_control_name(char out[KL_LOCAL_NAME_MAX], const char *folder, unsigned port, unsigned shard) {
    char name[64];
    snprintf(name, sizeof name, "keylock-relay-%u.%u", port, shard);
    return kl_local_private(out, folder, name);
}

/* --- questions --- */

static void free_answer(struct kl_control_answer *a) {
    kl_buffer_free(&a->text);
    *a = (struct kl_control_answer){0};
}

/* NULL: none has this id. */
static struct kl_control_answer *find_answer(struct kl_control *c, uint64_t id) {
    for (unsigned i = 0; i < KL_CONTROL_AT_ONCE; i++)
        if (c->answer[i].order && c->answer[i].id == id) return &c->answer[i];
    return NULL;
}

static struct kl_control_answer *take_answer(struct kl_control *c, uint64_t id) {
    struct kl_control_answer *a = c->answer;
    for (unsigned i = 1; i < KL_CONTROL_AT_ONCE; i++)
        if (c->answer[i].order < a->order) a = &c->answer[i];
    free_answer(a);
    a->id = id;
    a->order = ++c->asked;
    return a;
}

static void send_piece(struct kl_control *c, const struct kl_local_peer *to, struct kl_control_answer *a,
                       unsigned at) {
    char message[KL_LOCAL_BYTES];
    size_t head = (size_t)snprintf(message, sizeof message, KL_CONTROL_ANSWERS, (unsigned long long)a->id, at,
                                   a->text.len, c->shards);
    size_t len = a->text.len - at, most = sizeof message - head;
    if (len > most) len = most;
    if (len) memcpy(message + head, a->text.at + at, len);
    kl_local_answer(c->lines.fd, to, message, head + len);
    if (at + len == a->text.len) free_answer(a);
}

/* One message a call, so that the rooms have their turn. */
static bool read_question(struct kl_server_operator *self, struct kl_lobby *l,
                          const struct kl_hub_stats *network, uint64_t now_us) {
    struct kl_control *c = (struct kl_control *)self;
    char message[KL_CONTROL_HEAD + KL_CONSOLE_LINE];
    struct kl_local_peer from = {.len = 0};
    unsigned long long id;
    unsigned at;
    bool trusted = false, goes_on = true;
    int line = 0, n = kl_local_receive(self->fd, message, sizeof message - 1, &from, &trusted);
    if (n < 0 || (size_t)n >= sizeof message || !trusted) return true;
    message[n] = 0;
    for (char *b = message; b < message + n; b++)
        if (iscntrl((unsigned char)*b)) *b = ' ';
    if (sscanf(message, KL_CONTROL_ASKS, &id, &at, &line) != 2 || !line) return true;
    struct kl_control_answer *a = find_answer(c, id);
    if (!a && at == 0) {
        a = take_answer(c, id);
        goes_on = kl_console_obey(l, network, message + line, &a->text, now_us);
    }
    if (a && at <= a->text.len) send_piece(c, &from, a, at);
    if (goes_on || !c->parent) return goes_on;
    kl_copy_quit(&(struct kl_process){.id = c->parent}, KL_QUIT_KEY); /* and it ends this process, too */
    return true;
}

/* --- the socket --- */

void kl_control_open(struct kl_control *c, uint16_t port) {
    char name[KL_LOCAL_NAME_MAX] = "", why[256] = "";
    c->lines = (struct kl_server_operator){.fd = -1, .read = read_question};
    if (c->port) atomic_store(c->port, port);
    if (!*c->folder) return;
    if (!kl_control_name(name, c->folder, port, c->own))
        snprintf(why, sizeof why, "expected a whole path of at most %d bytes with the name",
                 KL_LOCAL_NAME_MAX - 1);
    else if (*name != '/' || kl_dir_make(c->folder, true, why, sizeof why) == 0)
        c->lines.fd = kl_local_open(name);
    if (c->lines.fd >= 0) return;
    if (!*why)
        snprintf(why, sizeof why, "%s",
                 c->lines.fd == KL_LOCAL_TAKEN ? "another relay has it" : strerror(errno));
    kl_log(KL_LOG_INFO, "no_control", "socket=\"%s\" reason=\"%s\"", *name ? name : c->folder, why);
    c->lines.fd = -1;
}

void kl_control_close(struct kl_control *c) {
    kl_local_close(c->lines.fd);
    for (unsigned i = 0; i < KL_CONTROL_AT_ONCE; i++)
        free_answer(&c->answer[i]);
}
