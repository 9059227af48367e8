/* replay_main - runs a fuzz target without a fuzzer.
 *
 *   fuzz_X FILE…                 these inputs
 *   fuzz_X --smoke [SEED [RUNS]] the committed corpus (from the top of the tree), then RUNS mutations of it
 *   fuzz_X --run SEED N          the N-th mutation alone: what a crash of --smoke names
 *
 * The same seed gives the same inputs everywhere. */
#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tests/lib/rng.h"

#define INPUT_MAX 8192
#define FILES_MAX 256
#define RUNS      4000

struct input {
    uint8_t *bytes;
    size_t len;
};
static struct input corpus[FILES_MAX];
static unsigned files;
static char under_way[160]; /* for the last words */

static struct rng chance;
static uint32_t below(uint32_t n) {
    return rng_below(&chance, n);
}

static void say_which(void) {
    if (write(2, under_way, strlen(under_way)) < 0) return;
}
static void on_signal(int number) {
    say_which();
    signal(number, SIG_DFL);
    raise(number);
}
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

static int read_file(const char *path, struct input *in) {
    FILE *f = fopen(path, "rb");
    if (!f) return -1;
    static uint8_t buf[1 << 20];
    in->len = fread(buf, 1, sizeof buf, f);
    fclose(f);
    in->bytes = malloc(in->len ? in->len : 1);
    if (!in->bytes) abort();
    memcpy(in->bytes, buf, in->len);
    return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void load_corpus(const char *program) {
    char folder[300], path[600];
    const char *name = strrchr(program, '/') ? strrchr(program, '/') + 1 : program;
    snprintf(folder, sizeof folder, "tests/fuzz/corpus/%s", name);
    struct dirent **list;
    int n = scandir(folder, &list, NULL, by_name);
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, list[i]->d_name);
        if (list[i]->d_name[0] != '.' && files < FILES_MAX && read_file(path, &corpus[files]) == 0) files++;
        free(list[i]);
    }
    if (n >= 0) free(list);
    if (files > 0) return;
    fprintf(stderr, "no corpus in %s; run from the top of the tree\n", folder);
    exit(2);
}

/* One random change: a flipped bit, a telling value, a piece cut out, doubled, or taken from another file. */
static size_t change(uint8_t *b, size_t len) {
    static const uint8_t telling[] = {0x00, 0x01, 0x7f, 0x80, 0xff, 0xfe, 0x40, 0x81};
    size_t at = len ? below((uint32_t)len) : 0, n = 1 + below(16);
    if (n > len - at) n = len - at;
    switch (below(7)) {
    case 0:
        if (len) b[at] ^= (uint8_t)(1u << below(8));
        break;
    case 1:
        if (len) b[at] = telling[below(sizeof telling)];
        break;
    case 2:
        if (len) b[at] = (uint8_t)below(256);
        break;
    case 3: memmove(b + at, b + at + n, len - at - n); return len - n;
    case 4:
        if (len + n > INPUT_MAX) break;
        memmove(b + at + n, b + at, len - at);
        return len + n;
    case 5: return at;
    default: {
        const struct input *other = &corpus[below(files)];
        if (other->len == 0) break;
        size_t from = below((uint32_t)other->len), take = other->len - from;
        if (take > INPUT_MAX - at) take = INPUT_MAX - at;
        memcpy(b + at, other->bytes + from, take);
        return at + take > len ? at + take : len;
    }
    }
    return len;
}

static void run_mutation(uint64_t seed, unsigned n) {
    static uint8_t b[INPUT_MAX];
    chance.state = seed * 1000003 + n;
    const struct input *from = &corpus[below(files)];
    size_t len = from->len < INPUT_MAX ? from->len : INPUT_MAX;
    memcpy(b, from->bytes, len);
    for (unsigned i = 1 + below(8); i > 0; i--)
        len = change(b, len);
    uint8_t *exact = malloc(len ? len : 1); /* so that a sanitizer sees the first byte past the end */
    if (!exact) abort();
    memcpy(exact, b, len);
    snprintf(under_way, sizeof under_way, "input: --run %llu %u\n", (unsigned long long)seed, n);
    LLVMFuzzerTestOneInput(exact, len);
    free(exact);
}

static void run_file(const char *path) {
    struct input in;
    if (read_file(path, &in) != 0) {
        perror(path);
        exit(2);
    }
    snprintf(under_way, sizeof under_way, "input: %.140s\n", path);
    LLVMFuzzerTestOneInput(in.bytes, in.len);
    free(in.bytes);
}

static int smoke(const char *program, uint64_t seed, unsigned runs) {
    load_corpus(program);
    for (unsigned i = 0; i < files; i++) {
        snprintf(under_way, sizeof under_way, "input: corpus file %u\n", i);
        LLVMFuzzerTestOneInput(corpus[i].bytes, corpus[i].len);
    }
    for (unsigned n = 0; n < runs; n++)
        run_mutation(seed, n);
    printf("ok %s corpus=%u mutations=%u seed=%llu\n",
           strrchr(program, '/') ? strrchr(program, '/') + 1 : program, files, runs,
           (unsigned long long)seed);
    return 0;
}

int main(int argc, char **argv) {
    signal(SIGABRT, on_signal);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(say_which);
    else
        signal(SIGSEGV, on_signal);
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    if (argc > 1 && strcmp(argv[1], "--smoke") == 0)
        return smoke(argv[0], seed, argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : RUNS);
    if (argc == 4 && strcmp(argv[1], "--run") == 0) {
        load_corpus(argv[0]);
        run_mutation(seed, (unsigned)strtoul(argv[3], NULL, 10));
        return 0;
    }
    if (argc < 2 || argv[1][0] == '-') {
        fprintf(stderr, "%s FILE... | --smoke [SEED [RUNS]] | --run SEED N\n", argv[0]);
        return 2;
    }
    for (int i = 1; i < argc; i++)
        run_file(argv[i]);
    return 0;
}
