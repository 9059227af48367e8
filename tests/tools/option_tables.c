/* option_tables.c - the tables of docs/options.md that come from the programs' own: the wrapper's settings,
 * the commands of a room, and the relay's options. `make options` puts them into the document, and
 * documents.py compares. */
#include <stdio.h>
#include <string.h>

#include "core_wrapper/words/config_table.h"
#include "core_wrapper/words/own_options.h"
#include "core_wrapper/words/hotkeys.h"
#include "net/relay/program/console.h"
#include "net/relay/program/relay_options.h"
#include "net/session/command_words.h"

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

/* "disk N|next" as `disk N`, `disk next`. */
static void write_forms(const char *form) {
    int len = (int)strcspn(form, "|"), head = 0;
    for (int i = 0; i < len; i++)
        if (form[i] == ' ') head = i + 1;
    printf("| `%.*s`", len, form);
    for (const char *at = form + len; *at; at += len) {
        len = (int)strcspn(++at, "|");
        printf(", `%.*s%.*s`", head, form, len, at);
    }
    printf(" |");
}

/* A setting of the player's own is no command of the host's. */
static bool gives(unsigned option, const char *verb, bool host) {
    const struct kl_own_option *o = kl_own_option(option);
    size_t len = strlen(verb);
    if (!o->verb) return !host && o->setting && !strcmp(o->setting, verb);
    return *o->verb ? !strncmp(o->verb, verb, len) && o->verb[len] == ' ' : kl_own_offers(option, verb);
}

static void write_keys(const char *verb) {
    const char *between = " ";
    size_t len;
    for (const char *at = KL_HOTKEYS_DEFAULT; *at; at += len, at += *at == ',') {
        len = strcspn(at, ",");
        const char *words = strchr(at, ':') + 1;
        size_t first = strcspn(words, " ,");
        if (first != strlen(verb) || strncmp(words, verb, first) != 0) continue;
        printf("%s`%.*s`", between, (int)(words - 1 - at), at);
        between = ", ";
    }
    printf(" |");
}

static void write_commands(void) {
    char verb[KL_WORDS_MAX];
    printf("| words | effect | allowed for | core option | hot key | console |\n"
           "| --- | --- | --- | --- | --- | --- |\n");
    for (const struct kl_words_row *row = kl_words_rows; row->form; row++) {
        const char *option = NULL;
        snprintf(verb, sizeof verb, "%.*s", (int)strcspn(row->form, " "), row->form);
        for (unsigned i = 0; i < kl_own_count() && !option; i++)
            if (gives(i, verb, !strcmp(row->allowed, "host"))) option = kl_own_option(i)->key;
        write_forms(row->form);
        printf(" %s | %s |", row->effect, row->allowed);
        cell("", option);
        write_keys(verb);
        cell("", kl_console_knows(verb) ? verb : NULL);
        printf("\n");
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
    write_commands();
    printf("\n");
    write_relay();
    return fflush(stdout) != 0 || ferror(stdout);
}
