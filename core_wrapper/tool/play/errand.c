#include "core_wrapper/tool/play/errand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "core_wrapper/start/seat_file.h"
#include "net/session/keys.h"
#include "net/transport/link.h"

#define WAIT_US 100000

static int trust(void *ctx, const uint8_t pub[32], char *err, size_t err_len) {
    const struct kl_errand *e = ctx;
    char dir[KL_FILE_PATH];
    if (kl_state_folder(NULL, dir, err, err_len) != 0) return -1;
    return kl_known_check(dir, e->where->host, e->where->port, pub, err, err_len) < 0 ? -1 : 0;
}

uint8_t kl_errand(struct kl_errand *e, char why[KL_TEXT_MAX]) {
    struct kl_link_config config = {.host = e->where->host,
                                    .port = e->where->port,
                                    .seat = *e->key,
                                    .errand = e->say,
                                    .run = e->run,
                                    .run_len = e->run_len,
                                    .trust = trust,
                                    .ctx = e};
    struct kl_participant_status status;
    struct kl_link *link;
    config.fingerprint = *e->where->fingerprint ? e->where->fingerprint : NULL;
    e->token = NULL;
    bool open = kl_link_open(&link, &config, why, KL_TEXT_MAX) == 0;
    sodium_memzero(&config, sizeof config);
    if (!open) return 0;
    do {
        kl_link_wait(link, WAIT_US);
        kl_link_status(link, &status);
    } while (status.phase != KL_PARTICIPANT_ENDED && status.phase != KL_PARTICIPANT_LOAD);
    if (status.phase == KL_PARTICIPANT_LOAD) {
        e->token = malloc(status.start_len ? status.start_len : 1);
        if (e->token) memcpy(e->token, status.start, e->token_len = status.start_len);
    }
    kl_link_close(link, 0);
    snprintf(why, KL_TEXT_MAX, "%s", status.reason);
    return status.refused;
}
