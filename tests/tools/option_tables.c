/* option_tables.c - the tables of docs/options.md that come from the programs' own: the wrapper's settings
 * and the relay's options. `make options` puts them into the document, and documents.py compares. */
#include <stdio.h>
#include <string.h>

#include "core_wrapper/words/config_table.h"
#include "core_wrapper/words/own_options.h"
#include "net/relay/program/relay_options.h"

static const char *core_option(const char *key) {
    for (unsigned i = 0; key && i < KL_OWN_COUNT; i++)
        if (kl_own_option[i].setting && !strcmp(kl_own_option[i].setting, key)) return kl_own_option[i].key;
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
    for (size_t i = 0; i < kl_config_row_count; i++) {
        const struct kl_config_row *row = &kl_config_rows[i];
        char help[KL_CONFIG_TEXT_MAX], shown[KL_CONFIG_TEXT_MAX];
        kl_config_help(row, help);
        kl_config_shown(row, shown);
        printf("| %s", help);
        if (row->see) printf(" ([why](%s))", row->see);
        printf(" |");
        cell("--", row->by & KL_BY_PLAY ? row->flag : NULL);
        cell("", row->variable);
        cell("", row->key);
        cell("", core_option(row->key));
        printf(*shown ? " %s |\n" : "%s |\n", shown);
    }
}

static void write_relay(void) {
    struct kl_relay_option_text t;
    printf("| option | meaning | default |\n"
           "| --- | --- | --- |\n");
    for (size_t i = 0; kl_relay_option_at(i, &t); i++)
        printf("| `%s` | %s | %s |\n", t.flag, t.help, t.shown);
}

int main(void) {
    write_settings();
    printf("\n");
    write_relay();
    return fflush(stdout) != 0 || ferror(stdout);
}
