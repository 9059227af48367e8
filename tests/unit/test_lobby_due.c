/* The rooms that a turn takes are those that are due, by a heap, and the busy ones. */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "net/relay/room/lobby_room.h"
#include "tests/lib/rng.h"

enum { ROOMS = 40, STEPS = 4000 };

static bool runs(const struct kl_lobby *l, const struct kl_lobby_room *r) {
    for (unsigned i = 0; i < l->dues.run_count; i++)
        if (l->dues.run[i] == r) return true;
    return false;
}

static uint64_t soonest(struct kl_lobby_room **room) {
    uint64_t due_us = UINT64_MAX;
    for (unsigned i = 0; i < ROOMS; i++)
        if (room[i] && room[i]->due.due_us < due_us) due_us = room[i]->due.due_us;
    return due_us;
}

/* Rooms come, go, get times and messages; each turn runs those that are due or busy, each once. */
TEST(each_room_in_its_time) {
    struct kl_lobby *l = calloc(1, sizeof *l);
    struct kl_lobby_room *room[ROOMS] = {0};
    uint64_t dice = 1;
    assert_non_null(l);
    l->limits.rooms = ROOMS;
    l->room = calloc(ROOMS, sizeof(struct kl_lobby_room *));
    assert_non_null(l->room);
    assert_true(kl_lobby_dues_make(l));
    for (uint64_t now_us = 1; now_us < STEPS; now_us++) {
        dice = rng_mix(dice + now_us);
        unsigned n = (unsigned)(dice % ROOMS);
        if (!room[n]) {
            room[n] = calloc(1, sizeof *room[n]);
            assert_non_null(room[n]);
            room[n]->lobby = l;
            kl_lobby_add_room(room[n], kl_lobby_place(l));
        } else if (dice >> 8 & 1) {
            kl_lobby_due_at(room[n], now_us + (dice >> 16 & 63));
        } else if (dice >> 9 & 1) {
            kl_lobby_busy(room[n]);
        } else if (dice >> 10 & 1) {
            kl_lobby_drop_room(room[n]);
            free(room[n]);
            room[n] = NULL;
        }
        assert_int_equal(kl_lobby_dues_us(l), soonest(room));
        bool expected[ROOMS], due[ROOMS];
        unsigned count = 0;
        for (unsigned i = 0; i < ROOMS; i++) {
            due[i] = room[i] && room[i]->due.due_us <= now_us;
            expected[i] = room[i] && (due[i] || room[i]->due.busy);
            count += expected[i];
        }
        assert_int_equal(kl_lobby_dues_next(l, now_us), count);
        for (unsigned i = 0; i < ROOMS; i++) {
            if (!expected[i]) continue;
            assert_true(runs(l, room[i]));
            room[i]->due.runs = false;
            if (due[i]) kl_lobby_due_at(room[i], now_us + 1 + (dice >> (i % 32) & 31));
        }
    }
    for (unsigned i = 0; i < ROOMS; i++)
        free(room[i]);
    kl_lobby_dues_free(l);
    free(l->room);
    free(l);
}
