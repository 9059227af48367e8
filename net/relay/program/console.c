#include "net/relay/program/console.h"

#include <ctype.h>
#include <string.h>

#include "net/engine/command.h"
#include "net/platform/standard.h"
#include "net/relay/lobby/lobby_parts.h"

/* --- a line --- */

/* In the order of the help. */
static const struct {
    const char *usage, *help; /* the first word of the usage is the command */
    enum kl_console_verb verb;
    enum { A_MEMBER = 1, WORDS, ON_OFF } then; /* behind the room's name; WORDS: as a member's; 0: nothing */
} verbs[] = {
    {"rooms", "lists the rooms", KL_CONSOLE_ROOMS, 0},
    {"who ROOM", "lists the members of a room", KL_CONSOLE_WHO, 0},
    {"say ROOM TEXT", "shows a line on all members' screens", KL_CONSOLE_ORDER, WORDS},
    {"pause ROOM", "pauses the game", KL_CONSOLE_ORDER, 0},
    {"resume ROOM", "ends the pause", KL_CONSOLE_ORDER, 0},
    {"policy ROOM NAME [BUDGET_MS]", "sets the policy: strict, bounded or optimistic", KL_CONSOLE_ORDER,
     WORDS},
    {"reset ROOM", "resets the emulated machine", KL_CONSOLE_ORDER, 0},
    {"save ROOM", "saves the room's one state on all machines", KL_CONSOLE_ORDER, 0},
    {"load ROOM", "loads that state on all machines", KL_CONSOLE_ORDER, 0},
    {"snapshot ROOM", "takes a snapshot; the relay keeps it if the machines agree", KL_CONSOLE_SNAPSHOT, 0},
    {"option ROOM KEY=VALUE", "sets a core option", KL_CONSOLE_ORDER, WORDS},
    {"disk ROOM N", "inserts disk N, from 1; 0 only takes the disk out", KL_CONSOLE_ORDER, WORDS},
    {"swap ROOM A B", "swaps the pads of players A and B", KL_CONSOLE_ORDER, WORDS},
    {"lock ROOM", "refuses newcomers", KL_CONSOLE_ORDER, 0},
    {"unlock ROOM", "admits newcomers again", KL_CONSOLE_ORDER, 0},
    {"kick ROOM NAME", "puts a member out; or the number of a player", KL_CONSOLE_ORDER, A_MEMBER},
    {"ban ROOM NAME", "puts a member out, and refuses the member and its address from then on",
     KL_CONSOLE_ORDER, A_MEMBER},
    {"close ROOM", "puts all out of a room, which ends", KL_CONSOLE_CLOSE, 0},
    {"host ROOM NAME", "makes a member the host", KL_CONSOLE_ORDER, A_MEMBER},
    {"delay ROOM SECONDS", "sets the delay of watchers, 0 to 300", KL_CONSOLE_ORDER, WORDS},
    {"record ROOM on|off", "keeps the match's recording, if the game has not begun, or does not",
     KL_CONSOLE_RECORD, ON_OFF},
    {"status",
     "prints counts since the start, a line each:\n"
     "  sessions     open now, made, refused, moved, closed for flooding\n"
     "  taken        inputs and messages received; inputs sent\n"
     "  dropped      malformed; strange: without a session; forged: sealed with\n"
     "               other keys; replayed; unfit: not allowed to a client;\n"
     "               limited: datagrams over the limit; slowed: messages over\n"
     "               the limit, which come again\n"
     "  strangers    bytes from and to clients without a session, cookies sent\n"
     "  turned_away  clients put out, wrong passwords, wrong returns\n"
     "  held         memory of rooms, the journal",
     KL_CONSOLE_STATUS, 0},
    {"drain", "hands the rooms on to the other relays of the fleet, and takes no new rooms", KL_CONSOLE_DRAIN,
     0},
    {"quit", "ends the relay", KL_CONSOLE_QUIT, 0},
    {"help", NULL, KL_CONSOLE_HELP, 0},
};
#define VERBS (sizeof verbs / sizeof *verbs)

static int word_length(const char *usage) {
    return (int)strcspn(usage, " ");
}

/* VERBS: there is none with this first word. */
static size_t find_verb(const char *first) {
    size_t i = 0;
    while (i < VERBS && (word_length(verbs[i].usage) != (int)strlen(first) ||
                         strncmp(first, verbs[i].usage, strlen(first)) != 0))
        i++;
    return i;
}

bool kl_console_knows(const char *first) {
    return find_verb(first) < VERBS;
}

static const char *skip(const char *at) {
    while (isblank((unsigned char)*at))
        at++;
    return at;
}

/* The character at `at`, of a quoted word, as kl_log_quote() writes it; moves *at behind it. */
static char quoted_char(const char **at) {
    const char *s = *at;
    unsigned byte;
    bool hex = !strncmp(s, "\\x", 2) && isxdigit((unsigned char)s[2]) && isxdigit((unsigned char)s[3]);
    if (hex && sscanf(s + 2, "%2x", &byte) == 1 && byte) {
        *at += 4;
        return (char)byte;
    }
    if (**at == '\\' && ((*at)[1] == '"' || (*at)[1] == '\\')) ++*at;
    return *(*at)++;
}

/* The next word, quotes taken off. "" at the end. out holds KL_CONSOLE_LINE bytes. */
static const char *word(const char *at, char *out) {
    size_t n = 0;
    bool quoted = *at == '"';
    at += quoted;
    while (*at && n + 1 < KL_CONSOLE_LINE && (quoted ? *at != '"' : !isblank((unsigned char)*at)))
        out[n++] = quoted ? quoted_char(&at) : *at++;
    out[n] = 0;
    return skip(at + (quoted && *at == '"'));
}

/* why: "", or the word that was expected and the one that came. */
static void bad(struct kl_console_line *out, const char *usage, const char *why) {
    out->verb = KL_CONSOLE_BAD;
    snprintf(out->room, sizeof out->room, *why ? "%.200s: %.200s" : "expected: %.200s%s", usage, why);
}

/* The words of a member. Those that need a machine are refused. */
static bool parse_order(struct kl_console_line *out, const char *verb, const char *rest, char *why,
                        size_t cap) {
    char line[2 * KL_CONSOLE_LINE];
    snprintf(line, sizeof line, "%s %s", verb, rest);
    if (kl_words_parse(&out->words, line, why, cap) != 0) return false;
    return !out->words.disk_step && !out->words.has_spacing;
}

static void parse_verb(struct kl_console_line *out, size_t verb, const char *first, const char *at) {
    char rest[KL_CONSOLE_LINE] = "", why[KL_CONSOLE_LINE / 2] = "";
    bool has_room = verbs[verb].verb >= KL_CONSOLE_WHO, member = verbs[verb].then == A_MEMBER,
         on_off = verbs[verb].then == ON_OFF;
    out->verb = verbs[verb].verb;
    if (has_room) at = word(at, out->room);
    if (member || on_off) at = word(at, rest);
    if (verbs[verb].then == WORDS) {
        snprintf(rest, sizeof rest, "%s", at);
        at = "";
    }
    bool good = !*at && (*out->room || !has_room) && (*rest || !verbs[verb].then);
    if (good && out->verb == KL_CONSOLE_ORDER) good = parse_order(out, first, rest, why, sizeof why);
    out->on = !strcmp(rest, "on");
    if (on_off) good = good && (out->on || !strcmp(rest, "off"));
    if (member) snprintf(out->words.who, sizeof out->words.who, "%s", rest); /* with its blanks */
    if (!good) bad(out, verbs[verb].usage, why);
}

/* Words behind a room's name stay as they are: a text has quotes of its own. */
bool kl_console_join(char out[KL_CONSOLE_LINE], char *const *words) {
    char quoted[KL_LOG_QUOTED(KL_CONSOLE_LINE)];
    const size_t verb = *words ? find_verb(*words) : VERBS;
    size_t n = 0;
    *out = 0;
    for (size_t i = 0; words[i] && n < KL_CONSOLE_LINE; i++) {
        bool name = verb < VERBS && (i == 1 || (i == 2 && verbs[verb].then == A_MEMBER));
        if (name) kl_log_quote(quoted, sizeof quoted, words[i]);
        n += (size_t)snprintf(out + n, KL_CONSOLE_LINE - n, "%s%s", i ? " " : "", name ? quoted : words[i]);
    }
    return n < KL_CONSOLE_LINE;
}

void kl_console_parse(struct kl_console_line *out, const char *line) {
    char first[KL_CONSOLE_LINE], all[KL_CONSOLE_LINE];
    size_t n = 0;
    memset(out, 0, sizeof *out);
    const char *at = word(skip(line), first);
    if (!*first) return;
    const size_t verb = find_verb(first);
    if (verb < VERBS) {
        parse_verb(out, verb, first, at);
        return;
    }
    for (size_t i = 0; i < VERBS; i++)
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%.*s",
                              i + 1 == VERBS ? " or "
                              : i            ? ", "
                                             : "",
                              word_length(verbs[i].usage), verbs[i].usage);
    bad(out, all, "");
}

/* --- commands --- */

static void show_help(struct kl_buffer *to) {
    for (size_t i = 0; i < VERBS; i++) {
        const char *usage = verbs[i].usage, *line = verbs[i].help;
        for (int len; line; usage = "", line = line[len] ? line + len + 1 : NULL) {
            len = (int)strcspn(line, "\n");
            kl_buffer_add(to, "%-31s%.*s\n", usage, len, line);
        }
    }
    kl_buffer_add(to, "A name with blanks stands in double quotes, and there every name as it is shown: \\\" "
                      "\\\\ \\xNN.\n");
}

static const char *phase_name(const struct kl_lobby_room *r) {
    switch (r->phase) {
    case KL_ROOM_GATHERING: return "gathering";
    case KL_ROOM_ASKED:
    case KL_ROOM_LOADING: return "loading";
    case KL_ROOM_REOPENING: return "reopening";
    case KL_ROOM_PLAYING: return r->lock.paused ? "paused" : "playing";
    }
    return "unknown";
}

static const char *yes(bool is) {
    return is ? "yes" : "no";
}

#define LLU(x) ((unsigned long long)(x))

static void show_network(const struct kl_hub_stats *n, struct kl_buffer *to) {
    kl_buffer_add(to, "sessions open=%u handshakes=%llu refused=%llu moves=%llu flooded=%llu\n", n->peers,
                  LLU(n->handshakes), LLU(n->refused), LLU(n->moves), LLU(n->flooded));
    kl_buffer_add(to, "taken inputs=%llu messages=%llu inputs_sent=%llu\n", LLU(n->datagrams_in),
                  LLU(n->messages_in), LLU(n->datagrams_out));
    kl_buffer_add(
        to,
        "dropped malformed=%llu strange=%llu forged=%llu replayed=%llu unfit=%llu limited=%llu slowed=%llu\n",
        LLU(n->malformed), LLU(n->strange), LLU(n->forged), LLU(n->replayed), LLU(n->unfit), LLU(n->limited),
        LLU(n->slowed));
    kl_buffer_add(to, "strangers bytes_in=%llu bytes_out=%llu cookies=%llu\n", LLU(n->asked_bytes),
                  LLU(n->answered_bytes), LLU(n->cookies));
}

static void show_status(const struct kl_lobby *l, const struct kl_hub_stats *network, struct kl_buffer *to) {
    struct kl_lobby_stats t = kl_lobby_stats(l);
    show_network(network, to);
    kl_buffer_add(to, "turned_away put_out=%llu wrong_passwords=%llu wrong_returns=%llu\n", LLU(t.put_out),
                  LLU(t.wrong_passwords), LLU(t.wrong_returns));
    kl_buffer_add(
        to,
        "held start_kib=%llu history_kib=%llu snapshot_kib=%llu journal_kib=%llu journal_failures=%llu "
        "journal_over=%llu\n",
        LLU(t.start_bytes) / 1024, LLU(t.history_bytes) / 1024, LLU(t.snapshot_bytes) / 1024,
        LLU(t.journal.bytes) / 1024, LLU(t.journal.failures), LLU(t.journal.over));
    kl_buffer_add(to, "ok rooms=%u members=%u\n", kl_lobby_rooms(l), kl_lobby_members(l));
}

static void show_rooms(const struct kl_lobby *l, struct kl_buffer *to) {
    char name[KL_LOG_QUOTED(KL_NAME_MAX)];
    for (unsigned i = 0; i < l->limits.rooms; i++) {
        const struct kl_lobby_room *r = l->room[i];
        if (!r) continue;
        const struct kl_params *p = &r->lock.params;
        kl_buffer_add(
            to,
            "room=%s state=%s filled=%u players=%u frame=%u spacing=%u policy=%s budget_ms=%u listed=%s "
            "password=%s locked=%s watchers=%u delay_s=%u recorded=%s\n",
            kl_log_quote(name, sizeof name, r->name), phase_name(r), kl_size(kl_lobby_seats_filled(r)),
            r->params.players, r->lock.next_close, r->report.spacing, kl_policy_name(p->policy),
            p->wait_budget_ms, yes(!(r->door.flags & KL_DOOR_UNLISTED)),
            yes(r->door.flags & KL_DOOR_PASSWORD), yes(r->door.flags & KL_DOOR_LOCKED), r->watch.count,
            r->watch.delay_s, yes(r->door.recorded));
    }
    kl_buffer_add(to, "ok rooms=%u members=%u\n", kl_lobby_rooms(l), kl_lobby_members(l));
}

static void show_members(const struct kl_lobby_room *r, struct kl_buffer *to) {
    static const char *const presence[] = {"here", "absent", "returning"};
    char name[KL_LOG_QUOTED(KL_NAME_MAX)], seats[20], player[KL_NAME_NUMBERS];
    unsigned n = 0;
    for (KL_MEMBERS(i, r, kl_lobby_here)) {
        const struct kl_lobby_member *m = r->member[i];
        const struct kl_lock_client *c = &r->lock.client[i];
        n++;
        kl_name_numbers(kl_lock_played(&r->lock, m->seats), player);
        kl_buffer_add(to, "client=%u name=%s seats=%s player=%s host=%d rtt_ms=%.1f backlog=%u %s\n", i,
                      kl_log_quote(name, sizeof name, m->v.name), kl_log_seats(seats, m->seats),
                      *player ? player : "none", i == r->host, c->rtt.srtt_us / 1e3, c->backlog,
                      m->place == KL_PLACE_LEAVING ? "leaving"
                      : !kl_lobby_reaches(m)       ? "cut"
                      : c->away                    ? "away"
                                                   : presence[c->presence % 3]);
    }
    for (unsigned i = 0; i < r->watch.count; i++)
        kl_buffer_add(to, "client=watcher name=%s behind=%u\n",
                      kl_log_quote(name, sizeof name, r->watch.at[i]->v.name),
                      r->lock.next_close - r->watch.at[i]->ran);
    kl_buffer_add(to, "ok members=%u watchers=%u\n", n, r->watch.count);
}

static void tell(struct kl_buffer *to, int result) {
    switch (result) {
    case KL_OK: kl_buffer_add(to, "ok\n"); break;
    case KL_E_FULL: kl_buffer_add(to, KL_CONSOLE_ERROR "too many commands wait in this room\n"); break;
    case KL_E_SPACE:
        kl_buffer_add(to, KL_CONSOLE_ERROR "expected at most %d bytes\n", KL_COMMAND_BYTES);
        break;
    default:
        kl_buffer_add(to,
                      KL_CONSOLE_ERROR "not possible: the room is not playing, or has nothing to act on\n");
        break;
    }
}

static void order_member(struct kl_lobby_room *r, enum kl_lobby_order order, const char *name,
                         struct kl_buffer *to, uint64_t now_us) {
    char err[KL_TEXT_MAX];
    if (kl_lobby_order_member(r, order, name, err, sizeof err, now_us) == KL_OK)
        kl_buffer_add(to, "ok\n");
    else
        kl_buffer_add(to, KL_CONSOLE_ERROR "%s\n", err);
}

static void give_order(struct kl_lobby_room *r, const struct kl_words *w, struct kl_buffer *to,
                       uint64_t now_us) {
    const struct kl_order *o = &w->order;
    char text[KL_COMMAND_BYTES + 1];
    switch (o->kind) {
    case KL_COMMAND_CHAT:
        snprintf(text, sizeof text, "%.*s", o->len, (const char *)o->data);
        tell(to, kl_lobby_order_say(r, text, now_us));
        break;
    case KL_COMMAND_PAUSE: tell(to, kl_lobby_order_pause(r, o->data[0], now_us)); break;
    case KL_COMMAND_POLICY:
        tell(to, kl_lobby_order_policy(r, o->data[0], (uint16_t)(o->data[1] | o->data[2] << 8)));
        break;
    case KL_COMMAND_DELAY: tell(to, kl_lobby_order_delay(r, o->data[0] | (unsigned)o->data[1] << 8)); break;
    case KL_COMMAND_LOCK: tell(to, kl_lobby_order_lock(r, o->data[0])); break;
    case KL_COMMAND_KICK: order_member(r, KL_ORDER_KICK, w->who, to, now_us); break;
    case KL_COMMAND_BAN: order_member(r, KL_ORDER_BAN, w->who, to, now_us); break;
    case KL_COMMAND_HOST: order_member(r, KL_ORDER_HOST, w->who, to, now_us); break;
    default: tell(to, kl_lobby_order_command(r, o, now_us)); break;
    }
}

static void in_room(struct kl_lobby_room *r, const struct kl_console_line *c, struct kl_buffer *to,
                    uint64_t now_us) {
    switch (c->verb) {
    case KL_CONSOLE_WHO: show_members(r, to); break;
    case KL_CONSOLE_SNAPSHOT: tell(to, kl_lobby_snapshot_order(r, 0, now_us) ? KL_OK : KL_E_STATE); break;
    case KL_CONSOLE_RECORD: tell(to, kl_lobby_order_record(r, c->on)); break;
    case KL_CONSOLE_ORDER: give_order(r, &c->words, to, now_us); break;
    case KL_CONSOLE_CLOSE:
        kl_lobby_close(r, "the relay's operator has closed the room", now_us);
        tell(to, KL_OK);
        break;
    default: break;
    }
}

bool kl_console_obey(struct kl_lobby *l, const struct kl_hub_stats *network, const char *line,
                     struct kl_buffer *to, uint64_t now_us) {
    struct kl_console_line c;
    kl_console_parse(&c, line);
    switch (c.verb) {
    case KL_CONSOLE_NOTHING: return true;
    case KL_CONSOLE_HELP: show_help(to); break;
    case KL_CONSOLE_QUIT: kl_buffer_add(to, "ok\n"); break;
    case KL_CONSOLE_DRAIN:
        if (kl_lobby_fleet_drain(l, now_us))
            kl_buffer_add(to, "ok\n");
        else
            kl_buffer_add(to, KL_CONSOLE_ERROR "expected another relay in this one's fleet, got none\n");
        break;
    case KL_CONSOLE_ROOMS: show_rooms(l, to); break;
    case KL_CONSOLE_STATUS: show_status(l, network, to); break;
    case KL_CONSOLE_BAD: kl_buffer_add(to, KL_CONSOLE_ERROR "%s\n", c.room); break;
    default: {
        struct kl_lobby_room *r = kl_lobby_find(l, c.room);
        if (r)
            in_room(r, &c, to, now_us);
        else
            kl_buffer_add(to, KL_CONSOLE_NO_ROOM " \"%s\"\n", c.room);
    }
    }
    return c.verb != KL_CONSOLE_QUIT;
}

/* --- the descriptor --- */

static bool take_byte(struct kl_console *c, char byte, struct kl_lobby *l, struct kl_buffer *to,
                      uint64_t now_us) {
    if (byte != '\n') {
        c->too_long = c->too_long || c->len + 1 == sizeof c->line;
        if (!c->too_long && byte) c->line[c->len++] = byte == '\r' ? ' ' : byte;
        return true;
    }
    c->line[c->len] = 0;
    bool go_on = true;
    if (c->too_long)
        kl_buffer_add(to, KL_CONSOLE_ERROR "expected a line of at most %zu bytes\n", sizeof c->line - 1);
    else
        go_on = kl_console_obey(l, &c->network, c->line, to, now_us);
    c->len = 0;
    c->too_long = false;
    return go_on;
}

/* One piece a call, so that a flooded console does not hold up the rooms. */
bool kl_console_read(struct kl_console *c, struct kl_lobby *l, struct kl_buffer *to, uint64_t now_us) {
    char piece[KL_CONSOLE_LINE];
    int n = kl_input_read(c->fd, piece, sizeof piece);
    if (n < 0) c->fd = -1;
    for (int i = 0; i < n; i++)
        if (!take_byte(c, piece[i], l, to, now_us)) return false;
    return true;
}
