/* test_report.c - the JSON that the tools print. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#include <json-c/json.h>

#include "core_wrapper/tool/common/report.h"

/* The words of strangers move no cursor and turn no line, and read as the same when they are parsed. */
TEST(no_terminal_gets_control_characters) {
    static const char name[] = "a\xc2\x9b"
                               "2J\xe2\x80\xae=\x7f\x1b J\xc3\xb6rg \xe6\xb0\xb4 \xf0\x9f\x8e\xae \"\\";
    char line[300] = "";
    FILE *f = tmpfile();
    assert_non_null(f);
    assert_int_equal(kl_report_put(f, json_object_new_string(name)), 0);
    rewind(f);
    assert_non_null(fgets(line, sizeof line, f));
    fclose(f);
    assert_string_equal(
        line, "\"a\\u009b2J\\u202e=\\u007f\\u001b J\xc3\xb6rg \xe6\xb0\xb4 \xf0\x9f\x8e\xae \\\"\\\\\"\n");
    json_object *back = json_tokener_parse(line);
    assert_string_equal(json_object_get_string(back), name);
    json_object_put(back);
}
