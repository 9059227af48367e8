#include "tests/lib/verdict_bench.h"

#include <string.h>

#include "tests/lib/must.h"

struct kl_verdict_table table;
uint16_t has_loaded;

int verdict_fresh(void **state) {
    (void)state;
    static struct kl_verdict_word words[KL_MAX_CLIENTS][KL_VERDICT_LABELS_MOST + KL_MAX_CLIENTS];
    static struct kl_verdict_label label[KL_VERDICT_LABELS_MOST];
    memset(&table, 0, sizeof table);
    for (unsigned i = 0; i < KL_MAX_CLIENTS; i++)
        table.words[i] = words[i];
    kl_verdict_begin(&table, label, KL_VERDICT_LABELS_MOST);
    has_loaded = 0;
    return 0;
}

struct kl_hash ram_state(uint32_t frame, uint64_t ram, uint64_t state) {
    return (struct kl_hash){.frame = frame, .has = KL_HASH_RAM | KL_HASH_STATE, .ram = ram, .state = state};
}

struct kl_hash state_only(uint32_t frame, uint64_t state) {
    return (struct kl_hash){.frame = frame, .has = KL_HASH_STATE, .state = state};
}

void report_at(unsigned client, struct kl_hash h, uint64_t at_us) {
    MUST(kl_verdict_report(&table, client, &h, has_loaded >> client & 1, at_us) == KL_OK);
}

void report(unsigned client, struct kl_hash h) {
    report_at(client, h, SOON);
}

struct kl_verdict_members members_of(uint16_t present) {
    return (struct kl_verdict_members){.present = present, .voters = 0xffff};
}

struct kl_verdict verdict_next(uint16_t present, uint64_t now_us) {
    struct kl_verdict v = {0};
    struct kl_verdict_members members = members_of(present);
    kl_verdict_open(&table, &members, now_us);
    MUST(kl_verdict_next(&table, &members, now_us, &v));
    return v;
}

void verdict_none(uint16_t present, uint64_t now_us) {
    struct kl_verdict v;
    struct kl_verdict_members members = members_of(present);
    kl_verdict_open(&table, &members, now_us);
    MUST(!kl_verdict_next(&table, &members, now_us, &v));
}

bool opens(uint16_t awaited, uint64_t now_us) {
    struct kl_verdict_members members = {.awaited = awaited};
    bool any = table.any_open;
    uint32_t before = table.open;
    kl_verdict_open(&table, &members, now_us);
    return table.any_open && (!any || table.open != before);
}

struct kl_verdict_camps verdict_camps(uint32_t frame, struct kl_verdict_members members) {
    struct kl_verdict_camps c;
    MUST(kl_verdict_camps(&table, frame, &members, &c));
    return c;
}
