/* probe_disks.h - the three disks of the probe core, and their drive. A core includes it once. */
#ifndef TEST_PROBE_DISKS_H
#define TEST_PROBE_DISKS_H

#include <stdio.h>
#include <string.h>

#include "tests/cores/libretro_core.h"

#define DISKS 3

/* The core's own. in: the disk, from 1; 0: none is chosen. */
static void tray_moved(bool open, unsigned in);
static void disk_inserted(const char *image);

static unsigned disk; /* DISKS: none */
static bool tray_open;
static const char *images_dir;

static const char *image_name(unsigned i) {
    static char name[32];
    snprintf(name, sizeof name, "disk%u.img", i + 1);
    return name;
}
static bool get_image_path(unsigned i, char *path, size_t len) {
    return (size_t)snprintf(path, len, "%s%s", images_dir, image_name(i)) < len;
}

static bool set_eject_state(bool out) {
    if (tray_open && !out && disk < DISKS && images_dir) disk_inserted(image_name(disk));
    tray_open = out;
    tray_moved(out, disk == DISKS ? 0 : disk + 1);
    return true;
}
static bool get_eject_state(void) {
    return tray_open;
}
static unsigned get_image_index(void) {
    return disk;
}
static bool set_image_index(unsigned i) {
    if (!tray_open || i > DISKS) return false;
    disk = i;
    return true;
}
static unsigned get_num_images(void) {
    return DISKS;
}
static bool replace_image_index(unsigned i, const struct retro_game_info *info) {
    return (void)i, (void)info, false;
}
static bool add_image_index(void) {
    return false;
}

/* dir: of disk1.img to disk3.img, with a slash, kept by the caller; NULL: the disks have no images. */
static void offer_disks(const char *dir) {
    static struct retro_disk_control_callback control = {
        set_eject_state, get_eject_state,     get_image_index, set_image_index,
        get_num_images,  replace_image_index, add_image_index};
    static struct retro_disk_control_ext_callback ext;
    memcpy(&ext, &control, sizeof control);
    ext.get_image_path = get_image_path;
    images_dir = dir;
    if (dir)
        environment(RETRO_ENVIRONMENT_SET_DISK_CONTROL_EXT_INTERFACE, &ext);
    else
        environment(RETRO_ENVIRONMENT_SET_DISK_CONTROL_INTERFACE, &control);
}

#endif
