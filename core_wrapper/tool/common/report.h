/* report.h - a comparison for people and for programs. */
#ifndef KLT_REPORT_H
#define KLT_REPORT_H

#include <json-c/json.h>
#include <stdio.h>

#include "core_wrapper/tool/common/dump.h"

/* Prints each memory that differs, with its ranges and values, at most `lines` ranges each (0: all). Of the
 * savestate only bytes outside these memories. */
void kl_report_text(FILE *f, struct kl_comparison *c, unsigned lines);
/* The same as an array of memories; those that are equal are there, too. At most `lines` ranges each (0:
 * all). */
json_object *kl_report_json(struct kl_comparison *c, unsigned lines);
/* The words of a list of a world's report (../world.h): each an object with a name, and a reason if there is
 * one. */
json_object *kl_report_imports(const char *list);
/* The content's identity (identity.h) in its parts: xxh3 or members (hexadecimal), bytes or count, name.
 * NULL for none. A text of another form is a name. */
json_object *kl_report_content(const char *fact);
/* Prints j on one line and frees it. Returns 0, or -1 if the write failed. */
int kl_report_put(FILE *f, json_object *j);
/* The same as a file that appears whole or not at all. 0, or -1 with a line in err. */
int kl_report_write(const char *path, json_object *j, char *err, size_t err_len);

#endif
