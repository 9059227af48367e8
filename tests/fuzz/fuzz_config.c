/* keylock.cfg. */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <unistd.h>

#include "core_wrapper/words/config.h"

static char folder[40], file[64];

static void clean_up(void) {
    unlink(file);
    rmdir(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct kl_config c;
    char err[300] = "";
    if (!file[0]) {
        MUST(fuzz_folder(folder));
        snprintf(file, sizeof file, "%s/%s", folder, KL_CONFIG_FILE);
        atexit(clean_up);
    }
    FILE *f = fopen(file, "wb");
    MUST(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
    if (kl_config_read(&c, folder, err, sizeof err) != 0) {
        MUST(err[0] != 0 && memchr(err, 0, sizeof err));
        return 0;
    }
    MUST(memchr(c.core, 0, sizeof c.core) && memchr(c.host, 0, sizeof c.host));
    MUST(memchr(c.room, 0, sizeof c.room) && memchr(c.name, 0, sizeof c.name));
    MUST(c.seats <= KL_MAX_SEATS && c.params.players >= 1 && c.params.players <= KL_MAX_SEATS);
    MUST(c.params.spacing_fixed <= KL_SPACING_MAX);
    return 0;
}
