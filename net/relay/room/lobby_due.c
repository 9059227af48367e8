#include <stdlib.h>

#include "net/relay/room/lobby_room.h"

bool kl_lobby_dues_make(struct kl_lobby *l) {
    struct kl_lobby_dues *d = &l->dues;
    d->at = calloc(l->limits.rooms, sizeof *d->at);
    d->busy = calloc(l->limits.rooms, sizeof *d->busy);
    d->run = calloc(l->limits.rooms, sizeof *d->run);
    if (d->at && d->busy && d->run) return true;
    kl_lobby_dues_free(l);
    return false;
}

void kl_lobby_dues_free(struct kl_lobby *l) {
    free(l->dues.at);
    free(l->dues.busy);
    free(l->dues.run);
    l->dues = (struct kl_lobby_dues){0};
}

/* --- the heap: no room is due before the one above it --- */

static void put(struct kl_lobby_dues *d, struct kl_lobby_room *r, unsigned place) {
    d->at[place] = r;
    r->due.place = place;
}

static void rise(struct kl_lobby_dues *d, struct kl_lobby_room *r, unsigned place) {
    for (; place > 0 && d->at[(place - 1) / 2]->due.due_us > r->due.due_us; place = (place - 1) / 2)
        put(d, d->at[(place - 1) / 2], place);
    put(d, r, place);
}

static void sink(struct kl_lobby_dues *d, struct kl_lobby_room *r, unsigned place) {
    for (unsigned below; (below = 2 * place + 1) < d->count; place = below) {
        if (below + 1 < d->count && d->at[below + 1]->due.due_us < d->at[below]->due.due_us) below++;
        if (d->at[below]->due.due_us >= r->due.due_us) break;
        put(d, d->at[below], place);
    }
    put(d, r, place);
}

void kl_lobby_due_at(struct kl_lobby_room *r, uint64_t due_us) {
    struct kl_lobby_dues *d = &r->lobby->dues;
    bool sooner = due_us < r->due.due_us;
    r->due.due_us = due_us;
    (sooner ? rise : sink)(d, r, r->due.place);
}

/* --- rooms --- */

unsigned kl_lobby_place(const struct kl_lobby *l) {
    unsigned i = 0;
    while (i < l->limits.rooms && l->room[i])
        i++;
    return i;
}

void kl_lobby_add_room(struct kl_lobby_room *r, unsigned place) {
    struct kl_lobby *l = r->lobby;
    l->room[place] = r;
    r->due.index = place;
    l->rooms++;
    kl_log_story_begin(place);
    kl_lobby_shards_note(l, place);
    r->due.due_us = 0;
    rise(&l->dues, r, l->dues.count++);
}

void kl_lobby_drop_room(struct kl_lobby_room *r) {
    struct kl_lobby *l = r->lobby;
    struct kl_lobby_dues *d = &l->dues;
    l->rooms--;
    for (unsigned i = 0; i < l->limits.rooms; i++) {
        if (l->room[i] != r) continue;
        l->room[i] = NULL;
        kl_lobby_shards_note(l, i);
    }
    for (unsigned i = 0; i < d->busy_count; i++)
        if (d->busy[i] == r) d->busy[i] = d->busy[--d->busy_count];
    for (unsigned i = 0; i < d->run_count; i++)
        if (d->run[i] == r) d->run[i] = NULL;
    struct kl_lobby_room *last = d->at[--d->count];
    if (last != r) {
        put(d, last, r->due.place);
        rise(d, last, last->due.place);
        sink(d, last, last->due.place);
    }
}

void kl_lobby_busy(struct kl_lobby_room *r) {
    struct kl_lobby_dues *d = &r->lobby->dues;
    if (r->due.busy) return;
    r->due.busy = true;
    d->busy[d->busy_count++] = r;
}

static void add(struct kl_lobby_dues *d, struct kl_lobby_room *r) {
    if (r->due.runs) return;
    r->due.runs = true;
    d->run[d->run_count++] = r;
}

unsigned kl_lobby_dues_next(struct kl_lobby *l, uint64_t now_us) {
    struct kl_lobby_dues *d = &l->dues;
    d->run_count = 0;
    for (unsigned i = 0; i < d->busy_count; i++) {
        d->busy[i]->due.busy = false;
        add(d, d->busy[i]);
    }
    d->busy_count = 0;
    while (d->count > 0 && d->at[0]->due.due_us <= now_us) {
        struct kl_lobby_room *r = d->at[0];
        add(d, r);
        kl_lobby_due_at(r, UINT64_MAX);
    }
    return d->run_count;
}

uint64_t kl_lobby_dues_us(const struct kl_lobby *l) {
    return l->dues.count > 0 ? l->dues.at[0]->due.due_us : UINT64_MAX;
}
