/* `keylock rooms`: prints a relay's answers to strangers. net/PROTOCOL.md §10. */
#include "core_wrapper/tool/common/tool.h"

#include "net/engine/engine.h"
#include "net/engine/facts.h"
#include "net/engine/plain.h"
#include "net/engine/spacing.h"
#include "net/engine/wire.h"
#include "net/platform/address.h"
#include "net/platform/socket.h"
#include "net/transport/ask.h"
#include "core_wrapper/words/config.h"
#include "core_wrapper/tool/common/report.h"
#include "core_wrapper/tool/setup/relay_list.h"

#include <json-c/json.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off: a line here is a line there */
const char cmd_rooms_help[] =
    "Usage: keylock rooms [HOST[:PORT] | --relays FILE|URL] [--json]\n"
    "\n"
    "Asks a relay (default: the one that is set) for its public rooms and measures the "
    "way to it. The answer is not proved:\n"
    "anybody on the way may have written it. Rooms made with --unlisted are not "
    "listed.\n"
    "\n"
    "The rooms with the least delay come first. The delay in ms is the time to "
    "expect from a press to its picture: the slowest\n"
    "player counts, or this machine.\n"
    "\n"
    "@0\n"
    "\n"
    "Exit status:\n"
    "  0  the relay answered, or one of the list\n"
    "  2  wrong usage, or a list that is not as it should be\n"
    "  4  no relay answers\n";
/* clang-format on */

struct list {
    struct kl_room_line *line;
    size_t count;
    double ms; /* this machine's own round trip */
};

static unsigned delay_ms(const struct list *l, const struct kl_room_line *line) {
    return kl_spacing_delay_ms(l->ms, line->rtt_ms, line->economy);
}

/* The own round trip is the same for all rooms of a relay. */
static int by_delay(const void *a, const void *b) {
    const struct kl_room_line *x = a, *y = b;
    unsigned p = x->rtt_ms, q = y->rtt_ms;
    return p != q ? (p < q ? -1 : 1) : strcmp(x->name, y->name);
}

static bool add_rooms(void *list, struct kl_rooms *r) {
    struct list *l = list;
    struct kl_room_line *more = realloc(l->line, (l->count + r->count + 1) * sizeof *more);
    if (!more) return false;
    l->line = more;
    memcpy(l->line + l->count, r->line, r->count * sizeof *more);
    l->count += r->count;
    return true;
}

/* The room allows a shorter lead than a link of this round trip needs. */
static bool too_far(const struct list *all, const struct kl_room_line *l) {
    return kl_spacing_least((uint32_t)(all->ms * 1000), 60) + l->economy > l->lead_max;
}

static const char *state_of(const struct kl_room_line *l) {
    return l->playing ? "playing" : l->locked ? "locked" : "open";
}

/* Names may hold any bytes, and the sender may be no relay. */
static void print_room(const struct list *all, struct kl_room_line *l) {
    const char *far = too_far(all, l) ? ", too far for this link" : "";
    char queue[16] = "", watched[16] = "", game[KL_FACT_NAME_MAX];
    kl_plain(l->name);
    kl_plain(l->content);
    kl_plain(l->core);
    kl_fact_name(game, l->content);
    if (l->waiting) snprintf(queue, sizeof queue, ", %u wait", l->waiting);
    if (l->watchers) snprintf(watched, sizeof watched, ", %u watch", l->watchers);
    int width = (int)(KL_NAME_CHARS + strlen(l->name) - kl_characters(l->name)); /* %s counts bytes */
    printf("%-*s  %u/%u      %-7s  %-8s  %4u ms  %s, %s%s%s%s%s%s\n", width, l->name, l->filled, l->players,
           state_of(l),
           l->password ? "password"
           : l->quick  ? "quick"
                       : "-",
           delay_ms(all, l), game, l->core, queue, watched, l->recorded ? ", recorded" : "",
           l->economy ? ", economy" : "", far);
}

static json_object *room_json(const struct list *all, const struct kl_room_line *l) {
    char hex[2 * sizeof l->identity + 1];
    json_object *j = json_object_new_object();
    sodium_bin2hex(hex, sizeof hex, l->identity, sizeof l->identity);
    json_object_object_add(j, "name", json_object_new_string(l->name));
    json_object_object_add(j, "content", kl_report_content(l->content));
    json_object_object_add(j, "core", json_object_new_string(l->core));
    json_object_object_add(j, "rtt_ms", l->rtt_ms == KL_RTT_UNKNOWN ? NULL : json_object_new_int(l->rtt_ms));
    json_object_object_add(j, "delay_ms", json_object_new_int((int)delay_ms(all, l)));
    json_object_object_add(j, "state", json_object_new_string(state_of(l)));
    json_object_object_add(j, "players", json_object_new_int(l->players));
    json_object_object_add(j, "filled", json_object_new_int(l->filled));
    json_object_object_add(j, "open", json_object_new_int(l->open));
    json_object_object_add(j, "watchers", json_object_new_int(l->watchers));
    json_object_object_add(j, "lead_max", json_object_new_int(l->lead_max));
    json_object_object_add(j, "waiting", json_object_new_int(l->waiting));
    json_object_object_add(j, "password", json_object_new_boolean(l->password));
    json_object_object_add(j, "quick", json_object_new_boolean(l->quick));
    json_object_object_add(j, "recorded", json_object_new_boolean(l->recorded));
    json_object_object_add(j, "economy", json_object_new_boolean(l->economy));
    json_object_object_add(j, "identity", json_object_new_string(hex));
    return j;
}

/* ms: below 0 there was no answer. */
static json_object *relay_json(const struct kl_config *where, double ms) {
    json_object *j = json_object_new_object();
    json_object_object_add(j, "host", json_object_new_string(where->host));
    json_object_object_add(j, "port", json_object_new_int(where->port));
    json_object_object_add(j, "ping_ms", ms < 0 ? NULL : json_object_new_double(ms));
    return j;
}

static json_object *all_json(const struct kl_config *where, const struct kl_pong *pong,
                             const struct list *l) {
    json_object *all = relay_json(where, l->ms), *rooms = json_object_new_array();
    json_object_object_add(all, "protocol", json_object_new_int(pong->version));
    json_object_object_add(all, "clients", json_object_new_int(pong->clients));
    for (size_t i = 0; i < l->count; i++)
        json_object_array_add(rooms, room_json(l, &l->line[i]));
    json_object_object_add(all, "rooms", rooms);
    return all;
}

/* json: NULL, or becomes the relay's object. */
static int tell(int fd, const struct kl_config *where, json_object **json) {
    static struct kl_rooms piece;
    struct kl_pong pong = {.version = 0};
    struct list l = {.ms = kl_ask_distance(NULL, fd, &pong)};
    if (l.ms < 0)
        return tool_fail(KLT_ROOM, "rooms", "no answer from %s: check that keylock-relay runs there",
                         kl_host_port(where->host, where->port).text);
    if (kl_ask_rooms(NULL, fd, &piece, add_rooms, &l) != 0) {
        free(l.line);
        if (pong.version != KL_PROTOCOL_VERSION)
            return tool_fail(KLT_ROOM, "rooms",
                             "the relay speaks protocol %u, expected %d: update the older one", pong.version,
                             KL_PROTOCOL_VERSION);
        return tool_fail(KLT_ROOM, "rooms", "the relay stopped answering: try again");
    }
    if (l.count) qsort(l.line, l.count, sizeof *l.line, by_delay);
    if (json)
        *json = all_json(where, &pong, &l);
    else {
        printf("relay %s  %.1f ms  protocol %u  rooms %u  clients %u\n",
               kl_host_port(where->host, where->port).text, l.ms, pong.version, pong.rooms, pong.clients);
        if (l.count)
            printf("%-23s  %-7s  %-7s  %-8s  %7s  %s\n", "room", "players", "state", "door", "delay",
                   "game, core");
        for (size_t i = 0; i < l.count; i++)
            print_room(&l, &l.line[i]);
    }
    free(l.line);
    return KLT_OK;
}

static int ask(const struct kl_config *where, json_object **json) {
    char err[512];
    int fd = kl_ask_open(NULL, where->host, where->port, err, sizeof err);
    if (fd < 0) return tool_fail(KLT_ROOM, "rooms", "%s", err);
    int code = tell(fd, where, json);
    kl_socket_close(fd);
    return code;
}

/* One relay of a list; a silent one was told from the round trips. */
static bool tell_listed(const struct kl_listed *r, json_object *all) {
    static struct kl_config where;
    json_object *json = NULL;
    snprintf(where.host, sizeof where.host, "%s", r->host);
    where.port = r->port;
    if (!all && *r->words) printf("%s:\n", r->words);
    if (!all && r->ms < 0) printf("relay %s  no answer\n", kl_host_port(r->host, r->port).text);
    bool answered = r->ms >= 0 && ask(&where, all ? &json : NULL) == KLT_OK;
    if (!all) return answered;
    if (!json) json = relay_json(&where, -1);
    json_object_object_add(json, "words", json_object_new_string(r->words));
    json_object_array_add(all, json);
    return answered;
}

static int tell_list(const char *from, bool json) {
    static struct kl_relay_list list;
    char err[1024];
    unsigned answered = 0;
    if (kl_relay_list_read(&list, from, err, sizeof err) != 0)
        return tool_fail(KLT_USAGE, "rooms", "%s", err);
    json_object *all = json ? json_object_new_array() : NULL;
    for (unsigned i = 0; i < list.count; i++)
        answered += tell_listed(&list.relay[i], all);
    if (json) {
        json_object *whole = json_object_new_object();
        json_object_object_add(whole, "list", json_object_new_string(from));
        json_object_object_add(whole, "relays", all);
        if (kl_report_put(stdout, whole) != 0) return KLT_OUTPUT;
    }
    if (answered) return KLT_OK;
    return tool_fail(KLT_ROOM, "rooms", "no answer from any of the %u relays of %s", list.count, from);
}

static int find_relay(struct kl_config *where, int words, char **word) {
    char err[2048], relay[KLT_RELAY_BYTES];
    const char *text = words ? word[0] : relay;
    int found = words ? 1 : kl_set_relay(relay, err, sizeof err);
    if (words > 1) return tool_usage("expected one HOST[:PORT], got %d", words);
    if (found < 0) return tool_fail(KLT_USAGE, "rooms", "%s", err);
    if (found == 0) return tool_usage("expected HOST[:PORT], for no relay is set; got none");
    if (kl_config_set(where, "relay", text, err, sizeof err) != 0)
        return tool_usage("%s", strstr(err, "expected"));
    return 0;
}

struct wish {
    const char *relays; /* a list; NULL: none */
    bool json;
};

#define KL_ROWS_OF struct wish
static const struct kl_row rows[] = {
    KL_ROW_PATH(
        "relays", "FILE|URL", relays,
        "the relays of a list, the nearest first: a text file with a line \"key ...\" of minisign and a line "
        "\"HOST[:PORT] WORDS\" for each relay, and beside it its signature FILE.minisig. An https:// address "
        "is read by curl. The key of a list is accepted the first time, and no other from then on"),
    KL_ROW_SWITCH("json", json, "prints one JSON object instead of lines"),
    {.name = NULL},
};

int cmd_rooms(int argc, char **argv) {
    static struct kl_config where;
    static const struct kl_table tables[] = {{.rows = rows}, {.rows = NULL}};
    struct wish wish = {.json = false};
    json_object *object = NULL;
    tool_parse(argc, argv, false, tables, &wish);
    if (wish.relays && optind < argc) return tool_usage("expected HOST[:PORT] or --relays, got both");
    if (wish.relays) return tell_list(wish.relays, wish.json);
    if (find_relay(&where, argc - optind, argv + optind) != 0) return KLT_USAGE;
    if (sodium_init() < 0) return tool_fail(KLT_FAILED, "rooms", "libsodium does not start");
    int code = ask(&where, wish.json ? &object : NULL);
    if (object && kl_report_put(stdout, object) != 0) return KLT_OUTPUT;
    return code;
}
