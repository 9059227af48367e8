/* window_http.h - the parts of the process of --http. One thread calls the library, and the library calls
 * from that thread.
 *
 * window_http.c     the library, the paths and their answers
 * window_stream.c   /api/stream: rooms, a line each second
 * window_control.c  the host's token, and /api/control
 * window_matches.c  /api/matches */
#ifndef KL_WINDOW_HTTP_H
#define KL_WINDOW_HTTP_H

#include <sys/types.h>

#include "net/relay/program/window.h"

/* --- libmicrohttpd, loaded when it is wanted: its own names and numbers, the same since 2013 --- */

enum { NO = 0, YES = 1 };
enum { HEADER_KIND = 1, ARGUMENT_KIND = 8 };
struct MHD_Daemon;
struct MHD_Connection;
struct MHD_Response;
typedef int kl_mhd_request(void *ctx, struct MHD_Connection *c, const char *url, const char *method,
                           const char *version, const char *body, size_t *body_len, void **of_request);
typedef ssize_t kl_mhd_reader(void *ctx, uint64_t at, char *to, size_t most);
union MHD_DaemonInfo {
    int epoll_fd;
};
struct kl_mhd {
    struct MHD_Daemon *(*start_daemon)(unsigned flags, uint16_t port, void *accept, void *accept_ctx,
                                       kl_mhd_request *answer, void *ctx, ...);
    void (*stop_daemon)(struct MHD_Daemon *d);
    int (*run)(struct MHD_Daemon *d);
    int (*get_timeout)(struct MHD_Daemon *d, unsigned long long *ms);
    const union MHD_DaemonInfo *(*get_daemon_info)(struct MHD_Daemon *d, int what, ...);
    void (*suspend_connection)(struct MHD_Connection *c);
    void (*resume_connection)(struct MHD_Connection *c);
    struct MHD_Response *(*create_response_from_buffer)(size_t len, void *bytes, int mode);
    struct MHD_Response *(*create_response_from_callback)(uint64_t size, size_t block, kl_mhd_reader *read,
                                                          void *ctx, void (*free)(void *ctx));
    int (*add_response_header)(struct MHD_Response *r, const char *name, const char *value);
    int (*queue_response)(struct MHD_Connection *c, unsigned status, struct MHD_Response *r);
    void (*destroy_response)(struct MHD_Response *r);
    const char *(*lookup_connection_value)(struct MHD_Connection *c, int kind, const char *key);
};
extern struct kl_mhd kl_mhd;

/* --- answers --- */

/* Queues a response with the headers of all, and gives it up. NULL: NO. */
int kl_window_queue(struct MHD_Connection *c, unsigned status, const char *type, struct MHD_Response *r);
int kl_window_put(struct MHD_Connection *c, unsigned status, const char *type, const char *text, size_t len);
int kl_window_put_text(struct MHD_Connection *c, unsigned status, const char *text);

/* The rooms of w, for a reader of this right. */
struct kl_rooms_told kl_window_rooms(const struct kl_window *w, bool to_host);

/* --- window_stream.c --- */
/* Begins a stream. */
int kl_window_stream(struct MHD_Connection *c, const struct kl_window *w, bool to_host);
/* Each second: a line for each stream that has read the one before. */
void kl_window_stream_turn(const struct kl_window *w);
/* All end: the library stops then. */
void kl_window_stream_end(void);

/* --- window_control.c --- */
enum kl_window_reader { KL_WINDOW_PUBLIC, KL_WINDOW_HOST, KL_WINDOW_WRONG };
/* By the Authorization header; KL_WINDOW_WRONG: it was answered, and *result is the answer's. */
enum kl_window_reader kl_window_reader(const struct kl_window *w, struct MHD_Connection *c, int *result);
/* POST /api/control with a line of the console in its body: called again and again, as kl_mhd_request. */
int kl_window_control(const struct kl_window *w, struct MHD_Connection *c, const char *body, size_t *body_len,
                      void **of_request);

/* --- window_matches.c --- */
int kl_window_matches(struct MHD_Connection *c, const struct kl_window *w);
/* ,"matches":[…]: those of a room's name; nothing if they cannot be read. */
void kl_window_matches_of(struct kl_buffer *to, const struct kl_window *w, const char *room, bool to_host);

#endif
