/* `keylock rooms`: prints a relay's answers to strangers. net/PROTOCOL.md §10. */
#include "core_wrapper/tool/tool.h"

#include "net/engine/plain.h"
#include "net/platform/socket.h"
#include "net/transport/ask.h"
#include "core_wrapper/config.h"
#include "core_wrapper/tool/report.h"

#include <getopt.h>
#include <json-c/json.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

/* clang-format off: a line here is a line there */
const char cmd_rooms_help[] = "Usage: keylock rooms HOST[:PORT] [--json]\n"
                              "\n"
                              "Asks a relay for its public rooms and measures the way to it. The answer is "
                              "not proved: anybody on the way may have\n"
                              "written it. Rooms made with --unlisted are not listed.\n"
                              "\n"
                              "  --json  prints one JSON object instead of lines\n"
                              "\n"
                              "Exit status:\n"
                              "  0  the relay answered\n"
                              "  2  wrong usage\n"
                              "  4  no relay answers\n";
/* clang-format on */

static const char *state_of(const struct kl_room_line *l) {
    return l->playing ? "playing" : l->locked ? "locked" : "open";
}

/* Names may hold any bytes, and the sender may be no relay. */
static void print_room(struct kl_room_line *l) {
    char watched[24] = "";
    kl_plain(l->name);
    kl_plain(l->content);
    if (l->watchers) snprintf(watched, sizeof watched, " (%u watch)", l->watchers);
    printf("%-23s  %u/%u  %-7s  %-8s  %s%s\n", l->name, l->filled, l->players, state_of(l),
           l->password ? "password" : "-", l->content, watched);
}

static json_object *room_json(const struct kl_room_line *l) {
    char hex[2 * sizeof l->identity + 1];
    json_object *j = json_object_new_object();
    sodium_bin2hex(hex, sizeof hex, l->identity, sizeof l->identity);
    json_object_object_add(j, "name", json_object_new_string(l->name));
    json_object_object_add(j, "content", kl_report_content(l->content));
    json_object_object_add(j, "state", json_object_new_string(state_of(l)));
    json_object_object_add(j, "players", json_object_new_int(l->players));
    json_object_object_add(j, "filled", json_object_new_int(l->filled));
    json_object_object_add(j, "open", json_object_new_int(l->open));
    json_object_object_add(j, "watchers", json_object_new_int(l->watchers));
    json_object_object_add(j, "password", json_object_new_boolean(l->password));
    json_object_object_add(j, "identity", json_object_new_string(hex));
    return j;
}

static bool put_rooms(void *list, struct kl_rooms *r) {
    for (unsigned i = 0; i < r->count; i++)
        if (list)
            json_object_array_add(list, room_json(&r->line[i]));
        else
            print_room(&r->line[i]);
    return true;
}

static json_object *relay_json(const struct kl_config *where, const struct kl_pong *pong, double ms) {
    json_object *j = json_object_new_object();
    json_object_object_add(j, "host", json_object_new_string(where->host));
    json_object_object_add(j, "port", json_object_new_int(where->port));
    json_object_object_add(j, "ping_ms", json_object_new_double(ms));
    json_object_object_add(j, "protocol", json_object_new_int(pong->version));
    json_object_object_add(j, "clients", json_object_new_int(pong->clients));
    return j;
}

static int tell(int fd, const struct kl_config *where, bool json) {
    static struct kl_rooms rooms;
    struct kl_pong pong = {.version = 0};
    json_object *list = NULL, *all = NULL;
    double ms = kl_ask_distance(NULL, fd, &pong);
    if (ms < 0)
        return tool_fail(KLT_ROOM, "rooms", "no answer from %s:%u: check that keylock-relay runs there",
                         where->host, where->port);
    if (json) {
        all = relay_json(where, &pong, ms);
        json_object_object_add(all, "rooms", list = json_object_new_array());
    } else {
        printf("relay %s:%u  %.1f ms  protocol %u  rooms %u  clients %u\n", where->host, where->port, ms,
               pong.version, pong.rooms, pong.clients);
    }
    if (kl_ask_rooms(NULL, fd, &rooms, put_rooms, list) != 0) {
        json_object_put(all);
        return tool_fail(KLT_ROOM, "rooms", "the relay stopped answering: try again");
    }
    return !json || kl_report_put(stdout, all) == 0 ? KLT_OK : KLT_OUTPUT;
}

int cmd_rooms(int argc, char **argv) {
    static struct kl_config where;
    static const struct option longs[] = {{"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};
    char err[512];
    bool json = false;
    while (tool_next(argc, argv, "", longs) != -1)
        json = true;
    if (argc - optind != 1) return tool_usage("expected one HOST[:PORT], got %d", argc - optind);
    if (kl_config_set(&where, "relay", argv[optind], err, sizeof(err)) != 0)
        return tool_usage("%s", strstr(err, "expected"));
    if (sodium_init() < 0) return tool_fail(KLT_FAILED, "rooms", "libsodium does not start");
    int fd = kl_ask_open(NULL, where.host, where.port, err, sizeof(err));
    if (fd < 0) return tool_fail(KLT_ROOM, "rooms", "%s", err);
    int code = tell(fd, &where, json);
    kl_socket_close(fd);
    return code;
}
