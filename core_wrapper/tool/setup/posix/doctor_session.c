/* The doctor's check of the desktop's session: a display, and a session bus. */
#include "core_wrapper/tool/setup/doctor.h"

#include <stdio.h>
#include <string.h>

#include "net/platform/process.h"
#include "net/platform/file.h"
#include "net/platform/library.h"

static bool is_set(const char *variable) {
    const char *value = kl_environment_get(variable);
    return value && *value;
}

/* True if DISPLAY names a screen of this machine, and no X server listens for it. */
static bool is_nobodys(char socket[KLT_PATH]) {
    const char *display = kl_environment_get("DISPLAY");
    if (!display || display[0] != ':') return false;
    snprintf(socket, KLT_PATH, "/tmp/.X11-unix/X%.*s", (int)strspn(display + 1, "0123456789"), display + 1);
    return kl_file_kind(socket) == KL_FILE_IS_NONE;
}

static void look_at_display(struct kl_doctor *d) {
    char socket[KLT_PATH];
    bool screen =
        kl_file_kind("/dev/dri/card0") != KL_FILE_IS_NONE; /* RetroArch can draw on a bare console */
    if (!is_set("WAYLAND_DISPLAY") && is_nobodys(socket)) {
        kl_doctor_find(d, KL_WRONG, "display_dead", "display",
                       "Set DISPLAY to your desktop's, as in DISPLAY=:0. `ls /tmp/.X11-unix` lists those "
                       "that there are.",
                       "DISPLAY is %.40s, and no X server is there: %.200s is missing",
                       kl_environment_get("DISPLAY"), socket);
        return;
    }
    if (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")) return;
    kl_doctor_find(
        d, screen ? KL_ODD : KL_WRONG, "display_missing", "display",
        "Start RetroArch in a terminal of your desktop. By ssh, set DISPLAY to that desktop's, as in "
        "DISPLAY=:0 retroarch.",
        "neither DISPLAY nor WAYLAND_DISPLAY is set, so RetroArch opens no window from here");
}

/* libgamemode, which Debian's RetroArch recommends, hands libdbus a connection that it did not get, and
 * libdbus then ends the process. keylock play tells libdbus not to. */
static void look_at_bus(struct kl_doctor *d) {
    const char *folder = kl_environment_get("XDG_RUNTIME_DIR"),
               *fatal = kl_environment_get("DBUS_FATAL_WARNINGS");
    char path[KLT_PATH], ignored[256];
    snprintf(path, sizeof path, "%.4000s/bus", folder ? folder : "");
    if (is_set("DBUS_SESSION_BUS_ADDRESS") ||
        (is_set("XDG_RUNTIME_DIR") && kl_file_kind(path) != KL_FILE_IS_NONE))
        return;
    void *gamemode = kl_library_open("libgamemode.so.0", ignored, sizeof ignored);
    bool ends = gamemode && !(fatal && !strcmp(fatal, "0"));
    kl_library_close(gamemode);
    kl_doctor_find(
        d, ends ? KL_WRONG : KL_ODD, "session_bus_missing", "session bus",
        "Start RetroArch by dbus-run-session retroarch, or by keylock play. For good: apt-get install "
        "dbus-user-session, then log in again.",
        "no D-Bus session bus%s",
        ends ? ": RetroArch aborts here when GameMode asks for one"
             : ", which RetroArch uses to hold "
               "back the screensaver");
}

void kl_doctor_session(struct kl_doctor *d) {
    if (d->places == 0) return;
    look_at_display(d);
    look_at_bus(d);
}
