#include "core_wrapper/tool/common/card.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/platform/library.h"
#include "core_wrapper/tool/common/tool.h"
#include "net/platform/process.h"
#include "core_wrapper/core/core.h"
#include "core_wrapper/abi/wrapper_api.h"

#define ANSWER_MS 20000 /* a core of many machines has some tables to build */

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
    c->ours = kl_library_find(core.handle, KLW_API_SYMBOL) != NULL;
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

/* Called by kl_card_read() alone: the core's path. */
int cmd_card(int argc, char **argv) {
    static struct answer a;
    struct kl_process_part part = {&a, sizeof a};
    if (argc != 2) return tool_fail(KLT_USAGE, "card", "only keylock install may start this");
    ask(&a, argv[1]);
    _Exit(kl_process_tell(&part, 1) ? KLT_OK : KLT_FAILED); /* the core's destructors do not run */
}

int kl_card_read(struct kl_card *card, const char *core, char *err, size_t err_len) {
    const char *arguments[] = {"keylock", "card", core, NULL};
    struct kl_process_setup setup = {.arguments = arguments};
    struct kl_process p;
    void *bytes;
    size_t len;
    memset(card, 0, sizeof *card);
    if (kl_process_start(&p, &setup, err, err_len) != 0) return -1;
    enum kl_process_result result = kl_process_answer(&p, sizeof(struct answer), ANSWER_MS, &bytes, &len);
    kl_process_end(&p, 0, NULL);
    if (result == KL_PROCESS_LATE)
        snprintf(err, err_len, "%s: no answer within %d s of being loaded", core, ANSWER_MS / 1000);
    else if (result != KL_PROCESS_OK)
        snprintf(err, err_len, "%s crashed while it was loaded", core);
    else if (len != sizeof(struct answer))
        snprintf(err, err_len, "%s: what was asked came back in pieces", core);
    else {
        const struct answer *a = bytes;
        *card = a->card;
        if (!a->good) snprintf(err, err_len, "%s", a->err);
        result = a->good ? KL_PROCESS_OK : KL_PROCESS_ENDED;
    }
    free(bytes);
    return result == KL_PROCESS_OK && len == sizeof(struct answer) ? 0 : -1;
}
