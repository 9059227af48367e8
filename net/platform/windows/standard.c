#include <fcntl.h>
#include <io.h>
#include <stdbool.h>
#include <string.h>
#include <windows.h>

#include "net/platform/standard.h"
#include "net/platform/thread.h"
#include "net/platform/wait.h"

#define PIECE 512

/* Neither a console nor a pipe can be waited for beside sockets: a thread reads, and wakes the reader. */
static struct {
    int wake;
    HANDLE from;
    struct kl_thread thread;
    struct kl_mutex lock; /* of all below */
    struct kl_cond taken;
    char piece[PIECE];
    size_t at, len; /* bytes [at, len) wait for the reader */
    bool ended;
} input;

static void read_on(void *arg) {
    bool more = true;
    (void)arg;
    while (more) {
        DWORD n = 0;
        char piece[PIECE];
        more = ReadFile(input.from, piece, sizeof piece, &n, NULL) && n > 0;
        kl_mutex_lock(&input.lock);
        while (input.at < input.len)
            kl_cond_wait(&input.taken, &input.lock);
        memcpy(input.piece, piece, n);
        input.at = 0;
        input.len = n;
        input.ended = !more;
        kl_mutex_unlock(&input.lock);
        kl_wake(input.wake);
    }
}

int kl_input_open(void) {
    input.from = GetStdHandle(STD_INPUT_HANDLE);
    if (!input.from || input.from == INVALID_HANDLE_VALUE) return -1;
    input.wake = kl_wake_open();
    if (input.wake < 0 || kl_thread_start(&input.thread, "keylock-input", read_on, NULL) != 0) return -1;
    return input.wake;
}

int kl_input_read(int number, void *bytes, size_t cap) {
    kl_mutex_lock(&input.lock);
    size_t left = input.len - input.at, n = left < cap ? left : cap;
    memcpy(bytes, input.piece + input.at, n);
    input.at += n;
    bool ended = input.ended && left == 0;
    /* Readable again only while something waits: bytes, or the end. */
    if (left == n && !(input.ended && left)) kl_wake_clear(number);
    if (left == n) kl_cond_wake(&input.taken);
    kl_mutex_unlock(&input.lock);
    return ended ? -1 : (int)n;
}

#define MOST 32768 /* of one call; a console takes no more than 64 KiB at once */

bool kl_output_write(int descriptor, const void *bytes, size_t len) {
    const char *at = bytes;
    while (len) {
        int n = _write(descriptor, at, len < MOST ? (unsigned)len : MOST);
        if (n <= 0) return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

void kl_output_plain(void) {
    (void)_setmode(1, _O_BINARY);
    (void)_setmode(2, _O_BINARY);
}
