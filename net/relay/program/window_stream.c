/* /api/stream: rooms as a line of JSON each second, without an end. A reader that is slower than that
 * misses lines, and holds up nobody: all of one right share a line, which is freed with its last reader. */
#include <stdlib.h>
#include <string.h>

#include "net/relay/program/window_http.h"

#define STREAMS_PUBLIC 48
#define STREAMS        64 /* with the host's */
#define BLOCK_BYTES    16384

#define END_OF_STREAM (-1)
#define UNKNOWN_SIZE  UINT64_MAX

struct line {
    struct kl_buffer text;
    unsigned readers; /* and one more while it is the newest */
};

static struct stream {
    struct MHD_Connection *connection; /* NULL: free */
    struct line *line;                 /* being read, or the last that was; NULL: none yet */
    size_t at;                         /* bytes of it that were read */
    bool to_host, waits;
} streams[STREAMS];
static struct line *newest[2]; /* by to_host */
static bool ends;

static void let_go(struct line *line) {
    if (!line || --line->readers) return;
    kl_buffer_free(&line->text);
    free(line);
}

static void make_line(const struct kl_window *w, bool to_host) {
    const struct kl_rooms_told told = kl_window_rooms(w, to_host);
    struct line *line = calloc(1, sizeof *line);
    if (line) kl_rooms_text_tell(&line->text, &told, 0, SIZE_MAX);
    if (!line || line->text.failed) {
        if (line) kl_buffer_free(&line->text);
        free(line);
        return;
    }
    line->readers = 1;
    let_go(newest[to_host]);
    newest[to_host] = line;
}

static ssize_t read_line(void *ctx, uint64_t at, char *to, size_t most) {
    struct stream *s = ctx;
    (void)at;
    if (ends) return END_OF_STREAM;
    if (!s->line || s->at == s->line->text.len) {
        if (s->line == newest[s->to_host]) {
            s->waits = true;
            kl_mhd.suspend_connection(s->connection);
            return 0;
        }
        let_go(s->line);
        s->line = newest[s->to_host];
        s->line->readers++;
        s->at = 0;
    }
    size_t len = s->line->text.len - s->at < most ? s->line->text.len - s->at : most;
    memcpy(to, s->line->text.at + s->at, len);
    s->at += len;
    return (ssize_t)len;
}

static void free_stream(void *ctx) {
    struct stream *s = ctx;
    let_go(s->line);
    *s = (struct stream){0};
}

int kl_window_stream(struct MHD_Connection *c, const struct kl_window *w, bool to_host) {
    struct stream *s = NULL;
    bool first = true;
    for (unsigned i = 0; i < (to_host ? STREAMS : STREAMS_PUBLIC); i++) {
        if (!streams[i].connection && !s) s = &streams[i];
    }
    for (unsigned i = 0; i < STREAMS; i++)
        if (streams[i].connection && streams[i].to_host == to_host) first = false;
    if (!s) return kl_window_put_text(c, 503, "there are too many readers: ask again later\n");
    if (first) make_line(w, to_host);
    if (!newest[to_host]) return NO;
    *s = (struct stream){.connection = c, .to_host = to_host};
    struct MHD_Response *r =
        kl_mhd.create_response_from_callback(UNKNOWN_SIZE, BLOCK_BYTES, read_line, s, free_stream);
    if (!r) *s = (struct stream){0};
    return kl_window_queue(c, 200, "application/x-ndjson", r);
}

void kl_window_stream_turn(const struct kl_window *w) {
    bool made[2] = {false, false};
    for (unsigned i = 0; i < STREAMS; i++) {
        struct stream *s = &streams[i];
        if (!s->connection || !s->waits) continue;
        if (!made[s->to_host]) make_line(w, s->to_host);
        made[s->to_host] = true;
        s->waits = false;
        kl_mhd.resume_connection(s->connection);
    }
}

void kl_window_stream_end(void) {
    ends = true;
    for (unsigned i = 0; i < STREAMS; i++)
        if (streams[i].connection && streams[i].waits) kl_mhd.resume_connection(streams[i].connection);
}
