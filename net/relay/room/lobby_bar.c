#include "net/relay/room/lobby_bar.h"

#include <string.h>

#include "net/relay/room/lobby_room.h"

/* --- the table --- */

/* The oldest ban, or the bar that ends first, if there are as many of its kind as are kept. */
static void make_way(struct kl_lobby_door *d, bool ban) {
    unsigned count = 0, least = 0;
    for (unsigned i = 0; i < d->bars; i++) {
        if ((d->bar[i].why == KL_BAR_BAN) != ban) continue;
        if (count == 0 || d->bar[i].until_us < d->bar[least].until_us) least = i;
        count++;
    }
    if (count < (ban ? KL_BANS_MAX : KL_TIMED_MAX)) return;
    memmove(&d->bar[least], &d->bar[least + 1], (--d->bars - least) * sizeof d->bar[0]);
}

/* This person's bar of that kind, with what the same key and the same address have of it; NULL: there is no
 * memory. */
static struct kl_lobby_bar *entry(struct kl_lobby_room *r, enum kl_bar why,
                                  const struct kl_lobby_person *who) {
    struct kl_lobby_door *d = &r->door;
    struct kl_lobby_bar is = {.who = *who, .why = (uint8_t)why}, *found = NULL;
    for (unsigned i = 0; i < d->bars; i++) {
        struct kl_lobby_bar *b = &d->bar[i];
        if (b->why != why || !kl_lobby_is_same(&b->who, who)) continue;
        bool key = !memcmp(b->who.seat_key, who->seat_key, sizeof who->seat_key);
        if (key && *who->host && !strcmp(b->who.host, who->host)) found = b;
        if (b->times > is.times) is.times = b->times;
        if (b->until_us > is.until_us) is.until_us = b->until_us;
        if (b->waited_us > is.waited_us) is.waited_us = b->waited_us;
    }
    if (!found) {
        if (!kl_lobby_memory_bars(r)) return NULL;
        make_way(d, why == KL_BAR_BAN);
        found = &d->bar[d->bars++];
    }
    *found = is;
    return found;
}

static uint64_t length_us(const struct kl_lobby_bar *b) {
    unsigned longer = b->times - 1U < KL_BAR_LONGER ? b->times - 1U : KL_BAR_LONGER;
    return b->why == KL_BAR_TURN ? KL_BAR_US : KL_BAR_US << longer;
}

void kl_lobby_bar(struct kl_lobby_room *r, enum kl_bar why, const struct kl_lobby_person *who,
                  uint64_t now_us) {
    struct kl_lobby_bar *b = entry(r, why, who);
    if (!b) {
        kl_lobby_notice(r, "this relay has no memory for another ban");
        return;
    }
    if (b->times < UINT8_MAX) b->times++;
    b->waited_us = 0;
    b->until_us = why == KL_BAR_BAN ? UINT64_MAX : now_us + length_us(b);
    if (why == KL_BAR_BAN) return; /* the operator's line tells of it */
    kl_lobby_log_room(KL_LOG_INFO, "barred", r, "address=%s seconds=%llu reason=\"%s\"",
                      kl_log_address(b->who.host), (unsigned long long)length_us(b) / 1000000,
                      kl_lobby_bar_text(why));
}

void kl_lobby_bar_wait(struct kl_lobby_room *r, const struct kl_lobby_person *who, uint64_t us,
                       uint64_t now_us) {
    struct kl_lobby_bar *b = entry(r, KL_BAR_LOAD, who);
    if (!b) return;
    b->waited_us += us;
    if (b->until_us < now_us) b->until_us = now_us;
    if (b->waited_us >= KL_LOAD_US) kl_lobby_bar(r, KL_BAR_LOAD, who, now_us);
}

/* --- questions --- */

uint32_t kl_lobby_barred_s(const struct kl_lobby_room *r, bool turn, const struct kl_lobby_person *who,
                           enum kl_bar *why, uint64_t now_us) {
    uint64_t until_us = now_us;
    for (unsigned i = 0; i < r->door.bars; i++) {
        const struct kl_lobby_bar *b = &r->door.bar[i];
        if ((b->why == KL_BAR_TURN) != turn || b->until_us <= until_us) continue;
        if (!kl_lobby_is_same(&b->who, who)) continue;
        until_us = b->until_us;
        if (why) *why = (enum kl_bar)b->why;
    }
    return until_us == UINT64_MAX ? KL_BAR_EVER : (uint32_t)((until_us - now_us + 999999) / 1000000);
}

const char *kl_lobby_bar_text(enum kl_bar why) {
    static const char *const text[] = {
        [KL_BAR_BAN] = "you are banned from it",
        [KL_BAR_DESYNC] = "out of sync again and again",
        [KL_BAR_LOAD] = "it waited for you, and you did not load",
        [KL_BAR_TURN] = "it made nothing of a seat",
    };
    return text[why];
}

void kl_lobby_locks_itself(struct kl_lobby_room *r) {
    if (!(r->door.flags & KL_DOOR_ONCE)) return;
    r->door.flags |= KL_DOOR_LOCKED;
    kl_lobby_changed(r, true);
}
