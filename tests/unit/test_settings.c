/* Settings files as RetroArch has them, and the info files made of them. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/folder.h"

#include "core_wrapper/core/core.h"
#include "core_wrapper/tool/setup/install.h"
#include "tests/lib/files.h"

static struct kl_settings of(const char *text) {
    struct kl_settings s;
    file_write_text(at("s.cfg"), text);
    assert_int_equal(kl_settings_read(&s, at("s.cfg"), err, sizeof err), 0);
    return s;
}

TEST_WITH(reads_as_retroarch, make_folder, remove_folder) {
    struct kl_settings s = of(
        "# note\n  a = \"x = y # z\"\na = \"second\"\nb=bare # said\n\nc = \"\"\nno line\n=odd\nd = \"open");
    char v[64];
    assert_true(kl_settings_get(&s, "a", v, sizeof v)), assert_string_equal(v, "x = y # z");
    assert_true(kl_settings_get(&s, "b", v, sizeof v)), assert_string_equal(v, "bare");
    assert_true(kl_settings_get(&s, "c", v, sizeof v)), assert_string_equal(v, "");
    assert_true(kl_settings_get(&s, "d", v, sizeof v)), assert_string_equal(v, "open");
    assert_false(kl_settings_get(&s, "e", v, sizeof v)), assert_string_equal(v, "");
    assert_true(kl_settings_get(&s, "a", v, 4)), assert_string_equal(v, "x =");
    kl_settings_free(&s);
    assert_int_equal(kl_settings_read(&s, at("none.cfg"), err, sizeof err), 0);
    assert_false(s.there);
    kl_settings_free(&s);
    assert_int_equal(kl_settings_read(&s, dir, err, sizeof err), -1);
    kl_settings_free(&s);
}

TEST_WITH(changes_one_line, make_folder, remove_folder) {
    struct kl_settings s = of("# note\na = \"1\"\n  odd line\nb = \"2\"\na = \"3\"");
    assert_true(kl_settings_put(&s, "a", "new"));
    assert_string_equal(s.text, "# note\na = \"new\"\n  odd line\nb = \"2\"\n");
    assert_true(kl_settings_put(&s, "c", "4"));
    assert_string_equal(s.text, "# note\na = \"new\"\n  odd line\nb = \"2\"\nc = \"4\"\n");
    char link_path[256];
    chmod(at("s.cfg"), 0640);
    strcpy(link_path, at("link"));
    assert_int_equal(symlink("s.cfg", link_path), 0); /* a link is written through */
    assert_int_equal(kl_settings_write(&s, link_path, err, sizeof err), 0);

    kl_settings_free(&s);
    struct stat st;
    assert_int_equal(stat(at("s.cfg"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(kl_settings_read(&s, at("s.cfg"), err, sizeof err), 0);
    assert_non_null(strstr(s.text, "c = \"4\""));
    assert_int_equal(kl_settings_write(&s, at("no/such"), err, sizeof err), -1);
    assert_non_null(strstr(err, "no/such"));
    kl_settings_free(&s);
}

/* RetroArch's demands on a twin: its name is the core's word, and short enough. */
TEST_WITH(info_of_a_wrapped_core, make_folder, remove_folder) {
    struct kl_card card = {"A core of a very long name indeed", "1", "zip|7z", true, false};
    struct kl_settings inner =
        of("display_name = \"Arcade (A)\"\ncorename = \"A\"\nsavestate_features = \"deterministic\"\n"
           "supported_extensions = \"zip\"\nfirmware_count = 1\nfirmware0_path = \"a/b.zip\"\n"
           "needs_fullpath = \"false\"\ndatabase = \"Games\"\ndescription = \"Good.\"\n");
    char *text = kl_info_make(&inner, &card), v[256], locked[KL_CORE_NAME_BYTES];
    kl_settings_free(&inner);
    struct kl_settings s = of(text);
    free(text);
    kl_core_locked_name(locked, card.name);
    assert_true(strlen(locked) <= 31);
    assert_true(kl_settings_get(&s, "corename", v, sizeof v)), assert_string_equal(v, locked);
    assert_true(kl_settings_get(&s, "display_name", v, sizeof v)),
        assert_string_equal(v, "Keylock: Arcade (A)");
    assert_true(kl_settings_get(&s, "savestate_features", v, sizeof v)), assert_string_equal(v, "serialized");
    assert_true(kl_settings_get(&s, "supported_extensions", v, sizeof v)), assert_string_equal(v, "zip");
    assert_true(kl_settings_get(&s, "needs_fullpath", v, sizeof v)), assert_string_equal(v, "true");
    assert_true(kl_settings_get(&s, "firmware0_path", v, sizeof v)), assert_string_equal(v, "a/b.zip");
    assert_true(kl_settings_get(&s, "database", v, sizeof v)), assert_string_equal(v, "Games");
    kl_settings_free(&s);
    struct kl_settings none = {.text = NULL};
    text = kl_info_make(&none, &card);
    s = of(text);
    free(text);
    assert_true(kl_settings_get(&s, "supported_extensions", v, sizeof v)), assert_string_equal(v, "zip|7z");
    assert_true(kl_settings_get(&s, "savestate", v, sizeof v)), assert_string_equal(v, "true");
    kl_settings_free(&s);
}

/* The list's narrowest menu shows about 30 letters, and a bare core's entry begins with the maker. */
TEST_WITH(titles_of_wrapped_cores, make_folder, remove_folder) {
    static const struct {
        const char *display, *core, *title;
    } t[] = {
        {"Nintendo - NES / Famicom (Nestopia UE)", "Nestopia", "Keylock: NES (Nestopia)"},
        {"Sega - MS/GG/MD/CD (Genesis Plus GX)", "Genesis Plus GX", "Keylock: MS/GG/MD/CD (Genesis Plus GX)"},
        {"Arcade (FinalBurn Neo)", "FinalBurn Neo", "Keylock: Arcade (FinalBurn Neo)"},
        {"Quake (A - B / C)", "A", "Keylock: Quake (A)"},
        {"2048", "2048 core", "Keylock: 2048"},
        {"", "", "Keylock: card"},
        {" - ( / ", "x", "Keylock:  - (x)"},
    };
    const struct kl_card card = {"card", "1", "zip", true, false};
    char lines[512], title[KL_TITLE_BYTES];
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        snprintf(lines, sizeof lines, "display_name = \"%s\"\ncorename = \"%s\"\n", t[i].display, t[i].core);
        struct kl_settings inner = of(lines);
        kl_info_title(&inner, &card, title);
        assert_string_equal(title, t[i].title);
        kl_settings_free(&inner);
    }
}

TEST_WITH(names_of_cores, make_folder, remove_folder) {
    char name[KLT_CORE_NAME], longest[300];
    assert_true(kl_install_name("fbneo", name)), assert_string_equal(name, "fbneo");
    assert_true(kl_install_name("/x/y/fbneo_libretro.so", name)), assert_string_equal(name, "fbneo");
    assert_false(kl_install_name("fbneo_keylock_libretro.so", name));
    assert_false(kl_install_name("keylock_libretro.so", name));
    assert_false(kl_install_name("", name));
    assert_false(kl_install_name("a/..", name));
    memset(longest, 'a', sizeof longest);
    longest[299] = 0;
    assert_false(kl_install_name(longest, name));
}
