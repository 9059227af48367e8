/* The headless frontend answers a core as RetroArch 1.20 does: its virtual file system, call by call, and the
 * environment calls that decide whether and how content loads. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core_wrapper/tool/headless/headless.h"
#include "net/platform/dir.h"
#include "net/platform/file.h"

static char dir[128], file[160];
static const struct retro_vfs_interface *vfs;

static int make_file(void **state) {
    (void)state;
    struct retro_vfs_interface_info info = {.required_interface_version = 1};
    char err[300];
    if (kl_dir_make_temporary(dir, sizeof dir, "test-headless", err, sizeof err) != 0) return -1;
    if (!kl_headless_vfs(&info)) return -1;
    vfs = info.iface;
    snprintf(file, sizeof file, "%s/ten", dir);
    FILE *f = fopen(file, "wb");
    return f && fputs("0123456789", f) >= 0 && fclose(f) == 0 ? 0 : -1;
}
static int remove_file(void **state) {
    (void)state;
    kl_dir_remove_tree(dir);
    return kl_dir_exists(dir);
}

/* --- files --- */

/* FBNeo's reader of zips takes any other answer for an error. */
static void a_seek_answers_0(void **state) {
    (void)state;
    struct retro_vfs_file_handle *f = vfs->open(file, RETRO_VFS_FILE_ACCESS_READ, 0);
    assert_non_null(f);
    assert_int_equal(vfs->seek(f, 4, RETRO_VFS_SEEK_POSITION_START), 0);
    assert_int_equal(vfs->tell(f), 4);
    assert_int_equal(vfs->seek(f, 2, RETRO_VFS_SEEK_POSITION_CURRENT), 0);
    assert_int_equal(vfs->tell(f), 6);
    assert_int_equal(vfs->seek(f, -1, RETRO_VFS_SEEK_POSITION_END), 0);
    assert_int_equal(vfs->tell(f), 9);
    assert_int_equal(vfs->seek(f, -11, RETRO_VFS_SEEK_POSITION_END), -1);
    assert_int_equal(vfs->seek(f, 0, 3), -1);
    vfs->close(f);
}

static void a_seek_in_a_mapped_file_answers_the_position(void **state) {
    (void)state;
    struct retro_vfs_file_handle *f =
        vfs->open(file, RETRO_VFS_FILE_ACCESS_READ, RETRO_VFS_FILE_ACCESS_HINT_FREQUENT_ACCESS);
    assert_non_null(f);
    assert_int_equal(vfs->seek(f, 4, RETRO_VFS_SEEK_POSITION_START), 4);
    vfs->close(f);
}

static void a_read_or_write_answers_the_bytes_that_went(void **state) {
    (void)state;
    char at[16];
    struct retro_vfs_file_handle *f = vfs->open(file, RETRO_VFS_FILE_ACCESS_READ, 0);
    assert_int_equal(vfs->read(f, at, 16), 10);
    assert_int_equal(vfs->read(f, at, 16), 0);
    assert_int_equal(vfs->write(f, at, 4), 0); /* it was opened for reading */
    vfs->close(f);
    f = vfs->open(file, RETRO_VFS_FILE_ACCESS_WRITE | RETRO_VFS_FILE_ACCESS_UPDATE_EXISTING, 0);
    assert_non_null(f);
    assert_int_equal(vfs->seek(f, 8, RETRO_VFS_SEEK_POSITION_START), 0);
    assert_int_equal(vfs->write(f, "abcd", 4), 4);
    assert_int_equal(vfs->size(f), 12);
    vfs->close(f);
    assert_int_equal(vfs->size(NULL), 0);
    assert_int_equal(vfs->close(NULL), -1);
}

static void a_full_disk_is_told_by_bytes(void **state) {
    (void)state;
    static char much[1 << 16];
    struct retro_vfs_file_handle *f = vfs->open("/dev/full", RETRO_VFS_FILE_ACCESS_WRITE, 0);
    if (!f) skip();
    assert_in_range(vfs->write(f, much, sizeof much), 0, sizeof much - 1);
    assert_int_equal(vfs->close(f), 0);
}

static void modes_that_RetroArch_does_not_know_open_nothing(void **state) {
    (void)state;
    assert_null(vfs->open(file, RETRO_VFS_FILE_ACCESS_READ | RETRO_VFS_FILE_ACCESS_UPDATE_EXISTING, 0));
    assert_null(vfs->open(file, 0, 0));
    assert_null(vfs->open(file, 8 | RETRO_VFS_FILE_ACCESS_READ, 0));
    assert_null(vfs->open(NULL, RETRO_VFS_FILE_ACCESS_READ, 0));
}

/* --- folders --- */

static void a_folder_opens_for_reading(void **state) {
    (void)state;
    char byte;
    struct retro_vfs_file_handle *f = vfs->open(dir, RETRO_VFS_FILE_ACCESS_READ, 0);
    assert_non_null(f);
    assert_int_equal(vfs->read(f, &byte, 1), 0);
    vfs->close(f);
    assert_null(vfs->open(dir, RETRO_VFS_FILE_ACCESS_WRITE, 0));
}

static void hidden_entries_always_show(void **state) {
    (void)state;
    unsigned dots = 0, folders = 0, files = 0;
    struct retro_vfs_dir_handle *d = vfs->opendir(dir, false);
    assert_non_null(d);
    while (vfs->readdir(d)) {
        dots += vfs->dirent_get_name(d)[0] == '.';
        folders += vfs->dirent_is_dir(d);
        files += !strcmp(vfs->dirent_get_name(d), "ten");
    }
    assert_int_equal(vfs->closedir(d), 0);
    assert_int_equal(dots, 2);
    assert_int_equal(folders, 2);
    assert_int_equal(files, 1);
    assert_null(vfs->opendir("", true));
}

static void a_folder_that_is_there_is_no_failure_to_make_it(void **state) {
    (void)state;
    char deeper[160];
    snprintf(deeper, sizeof deeper, "%s/none/below", dir);
    assert_int_equal(vfs->mkdir(dir), -2);
    assert_int_equal(vfs->mkdir(deeper), -1);
    assert_int_equal(vfs->mkdir(NULL), -1);
}

/* --- environment --- */

static void an_unknown_option_is_no_refusal(void **state) {
    (void)state;
    static struct kl_headless h;
    struct retro_variable v = {.key = "nobody", .value = "stale"};
    assert_true(kl_headless_environment(&h, RETRO_ENVIRONMENT_GET_VARIABLE, &v));
    assert_null(v.value);
    assert_true(kl_headless_environment(&h, RETRO_ENVIRONMENT_GET_VARIABLE, NULL));
}

static void a_changed_option_is_news_until_a_value_is_asked_for(void **state) {
    (void)state;
    static struct kl_headless h;
    bool news = false;
    struct retro_variable v = {.key = "nobody"};
    h.options.updated = true;
    for (unsigned i = 0; i < 2; i++) {
        assert_true(kl_headless_environment(&h, RETRO_ENVIRONMENT_GET_VARIABLE_UPDATE, &news));
        assert_true(news);
    }
    kl_headless_environment(&h, RETRO_ENVIRONMENT_GET_VARIABLE, &v);
    kl_headless_environment(&h, RETRO_ENVIRONMENT_GET_VARIABLE_UPDATE, &news);
    assert_false(news);
}

static void a_machine_can_translate_code(void **state) {
    (void)state;
    static struct kl_headless h;
    bool can = false;
    assert_true(kl_headless_environment(&h, 74, &can)); /* GET_JIT_CAPABLE */
    assert_true(can);
}

/* --- content --- */

static void read_content(struct kl_headless *h, bool need_fullpath) {
    char err[KLT_ERR] = "";
    h->setup.content_path = file;
    h->info.need_fullpath = need_fullpath;
    if (kl_headless_read_content(h, err, sizeof err) != 0) fail_msg("%s", err);
}

static void content_comes_as_the_core_says_for_its_ending(void **state) {
    (void)state;
    static struct kl_headless h;
    static const struct retro_system_content_info_override words[] = {
        {"bin|TEN", false, false}, {"two", true, false}, {NULL, false, false}};
    const struct retro_game_info_ext *ext = NULL;
    char other[160];
    assert_true(kl_headless_environment(&h, RETRO_ENVIRONMENT_SET_CONTENT_INFO_OVERRIDE, NULL));
    assert_true(kl_headless_environment(&h, RETRO_ENVIRONMENT_SET_CONTENT_INFO_OVERRIDE, (void *)words));
    assert_false(kl_headless_environment(&h, RETRO_ENVIRONMENT_GET_GAME_INFO_EXT, &ext));
    snprintf(other, sizeof other, "%s/game.ten", dir);
    assert_int_equal(rename(file, other), 0);
    strcpy(file, other);
    read_content(&h, true);
    assert_non_null(h.game.data);
    assert_true(kl_headless_environment(&h, RETRO_ENVIRONMENT_GET_GAME_INFO_EXT, &ext));
    assert_ptr_equal(ext->data, h.game.data);
    kl_headless_free_content(&h);
    snprintf(other, sizeof other, "%s/game.two", dir);
    assert_int_equal(rename(file, other), 0);
    strcpy(file, other);
    read_content(&h, false);
    assert_null(h.game.data);
    kl_headless_free_content(&h);
}

#define T(test) cmocka_unit_test_setup_teardown(test, make_file, remove_file)
int main(void) {
    const struct CMUnitTest tests[] = {
        T(a_seek_answers_0),
        T(a_seek_in_a_mapped_file_answers_the_position),
        T(a_read_or_write_answers_the_bytes_that_went),
        T(a_full_disk_is_told_by_bytes),
        T(modes_that_RetroArch_does_not_know_open_nothing),
        T(a_folder_opens_for_reading),
        T(hidden_entries_always_show),
        T(a_folder_that_is_there_is_no_failure_to_make_it),
        T(an_unknown_option_is_no_refusal),
        T(a_changed_option_is_news_until_a_value_is_asked_for),
        T(a_machine_can_translate_code),
        T(content_comes_as_the_core_says_for_its_ending),
    };
    return cmocka_run_group_tests_name("headless", tests, NULL, NULL);
}
