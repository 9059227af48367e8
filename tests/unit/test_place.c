/* The RetroArchs of a machine and their folders: as their settings have them, by default, where each system
 * has them. */
#include "tests/unit/folder.h"

#include "core_wrapper/tool/play/invited.h"
#include "core_wrapper/tool/setup/place.h"
#include "net/platform/process.h"

static struct kl_place place[KL_PLACES];

static void put_bytes(const char *name, const void *bytes, size_t len) {
    char folder[512];
    snprintf(folder, sizeof folder, "%s", at(name));
    *strrchr(folder, '/') = 0;
    assert_int_equal(kl_dir_make(folder, false, err, sizeof err), 0);
    assert_int_equal(kl_file_write_whole(at(name), bytes, len, KL_FILE_PROGRAM, err, sizeof err), 0);
}
static void put_file(const char *name, const char *text) {
    put_bytes(name, text, strlen(text));
}

/* No folder of the user that runs the test counts. */
static int make_home(void **state) {
    if (make_folder(state) != 0) return -1;
    kl_environment_set("HOME", dir);
    kl_environment_set("XDG_CONFIG_HOME", NULL);
    kl_environment_set("APPDATA", at("roaming"));
    kl_environment_set("PATH", at("programs"));
    return 0;
}

static void find(int expected) {
    assert_int_equal(kl_place_find(place, err, sizeof err), expected);
}
static void free_all(int count) {
    for (int i = 0; i < count; i++)
        kl_place_free(&place[i]);
}

TEST_WITH(one_in_a_named_folder, make_home, remove_folder) {
    struct kl_place p;
    assert_int_equal(kl_place_at(&p, at("none"), err, sizeof err), 0);
    put_file("a b \u30b2/other.txt", "");
    assert_int_equal(kl_place_at(&p, at("a b \u30b2"), err, sizeof err), 0);
    put_file(
        "a b \u30b2/retroarch.cfg",
        "libretro_directory = \":\\mine\"\nsystem_directory = \"default\"\nsavefile_directory = \"default\"\n"
        "playlist_directory = \"~/lists/\"\nrgui_browser_directory = \"" DISK_DRIVE "/games/\"\n"
        "sort_savefiles_enable = \"true\"\n");
    assert_int_equal(kl_place_at(&p, at("a b \u30b2"), err, sizeof err), 1);
    assert_string_equal(p.base, at("a b \u30b2"));
    assert_string_equal(p.config, at("a b \u30b2/retroarch.cfg"));
    assert_string_equal(p.program, "");
    assert_string_equal(p.cores, at("a b \u30b2/mine"));
    assert_string_equal(p.system, at("a b \u30b2/system"));
    assert_string_equal(p.saves, "");
    assert_string_equal(p.states, at("a b \u30b2/states"));
    assert_string_equal(p.options, at("a b \u30b2/config"));
    assert_string_equal(p.remaps, at("a b \u30b2/config/remaps"));
    assert_string_equal(p.playlists, at("lists"));
    assert_string_equal(p.content, DISK_DRIVE "/games");
    assert_true(p.sort_saves && !p.sort_states);
    kl_place_free(&p);
    put_file("a b \u30b2/retroarch" DISK_PROGRAM, "");
    assert_int_equal(kl_place_at(&p, at("a b \u30b2"), err, sizeof err), 1);
    assert_string_equal(p.program, at("a b \u30b2/retroarch" DISK_PROGRAM));
    kl_place_free(&p);
    assert_int_equal(kl_dir_make(at("bad/retroarch.cfg"), false, err, sizeof err), 0);
    put_file("bad/retroarch" DISK_PROGRAM, "");
    assert_int_equal(kl_place_at(&p, at("bad"), err, sizeof err), -1); /* its settings cannot be read */
    assert_non_null(strstr(err, "retroarch.cfg"));
    kl_place_free(&p);
}

TEST_WITH(one_in_another_library_of_steam, make_home, remove_folder) {
    struct kl_place p;
    char text[4096], doubled[1024], *to = doubled;
    memset(&p, 0, sizeof p);
    assert_false(kl_place_look_at_steam(&p, at("steam")));
    for (const char *c = at("library 2"); *c; c++) { /* as Windows writes it */
        bool back = *DISK_DRIVE && *c == '/';
        *to++ = back ? '\\' : *c;
        if (back) *to++ = '\\';
    }
    *to = 0;
    snprintf(text, sizeof text,
             "\"libraryfolders\"\n{\n\t\"0\"\n\t{\n\t\t\"path\"\t\t\"%s\"\n\t}\n\t\"1\"\n\t{"
             "\n\t\t\"path\"\t\t\"%s\"\n\t}\n}\n",
             at("steam"), doubled);
    put_file("steam/steamapps/libraryfolders.vdf", text);
    assert_false(kl_place_look_at_steam(&p, at("steam")));
    put_file("library 2/steamapps/common/RetroArch/x", "");
    assert_true(kl_place_look_at_steam(&p, at("steam")));
    assert_string_equal(p.base, at("library 2/steamapps/common/RetroArch"));
    put_file("steam/steamapps/common/RetroArch/x", ""); /* its first library comes first */
    assert_true(kl_place_look_at_steam(&p, at("steam")));
    assert_string_equal(p.base, at("steam/steamapps/common/RetroArch"));
    put_file("steam/steamapps/libraryfolders.vdf", "\"path\"");
    kl_dir_remove_tree(at("steam/steamapps/common"));
    assert_false(kl_place_look_at_steam(&p, at("steam")));
}

#ifdef _WIN32
TEST_WITH(the_usual_ones, make_home, remove_folder) {
    char program[KLT_PATH];
    find(0);
    assert_false(kl_place_program(program, sizeof program));
    put_file("roaming/RetroArch/retroarch.cfg", "libretro_directory = \"C:\\\\x\\\\cores\\\\\"\n");
    find(1);
    assert_int_equal(place[0].kind, KL_PLACE_COPIES);
    assert_string_equal(place[0].base, at("roaming/RetroArch"));
    assert_string_equal(place[0].info, at("roaming/RetroArch/info"));
    assert_false(kl_place_program(program, sizeof program));
    free_all(1);
    put_file("programs/retroarch.exe", "");
    find(1);
    assert_string_equal(place[0].base, at("programs"));
    assert_string_equal(place[0].config, at("programs/retroarch.cfg"));
    assert_string_equal(place[0].cores, at("programs/cores"));
    assert_true(kl_place_program(program, sizeof program));
    assert_string_equal(program, at("programs/retroarch.exe"));
    free_all(1);
    put_file("roaming/retroarch.cfg",
             "system_directory = \":\\bios\"\n"); /* RetroArch takes it if there is none beside */
    find(1);
    assert_string_equal(place[0].config, at("roaming/retroarch.cfg"));
    assert_string_equal(place[0].system, at("programs/bios"));
    free_all(1);
}
#else
/* As said, as upstream has them, in boxes. */
TEST_WITH(the_usual_ones, make_home, remove_folder) {
    char program[KLT_PATH];
    find(0);
    assert_false(kl_place_program(program, sizeof program));
    put_file(".config/retroarch/retroarch.cfg", "libretro_directory = \"~/my cores/\"\nsavefile_directory = "
                                                "\"default\"\nsort_savefiles_enable = \"true\"\n");
    put_file(".local/share/Steam/steamapps/common/RetroArch/retroarch.cfg",
             "libretro_directory = \":/cores\"\nsystem_directory = \"default\"\n");
    assert_int_equal(
        kl_dir_make(at(".var/app/org.libretro.RetroArch/config/retroarch"), false, err, sizeof err), 0);
    find(3);
    assert_int_equal(place[0].kind, KL_PLACE_LINKS);
    assert_string_equal(place[0].cores, at("my cores"));
    assert_string_equal(place[0].info, at(".config/retroarch/cores"));
    assert_string_equal(place[0].saves, "");
    assert_string_equal(place[0].states, at(".config/retroarch/states"));
    assert_true(place[0].sort_saves);
    assert_string_equal(place[1].word, "flatpak");
    assert_int_equal(place[1].kind, KL_PLACE_BOX);
    assert_string_equal(place[1].cores, at(".var/app/org.libretro.RetroArch/config/retroarch/cores"));
    assert_string_equal(place[2].word, "steam");
    assert_int_equal(place[2].kind, KL_PLACE_BOX);
    assert_string_equal(place[2].cores, at(".local/share/Steam/steamapps/common/RetroArch/cores"));
    assert_string_equal(place[2].info, at(".local/share/Steam/steamapps/common/RetroArch/info"));
    assert_string_equal(place[2].system, at(".local/share/Steam/steamapps/common/RetroArch/system"));
    assert_false(kl_place_program(program, sizeof program)); /* those of boxes are not started from here */
    free_all(3);
    put_file("programs/retroarch", "");
    assert_true(kl_place_program(program, sizeof program));
    assert_string_equal(program, at("programs/retroarch"));
    kl_environment_set("XDG_CONFIG_HOME", at("settings"));
    find(3);
    assert_string_equal(place[0].config, at("settings/retroarch/retroarch.cfg"));
    free_all(3);
}
#endif

/* The zip has one member, whose name of so many bytes ends with the file, or lacks bytes there. */
TEST_WITH(the_game_of_an_invitation_is_found_in_a_zip, make_home, remove_folder) {
    static const struct {
        uint16_t name;
        uint8_t lacking;
        bool found;
    } row[] = {{9, 0, true}, {9, 1, false}, {1023, 0, true}, {1024, 0, false}};
    const struct kl_url url = {.game = "g", .crc = 0x01020304, .size = 7};
#ifdef _WIN32
    put_file("roaming/RetroArch/retroarch.cfg", "rgui_browser_directory = \"~/games\"\n");
#else
    put_file(".config/retroarch/retroarch.cfg", "rgui_browser_directory = \"~/games\"\n");
#endif
    for (unsigned i = 0; i < COUNT(row); i++) {
        uint8_t zip[22 + 46 + 1024] = "PK\5\6", *member = zip + 22;
        char found[KLT_PATH], missing[2 * KLT_PATH];
        zip[16] = 22; /* the list begins behind the record of its end */
        memcpy(member, "PK\1\2", 4);
        memcpy(member + 16, "\4\3\2\1\0\0\0\0\7", 9);
        member[28] = (uint8_t)row[i].name;
        member[29] = (uint8_t)(row[i].name >> 8);
        memset(member + 46, 'n', row[i].name);
        put_bytes("games/a.zip", zip, 22u + 46 + row[i].name - row[i].lacking);
        if (kl_invited_find(&url, NULL, found, missing, sizeof missing) != row[i].found)
            fail_msg("row %u", i);
        if (row[i].found) assert_int_equal(strlen(strrchr(found, '#')), 1 + row[i].name);
    }
}
