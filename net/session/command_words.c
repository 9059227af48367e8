#include "net/session/command_words.h"

#include <stdio.h>
#include <string.h>

#include "net/engine/wire.h"

struct kl_words_parser {
    struct kl_words *out;
    char *err;
    size_t err_len;
};

static int refuse(struct kl_words_parser *p, const char *want, const char *got) {
    snprintf(p->err, p->err_len, "expected %s, got \"%s\"", want, got);
    return -1;
}

static bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static const char *skip(const char *at) {
    while (is_blank(*at))
        at++;
    return at;
}

/* A whole number from lo to hi; *at moves behind it and the blanks after. */
static bool number(const char **at, unsigned long lo, unsigned long hi, unsigned long *out) {
    const char *end = *at;
    for (*out = 0; is_digit(*end) && *out <= hi; end++)
        *out = *out * 10 + (unsigned long)(*end - '0');
    if (end == *at || *out < lo || *out > hi || (*end && !is_blank(*end))) return false;
    *at = skip(end);
    return true;
}

static bool begins(const char *text, const char *with) {
    for (; *with; text++, with++)
        if (*text != *with) return false;
    return true;
}

/* --- names --- */

static bool name_of(const char *const names[3], const char *name, uint8_t *out) {
    for (*out = 0; *out < 3; ++*out)
        if (!strcmp(name, names[*out])) return true;
    return false;
}

static const char *const policies[3] = {"strict", "bounded", "optimistic"};

bool kl_policy_of(const char *name, uint8_t *out) {
    return name_of(policies, name, out);
}

const char *kl_policy_name(uint8_t policy) {
    return policy <= KL_POLICY_OPTIMISTIC ? policies[policy] : "unknown";
}

/* --- data --- */

void kl_words_put_policy(struct kl_order *o, uint8_t policy, uint16_t budget_ms, uint8_t spacing,
                         uint8_t lead_max) {
    *o = (struct kl_order){.kind = KL_COMMAND_POLICY, .len = 5};
    o->data[0] = policy;
    o->data[1] = (uint8_t)budget_ms;
    o->data[2] = (uint8_t)(budget_ms >> 8);
    o->data[3] = spacing;
    o->data[4] = lead_max;
}

bool kl_words_get_policy(const struct kl_command *c, struct kl_params *into) {
    if (c->len != 5 || c->data[0] > KL_POLICY_OPTIMISTIC) return false;
    into->policy = c->data[0];
    into->wait_budget_ms = (uint16_t)(c->data[1] | c->data[2] << 8);
    into->spacing_fixed = c->data[3];
    into->lead_max = c->data[4];
    return true;
}

bool kl_words_swap(const struct kl_command *c, uint8_t plays[KL_MAX_SEATS]) {
    if (c->len != 2 || c->data[0] >= KL_MAX_SEATS || c->data[1] >= KL_MAX_SEATS) return false;
    for (unsigned s = 0; s < KL_MAX_SEATS; s++) {
        uint8_t seat = plays[s];
        if (seat == c->data[0]) plays[s] = c->data[1];
        if (seat == c->data[1]) plays[s] = c->data[0];
    }
    return true;
}

void kl_words_put_disk(struct kl_order *o, uint16_t index) {
    *o = (struct kl_order){.kind = KL_COMMAND_DISK, .len = 2};
    o->data[0] = (uint8_t)index;
    o->data[1] = (uint8_t)(index >> 8);
}

bool kl_words_get_disk(const struct kl_command *c, uint16_t *index) {
    if (c->len != 2) return false;
    *index = (uint16_t)(c->data[0] | c->data[1] << 8);
    return true;
}

/* The wire's own writing of strings does this: bytes that a reader would refuse become '?'. */
void kl_words_text(const struct kl_command *c, char out[KL_COMMAND_BYTES + 1]) {
    char raw[KL_COMMAND_BYTES + 1];
    uint8_t bytes[KL_COMMAND_BYTES + 2];
    memcpy(raw, c->data, c->len);
    raw[c->len] = 0;
    struct kl_writer w = kl_writer(bytes, sizeof bytes);
    kl_write_string(&w, raw);
    struct kl_reader r = kl_reader(bytes, sizeof bytes);
    kl_read_string(&r, out, KL_COMMAND_BYTES + 1);
}

/* The bytes of "] NAME: " or "] NAME (NUMBER): " at the text's begin; 0: it is another's. */
static size_t said_by(const char *text, const char *name) {
    char head[KL_NAME_MAX + 8];
    size_t len = (size_t)snprintf(head, sizeof head, "] %.*s", KL_NAME_MAX, name);
    if (!begins(text, head)) return 0;
    if (begins(text + len, " (")) len += strcspn(text + len, ")");
    if (text[len] == ')') len++;
    return begins(text + len, ": ") ? len + 2 : 0;
}

size_t kl_words_in_notice(const char *text, const struct kl_roster *roster) {
    static const char watches[] = " (watches): ";
    const char *watcher = *text ? strstr(text + 1, watches) : NULL;
    if (!begins(text, "[f ")) return watcher ? (size_t)(watcher - text) + strlen(watches) : 0;
    size_t from = strcspn(text, "]"), longest = said_by(text + from, "relay");
    for (unsigned i = 0; i < roster->count && i < KL_MAX_CLIENTS; i++) {
        size_t len = said_by(text + from, roster->member[i].name);
        if (len > longest) longest = len;
    }
    return longest ? from + longest : 0;
}

bool kl_words_option(const struct kl_command *c, char key[KL_COMMAND_BYTES + 1],
                     char value[KL_COMMAND_BYTES + 1]) {
    kl_words_text(c, key);
    char *equals = strchr(key, '=');
    if (!equals || equals == key) return false;
    *equals = 0;
    memcpy(value, equals + 1, strlen(equals + 1) + 1);
    return true;
}

/* --- words --- */

static int plain(struct kl_words_parser *p, const char *rest, uint8_t kind) {
    if (*rest) return refuse(p, "no further words", rest);
    p->out->order.kind = kind;
    return 0;
}

static int parse_text(struct kl_words_parser *p, const char *rest, uint8_t kind, const char *want) {
    struct kl_order *o = &p->out->order;
    size_t len = strlen(rest);
    if (!len) return refuse(p, want, rest);
    if (len > KL_COMMAND_BYTES) {
        snprintf(p->err, p->err_len, "expected at most %d bytes, got %zu", KL_COMMAND_BYTES, len);
        return -1;
    }
    o->kind = kind;
    o->len = (uint8_t)len;
    memcpy(o->data, rest, len);
    return 0;
}

static int parse_pause(struct kl_words_parser *p, const char *rest) {
    if (plain(p, rest, KL_COMMAND_PAUSE) != 0) return -1;
    p->out->order.len = 1;
    p->out->order.data[0] = 1;
    return 0;
}
static int parse_resume(struct kl_words_parser *p, const char *rest) {
    if (parse_pause(p, rest) != 0) return -1;
    p->out->order.data[0] = 0;
    return 0;
}
static int parse_reset(struct kl_words_parser *p, const char *rest) {
    return plain(p, rest, KL_COMMAND_RESET);
}
static int parse_again(struct kl_words_parser *p, const char *rest) {
    p->out->again = true;
    return parse_reset(p, rest);
}
static int parse_leave(struct kl_words_parser *p, const char *rest) {
    p->out->leave = true;
    return plain(p, rest, 0);
}
static int parse_save(struct kl_words_parser *p, const char *rest) {
    return plain(p, rest, KL_COMMAND_SAVE);
}
static int parse_load(struct kl_words_parser *p, const char *rest) {
    return plain(p, rest, KL_COMMAND_LOAD);
}
static int parse_ahead(struct kl_words_parser *p, const char *rest) {
    p->out->ahead = true;
    return plain(p, rest, 0);
}
static int parse_panel(struct kl_words_parser *p, const char *rest) {
    p->out->panel = true;
    return plain(p, rest, 0);
}
static int parse_chat(struct kl_words_parser *p, const char *rest) {
    p->out->chat = true;
    return plain(p, rest, 0);
}
static int parse_say(struct kl_words_parser *p, const char *rest) {
    return parse_text(p, rest, KL_COMMAND_CHAT, "what to say");
}

static int parse_report(struct kl_words_parser *p, const char *rest) {
    return parse_text(p, rest, KL_COMMAND_REPORT, "what was wrong");
}

static int parse_option(struct kl_words_parser *p, const char *rest) {
    if (!strchr(rest, '=') || *rest == '=') return refuse(p, "option KEY=VALUE", rest);
    return parse_text(p, rest, KL_COMMAND_OPTION, "option KEY=VALUE");
}

static int parse_disk(struct kl_words_parser *p, const char *rest) {
    const char *at = rest;
    unsigned long n = 1;
    p->out->disk_step = !strcmp(rest, "next") ? 1 : !strcmp(rest, "previous") ? -1 : 0;
    if (!p->out->disk_step && (!number(&at, 0, KL_DISK_NONE - 1, &n) || *at))
        return refuse(p, "disk N, from 1 (0: none), disk next or disk previous", rest);
    kl_words_put_disk(&p->out->order, n ? (uint16_t)(n - 1) : KL_DISK_NONE);
    return 0;
}

static void put_swap(struct kl_order *o, unsigned long a, unsigned long b) {
    *o = (struct kl_order){.kind = KL_COMMAND_SWAP, .len = 2};
    o->data[0] = (uint8_t)(a - 1);
    o->data[1] = (uint8_t)(b - 1);
}

static int parse_swap(struct kl_words_parser *p, const char *rest) {
    const char *at = *rest ? rest : "1 2";
    unsigned long a, b;
    bool good = number(&at, 1, KL_MAX_SEATS, &a) && number(&at, 1, KL_MAX_SEATS, &b) && !*at && a != b;
    if (!good) return refuse(p, "swap A B, two players from 1 to 8", rest);
    put_swap(&p->out->order, a, b);
    return 0;
}

static int parse_give(struct kl_words_parser *p, const char *rest) {
    const char *at = rest;
    unsigned long a;
    if (!number(&at, 1, KL_MAX_SEATS, &a) || !*at)
        return refuse(p, "give A NAME, a player from 1 to 8", rest);
    put_swap(&p->out->order, a, a);
    snprintf(p->out->who, sizeof p->out->who, "%s", at);
    return 0;
}

/* --- policy, budget, spacing, lead-max: one command --- */

#define SPACING_WORD "spacing"

static bool take_budget(struct kl_words *w, const char **at) {
    unsigned long n;
    w->has_budget = number(at, KL_BUDGET_MIN_MS, KL_BUDGET_MAX_MS, &n);
    if (w->has_budget) kl_words_put_policy(&w->order, w->order.data[0], (uint16_t)n, 0, 0);
    return w->has_budget;
}

static bool take_spacing(struct kl_words *w, const char **at) {
    unsigned long n;
    w->has_spacing = number(at, 0, KL_SPACING_MAX, &n);
    if (w->has_spacing) w->order.data[3] = (uint8_t)n;
    return w->has_spacing;
}

static int parse_budget(struct kl_words_parser *p, const char *rest) {
    const char *at = rest;
    kl_words_put_policy(&p->out->order, 0, 0, 0, 0);
    if (take_budget(p->out, &at) && !*at) return 0;
    return refuse(p, "budget MS, of 20 to 60000 ms", rest);
}

static int parse_spacing(struct kl_words_parser *p, const char *rest) {
    const char *at = rest;
    kl_words_put_policy(&p->out->order, 0, 0, 0, 0);
    if (take_spacing(p->out, &at) && !*at) return 0;
    return refuse(p, "spacing N, of 1 to 30 frames, or 0 to follow the link", rest);
}

static int parse_lead_max(struct kl_words_parser *p, const char *rest) {
    const char *at = rest;
    unsigned long n;
    p->out->has_lead_max = number(&at, KL_SPACING_MIN, KL_SPACING_MAX, &n) && !*at;
    if (!p->out->has_lead_max) return refuse(p, "lead-max N, of 1 to 30 frames", rest);
    kl_words_put_policy(&p->out->order, 0, 0, 0, (uint8_t)n);
    return 0;
}

static int parse_policy(struct kl_words_parser *p, const char *rest) {
    static const char want[] = "policy strict, bounded or optimistic, a wait budget of 20 to 60000 ms, and "
                               "spacing 1 to 30 (0: follows the link)";
    const size_t word = sizeof SPACING_WORD - 1;
    char name[16];
    uint8_t policy;
    size_t len = strcspn(rest, " \t");
    snprintf(name, sizeof name, "%.*s", (int)(len < sizeof name ? len : sizeof name), rest);
    const char *at = skip(rest + len);
    if (!kl_policy_of(name, &policy)) return refuse(p, want, rest);
    p->out->has_policy = true;
    kl_words_put_policy(&p->out->order, policy, 0, 0, 0);
    if (is_digit(*at) && !take_budget(p->out, &at)) return refuse(p, want, rest);
    if (begins(at, SPACING_WORD) && is_blank(at[word])) {
        at = skip(at + word);
        if (!take_spacing(p->out, &at)) return refuse(p, want, rest);
    }
    return *at ? refuse(p, want, rest) : 0;
}

/* --- the host's, about members and the door --- */

static int parse_member(struct kl_words_parser *p, const char *rest, uint8_t kind, const char *want) {
    if (!*rest) return refuse(p, want, rest);
    snprintf(p->out->who, sizeof p->out->who, "%s", rest);
    p->out->order.kind = kind;
    p->out->order.len = 1;
    return 0;
}
static int parse_host(struct kl_words_parser *p, const char *rest) {
    return parse_member(p, rest, KL_COMMAND_HOST, "host NAME");
}
static int parse_kick(struct kl_words_parser *p, const char *rest) {
    return parse_member(p, rest, KL_COMMAND_KICK, "kick NAME");
}
static int parse_ban(struct kl_words_parser *p, const char *rest) {
    return parse_member(p, rest, KL_COMMAND_BAN, "ban NAME");
}

static int parse_mute(struct kl_words_parser *p, const char *rest) {
    p->out->mute = true;
    return parse_member(p, rest, 0, "mute NAME");
}
static int parse_volume(struct kl_words_parser *p, const char *rest) {
    static const char want[] = "volume PERCENT NAME, 0 to 200";
    const char *name = rest;
    unsigned long percent;
    if (!number(&name, 0, 200, &percent)) return refuse(p, want, rest);
    p->out->volume = true;
    p->out->percent = (unsigned)percent;
    return parse_member(p, name, 0, want);
}
static int parse_talk(struct kl_words_parser *p, const char *rest) {
    p->out->talk = true;
    return plain(p, rest, 0);
}

static int parse_desync(struct kl_words_parser *p, const char *rest) {
    static const char *const names[3] = {"heal", "pause", "ignore"};
    uint8_t policy;
    if (!name_of(names, rest, &policy)) return refuse(p, "desync heal, pause or ignore", rest);
    p->out->order.kind = KL_COMMAND_DESYNC;
    p->out->order.len = 1;
    p->out->order.data[0] = policy;
    return 0;
}

/* --- seats --- */

static int parse_watch(struct kl_words_parser *p, const char *rest) {
    if (plain(p, rest, KL_COMMAND_SEAT) != 0) return -1;
    p->out->order.len = 1;
    return 0;
}
static int parse_play(struct kl_words_parser *p, const char *rest) {
    if (parse_watch(p, rest) != 0) return -1;
    p->out->order.data[0] = 1;
    return 0;
}
/* Whether the giver has a seat to hand on is known where it is given. */
static int parse_next(struct kl_words_parser *p, const char *rest) {
    if (parse_watch(p, rest) != 0) return -1;
    p->out->order.data[0] = KL_SEAT_NEXT;
    return 0;
}
static int parse_queue(struct kl_words_parser *p, const char *rest) {
    p->out->queue = true;
    return plain(p, rest, 0);
}
static int parse_places(struct kl_words_parser *p, const char *rest) {
    if (rest[0] < '1' || rest[0] > '0' + KL_MAX_SEATS || rest[1]) return refuse(p, "places N, 1 to 8", rest);
    p->out->order.kind = KL_COMMAND_PLACES;
    p->out->order.len = 1;
    p->out->order.data[0] = (uint8_t)(rest[0] - '0');
    return 0;
}

static int parse_delay(struct kl_words_parser *p, const char *rest) {
    const char *at = rest;
    unsigned long s;
    if (!number(&at, 0, KL_WATCH_DELAY_MAX_S, &s) || *at) return refuse(p, "delay SECONDS, 0 to 300", rest);
    p->out->order.kind = KL_COMMAND_DELAY;
    p->out->order.len = 2;
    p->out->order.data[0] = (uint8_t)s;
    p->out->order.data[1] = (uint8_t)(s >> 8);
    return 0;
}

static int parse_voice(struct kl_words_parser *p, const char *rest) {
    static const char *const names[3] = {"players", "none", "all"}, *const own[3] = {"off", "on", "push"};
    uint8_t allowed, ours;
    if (name_of(own, rest, &ours)) {
        p->out->voice = own[ours];
        return 0;
    }
    if (!name_of(names, rest, &allowed))
        return refuse(p, "voice off, on or push; the host: voice none, players or all", rest);
    p->out->order.kind = KL_COMMAND_VOICE;
    p->out->order.len = 1;
    p->out->order.data[0] = allowed;
    return 0;
}

static int parse_watchers(struct kl_words_parser *p, const char *rest) {
    return plain(p, rest, KL_COMMAND_WATCHERS);
}

static int parse_lock(struct kl_words_parser *p, const char *rest) {
    if (plain(p, rest, KL_COMMAND_LOCK) != 0) return -1;
    p->out->order.len = 1;
    p->out->order.data[0] = 1;
    return 0;
}
static int parse_unlock(struct kl_words_parser *p, const char *rest) {
    if (parse_lock(p, rest) != 0) return -1;
    p->out->order.data[0] = 0;
    return 0;
}

const struct kl_words_row kl_words_rows[] = {
    {"pause",
     "the game stands still; the hot key and the core option also resume; 6 times a minute from one address "
     "at most, for 60 seconds each and 180 seconds in all, unless the relay says otherwise",
     "all", parse_pause},
    {"resume", "the game goes on; if the room asks whether to play on with machines that differ, you agree",
     "all", parse_resume},
    {"reset", "resets the emulated machine, once more than half of the players have asked within 10 seconds",
     "players", parse_reset},
    {"again",
     "in a match the same as `reset`: asks for a rematch, or agrees to what another player asks for; else "
     "tries the room again that did not let you in, with `keylock.cfg` as it is now",
     "all", parse_again},
    {"leave",
     "you leave the room, or the way to one, and the game goes on alone; the hot key is to be held for 2 "
     "seconds, with a countdown on the screen",
     "all", parse_leave},
    {"save", "every machine keeps its state, as the room's one saved state", "all", parse_save},
    {"load",
     "all machines load the room's saved state, or none, once more than half of the players have asked "
     "within 10 seconds; a message names the machines that lack it",
     "players", parse_load},
    {"option KEY=VALUE",
     "sets a core option, as the core's own options in the menu do; of a player who is not the host once "
     "more than half of the players have asked within 10 seconds",
     "players", parse_option},
    {"disk N|next|previous",
     "takes the disk out and puts disk N in, counted from 1, once all machines have the same; 0: no disk; "
     "the frontend's own disk control does the same",
     "all", parse_disk},
    {"say TEXT", "shows a line on every screen; the log has its frame", "all", parse_say},
    {"report TEXT",
     "writes the frame and these words into the relay's recording, for a verifier; once a minute; nobody "
     "else sees it",
     "all", parse_report},
    {"chat", "opens a line for typing on this screen; the key below Esc does the same", "all", parse_chat},
    {"swap [A B]", "players A and B change places; players 1 and 2 if none is named", "host", parse_swap},
    {"give A NAME", "NAME plays as player A; the former player A gets NAME's place", "host", parse_give},
    {"policy NAME [BUDGET_MS] [spacing N]", "sets strict, bounded or optimistic", "host", parse_policy},
    {"budget MS", "sets the wait budget of a bounded or optimistic room", "host", parse_budget},
    {"spacing N", "fixes the spacing at 1 to 30 frames; 0 follows the link", "host", parse_spacing},
    {"lead-max N", "sets the longest spacing that follows the link, 1 to 30 frames", "host", parse_lead_max},
    {"watch", "you give up your seat, or your place in the queue, and watch", "all", parse_watch},
    {"play", "you take a free seat, or wait in the queue for one", "all", parse_play},
    {"next", "a player hands the seat on to the first of the queue; for all others the same as `play`", "all",
     parse_next},
    {"queue", "tells who plays, and who waits for a seat", "all", parse_queue},
    {"places N", "the game has N seats, 1 to 8, so more players can join", "host", parse_places},
    {"delay SECONDS", "watchers from outside see the game SECONDS later, 0 to 300", "host", parse_delay},
    {"watchers", "lists the watchers from outside", "host", parse_watchers},
    {"voice off|on|push",
     "you hear the players who have voice on, and they hear you; `push`: while you hold the hot key `talk`",
     "all", parse_voice},
    {"mute NAME|A", "a player is not heard on this machine any more, or again", "all", parse_mute},
    {"volume PERCENT NAME|A", "a player is heard on this machine at so many percent, 0 to 200", "all",
     parse_volume},
    {"talk", "a hot key alone: with `voice push` you are heard while you hold it", "all", parse_talk},
    {"voice none|players|all",
     "lets nobody hear the players' voices; the players; or watchers, too, if they see the game without "
     "delay. At first the players",
     "host", parse_voice},
    {"host NAME|A", "makes another player the host, by name or number", "host", parse_host},
    {"lock", "closes the room to newcomers", "host", parse_lock},
    {"unlock", "opens the room again", "host", parse_unlock},
    {"desync heal|pause|ignore", "sets the room's action when hashes differ", "host", parse_desync},
    {"kick NAME|A", "puts a player out of the room; A is the number behind the name", "host", parse_kick},
    {"ban NAME|A", "puts a player out, and keeps the player and the address out", "host", parse_ban},
    {"panel", "turns the panel on this screen on or off", "all", parse_panel},
    {"ahead", "turns `ahead` off on this machine, or to `auto`", "all", parse_ahead},
    {.form = NULL},
};

static size_t verb_len(const struct kl_words_row *row) {
    return strcspn(row->form, " ");
}

static int refuse_verb(struct kl_words_parser *p, const char *got) {
    char verbs[KL_WORDS_MAX] = "";
    size_t used = 0;
    for (const struct kl_words_row *row = kl_words_rows; row->form && used < sizeof verbs; row++)
        used += (size_t)snprintf(verbs + used, sizeof verbs - used, "%s%.*s",
                                 used ? ", " : "a command: ", (int)verb_len(row), row->form);
    return refuse(p, verbs, got);
}

int kl_words_parse(struct kl_words *out, const char *line, char *err, size_t err_len) {
    char own[KL_WORDS_MAX];
    *out = (struct kl_words){0};
    struct kl_words_parser p = {out, err, err_len};
    if (strlen(line) >= sizeof own) {
        snprintf(err, err_len, "expected at most %zu bytes, got %zu", sizeof own - 1, strlen(line));
        return -1;
    }
    snprintf(own, sizeof own, "%s", skip(line));
    for (size_t n = strlen(own); n && is_blank(own[n - 1]);)
        own[--n] = 0;
    size_t len = strcspn(own, " \t");
    for (const struct kl_words_row *row = kl_words_rows; row->form; row++)
        if (verb_len(row) == len && !memcmp(row->form, own, len)) return row->parse(&p, skip(own + len));
    return refuse_verb(&p, own);
}
