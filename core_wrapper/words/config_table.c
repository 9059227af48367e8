#include "core_wrapper/words/config_table.h"

#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "core_wrapper/words/config.h"
#include "core_wrapper/words/hotkeys.h"
#include "net/platform/address.h"
#include "net/platform/file.h"
#include "net/session/command_words.h"
#include "net/session/url.h"
#include "net/transport/link.h"

/* --- values with rules of their own --- */

static bool store(const struct kl_row *row, char *field, const char *v) {
    size_t len = strlen(v);
    if (len < row->size) memcpy(field, v, len + 1);
    return len < row->size;
}

static bool take_name(const struct kl_row *row, void *field, const char *v, char why[KL_ROW_TEXT]) {
    (void)why;
    for (const char *p = v; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) return false;
    return *v && kl_characters(v) <= KL_NAME_CHARS && store(row, field, v);
}

static bool take_match(const struct kl_row *row, void *field, const char *v, char why[KL_ROW_TEXT]) {
    (void)why;
    return kl_match_fits(v) && store(row, field, v);
}

/* HOST, HOST:PORT, [V6]:PORT, V6. An address is written as the links have it. */
static bool take_place(char host[KL_CONFIG_HOST_MAX], uint16_t *to, const char *v) {
    const char *colon = strrchr(v, ':'), *bracket = strchr(v, ']');
    bool v6 = v[0] == '[' && bracket;
    if (!v6 && colon && strchr(v, ':') != colon) colon = NULL; /* a bare IPv6 address */
    if (v6 && colon && colon < bracket) colon = NULL;
    uint64_t port = KL_DEFAULT_PORT;
    if (colon && (!kl_number(colon + 1, 1, 65535, &port))) return false;
    const char *from = v6 ? v + 1 : v;
    size_t len = v6 ? (size_t)(bracket - from) : colon ? (size_t)(colon - from) : strlen(from);
    char text[KL_CONFIG_HOST_MAX];
    struct kl_address a;
    if (len == 0 || len >= sizeof text) return false;
    memcpy(text, from, len);
    text[len] = 0;
    if (kl_address_parse(text, &a)) kl_address_text(text, &a);
    memcpy(host, text, sizeof text);
    *to = (uint16_t)port;
    return true;
}

static bool take_relay(const struct kl_row *row, void *config, const char *v, char why[KL_ROW_TEXT]) {
    struct kl_config *c = config;
    (void)row, (void)why;
    if (!take_place(c->host, &c->port, v)) return false;
    c->fingerprint[0] = 0;
    return true;
}

static bool take_reached_at(const struct kl_row *row, void *config, const char *v, char why[KL_ROW_TEXT]) {
    struct kl_config *c = config;
    (void)row, (void)why;
    return take_place(c->reached_host, &c->reached_port, v);
}

/* Of a stranger's making: relay, room, fingerprint and nothing else. */
static bool take_link(const struct kl_row *row, void *config, const char *v, char why[KL_ROW_TEXT]) {
    struct kl_config *c = config;
    struct kl_url url;
    (void)row;
    if (kl_url_parse(v, &url, why, KL_ROW_TEXT) != 0) return false;
    snprintf(c->host, sizeof c->host, "%s", url.host);
    c->port = url.port ? url.port : KL_DEFAULT_PORT;
    snprintf(c->room, sizeof c->room, "%s", url.room);
    snprintf(c->fingerprint, sizeof c->fingerprint, "%s", url.fingerprint);
    c->linked = *url.room;
    return true;
}

static bool store_password(struct kl_config *c, const char *v) {
    size_t len = strlen(v);
    if (len == 0 || len > KL_DOOR_PASSWORD_MAX) return false;
    memcpy(c->password, v, len + 1);
    return true;
}

/* The value is not shown in errors. */
static bool take_password(const struct kl_row *row, void *config, const char *v, char why[KL_ROW_TEXT]) {
    (void)row;
    if (store_password(config, v)) return true;
    snprintf(why, KL_ROW_TEXT, "expected 1 to %d bytes, got %zu", KL_DOOR_PASSWORD_MAX, strlen(v));
    return false;
}

static bool take_password_file(const struct kl_row *row, void *config, const char *v, char why[KL_ROW_TEXT]) {
    char line[KL_DOOR_PASSWORD_MAX + 3] = "";
    FILE *f = kl_file_stream(v, "r");
    bool read = f && fgets(line, sizeof line, f);
    (void)row, (void)why;
    if (f) fclose(f);
    line[strcspn(line, "\r\n")] = 0;
    bool good = read && store_password(config, line);
    sodium_memzero(line, sizeof line);
    return good;
}

static bool take_hotkeys(const struct kl_row *row, void *field, const char *v, char why[KL_ROW_TEXT]) {
    struct kl_hotkeys keys;
    return kl_hotkeys_parse(&keys, v, why, KL_ROW_TEXT) == 0 && store(row, field, v);
}

static bool take_ahead(const struct kl_row *row, void *field, const char *v, char why[KL_ROW_TEXT]) {
    uint64_t n = !strcmp(v, "auto") ? KL_AHEAD_AUTO : 0;
    bool good = !strcmp(v, "off") || n || kl_number(v, 1, KL_SPACING_MAX, &n);
    (void)row, (void)why;
    if (good) *(uint8_t *)field = (uint8_t)n;
    return good;
}

/* --- the rows --- */

#define KEY(word, upper)   .key = word, .variable = "KEYLOCK_" upper
#define FIELD(f)           .field = offsetof(struct kl_config, f), .size = sizeof(((struct kl_config *)0)->f)
#define SAID(f)            .said = offsetof(struct kl_config, f)
#define RANGE(lo, hi, of)  .kind = KL_KIND_NUMBER, .min = lo, .max = hi, .unit = of
#define FLAG(who, word, v) .by = who, .name = word, .value = v
#define BOTH               (KL_BY_PLAY | KL_BY_RUN)
#define PLACE              "HOST or HOST:PORT with a port from 1 to 65535"
#define TEXT_OF(number)    #number
#define STANDARD(number)   .standard = TEXT_OF(number)
#define MENU(name, text, ...)                                                                                \
    .menu = &(const struct kl_menu) {                                                                        \
        .title = name, .info = text, ##__VA_ARGS__                                                           \
    }
#define AS_IT_IS  .extra = "room=As it is"
#define NAME_WANT "a name of 1 to 23 characters"
_Static_assert(KL_NAME_CHARS == 23, "NAME_WANT");

/* In the order in which they take effect: a link counts before relay and room, and so stands behind both. */
const struct kl_row kl_config_rows[] = {
    {KEY("core", "CORE"), .kind = KL_KIND_TEXT, FIELD(core), FLAG(KL_BY_PLAY, "core", "NAME_OR_PATH"),
     .shown = "none",
     .help = "the emulator core, by name or path; a wrapper named `NAME_keylock_libretro.so` always takes "
             "`NAME_libretro.so`"},
    {FLAG(KL_BY_PLAY, "content", "FILE"), .kind = KL_KIND_NONE, .help = "the content that the core plays"},
    {KEY("relay", "RELAY"), .take = take_relay, .want = PLACE, FLAG(BOTH, "relay", "HOST[:PORT]"),
     .shown = "none, plays alone", .help = "the relay, HOST[:PORT]"},
    {KEY("reached_at", "REACHED_AT"), .take = take_reached_at, .want = PLACE, .shown = "the relay",
     .help = "the relay as friends reach it, HOST[:PORT], for the invitation"},
    {FLAG(KL_BY_PLAY, "host-here", NULL),
     .help =
         "this machine is the relay while the game runs; the host's invitation has the address for friends"},
    {FLAG(KL_BY_PLAY, "challenge", "RELAY/NAME"),
     .help = "a relay's challenge, HOST[:PORT]/NAME, played alone; `-`: only hands in runs that wait"},
    {FLAG(KL_BY_PLAY, "map-port", "on|off"), .kind = KL_KIND_WORD, .words = "on off",
     .shown = "asks at a terminal, else off",
     .help = "with `--host-here`: asks the router by NAT-PMP or UPnP to forward the relay's UDP port until "
             "the game ends, `on` or `off`"},
    {KEY("mode", "MODE"), .kind = KL_KIND_WORD, .words = "alone quick room spectate", .min = KL_PLAY_ALONE,
     FIELD(mode), FLAG(KL_BY_PLAY, "mode", "MODE"), .shown = "room; without a relay alone",
     .help = "the mode: `room` (the named room), `quick` (joins or opens a match of this very game), "
             "`spectate` (the named room without a seat), `alone`",
     MENU("Play",
          "Alone; a quick match with somebody else who wants one of this very game; the room named below; or "
          "watch that room. Automatic: alone until a relay is set, then the room.",
          .extra = "auto=Automatic", .labels = "Alone|Quick match|Named room|Watch the named room")},
    {FLAG(KL_BY_PLAY, "spectate", NULL), .help = "the same as mode `spectate`"},
    {KEY("room", "ROOM"), .take = take_name, .want = NAME_WANT, FIELD(room), FLAG(BOTH, "room", "NAME"),
     .shown = "the room of the game, or the next one of that game if it is full",
     .help = "the name of the room, of at most 23 characters, made by the first player who names it",
     MENU("Named room",
          "Players who choose the same room on the same relay meet there. As set up: room = NAME in "
          "keylock.cfg, else the room of this game.",
          .extra = "own=As set up", .values = "red orange yellow green blue violet white black")},
    {KEY("practice", "PRACTICE"), .kind = KL_KIND_WORD, .words = "on off", .min = KL_PRACTICE_ON,
     FIELD(practice), FLAG(KL_BY_PLAY, "practice", "on|off"), .shown = "on",
     .help = "the game runs while the room waits, and then starts afresh; off: it stands still at its "
             "first picture",
     MENU("Practise while waiting",
          "The game runs until another player comes. The match then starts from power-on, without what you "
          "did before. Off: the game stands still at its first picture.")},
    {KEY("match", "MATCH"), .take = take_match, FIELD(match), FLAG(BOTH, "match", "ID"),
     .want = KL_MATCH_WANT, .shown = "none", .see = "testers.md#judging-a-tournament-match",
     .help = "an organiser's id of the match, in a room made here: it stands in all recordings of it"},
    {KEY("link", "LINK"), .take = take_link, FLAG(BOTH, "link", "LINK"), .shown = "none",
     .help = "a link `keylock://HOST[:PORT]/ROOM[#FINGERPRINT]`, in place of relay and room; `keylock "
             "play` also takes it as an argument, and finds the core and game that it names"},
    {KEY("password", "PASSWORD"), .take = take_password, .secret = true, FLAG(BOTH, "password", "TEXT|-"),
     .shown = "none",
     .help = "the password of the room: its maker sets it, all others need it; a flag's `-` reads the "
             "first line of standard input"},
    {KEY("password_file", "PASSWORD_FILE"), .take = take_password_file, FLAG(BOTH, "password-file", "FILE"),
     .want = "a file with a password of 1 to 128 bytes in its first line", .shown = "none",
     .help = "a file whose first line is the password"},
    {KEY("unlisted", "UNLISTED"), .kind = KL_KIND_SWITCH, FIELD(unlisted), FLAG(BOTH, "unlisted", NULL),
     .help = "the relay does not list a room made here"},
    {KEY("trust", "TRUST"), .kind = KL_KIND_WORD, .words = "auto on off", .min = KL_TRUST_AUTO, FIELD(trust),
     FLAG(BOTH, "trust", "WHEN"), .standard = "auto", .see = "security.md#another-players-bytes",
     .help = "this machine loads the other players' states and the host's saves: `auto` (with a password, "
             "by a link, or in a room that the player names and the relay does not list), `on` or `off`; "
             "never in a quick match"},
    {KEY("direct", "DIRECT"), .kind = KL_KIND_SWITCH, FIELD(direct), FLAG(BOTH, "direct", "on|off"),
     .standard = "on", .see = "security.md#straight-from-player-to-player",
     .help =
         "in rooms in which `trust` loads the others' states: presses also go straight to the players "
         "who have set the same, for better guesses with `ahead`; these players see each other's address"},
    {KEY("saves", "SAVES"), .kind = KL_KIND_SWITCH, FIELD(saves), FLAG(KL_BY_PLAY, "saves", "on|off"),
     .standard = "on", .see = "hosting.md#recordings",
     .help = "a game that this machine begins as host begins with its saves; off: without, on all machines, "
             "so that no recording of the match has them"},
    {KEY("slow", "SLOW"), .kind = KL_KIND_WORD, .words = "watch out", FIELD(let_go),
     FLAG(KL_BY_PLAY, "slow", "watch|out"), .standard = "watch",
     .help = "a late player whose machine cannot catch up, in a room made here: `watch`, or `out` (leaves "
             "the room)"},
    {KEY("netplay", "NETPLAY"), .kind = KL_KIND_SWITCH, FIELD(netplay), .standard = "on",
     .help = "RetroArch's own Netplay menu leads to rooms (RetroArch 1.17 and later)"},
    {KEY("seat_time", "SEAT_TIME"), RANGE(0, KL_CONFIG_SEAT_TIME_MAX, "seconds"), FIELD(seat_time_s),
     .zero = "as the relay has it", .want = "1 to 3600 seconds (0: as the relay has it)",
     FLAG(BOTH, "seat-time", "S"), .standard = "0",
     .help = "seconds that a room made here keeps the seat of a player who is cut off, {range}"},
    {KEY("insecure_lan", "INSECURE_LAN"), .kind = KL_KIND_SWITCH, FIELD(insecure_lan),
     FLAG(BOTH, "insecure-lan", NULL),
     .help = "no encryption, if the relay was started with the same option"},
    {KEY("invite", "INVITE"), .kind = KL_KIND_SWITCH, FIELD(invite),
     .shown = "off; on with `keylock play` and `run`",
     .help = "the wrapper writes the host's invitation to standard error, and why it could not enter a room"},
    {KEY("name", "NAME"), .take = take_name, .want = NAME_WANT, FIELD(name), FLAG(BOTH, "name", "NAME"),
     .shown = "RetroArch's user name, else the system's",
     .help = "the name that the others see, of at most 23 characters"},
    {KEY("seats", "SEATS"), RANGE(0, KL_MAX_SEATS, "seats"), .zero = "to watch", FIELD(seats),
     FLAG(KL_BY_PLAY, "seats", "K"), .standard = "1", .help = "the seats wanted at this machine, 0 to watch"},
    {KEY("players", "PLAYERS"), RANGE(1, KL_MAX_SEATS, "seats"), FIELD(params.players),
     FLAG(BOTH, "players", "P"), .standard = "2",
     .help = "the seats of the room, {range}; the game begins when they are filled"},
    {KEY("other_version", "OTHER_VERSION"), .kind = KL_KIND_SWITCH, FIELD(other_version),
     FLAG(KL_BY_PLAY, "other-version", NULL),
     .help = "other players may have another version of the core, if they have set the same; the machines "
             "may part then; never in a quick match"},
    {KEY("policy", "POLICY"), .kind = KL_KIND_WORD, .words = "strict bounded optimistic",
     .min = KL_POLICY_STRICT, FIELD(params.policy), SAID(policy_set), FLAG(BOTH, "policy", "NAME"),
     .shown = "bounded; at speed `max` strict",
     .help = "the policy of the room: strict (a frame waits for all players), bounded (a player who is too "
             "late is absent) or optimistic (frames close by the clock; only at speed `real`)",
     MENU("Room policy (host only)",
          "When a frame closes. Strict: waits for every player. Bounded: waits for a limited time. "
          "Optimistic: waits for no player.",
          AS_IT_IS, .verb = "policy ")},
    {KEY("desync", "DESYNC"), .kind = KL_KIND_WORD, .words = "heal pause ignore", .min = KL_DESYNC_HEAL,
     FIELD(params.desync), FLAG(KL_BY_PLAY, "desync", "WHAT"), .standard = "heal",
     .help = "the room's action when hashes differ: heal (the wrong machine gets the others' state), pause "
             "or ignore"},
    {KEY("budget_ms", "BUDGET_MS"), RANGE(KL_BUDGET_MIN_MS, KL_BUDGET_MAX_MS, "milliseconds"),
     FIELD(params.wait_budget_ms), SAID(budget_set), FLAG(BOTH, "budget", "MS"), .standard = "250",
     .help = "the wait budget: how long a bounded or optimistic room waits, {range} ms",
     MENU("Wait budget (host only)",
          "How long a bounded room waits for a player, and how long an optimistic room repeats a silent "
          "player's input.",
          AS_IT_IS, .labels = "* ms", .verb = "budget ",
          .values = "50 100 150 200 250 300 400 500 750 1000 1500 2000 3000 5000 10000")},
    {KEY("lead_max", "LEAD_MAX"), RANGE(KL_SPACING_MIN, KL_SPACING_MAX, "frames"), FIELD(params.lead_max),
     FLAG(BOTH, "lead-max", "N"), STANDARD(KL_LEAD_MAX_USUAL),
     .help = "the longest spacing that follows the link, {range} frames; players with longer links are not "
             "let in; strict rooms have no such limit"},
    {KEY("spacing", "SPACING"), RANGE(0, KL_SPACING_MAX, "frames"), .zero = "follows the link",
     FIELD(params.spacing_fixed), SAID(spacing_set), FLAG(BOTH, "spacing", "N"), .standard = "0",
     .help = "the fixed spacing of the room, {range} frames",
     MENU("Spacing (host only)",
          "The number of frames from a press to its play. It follows the link unless it is fixed here.",
          AS_IT_IS, .labels = "Follows the link|Fixed at *", .verb = "spacing ")},
    {KEY("subframes", "SUBFRAMES"), .kind = KL_KIND_SWITCH, FIELD(params.subframes),
     FLAG(BOTH, "subframes", "on|off"), .standard = "on",
     .help = "on: a sample each frame; off: a sample each keyframe (the original algorithm: fewer packets, "
             "slower)"},
    {KEY("half_steps", "HALF_STEPS"), .kind = KL_KIND_SWITCH, FIELD(params.half_steps), SAID(sparing),
     FLAG(BOTH, "half-steps", "on|off"),
     .help = "unacknowledged input goes out again after half a frame; a joiner's off counts for the joiner "
             "alone, whatever the room has"},
    {KEY("economy", "ECONOMY"), .kind = KL_KIND_SWITCH, FIELD(params.economy),
     FLAG(BOTH, "economy", "on|off"),
     .help = "a room made here is an economy room, for mobile data and capped lines: half the datagrams, and "
             "a frame more of delay"},
    {KEY("ahead", "AHEAD"), .take = take_ahead, FIELD(ahead), FLAG(BOTH, "ahead", "off|auto|N"),
     .standard = "auto", .want = "off, auto, or 1 to 30 frames", .see = "design.md#running-ahead",
     .help = "own presses show at once: this machine shows frames ahead of the lock, `auto` (as many as it "
             "can, if it has measured that the core can be had twice), or 1 to 30; a second core guesses the "
             "others' input and corrects itself; the others notice nothing",
     MENU("Show my presses at once",
          "Your own presses are on your screen in the next picture, whatever the link: a second copy of the "
          "game runs ahead and guesses the others' buttons, and corrects itself as their news comes. Your "
          "screen alone does this; the match itself stays as it is. It takes processor time: automatic uses "
          "what is there.",
          .values = "off auto 1 2 3 4 5 6 7 8 9 10 11 12", .labels = "Off|Automatic|At most * frames ahead",
          .here = true)},
    {KEY("feel", "FEEL"), RANGE(0, KL_FEEL_MAX, "frames"), FIELD(feel), FLAG(BOTH, "feel", "N"),
     .standard = "1", .see = "design.md#running-ahead",
     .help = "with `ahead`: frames that an own press waits, from 0 (sharper: more pictures are guessed, and "
             "more of them wrong) to 4 (calmer)",
     MENU("Sharper or calmer",
          "While your presses show at once: the frames that they wait. Sharper: none, and more pictures are "
          "guessed wrong and jump. Calmer: a few, and fewer pictures jump.",
          .labels = "0 frames: sharper|1 frame|2 frames|3 frames|4 frames: calmer", .here = true)},
    {KEY("voice", "VOICE"), .kind = KL_KIND_WORD, .words = "off on push", .min = KL_SPEAK_OFF, FIELD(voice),
     FLAG(BOTH, "voice", "off|on|push"), .standard = "off", .see = "voice.md",
     .help =
         "players of the room who have it on hear each other; `push`: you are heard while you hold the hot "
         "key `talk`",
     MENU("Voice",
          "You hear the players of the room who have voice on, and they hear you. Your microphone is open "
          "only "
          "while somebody can hear you. Use headphones. Push to talk: while you hold the hot key for it.",
          .labels = "Off|On|Push to talk", .here = true)},
    {KEY("line", "LINE"), .kind = KL_KIND_SWITCH, FIELD(line), FLAG(KL_BY_PLAY, "line", "on|off"),
     .help = "one line shows players, round trip and delay from the start",
     MENU("One line",
          "Shows the players, the round trip and the delay in one line at the bottom, for as long as you "
          "like.",
          .here = true)},
    {KEY("panel", "PANEL"), .kind = KL_KIND_SWITCH, FIELD(panel), FLAG(KL_BY_PLAY, "panel", "on|off"),
     .help = "the panel shows from the start",
     MENU("Panel", "Shows the players, round trip, delay, stops and the last ten seconds as a graph.",
          .here = true)},
    {KEY("draw", "DRAW"), .kind = KL_KIND_SWITCH, FIELD(draw), FLAG(KL_BY_PLAY, "draw", "on|off"),
     .standard = "on", .help = "the wrapper draws messages into the picture and gives none to the frontend"},
    {KEY("font", "FONT"), .kind = KL_KIND_TEXT, FIELD(font),
     .shown = "the file of Debian's package `unifont`",
     .help = "the file with the letters of other scripts for chat, a `.hex` file as GNU Unifont has it"},
    {KEY("hotkeys", "HOTKEYS"), .take = take_hotkeys, FIELD(hotkeys), SAID(hotkeys_set),
     FLAG(KL_BY_PLAY, "hotkeys", "LIST"), .standard = KL_HOTKEYS_DEFAULT,
     .shown = "as in the table of commands",
     .help = "the list of hot keys, BUTTON+BUTTON:COMMAND with commas between, as in "
             "`select+r:panel,select+l:pause`; or off"},
    {KEY("speed", "SPEED"), .kind = KL_KIND_SWITCH, .words = "max real", FIELD(params.clocked),
     .standard = "real", .help = "`real` time, or `max` (as fast as all machines go, for tests)"},
    {KEY("hash_every", "HASH_EVERY"), RANGE(0, UINT16_MAX, "frames"), .zero = "never",
     FIELD(params.hash_every), SAID(hash_every_set), .standard = "60",
     .help = "frames between hashes, 0 for none"},
    {KEY("hide", "HIDE"), .kind = KL_KIND_SWITCH, FIELD(hide), .standard = "on",
     .help = "the core is told which frames are unseen; the host's value counts; off for a core that plays "
             "such frames differently"},
    {KEY("load_own", "LOAD_OWN"), .kind = KL_KIND_SWITCH, FIELD(load_own),
     .help = "every machine loads its own state at a snapshot; the host's value counts; for cores that "
             "`probe` calls \"all\""},
    {KEY("learn", "LEARN"), .kind = KL_KIND_TEXT, FIELD(learn), .standard = "keylock",
     .shown = "`keylock`; with `keylock run --speed max` off",
     .help = "the program that measures a core in the background when the player first comes into a room "
             "with it: a path, a name on PATH (if it is not there, the wrapper's own file), or off"},
    {KEY("profile", "PROFILE"), .kind = KL_KIND_TEXT, FIELD(profile), .shown = "the folder of `probe --keep`",
     .help = "the profile of the core for rooms made here: a file, a folder of profiles, or off"},
    {KEY("record", "RECORD"), .kind = KL_KIND_TEXT, FIELD(record), FLAG(KL_BY_PLAY, "record", "off|on|DIR"),
     .standard = "off", .see = "testers.md#does-a-recording-tell-the-truth",
     .help = "each match is recorded, for `keylock verify`: on (in the folder `recordings` of this user's "
             "state), a folder that is there, or one file; the host's saves are in a recording",
     MENU("Record matches",
          "Writes each match from its beginning into a file on this machine, with the inputs and names of "
          "all players and the host's saves. From the next match on.",
          .values = "off on", .here = true)},
    {KEY("record_chat", "RECORD_CHAT"), .kind = KL_KIND_SWITCH, FIELD(record_chat),
     FLAG(BOTH, "record-chat", "on|off"), .standard = "off",
     .help = "this machine's recordings of matches have what was said in them"},
    {KEY("states", "STATES"), .kind = KL_KIND_TEXT, FIELD(states), .shown = "none: not kept",
     .help = "the folder for the states of the last hashed frames, written when hashes differ, for "
             "`keylock blame`"},
    {KEY("epoch", "EPOCH"), RANGE(0, 8000000000u, "seconds"), .want = "seconds since 1970", FIELD(epoch_s),
     SAID(epoch_set), .shown = "the machine's own clock",
     .help = "alone: the start of the core's clock, seconds since 1970"},
    {FLAG(KL_BY_PLAY, "relays", "FILE|URL"), .shown = "none", .see = "hosting.md#a-list-of-relays",
     .help = "a signed list of relays, of which the nearest is taken in place of `--relay`"},
    {FLAG(KL_BY_PLAY, "ask", NULL), .help = "asks before it follows a link to a relay that is neither set "
                                            "nor used before, for links from a browser"},
    {FLAG(KL_BY_PLAY, "retroarch", "PATH"), .shown = "the one on PATH", .help = "the RetroArch to start"},
    {FLAG(KL_BY_PLAY, "wrapper", "PATH"), .shown = "beside `keylock`, else in its lib folder",
     .help = "the wrapper, `keylock_libretro.so`"},
    {.name = NULL},
};

_Static_assert(sizeof kl_config_rows / sizeof *kl_config_rows <= KL_CONFIG_ROWS_MAX, "a place for each");

const struct kl_row *kl_config_row(const char *word) {
    for (const struct kl_row *row = kl_config_rows; kl_row_is(row); row++)
        if (!strcmp(row->key ? row->key : row->name, word)) return row;
    return NULL;
}
