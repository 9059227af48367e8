/* The desktop's settings: links that this program opens, and those of another, which stay. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "net/platform/desktop.h"
#include "net/platform/process.h"

static char err[1024], text[8192];

#ifdef _WIN32
#include <windows.h>

static char scheme[32], key[128], command[128];

static int name_scheme(void **state) {
    (void)state;
    snprintf(scheme, sizeof scheme, "keylock-test-%ld", kl_process_self());
    snprintf(key, sizeof key, "Software/Classes/%s", scheme);
    snprintf(command, sizeof command, "%s/shell/open/command", key);
    return 0;
}
static int remove_scheme(void **state) {
    (void)state;
    for (char *c = key; *c; c++)
        if (*c == '/') *c = '\\';
    (void)RegDeleteTreeA(HKEY_CURRENT_USER, key); /* some tests leave none */
    return 0;
}

static const char *const opens[] = {"play", "--ask", "--", NULL};

static void set_command(const char *to) {
    char back[128];
    snprintf(back, sizeof back, "%s", command);
    for (char *c = back; *c; c++)
        if (*c == '/') *c = '\\';
    assert_int_equal(RegSetKeyValueA(HKEY_CURRENT_USER, back, NULL, REG_SZ, to, (DWORD)strlen(to) + 1),
                     ERROR_SUCCESS);
}

TEST_WITH(links_of_ours, name_scheme, remove_scheme) {
    char own[4096], expected[4300];
    assert_false(kl_desktop_setting(command, NULL, text, sizeof text));
    assert_int_equal(kl_desktop_leave_links(scheme, err, sizeof err), KL_DESKTOP_SAME);
    assert_int_equal(kl_desktop_take_links(scheme, "Test", opens, err, sizeof err), 0);
    assert_int_equal(kl_process_own_path(own, sizeof own), 0);
    for (char *c = own; *c; c++)
        if (*c == '/') *c = '\\';
    snprintf(expected, sizeof expected, "\"%s\" play --ask -- \"%%1\"", own);
    assert_true(kl_desktop_setting(command, NULL, text, sizeof text));
    assert_string_equal(text, expected);
    assert_true(kl_desktop_setting(key, "URL Protocol", text, sizeof text));
    assert_string_equal(text, "");
    assert_true(kl_desktop_setting(key, NULL, text, sizeof text));
    assert_string_equal(text, "URL:Test");
    assert_false(kl_desktop_setting(key, NULL, text, 4)); /* no room */
    assert_string_equal(text, "");
    assert_int_equal(kl_desktop_take_links(scheme, "Test", opens, err, sizeof err), KL_DESKTOP_SAME);
    /* Of this program in another folder: from now on, of this one. */
    snprintf(expected, sizeof expected, "\"C:\\old\\%s\" \"%%1\"", strrchr(own, '\\') + 1);
    set_command(expected);
    assert_int_equal(kl_desktop_take_links(scheme, "Test", opens, err, sizeof err), 0);
    set_command(expected);
    assert_int_equal(kl_desktop_leave_links(scheme, err, sizeof err), 0);
    assert_false(kl_desktop_setting(key, NULL, text, sizeof text));
    assert_false(kl_desktop_setting(key, "URL Protocol", text, sizeof text));
}

TEST_WITH(links_of_another_program, name_scheme, remove_scheme) {
    static const char *const others[] = {"\"C:\\other\\program.exe\" \"%1\"", "program.exe %1", "\"unended",
                                         "", "\"C:\\other\\not-test_platform_desktop.exe\" \"%1\""};
    for (size_t i = 0; i < COUNT(others); i++) {
        set_command(others[i]);
        assert_int_equal(kl_desktop_take_links(scheme, "Test", opens, err, sizeof err), KL_DESKTOP_OTHERS);
        assert_int_equal(kl_desktop_leave_links(scheme, err, sizeof err), KL_DESKTOP_OTHERS);
        assert_true(kl_desktop_setting(command, NULL, text, sizeof text));
        assert_string_equal(text, others[i]);
    }
}

#else
TEST(no_such_settings) {
    static const char *const opens[] = {"--", NULL};
    strcpy(text, "x");
    assert_false(kl_desktop_setting("Software/Valve/Steam", "SteamPath", text, sizeof text));
    assert_string_equal(text, "");
    assert_int_equal(kl_desktop_take_links("keylock", "Test", opens, err, sizeof err), KL_DESKTOP_NONE);
    assert_int_equal(kl_desktop_leave_links("keylock", err, sizeof err), KL_DESKTOP_NONE);
}
#endif
