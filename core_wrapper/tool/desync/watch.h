/* watch.h - the verifier beside a relay (docs/hosting.md, "A verifier"): takes recordings from DIR/new one by
 * one, reported ones first, each in a process of its own, writes down what was found, moves them away. */
#ifndef KLT_WATCH_H
#define KLT_WATCH_H

#include "core_wrapper/tool/desync/verify.h"

struct kl_watch_wish {
    const char *dir, *database;
    const char *on_verdict;     /* a command that gets each verdict as JSON; NULL: none */
    uint64_t share, days;       /* percent of the files without a report; that files are kept, 0: for ever */
    bool keep_parted;           /* keeps those alone that are reported, or not verified */
    bool once, json;            /* ends when there is no file left; how verdicts are printed */
    const char *const *options; /* of each child: those of cmd_verify(), NULL at the end */
};
/* Until it is stopped. An exit status, after a line on standard error unless it is KLT_OK. */
int kl_watch(const struct kl_watch_wish *wish);

#endif
