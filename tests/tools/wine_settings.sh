# shellcheck shell=sh
# wine_settings.sh - to be sourced: Wine prints nothing of its own, asks no questions on a screen, fetches no .NET and no HTML engine,
# and makes no entries in a desktop's menu.
export WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml=;winedbg.exe=d;winemenubuilder.exe=d'
