/* option_tables.c - the tables of docs/options.md that come from the programs' own: the wrapper's settings
 * and the relay's options. `make options` puts them into the document, and documents.py compares. */
#include <stdio.h>
#include <string.h>

#include "core_wrapper/words/config_table.h"
#include "core_wrapper/words/own_options.h"
#include "net/relay/program/relay_options.h"

static const char *core_option(const char *key) {
    for (unsigned i = 0; key && i < kl_own_count(); i++)
        if (kl_own_option(i)->setting && !strcmp(kl_own_option(i)->setting, key))
            return kl_own_option(i)->key;
    return NULL;
}

static void cell(const char *before, const char *text) {
    if (text)
        printf(" `%s%s` |", before, text);
    else
        printf(" |");
}

static void write_settings(void) {
    printf("| setting | `keylock play` | variable | keylock.cfg | core option | default |\n"
           "| --- | --- | --- | --- | --- | --- |\n");
    for (const struct kl_row *row = kl_config_rows; kl_row_is(row); row++) {
        char help[KL_ROW_TEXT], shown[KL_ROW_TEXT];
        kl_row_help(row, help);
        kl_row_shown(row, NULL, shown);
        printf("| %s", help);
        if (row->see) printf(" ([why](%s))", row->see);
        printf(" |");
        cell("--", row->by & KL_BY_PLAY ? row->name : NULL);
        cell("", row->variable);
        cell("", row->key);
        cell("", core_option(row->key));
        printf(*shown ? " %s |\n" : "%s |\n", shown);
    }
}

static void write_relay(void) {
    char flag[KL_ROW_TEXT], help[KL_ROW_TEXT], shown[KL_ROW_TEXT];
    printf("| option | meaning | default |\n"
           "| --- | --- | --- |\n");
    for (const struct kl_row *row = kl_relay_rows; kl_row_is(row); row++) {
        kl_row_flag(row, flag);
        kl_row_help(row, help);
        kl_row_shown(row, kl_relay_usual(), shown);
        printf("| `%s` | %s | %s |\n", flag, help, shown);
    }
}

int main(void) {
    write_settings();
    printf("\n");
    write_relay();
    return fflush(stdout) != 0 || ferror(stdout);
}
