/* window.h - the host's window on a relay that runs: --http, and word to the system's service manager.
 *
 * Both are processes of their own, which read the figures that the relay's processes share (figures.h): the
 * relay waits for none of their readers. Not on Windows. */
#ifndef KL_WINDOW_H
#define KL_WINDOW_H

#include "net/platform/address.h"
#include "net/platform/copies.h"
#include "net/relay/program/figures.h"

#define KL_WINDOW_TOKEN 128 /* bytes of the host's token, with its NUL */

struct kl_window_config {
    struct kl_address http;      /* to listen at; port 0: nowhere */
    const char *host;            /* by which people reach this machine; "": not known. Borrowed, as control */
    const char *control;         /* the folder of the control sockets (control.h); "": there are none */
    const char *matches;         /* a verifier's database; "": none */
    char token[KL_WINDOW_TOKEN]; /* "": there are no controls */
};

struct kl_window {
    struct kl_figures_place *place; /* of each process of the relay; NULL: nobody asks for figures */
    unsigned count;
    int quit, listener; /* listener: -1: no --http */
    struct kl_window_config config;
    struct kl_process keeper;
};

/* Reads the host's token in DIR/http.token, and makes file and folder if they are missing. 0, or -1 with a
 * line in err; a file that others may read, or of another form, is an error and is left alone. */
int kl_window_token(const char *dir, char out[KL_WINDOW_TOKEN], char *err, size_t err_len);

/* quit: of kl_wake_at_quit(). If --http is on or a service manager wants to be told, starts a process that
 * answers HTTP with a page, figures, health and the host's controls, starts it anew if it ends, and says when
 * the relay is ready and that it goes on. Only before there are threads. 0, or -1 with a line in err. */
int kl_window_start(struct kl_window *w, const struct kl_window_config *config, unsigned count, int quit,
                    char *err, size_t err_len);
/* Ends it. One that was not started is allowed. */
void kl_window_end(struct kl_window *w);

/* Serves w->listener until w->quit can be read. The process's status. window_http.c */
int kl_window_serve(void *w);
#define KL_WINDOW_NO_LIBRARY 3

#endif
