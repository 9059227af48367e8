#include "tests/net/net_player.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/platform/clock.h"
#include "net/platform/dir.h"
#include "tests/lib/rng.h"

#define MAX_RUNS 8
#define ARGS_MAX 32

/* --- programs --- */

static void read_log(const struct program *p, char *out, size_t cap) {
    int fd = open(p->log, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, cap - 1) : 0;
    out[n > 0 ? n : 0] = 0;
    if (fd >= 0) close(fd);
}

static struct program program_start(const char *path, const char *const argv[], const char *before_port) {
    static unsigned number;
    struct program p = {0};
    snprintf(p.log, sizeof p.log, "/tmp/keylock-test-%d-%u.log", (int)getpid(), number++);
    int fd = open(p.log, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    p.pid = fork();
    if (p.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(fd, 1);
        dup2(fd, 2);
        execv(path, (char *const *)argv);
        dprintf(2, "cannot run %s\n", path);
        _exit(127);
    }
    close(fd);
    static char log[1 << 16];                       /* a relay with a journal names its rooms first */
    for (int i = 0; i < 1500 && p.port == 0; i++) { /* under callgrind it takes seconds */
        read_log(&p, log, sizeof log);
        const char *at = strstr(log, before_port);
        if (at && strchr(at, '\n')) p.port = (uint16_t)atoi(at + strlen(before_port));
        if (p.port == 0 && waitpid(p.pid, NULL, WNOHANG) == p.pid) p.pid = 0;
        if (p.pid == 0) break;
        poll(NULL, 0, 10);
    }
    if (p.port == 0) fprintf(stderr, "%s did not start: %s\n", path, log);
    return p;
}

static const char *binary(const char *variable, const char *otherwise) {
    const char *path = getenv(variable);
    return path ? path : otherwise;
}

/* One folder for this process, gone with it. */
static char state_folder[64];
static void remove_state(void) {
    kl_dir_remove_tree(state_folder); /* with the journals of relays that were killed */
}
const char *relay_state(void) {
    if (state_folder[0]) return state_folder;
    snprintf(state_folder, sizeof state_folder, "/tmp/keylock-test-%d.state", (int)getpid());
    mkdir(state_folder, 0700);
    atexit(remove_state);
    return state_folder;
}

struct program relay_start(const char *const args[]) {
    const char *argv[ARGS_MAX] = {"keylock-relay", "--bind",  "127.0.0.1",   "--port",   "0", "--log",
                                  "debug",         "--state", relay_state(), "--shards", "1"};
    for (unsigned i = 0; args && args[i]; i++)
        argv[11 + i] = args[i];
    return program_start(binary("KEYLOCK_RELAY_BIN", "build/keylock-relay"), argv, " port=");
}

struct program proxy_start(uint16_t to, const char *const args[]) {
    char target[32];
    snprintf(target, sizeof target, "127.0.0.1:%u", to);
    const char *argv[ARGS_MAX] = {"faultproxy", "--listen", "0", "--to", target};
    for (unsigned i = 0; args && args[i]; i++)
        argv[5 + i] = args[i];
    return program_start(binary("KEYLOCK_FAULTPROXY_BIN", "build/faultproxy"), argv, "listening 127.0.0.1:");
}

struct program redis_start(const char *const args[]) {
    const char *argv[ARGS_MAX] = {"redis-server"};
    for (unsigned i = 0; args && args[i]; i++)
        argv[1 + i] = args[i];
    return program_start("/usr/bin/redis-server", argv, " port=");
}

unsigned program_children(const struct program *p, pid_t *pid, unsigned most) {
    char path[64];
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)p->pid, (int)p->pid);
    FILE *f = fopen(path, "r");
    while (f && count < most && fscanf(f, "%d", &pid[count]) == 1)
        count++;
    if (f) fclose(f);
    return count;
}

int program_stop(struct program *p, int signal) {
    int status = 0;
    if (p->pid <= 0) return -1;
    kill(p->pid, signal);
    waitpid(p->pid, &status, 0);
    p->pid = 0;
    if (!getenv("KEYLOCK_TEST_KEEP")) unlink(p->log);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

const char *program_log(const struct program *p) {
    static char log[1 << 20];
    read_log(p, log, sizeof log);
    return log;
}

bool program_said(const struct program *p, const char *text) {
    for (int i = 0; i < 200; i++) {
        if (strstr(program_log(p), text)) return true;
        poll(NULL, 0, 10);
    }
    fprintf(stderr, "not in the log: %s\n%s\n", text, program_log(p));
    return false;
}

unsigned program_lines(const struct program *p, const char *text) {
    static char line[4000];
    unsigned count = 0;
    FILE *f = fopen(p->log, "r");
    while (f && fgets(line, sizeof line, f))
        count += strstr(line, text) != NULL;
    if (f) fclose(f);
    return count;
}

/* --- players --- */

struct kl_hello hello_make(const char *name, const char *room, unsigned seats, unsigned players) {
    struct kl_hello h = {
        .version = KL_PROTOCOL_VERSION, .seats_wanted = (uint8_t)seats, .consent = KL_CONSENT_ROOM};
    snprintf(h.name, sizeof h.name, "%s", name);
    snprintf(h.room, sizeof h.room, "%s", room);
    h.params = (struct kl_params){
        .subframes = true, .players = (uint8_t)players, .hash_every = 60, .fps_uhz = 60000000};
    kl_facts_add(&h.facts, "core", "test 1.0");
    kl_facts_add(&h.facts, "content", "xxh3 0123456789abcdef (test.nes)");
    return h;
}

struct kl_link_config player_config(struct player *p, const struct kl_hello *hello, uint16_t port,
                                    uint32_t frames_max) {
    struct player kept = *p;
    *p = (struct player){.hello = *hello, .digest_cap = frames_max};
    p->pads = kept.pads;
    p->host = kept.host;
    p->insecure_lan = kept.insecure_lan;
    p->ciphers = kept.ciphers;
    p->seat = kept.seat;
    p->fresh = kept.fresh;
    memcpy(p->token, kept.token, sizeof p->token);
    memcpy(p->fingerprint, kept.fingerprint, sizeof p->fingerprint);
    p->digest = calloc(frames_max, sizeof p->digest[0]);
    kl_facts_add(&p->ready, "system files", "none");
    struct kl_link_config config = {.host = p->host ? p->host : "127.0.0.1", .port = port, .hello = *hello};
    config.fingerprint = p->fingerprint[0] ? p->fingerprint : NULL;
    config.insecure_lan = p->insecure_lan;
    config.ciphers = p->ciphers;
    config.seat = p->seat;
    config.fresh = p->fresh;
    memcpy(config.token, p->token, sizeof config.token);
    return config;
}

void player_open(struct player *p, const struct kl_hello *hello, uint16_t port, uint32_t frames_max) {
    char err[200] = "";
    struct kl_link_config config = player_config(p, hello, port, frames_max);
    if (kl_link_open(&p->link, &config, err, sizeof err) != 0) {
        fprintf(stderr, "kl_link_open: %s\n", err);
        abort();
    }
}

void player_close(struct player *p, unsigned linger_ms) {
    kl_link_close(p->link, linger_ms);
    free(p->digest);
    p->link = NULL;
    p->digest = NULL;
}

/* Buttons change now and then; sometimes sticks, a mouse and keys are used too. */
void player_sample(const char *of, unsigned seat, uint32_t number, struct kl_input *in) {
    uint64_t name = (uint8_t)of[0] + 31U * (uint8_t)of[1];
    uint64_t slow = rng_mix(name << 32 | seat << 24 | number / 7), fast = rng_mix(slow ^ number);
    kl_input_neutral(in);
    in->joypad = (uint16_t)slow;
    if (slow >> 16 & 1) in->stick[seat % 4] = (int16_t)(fast >> 8);
    if ((slow >> 17 & 7) == 0) in->mouse_x = (int16_t)(fast % 100 - 50);
    if ((fast >> 40 & 31) == 0) {
        in->key_count = 1;
        in->key[0] = (struct kl_key){.code = (uint16_t)(fast >> 50 & 0xff), .down = true};
    }
}

static uint64_t digest_add(uint64_t d, uint64_t v) {
    return rng_mix(d * 31 + v + 1);
}

static uint64_t digest_input(uint64_t d, const struct kl_input *in) {
    d = digest_add(d, in->joypad);
    for (unsigned i = 0; i < 4; i++)
        d = digest_add(d, (uint16_t)in->stick[i]);
    d = digest_add(d, (uint16_t)in->mouse_x);
    d = digest_add(d, in->key_count);
    for (unsigned i = 0; i < in->key_count; i++)
        d = digest_add(d, in->key[i].code);
    return d;
}

uint64_t player_digest(uint64_t before, const struct kl_frame *f) {
    uint64_t d = digest_add(before, f->spacing + 256U * f->active + 65536U * f->flags);
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        d = digest_input(d, &f->in[s]);
    return d;
}

static void take_frame(struct player *p, const struct kl_frame *f) {
    uint64_t before = p->frames ? p->digest[p->frames - 1] : 0;
    if (f->number != p->frames) {
        fprintf(stderr, "%s: frame %u came where %u was expected\n", p->hello.name, f->number, p->frames);
        abort();
    }
    if (f->flags & KL_FRAME_HASH) {
        struct kl_hash h = {
            .frame = f->number - 1, .has = KL_HASH_RAM | KL_HASH_STATE, .ram = before, .state = before};
        if (p->wrong_from && f->number >= p->wrong_from) h.ram++;
        kl_participant_hash(kl_link_hold(p->link), &h);
        kl_link_release(p->link);
    }
    bool pressed = false;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++)
        pressed |= f->in[s].joypad != 0;
    p->presses += pressed;
    const uint64_t digest = player_digest(before, f), was = p->digest[p->frames];
    if (was && was != digest) p->unmade++;
    p->digest[p->frames++] = digest;
}

static bool next_frame(struct player *p, struct kl_frame *f) {
    bool got = kl_participant_take(kl_link_hold(p->link), f);
    kl_link_release(p->link);
    return got;
}

static bool play(struct player *p) {
    struct kl_input in[KL_MAX_SEATS];
    struct kl_frame f;
    uint64_t now_us = kl_now_us();
    const struct kl_params *params = &p->status.welcome.params;
    if (params->clocked) {
        if (now_us < p->due_us) return false;
        uint64_t period_us = UINT64_C(1000000000000) / params->fps_uhz;
        p->due_us = (p->due_us && now_us < p->due_us + period_us ? p->due_us : now_us) + period_us;
    }
    uint32_t room = p->digest_cap - p->frames;
    struct kl_participant *participant = kl_link_hold(p->link);
    struct kl_plan plan = kl_participant_plan(participant, room < MAX_RUNS ? room : MAX_RUNS, now_us);
    for (uint32_t i = 0; i < plan.samples; i++) {
        for (unsigned s = 0; s < KL_MAX_SEATS; s++)
            player_sample(p->hello.name, s, p->samples, &in[s]);
        for (unsigned s = 0; p->pads && s < KL_MAX_SEATS; s++)
            in[s] = (struct kl_input){.joypad = in[s].joypad};
        if (kl_participant_sample(participant, in, now_us) == KL_OK) p->samples++;
    }
    kl_link_release(p->link);
    for (uint32_t i = 0; i < plan.runs && next_frame(p, &f); i++)
        take_frame(p, &f);
    return plan.runs + plan.samples > 0;
}

static void load(struct player *p) {
    p->frames = 0;
    size_t len = p->status.start_len;
    p->start_ok = len == p->start_len && (len == 0 || memcmp(p->status.start, p->start, len) == 0);
    kl_participant_ready(kl_link_hold(p->link), &p->ready);
    kl_link_release(p->link);
}

static void give_start(struct player *p) {
    uint8_t *copy = malloc(p->start_len + 1);
    if (!copy) abort();
    if (p->start_len) memcpy(copy, p->start, p->start_len);
    bool given = kl_participant_give_start(kl_link_hold(p->link), copy, p->start_len);
    kl_link_release(p->link);
    if (!given) free(copy);
}

void player_look(struct player *p) {
    kl_participant_status(kl_link_hold(p->link), &p->status);
    kl_link_release(p->link);
}

int player_order(struct player *p, uint8_t kind, const void *data, size_t len) {
    int result = kl_participant_order(kl_link_hold(p->link), kind, data, len);
    kl_link_release(p->link);
    return result;
}

bool player_turn(struct player *p) {
    player_look(p);
    switch (p->status.phase) {
    case KL_PARTICIPANT_SEND_START: give_start(p); return true;
    case KL_PARTICIPANT_LOAD: load(p); return true;
    case KL_PARTICIPANT_PLAYING: return p->frames < p->digest_cap && play(p);
    default: return false;
    }
}

bool player_joins(struct player *p) {
    for (int i = 0; i < 600 && p->status.phase == KL_PARTICIPANT_CONNECTING; i++) {
        kl_link_wait(p->link, 10000);
        player_look(p);
    }
    return p->status.phase != KL_PARTICIPANT_CONNECTING && p->status.phase != KL_PARTICIPANT_ENDED;
}

bool players_pair(struct player *p, unsigned count, uint16_t port, uint32_t frames_max) {
    for (unsigned i = 0; i < count; i++) {
        char room[16], name[16];
        snprintf(room, sizeof room, "room%u", i / 2);
        snprintf(name, sizeof name, "p%u", i);
        struct kl_hello h = hello_make(name, room, 1, 2);
        h.params.clocked = true;
        player_open(&p[i], &h, port, frames_max);
        if (!player_joins(&p[i])) return false;
    }
    return true;
}

static void turn_all(struct player *p, unsigned count) {
    bool busy = false;
    for (unsigned i = 0; i < count; i++)
        busy |= player_turn(&p[i]);
    if (!busy) kl_link_wait(p[0].link, 300);
}

bool players_run(struct player *p, unsigned count, uint32_t frames, unsigned timeout_s) {
    uint64_t end_us = kl_now_us() + timeout_s * UINT64_C(1000000);
    while (kl_now_us() < end_us) {
        unsigned done = 0;
        for (unsigned i = 0; i < count; i++)
            done += p[i].frames >= frames || p[i].status.phase == KL_PARTICIPANT_ENDED;
        if (done == count) return true;
        turn_all(p, count);
    }
    for (unsigned i = 0; i < count; i++)
        fprintf(stderr, "%s: phase %d frames %u samples %u closed %u rtt %u us %s\n", p[i].hello.name,
                p[i].status.phase, p[i].frames, p[i].samples, p[i].status.lock.next_closed,
                p[i].status.lock.rtt_us, p[i].status.reason);
    return false;
}

bool players_reach(struct player *p, unsigned count, unsigned which, enum kl_participant_phase phase,
                   unsigned timeout_s) {
    uint64_t end_us = kl_now_us() + timeout_s * UINT64_C(1000000);
    while (kl_now_us() < end_us) {
        turn_all(p, count);
        if (p[which].status.phase == phase) return true;
        if (p[which].status.phase == KL_PARTICIPANT_ENDED) break;
    }
    fprintf(stderr, "%s: phase %d, wanted %d %s\n", p[which].hello.name, p[which].status.phase, phase,
            p[which].status.reason);
    return false;
}

long players_differ(const struct player *p, unsigned count, uint32_t frames) {
    for (uint32_t f = 0; f < frames; f++)
        for (unsigned i = 1; i < count; i++)
            if (p[i].digest[f] != p[0].digest[f]) return (long)f;
    return -1;
}

void players_turn(struct player *p, unsigned count, double s) {
    uint64_t end_us = kl_now_us() + (uint64_t)(s * 1e6);
    while (kl_now_us() < end_us) {
        for (unsigned i = 0; i < count; i++)
            player_turn(&p[i]);
        poll(NULL, 0, 1);
    }
}
