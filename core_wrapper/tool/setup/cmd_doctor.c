/* `keylock doctor`: checks everything that a match needs, and names a remedy for each problem. */
#include "core_wrapper/tool/common/tool.h"

#include "core_wrapper/tool/setup/doctor.h"
#include "core_wrapper/tool/common/report.h"
#include "net/platform/buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off: a line here is a line there */
const char cmd_doctor_help[] =
    "Usage: keylock doctor [OPTIONS]\n"
    "\n"
    "Checks RetroArch, its display and session bus, the installed cores, the wrapper, the relay and this\n"
    "machine's clock, and names a remedy for each problem. Changes nothing.\n"
    "\n"
    "@0\n"
    "\n"
    "Exit status:\n"
    "  0  no problem, notes at most\n"
    "  1  something does not work\n"
    "  2  wrong usage\n";
/* clang-format on */

static const char *const healths[] = {"ok", "note", "wrong"};

void kl_doctor_find(struct kl_doctor *d, enum kl_health health, const char *code, const char *about,
                    const char *todo, const char *format, ...) {
    if (d->count == KLT_FINDINGS) return;
    struct kl_finding *f = &d->finding[d->count++];
    f->health = health;
    f->code = code;
    snprintf(f->about, sizeof f->about, "%s", about);
    snprintf(f->todo, sizeof f->todo, "%s", todo ? todo : "");
    KL_FORMAT(f->text, sizeof f->text, format);
}

static unsigned count_of(const struct kl_doctor *d, enum kl_health health) {
    unsigned n = 0;
    for (unsigned i = 0; i < d->count; i++)
        n += d->finding[i].health == health;
    return n;
}

static void print(const struct kl_doctor *d) {
    for (unsigned i = 0; i < d->count; i++) {
        const struct kl_finding *f = &d->finding[i];
        printf("%-5s  %s: %s\n", healths[f->health], f->about, f->text);
        if (*f->todo) printf("       -> %s\n", f->todo);
    }
    unsigned wrong = count_of(d, KL_WRONG), odd = count_of(d, KL_ODD);
    if (wrong)
        printf("%u problem%s to repair.\n", wrong, wrong == 1 ? "" : "s");
    else
        printf("Keylock can play on this machine%s.\n", odd ? "; each note names an improvement" : "");
}

static int print_json(const struct kl_doctor *d) {
    json_object *all = json_object_new_object(), *list = json_object_new_array();
    for (unsigned i = 0; i < d->count; i++) {
        const struct kl_finding *f = &d->finding[i];
        json_object *j = json_object_new_object();
        json_object_object_add(j, "health", json_object_new_string(healths[f->health]));
        json_object_object_add(j, "code", json_object_new_string(f->code));
        json_object_object_add(j, "about", json_object_new_string(f->about));
        json_object_object_add(j, "found", json_object_new_string(f->text));
        if (*f->todo) json_object_object_add(j, "do", json_object_new_string(f->todo));
        json_object_array_add(list, j);
    }
    json_object_object_add(all, "well", json_object_new_boolean(count_of(d, KL_WRONG) == 0));
    json_object_object_add(all, "findings", list);
    return kl_report_put(stdout, all);
}

#define KL_ROWS_OF struct kl_doctor

static const struct kl_row rows[] = {
    {.name = "relay",
     .value = "HOST[:PORT]",
     .take = kl_forward_check,
     KL_ROW_FIELD(relay),
     .help = "the relay (default: KEYLOCK_RELAY, else keylock.cfg in RetroArch's system folder)"},
    KL_ROW_PATH("relays", "FILE|URL", relays,
                "the nearest relay of a signed list (see keylock rooms --help), in place of --relay"),
    KL_ROW_PATH("wrapper", "PATH", wrapper,
                "keylock_libretro.so (default: beside this program, else in its lib folder)"),
    KL_ROW_SWITCH("voice", voice,
                  "records two seconds from the microphone and plays them back; keeps nothing"),
    KL_ROW_SWITCH("json", json,
                  "prints one JSON object; the code of a finding stays the same in later versions"),
    {.name = NULL},
};

int cmd_doctor(int argc, char **argv) {
    static struct kl_doctor d;
    static const struct kl_table tables[] = {{.rows = rows}, {.rows = NULL}};
    tool_parse(argc, argv, false, tables, &d);
    if (optind < argc) return tool_usage("expected options only, got \"%s\"", argv[optind]);
    if (d.relay && d.relays) return tool_usage("expected --relay or --relays, got both");
    kl_doctor_retroarch(&d);
    kl_doctor_session(&d);
    kl_doctor_wrapper(&d);
    kl_doctor_cores(&d);
    kl_doctor_relay(&d);
    kl_doctor_clock(&d);
    if (d.voice) kl_doctor_voice(&d);
    if (!d.json) print(&d);
    if (d.json && print_json(&d) != 0) return KLT_OUTPUT;
    return count_of(&d, KL_WRONG) ? KLT_FAILED : KLT_OK;
}
