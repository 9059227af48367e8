#include "tests/sim/events.h"

#include <stdlib.h>

static bool before(const struct event *a, const struct event *b) {
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->order < b->order;
}

void events_push(struct world *w, struct event e) {
    if (w->events == w->event_cap) {
        w->event_cap = w->event_cap ? 2 * w->event_cap : 256;
        w->heap = realloc(w->heap, w->event_cap * sizeof *w->heap);
        if (!w->heap) abort();
    }
    e.order = w->orders++;
    size_t i = w->events++;
    for (; i > 0 && before(&e, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = e;
}

bool events_due(const struct world *w, uint64_t *at_us) {
    if (w->events == 0) return false;
    *at_us = w->heap[0].at_us;
    return true;
}

struct event events_pop(struct world *w) {
    struct event top = w->heap[0], last = w->heap[--w->events];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= w->events) break;
        if (child + 1 < w->events && before(&w->heap[child + 1], &w->heap[child])) child++;
        if (!before(&w->heap[child], &last)) break;
        w->heap[i] = w->heap[child];
        i = child;
    }
    w->heap[i] = last;
    return top;
}

struct packet *packet_new(struct world *w) {
    struct packet *p = w->free_packets;
    if (p)
        w->free_packets = p->next_free;
    else if (!(p = malloc(sizeof *p)))
        abort();
    return p;
}

void packet_free(struct world *w, struct packet *p) {
    p->next_free = w->free_packets;
    w->free_packets = p;
}

void events_clear(struct world *w) {
    while (w->events > 0) {
        struct event e = events_pop(w);
        if (e.packet) packet_free(w, e.packet);
    }
    for (struct packet *p; (p = w->free_packets);) {
        w->free_packets = p->next_free;
        free(p);
    }
    free(w->heap);
    w->heap = NULL;
    w->event_cap = 0;
}
