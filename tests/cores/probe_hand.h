/* probe_hand.h - a thread of the probe core, kept as long as the game, that plays a part of each frame. A
 * core includes it once. */
#ifndef TEST_PROBE_HAND_H
#define TEST_PROBE_HAND_H

#include <pthread.h>
#include <stddef.h>

static void hand_works(void); /* the core's own: the thread's part of a frame */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t id;
    enum { HAND_NONE, HAND_IDLE, HAND_WORKS, HAND_ENDS } now;
} hand = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *hand_main(void *nothing) {
    pthread_mutex_lock(&hand.lock);
    while (hand.now != HAND_ENDS) {
        if (hand.now == HAND_WORKS) {
            hand_works();
            hand.now = HAND_IDLE;
            pthread_cond_broadcast(&hand.changed);
        }
        if (hand.now == HAND_IDLE) pthread_cond_wait(&hand.changed, &hand.lock);
    }
    pthread_mutex_unlock(&hand.lock);
    return nothing;
}

/* Gives the thread that to do, and waits until it is idle again or, to end, gone. */
static void tell_hand(unsigned what) {
    if (hand.now == HAND_NONE) return;
    pthread_mutex_lock(&hand.lock);
    hand.now = what;
    pthread_cond_broadcast(&hand.changed);
    while (hand.now == HAND_WORKS)
        pthread_cond_wait(&hand.changed, &hand.lock);
    pthread_mutex_unlock(&hand.lock);
}

static void start_hand(void) {
    hand.now = HAND_IDLE;
    if (pthread_create(&hand.id, NULL, hand_main, NULL) != 0) hand.now = HAND_NONE;
}

static void end_hand(void) {
    if (hand.now == HAND_NONE) return;
    tell_hand(HAND_ENDS);
    pthread_join(hand.id, NULL);
    hand.now = HAND_NONE;
}

#endif
