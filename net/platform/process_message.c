/* The part of process.h that is the same on every system: messages between parent and child. */
#include "net/platform/process.h"

#include <stdlib.h>

#include "net/platform/clock.h"

#define MARK     0x4b4c6d31 /* first word of a message; printed text never begins with it */
#define SLICE_MS 200        /* interval of checks of kl_process_stopped() */

struct frame {
    uint32_t mark, zero;
    uint64_t len;
};

static uint64_t now_ms(void) {
    return kl_now_us() / 1000;
}

/* Waits until the channel can be read or written. deadline_ms 0: for ever. */
static enum kl_process_result wait_for(int channel, bool to_write, uint64_t deadline_ms) {
    for (;;) {
        uint64_t now = now_ms(), left = deadline_ms > now ? deadline_ms - now : 0;
        if (kl_process_stopped()) return KL_PROCESS_STOPPED;
        if (deadline_ms && !left) return KL_PROCESS_LATE;
        int ready =
            kl_channel_ready(channel, to_write, deadline_ms && left < SLICE_MS ? (unsigned)left : SLICE_MS);
        if (ready) return ready > 0 ? KL_PROCESS_OK : KL_PROCESS_ENDED;
    }
}

static enum kl_process_result read_some(int channel, void *out, size_t cap, size_t *got,
                                        uint64_t deadline_ms) {
    for (;;) {
        enum kl_process_result result = wait_for(channel, false, deadline_ms);
        if (result != KL_PROCESS_OK) return result;
        long n = kl_channel_get(channel, out, cap);
        if (n < 0) return KL_PROCESS_ENDED;
        *got = (size_t)n;
        if (n > 0) return KL_PROCESS_OK;
    }
}

static enum kl_process_result read_all(int channel, void *out, size_t len, uint64_t deadline_ms) {
    for (size_t done = 0, n = 0; done < len; done += n) {
        enum kl_process_result result =
            read_some(channel, (uint8_t *)out + done, len - done, &n, deadline_ms);
        if (result != KL_PROCESS_OK) return result;
    }
    return KL_PROCESS_OK;
}

static enum kl_process_result write_all(int channel, const void *bytes, size_t len, uint64_t deadline_ms) {
    for (size_t done = 0; done < len;) {
        enum kl_process_result result = wait_for(channel, true, deadline_ms);
        if (result != KL_PROCESS_OK) return result;
        long n = kl_channel_put(channel, (const uint8_t *)bytes + done, len - done);
        if (n < 0) return KL_PROCESS_ENDED;
        done += (size_t)n;
    }
    return KL_PROCESS_OK;
}

static enum kl_process_result put_message(int channel, const struct kl_process_part *part, unsigned parts,
                                          uint64_t deadline_ms) {
    struct frame f = {.mark = MARK};
    for (unsigned i = 0; i < parts; i++)
        f.len += part[i].len;
    enum kl_process_result result = write_all(channel, &f, sizeof f, deadline_ms);
    for (unsigned i = 0; result == KL_PROCESS_OK && i < parts; i++)
        result = write_all(channel, part[i].bytes, part[i].len, deadline_ms);
    return result;
}

static enum kl_process_result get_message(int channel, size_t max, void **bytes, size_t *len,
                                          uint64_t deadline_ms) {
    struct frame f;
    *bytes = NULL;
    enum kl_process_result result = read_all(channel, &f, sizeof f, deadline_ms);
    if (result != KL_PROCESS_OK) return result;
    if (f.mark != MARK || f.zero || f.len > max) return KL_PROCESS_GARBAGE;
    uint8_t *out = malloc(f.len + 1);
    if (!out) return KL_PROCESS_MEMORY;
    result = read_all(channel, out, f.len, deadline_ms);
    if (result != KL_PROCESS_OK) {
        free(out);
        return result;
    }
    out[f.len] = 0;
    *bytes = out;
    *len = f.len;
    return KL_PROCESS_OK;
}

enum kl_process_result kl_process_send(struct kl_process *p, const struct kl_process_part *part,
                                       unsigned parts, unsigned timeout_ms) {
    return put_message(p->channel, part, parts, now_ms() + timeout_ms);
}

enum kl_process_result kl_process_answer(struct kl_process *p, size_t max, unsigned timeout_ms, void **bytes,
                                         size_t *len) {
    return get_message(p->channel, max, bytes, len, now_ms() + timeout_ms);
}

enum kl_process_result kl_process_read_text(struct kl_process *p, char *out, size_t cap,
                                            unsigned timeout_ms) {
    uint64_t deadline_ms = now_ms() + timeout_ms;
    enum kl_process_result result = KL_PROCESS_OK;
    size_t done = 0, n = 0;
    for (; result == KL_PROCESS_OK && done + 1 < cap; done += n) {
        n = 0;
        result = read_some(p->channel, out + done, cap - 1 - done, &n, deadline_ms);
    }
    out[done] = 0;
    return result == KL_PROCESS_ENDED ? KL_PROCESS_OK : result; /* the text ends when the child ends */
}

bool kl_process_tell(const struct kl_process_part *part, unsigned parts) {
    return put_message(kl_process_parent(), part, parts, 0) == KL_PROCESS_OK;
}

bool kl_process_hear(size_t max, void **bytes, size_t *len) {
    return get_message(kl_process_parent(), max, bytes, len, 0) == KL_PROCESS_OK;
}
