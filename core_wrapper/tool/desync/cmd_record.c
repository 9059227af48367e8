#include "core_wrapper/tool/common/tool.h"

#include "core_wrapper/record/recording.h"
#include "net/session/keys.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

#include <sodium.h>

/* clang-format off: a line here is a line there */
const char cmd_record_help[] =
    "Usage: keylock record FILE\n"
    "       keylock record --text FILE\n"
    "\n"
    "Says what a recording holds (keylock run --record, KEYLOCK_RECORD), and whether all of its blocks are "
    "whole.\n"
    "\n"
    "  --text  prints all of it as lines of text: options, inputs, hashes, commands\n"
    "\n"
    "Exit status:\n"
    "  0  whole\n"
    "  1  torn or damaged; the block and its byte are named, and all before it is good\n"
    "  2  wrong usage; the file cannot be read, or is no recording\n"
    "  6  standard output cannot be written\n";
/* clang-format on */

enum { RECORD_WHOLE = KLT_OK, RECORD_DAMAGED = 1 };

static void tell_seal(const struct kl_recording *r) {
    char fingerprint[KL_FINGERPRINT_CHARS + 1];
    const char *why = kl_recording_sealed(r);
    kl_fingerprint(r->head.relay_key, fingerprint);
    if (*why)
        printf("sealed   no: %s\n", why);
    else
        printf("sealed   up to frame %" PRIu32 ", by the relay %s\n", r->seal.end - 1, fingerprint);
}

static int tell(const struct kl_recording *r) {
    char digest[2 * KL_DIGEST + 1];
    printf("core     %s\ncontent  %s\n", r->core, r->content);
    if (*r->room.name) printf("room     %s\n", r->room.name);
    for (unsigned i = 0; i < r->room.members; i++)
        printf("player   %s\n", r->room.member[i].name);
    if (r->frames)
        printf("frames   %" PRIu32 " to %" PRIu32 "\n", r->first, r->frames - 1);
    else
        printf("frames   none\n");
    printf("inputs   %u changes\nhashes   %u\n", r->inputs, r->hashes);
    if (r->digest.end)
        printf("digest   %s after frame %" PRIu32 "\n",
               sodium_bin2hex(digest, sizeof(digest), r->digest.digest, KL_DIGEST), r->digest.end - 1);
    tell_seal(r);
    printf("blocks   %u%s\n", r->blocks, r->ended ? "" : ", without an end: the run broke off");
    if (*r->damage) printf("damage   %s\n", r->damage);
    return tool_show("");
}

int cmd_record(int argc, char **argv) {
    static const struct option longs[] = {{"text", no_argument, NULL, 't'}, {NULL, 0, NULL, 0}};
    static struct kl_recording r;
    char err[1024];
    bool text = false;
    for (int c; (c = tool_next(argc, argv, "", longs)) != -1;)
        text |= c == 't';
    if (argc - optind != 1) return tool_usage("expected one recording, got %d names", argc - optind);
    int read = kl_recording_read(&r, argv[optind], err, sizeof(err));
    if (read < 0) return tool_fail(KLT_USAGE, "record", "%s", err);
    if (read > 0)
        return tool_fail(KLT_USAGE, "record", "%s: expected a recording, it begins otherwise", argv[optind]);
    int code = text ? kl_recording_text(&r, stdout) : tell(&r);
    if (code != 0)
        code = tool_fail(KLT_OUTPUT, "record", "cannot write standard output");
    else
        code = *r.damage ? RECORD_DAMAGED : RECORD_WHOLE;
    kl_recording_free(&r);
    return code;
}
