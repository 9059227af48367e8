/* test_link_bring.c - what a client shows a relay that has forgotten the room is of frames that it has run:
 * not of those that came and were not run yet, which it cannot bring. PROTOCOL.md §7, tags and tickets.
 * runs: waiting, test, 1 s */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include <sodium.h>

#include "net/transport/link_state.h"

static struct kl_link *l;
static struct kl_frame ring[KL_KEPT_FRAMES];
static const struct kl_commands no_commands[KL_COMMAND_SETS];

static int make(void **state) {
    static const ENetAddress nobody = {.host = ENET_HOST_BROADCAST, .port = 9};
    const struct kl_params p = {
        .policy = KL_POLICY_STRICT, .subframes = true, .players = 2, .fps_uhz = 60000000};
    (void)state;
    l = calloc(1, sizeof *l);
    if (!l || sodium_init() < 0) return -1;
    l->held = calloc(KL_HELD_FRAMES, sizeof *l->held);
    l->enet = kl_enet_host_create(1);
    if (!l->held || !l->enet) return -1;
    l->session.peer = enet_host_connect(l->enet, &nobody, KL_ENET_CHANNELS, 0);
    l->session.peer->state = ENET_PEER_STATE_CONNECTED; /* to nobody: what is said stays in its queue */
    kl_history_init(&l->shared.past, 0, 0);
    kl_client_init(&l->shared.lock, &p, 1, l->held, KL_HELD_FRAMES, 1000000);
    for (uint32_t f = 0; f < KL_KEPT_FRAMES; f++)
        ring[f] = (struct kl_frame){
            .number = f, .keyframe = f / 4 * 4, .spacing = 4, .active = 3, .flags = f % 4 ? 0 : KL_FRAME_KEY};
    return 0;
}

static int drop(void **state) {
    (void)state;
    kl_link_past_forget(l, 0, 0);
    enet_host_destroy(l->enet);
    free(l->held);
    free(l);
    return 0;
}

/* Frames up to `end` come, under a mark that tells which. */
static void come(uint32_t first, uint32_t end) {
    uint8_t buf[KL_DATAGRAM_MAX];
    struct kl_update u = {.stamp = 1000000, .first = first, .count = end - first, .has_mark = true};
    memset(u.mark, (int)end, sizeof u.mark);
    size_t len = kl_update_write(&u, ring, no_commands, buf, sizeof buf);
    assert_true(len > 0);
    assert_int_equal(kl_client_receive(&l->shared.lock, buf, len, 1000000), KL_OK);
}

static void run_frames(uint32_t count) {
    struct kl_frame f;
    struct kl_input in[KL_MAX_SEATS] = {0};
    while (count > 0) {
        struct kl_plan p = kl_client_plan(&l->shared.lock, 2000000, count);
        for (uint32_t i = 0; i < p.samples; i++)
            (void)kl_client_sample(&l->shared.lock, in, 2000000);
        assert_in_range(p.runs, 1, count);
        for (uint32_t i = 0; i < p.runs; i++, count--) {
            assert_true(kl_client_take(&l->shared.lock, &f));
            kl_link_past_keep(l, &f);
        }
    }
}

/* What it shows: the frame after the last that its mark is on; 0: it shows none. Frames that it brings along
 * are counted. */
static uint32_t show(uint8_t *mark, uint32_t *frames) {
    static struct kl_msg m;
    uint32_t end = 0;
    ENetList *queue = &l->session.peer->outgoingCommands;
    *frames = 0;
    kl_link_take_want(l, &(struct kl_want){.what = 0, .from = 0});
    kl_link_bring_turn(l);
    assert_false(l->bring.active);
    for (ENetListIterator i = enet_list_begin(queue); i != enet_list_end(queue); i = enet_list_next(i)) {
        const ENetPacket *packet = ((const ENetOutgoingCommand *)i)->packet;
        if (!packet || kl_msg_decode(&m, packet->data, packet->dataLength) != KL_OK) continue;
        assert_int_equal(m.kind, KL_MSG_BRING);
        if (m.bring.what == KL_BRING_HISTORY) *frames += m.bring.past.bytes[4];
        if (m.bring.what != KL_BRING_MARK) continue;
        end = m.bring.mark.end;
        *mark = m.bring.mark.mark[0];
    }
    return end;
}

static void a_mark_on_what_was_run(void **state) {
    static const uint32_t run[][2] = {{4, 0}, {5, 5}, {8, 5}, {9, 9}, {12, 12}};
    uint32_t had = 0, frames;
    uint8_t mark = 0;
    (void)state;
    come(0, 5), come(5, 9), come(9, 12);
    for (unsigned i = 0; i < sizeof run / sizeof *run; i++) {
        run_frames(run[i][0] - had);
        had = run[i][0];
        uint32_t end = show(&mark, &frames);
        assert_int_equal(end, run[i][1]);
        if (end) assert_int_equal(mark, end);
        assert_true(frames >= had);
        enet_peer_reset(l->session.peer); /* nothing waits there any more */
        memset(l->session.sent, 0, sizeof l->session.sent);
        l->session.peer = enet_host_connect(l->enet, &(ENetAddress){.host = ENET_HOST_BROADCAST, .port = 9},
                                            KL_ENET_CHANNELS, 0);
        l->session.peer->state = ENET_PEER_STATE_CONNECTED;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(a_mark_on_what_was_run, make, drop)};
    return cmocka_run_group_tests_name("link_bring", tests, NULL, NULL);
}
