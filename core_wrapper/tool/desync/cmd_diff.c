#include "core_wrapper/tool/common/tool.h"

#include "core_wrapper/tool/common/hashfile.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* clang-format off: a line here is a line there */
const char cmd_diff_help[] =
    "Usage: keylock diff A B\n"
    "\n"
    "Compares two files of hashes (keylock run --hash-out) over the frames that both have.\n"
    "\n"
    "Exit status:\n"
    "  0  equal\n"
    "  1  RAM differs (or the state, if there is no RAM); the first such frame is printed\n"
    "  2  wrong usage; a file cannot be read, or has a malformed line\n"
    "  3  the files share no frame\n"
    "  4  only states differ; their count is printed\n";
/* clang-format on */

enum { DIFF_EQUAL = 0, DIFF_HARD = 1, DIFF_ERROR = KLT_USAGE, DIFF_NOTHING = 3, DIFF_SOFT = 4 };

static void print_pair(const char *what, bool has_a, uint64_t a, bool has_b, uint64_t b) {
    char x[KLT_HASH_TEXT], y[KLT_HASH_TEXT];
    kl_hash_text(x, has_a, a);
    kl_hash_text(y, has_b, b);
    printf("  %s A %s\n  %s B %s\n", what, x, what, y);
}

static int tell(const struct kl_hashdiff *d, const char *a, const char *b) {
    if (d->shared == 0) {
        printf("%s and %s share no frame with a hash\n", a, b);
        return DIFF_NOTHING;
    }
    if (d->hard) {
        const char *what = d->hard_in_state ? "state" : "ram";
        printf("%s differs first at frame %" PRIu32 " (%" PRIu32 " of %" PRIu32 " shared frames differ)\n",
               what, d->hard_first, d->hard, d->shared);
        if (d->hard_in_state)
            print_pair("state", d->a.has_state, d->a.state, d->b.has_state, d->b.state);
        else
            print_pair("ram", d->a.has_ram, d->a.ram, d->b.has_ram, d->b.ram);
        return DIFF_HARD;
    }
    if (d->soft) {
        printf("ram equal, state differs at %" PRIu32 " of %" PRIu32 " shared frames, first at frame %" PRIu32
               "\n",
               d->soft, d->shared, d->soft_first);
        print_pair("state", d->a.has_state, d->a.state, d->b.has_state, d->b.state);
        return DIFF_SOFT;
    }
    printf("equal at %" PRIu32 " shared frames, %" PRIu32 " to %" PRIu32 "\n", d->shared, d->first, d->last);
    return DIFF_EQUAL;
}

int cmd_diff(int argc, char **argv) {
    static const struct kl_table none[] = {{.rows = NULL}};
    struct kl_hashdiff d;
    char err[1024];
    tool_parse(argc, argv, false, none, NULL);
    if (argc - optind != 2) return tool_usage("expected two files, got %d", argc - optind);
    if (kl_hashdiff(&d, argv[optind], argv[optind + 1], err, sizeof(err)) != 0)
        return tool_fail(DIFF_ERROR, "diff", "%s", err);
    return tell(&d, argv[optind], argv[optind + 1]);
}
