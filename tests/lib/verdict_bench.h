/* verdict_bench.h - a table of verdicts (net/relay/room/verdict.h) that tests fill and ask. */
#ifndef TEST_VERDICT_BENCH_H
#define TEST_VERDICT_BENCH_H

#include "net/relay/room/verdict.h"

/* When hashes are reported, and when nobody is waited for any more. */
#define SOON 1000
#define LATE (SOON + KL_VERDICT_WAIT_US)

extern struct kl_verdict_table table;
extern uint16_t has_loaded; /* a bit for each client that has has_loaded a state */

int verdict_fresh(void **state);
struct kl_hash ram_state(uint32_t frame, uint64_t ram, uint64_t state);
struct kl_hash state_only(uint32_t frame, uint64_t state);
void report_at(unsigned client, struct kl_hash h, uint64_t at_us);
void report(unsigned client, struct kl_hash h);
struct kl_verdict_members members_of(uint16_t present);
struct kl_verdict verdict_next(uint16_t present, uint64_t now_us);
void verdict_none(uint16_t present, uint64_t now_us);
bool opens(uint16_t awaited, uint64_t now_us);
struct kl_verdict_camps verdict_camps(uint32_t frame, struct kl_verdict_members members);

#endif
