/* Snapshots on their way to a client: as many pieces as its link takes, of a snapshot that may still be
 * coming. */
#include <stdlib.h>
#include <string.h>

#include "net/relay/room/lobby_room.h"

void kl_lobby_packed_drop(struct kl_lobby_room *r, struct kl_lobby_packed **at) {
    struct kl_lobby_packed *p = *at;
    *at = NULL;
    if (!p || --p->refs > 0) return;
    r->shot.bytes -= p->len;
    r->lobby->snapshot_bytes -= p->len;
    free(p);
}

/* As bulk, so that it comes before its pieces, and before the history from there on. */
bool kl_lobby_fetch_begin(struct kl_lobby_room *r, struct kl_lobby_fetch *f, struct kl_lobby_packed *k,
                          unsigned peer, bool begin) {
    struct kl_msg msg = {.kind = KL_MSG_OFFER};
    kl_lobby_fetch_end(r, f);
    if (!k) return false;
    msg.offer = (struct kl_offer){.keyframe = k->keyframe,
                                  .interval = k->interval,
                                  .begin = begin,
                                  .bytes = k->bytes,
                                  .packed = k->len};
    memcpy(msg.offer.hash, k->hash, sizeof msg.offer.hash);
    kl_lobby_send_bulk(r->lobby, peer, &msg);
    k->refs++;
    *f = (struct kl_lobby_fetch){.shot = k};
    r->due.busy = true;
    return true;
}

void kl_lobby_fetch_end(struct kl_lobby_room *r, struct kl_lobby_fetch *f) {
    kl_lobby_packed_drop(r, &f->shot);
}

/* Of one that is not proved good nobody gets all, so that nobody loads it. */
static uint32_t may_go(const struct kl_lobby_fetch *f) {
    const struct kl_lobby_packed *k = f->shot;
    if (!k || k->failed) return 0;
    uint32_t here = k->good || k->have < k->len ? k->have : k->len - 1;
    return k->good || here >= f->sent + KL_BULK_MAX ? here - f->sent : 0;
}

bool kl_lobby_fetch_run(struct kl_lobby_room *r, struct kl_lobby_fetch *f, unsigned peer) {
    const struct kl_lobby_packed *k = f->shot;
    uint32_t left;
    while ((left = may_go(f)) > 0 && kl_lobby_bulk_room(r, peer) > 0) {
        struct kl_msg msg = {.kind = KL_MSG_SNAPSHOT, .shot.keyframe = k->keyframe};
        struct kl_piece *p = &msg.shot.piece;
        *p = (struct kl_piece){.offset = f->sent, .total = k->len};
        p->len = (uint16_t)(left < KL_BULK_MAX ? left : KL_BULK_MAX);
        memcpy(p->bytes, k->packed + f->sent, p->len);
        kl_lobby_send_bulk(r->lobby, peer, &msg);
        f->sent += p->len;
        if (f->sent == k->len) kl_lobby_fetch_end(r, f);
    }
    return may_go(f) > 0;
}

bool kl_lobby_snapshot_offer(struct kl_lobby_room *r, unsigned member) {
    struct kl_lobby_member *m = &r->member[member];
    return kl_lobby_reaches(m) && kl_lobby_fetch_begin(r, &m->fetch, r->shot.kept, m->peer, false);
}

void kl_lobby_watch_drop_shots(struct kl_lobby_room *r) {
    kl_lobby_fetch_end(r, &r->watch.seen);
    kl_lobby_fetch_end(r, &r->watch.next);
}
