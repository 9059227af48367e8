#!/bin/sh
# fetch.sh FOLDER FILE SHA256 - RetroArch's source archive, as Debian 13 has it, into FOLDER. By an apt of its own.
set -eu
. "$(dirname "$0")/../tests/tools/own_apt.sh"
folder=$1 file=$2 sum=$3
mkdir -p "$folder"
folder=$(realpath "$folder")
good() { [ -s "$folder/$file" ] && echo "$sum  $folder/$file" | sha256sum --check --status; }
good && exit 0

own_apt "$folder/apt" deb-src trixie
uri=$(apt-get source --print-uris retroarch | awk -v file="$file" '$2 == file { gsub("\047", "", $1); print $1 }')
[ -n "$uri" ] || { echo "fetch: expected $file in Debian 13, found $(apt-get source --print-uris retroarch | grep orig)" >&2; exit 1; }
/usr/lib/apt/apt-helper download-file "$uri" "$folder/$file" "SHA256:$sum" >/dev/null
good || { echo "fetch: $file is not the one with the SHA-256 $sum" >&2; exit 1; }
