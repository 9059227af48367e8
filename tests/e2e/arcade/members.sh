#!/usr/bin/env bash
# arcade/members.sh - arcade sets count by the members that the core reads: sets that differ in something else play
# together, a member that differs in a byte is named to the refused player with both checksums. The host's small files
# (high scores, cheats, blending) play for all or for nobody.
# runs: waiting, test, 40 s
. "$(dirname "$0")/../lib.sh"

core=$build/cores/arcade_core_libretro.so sets=$content/arcade pack=tests/content/arcade/sets.py
needs "$keylock" "$relay_program" "$wrapper" "$core" "$sets/duel.zip"
FRAMES=120
EVERY=20

# machine CASE WHO GAME: the folder of a machine that has all sets, in ordinary zips.
machine() {
    mkdir -p "$tmp/$1/$2/games" "$tmp/$1/$2/system/arcade/cheats" "$tmp/$1/$2/system/arcade/blend"
    cp "$sets"/duel.zip "$sets"/duelj.zip "$sets"/brawl.zip "$tmp/$1/$2/games"
    cp "$sets/arcbios.zip" "$tmp/$1/$2/system/arcade"
}
# two CASE GAME: the machines of both.
two() {
    machine "$1" ada
    machine "$1" ben
}
# repack CASE WHO FILE WORD…: FILE is below the games; words as sets.py has them.
repack() {
    local folder=$tmp/$1/$2/games file=$3
    shift 3
    python3 "$pack" "$folder/$file" "$@" || die "members: sets.py $file $*"
}
# room CASE GAME [ADA'S FILE BEN'S FILE [ARGUMENT…]]: both go into a room of their own.
room() {
    local case=$1 game=$2 a=${3:-$2.zip} b=${4:-$2.zip} who file
    shift $(($# < 4 ? $# : 4))
    for who in ada ben; do
        [ $who = ada ] && file=$a || file=$b
        run_in_room "$case-$who" --core "$core" --content "$tmp/$case/$who/games/$file" --system "$tmp/$case/$who/system" \
            --room "$case" --frames $FRAMES --input "random:$([ $who = ada ] && echo 101 || echo 202)" --hash-every $EVERY --wait 20 "$@"
        [ $who = ben ] || said relay "event=joined room=\"$case\"" 10 || { show "$case-ada" relay; die "members: ada does not join $case"; }
    done
}
# together CASE: the two of that room play from the first frame to the last, with equal hashes.
together() {
    both_equal members "$1-ada" "$1-ben"
    check "members/$1-frames" "$(json "$1-ben" frames)" test "$(json "$1-ben" frames)" = $FRAMES
}
# refused CASE TEXT: ben is refused, in these words. (arcade/refusal: the host hears them.)
refused() {
    local status
    ended "$1-ben" 30
    status=$?
    check "members/$1: $2" "exit status $status: $(tail -n 1 "$tmp/$1-ben.log" | cut -c 1-300)" \
        eval "[ $status = 4 ] && grep -aqF '$2' '$tmp/$1-ben.log'"
    stop "$1-ada"
}

start_relay --per-address 64

# --- equal in all that counts -----------------------------------------------------------------------------------

two readme
repack readme ben duel.zip duel readme.txt=hello
room readme duel

two packing
repack packing ada duel.zip duel -store
repack packing ben duel.zip duel -deflate +notes.bin=unused
room packing duel

two bios
python3 "$pack" "$tmp/bios/ben/system/arcade/arcbios.zip" arcbios unused.rom=another
room bios brawl

two other-kind
repack other-kind ben duel.7z duel readme.txt=hello
rm "$tmp/other-kind/ben/games/duel.zip"
room other-kind duel duel.zip duel.7z

# Nobody reads a part of the zip; of the 7z that is not known.
two unread
repack unread ada duel.zip duel spare.rom=unused
repack unread ben duel.7z duel spare.rom=unused
rm "$tmp/unread/ben/games/duel.zip"
room unread duel duel.zip duel.7z

two two-7z
repack two-7z ada duel.7z duel -store
repack two-7z ben duel.7z duel -lzma2
rm "$tmp"/two-7z/*/games/duel.zip
room two-7z duel duel.7z duel.7z

# The clone with its parent's member in its own zip, and without.
two merged
repack merged ada duelj.zip duelj duel
rm "$tmp/merged/ada/games/duel.zip"
room merged duelj

for case in readme packing bios other-kind unread two-7z merged; do together $case; done

# --- a byte -----------------------------------------------------------------------------------------------------

# The checksums that people know members by.
crc() { python3 -c 'import sys, zipfile; print("%08x" % zipfile.ZipFile(sys.argv[1]).getinfo(sys.argv[2]).CRC)' "$1" "$2"; }

two byte
repack byte ben duel.zip duel '~duel.gfx'
bad=$(crc "$tmp/byte/ben/games/duel.zip" duel.gfx)
check members/byte-is-another "$bad" test "$bad" != 9c694635
room byte duel
refused byte "duel.gfx differs: room has crc 9c694635, you have crc $bad"

two byte-7z
repack byte-7z ben duel.7z duel '~duel.prg'
rm "$tmp/byte-7z/ben/games/duel.zip"
repack byte-7z ada other.zip duel '~duel.prg'
bad=$(crc "$tmp/byte-7z/ada/games/other.zip" duel.prg)
room byte-7z duel duel.zip duel.7z
refused byte-7z "duel.prg differs: room has crc 6e40dc74, you have crc $bad"

two byte-bios
python3 "$pack" "$tmp/byte-bios/ben/system/arcade/arcbios.zip" arcbios '~arcbios.rom'
bad=$(crc "$tmp/byte-bios/ben/system/arcade/arcbios.zip" arcbios.rom)
room byte-bios brawl
refused byte-bios "arcbios.rom differs: room has crc 66e64412, you have crc $bad"

# The zip states the right checksum.
two forged
repack forged ben duel.zip duel '!duel.gfx'
bad=$(crc "$tmp/byte/ben/games/duel.zip" duel.gfx)
check members/forged-states-the-right "it states another" test "$(crc "$tmp/forged/ben/games/duel.zip" duel.gfx)" = 9c694635
room forged duel
refused forged "duel.gfx differs: room has crc 9c694635, you have crc $bad"

# Other bytes of the right checksum.
two same-crc
repack same-crc ben duel.zip duel '^duel.gfx'
check members/same-crc-is-the-right "it is another" test "$(crc "$tmp/same-crc/ben/games/duel.zip" duel.gfx)" = 9c694635
room same-crc duel
refused same-crc "duel.gfx differs: room has crc 9c694635."

# --- the host's small files -------------------------------------------------------------------------------------

# small CASE WHO WORD: the three files, with this word in them.
small() {
    local file
    for file in hiscore.dat cheats/duel.ini blend/duel.bld; do echo "$3" >"$tmp/$1/$2/system/arcade/$file"; done
}
# A room that anybody may enter: nobody has them.
two public
small public ada host
small public ben guest
room public duel
two public-one
small public-one ada host
room public-one duel
two public-none
room public-none duel
for case in public public-one public-none; do together $case; done
# reads CASE WHO: the small files that this core has read in its last load, and their checksums.
reads() { grep -aoE '\[Arcade\] (a load|reads .*)' "$tmp/$1-$2.log" | awk '/a load/ { n = 0; next } { line[++n] = $0 } END { for (i = 1; i <= n; i++) print line[i] }'; }
for case in public public-one; do
    for who in ada ben; do check "members/$case-$who-has-none" "$(reads $case $who)" test -z "$(reads $case $who)"; done
done

# A room of friends: all have the host's, whatever lies on their own machines.
closed=(--unlisted)
two friends
small friends ada host
small friends ben guest
room friends duel '' '' "${closed[@]}"
two friends-one
small friends-one ada host
room friends-one duel '' '' "${closed[@]}"
two friends-guest
small friends-guest ben guest
room friends-guest duel '' '' "${closed[@]}"
for case in friends friends-one friends-guest; do together $case; done
sum=$(python3 -c 'import zlib; print("%08x" % zlib.crc32(b"host\n"))')
for case in friends friends-one; do
    for who in ada ben; do
        check "members/$case-$who-has-the-hosts" "$(reads $case $who)" test "$(reads $case $who | grep -c "CRC $sum")" = 3
    done
done
for who in ada ben; do
    check "members/friends-guest-$who-has-none" "$(reads friends-guest $who)" test -z "$(reads friends-guest $who)"
done
check members/own-files-stay "a file was changed" test "$(cat "$tmp/friends/ben/system/arcade/hiscore.dat")" = guest
finish
