#include "core_wrapper/frame/cost.h"

static double less(uint64_t all, uint64_t part) {
    return all > part ? (double)(all - part) : 0;
}

void kl_cost_add(struct kl_cost *c, struct kl_spent all, struct kl_spent part) {
    kl_usual_add(&c->time_us, less(all.time_us, part.time_us));
    kl_usual_add(&c->thread_us, less(all.thread_us, part.thread_us));
}

double kl_cost_us(const struct kl_cost *c) {
    uint16_t thread_us = kl_usual(&c->thread_us), time_us = kl_usual_half(&c->time_us);
    return thread_us > time_us ? thread_us : time_us;
}
