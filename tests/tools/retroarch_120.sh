#!/bin/sh
# RetroArch 1.20 as Debian 13 packages it, for machines of any other release: fetched by name with apt, into a folder, with
# every library it needs, and run by its own ld.so. Nothing is installed, no root is needed, and earlier downloads are kept.
#   tests/tools/retroarch_120.sh [FOLDER]   (build/retroarch-1.20); prints the path of the program to run
# About 170 MB to fetch, which takes a minute or two; half a gigabyte on the disk.
set -eu
. "$(dirname "$0")/own_apt.sh"
to=${1:-build/retroarch-1.20}
program=$to/retroarch
mkdir -p "$to"
to=$(realpath "$to")
exec 9>"$to/lock"
flock 9
[ -x "$program" ] && { realpath "$program"; exit 0; }
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || gcc -print-multiarch)

rm -rf "$to/apt" "$to/root"
mkdir -p "$to/root"
own_apt "$to/apt" deb trixie

# Its dependencies and the wrapper's, without fonts, pictures and other data.
packages=$(apt-get install -s retroarch libenet7 libsodium23 libzstd1 libsamplerate0 libxxhash0 |
    sed -n 's/^Inst \([^ ]*\).*/\1/p' |
    grep -vE '^(fonts?-|fontconfig|retroarch-assets|libretro-core-info|debconf|sysvinit-utils|lsb-base|x11-common|shared-mime-info|ocl-icd|openssl-provider)')
case " $(echo $packages) " in
*" libc6 "*" retroarch "*) ;;
*) echo "retroarch_120: apt names no retroarch for trixie" >&2; exit 1 ;;
esac
# shellcheck disable=SC2086
(cd "$to/apt/archives" && apt-get download -qq $packages >&2)
unpack_packages "$to/apt" "$to/root"
rm -rf "$to/apt"

lib=$to/root/usr/lib/$triplet
loader=$(find "$lib" "$to/root/usr/lib64" -name 'ld-linux*.so.*' 2>/dev/null | head -n 1)
[ -n "$loader" ] || { echo "retroarch_120: the fetched libc6 has no ld.so" >&2; exit 1; }
cat >"$program.new" <<END
#!/bin/sh
exec "$loader" --argv0 retroarch --library-path "$lib:$lib/pulseaudio:$lib/blas:$lib/lapack" "$to/root/usr/bin/retroarch" "\$@"
END
chmod +x "$program.new"
"$program.new" --version 2>&1 | grep -q '1\.20' || { echo "retroarch_120: what was fetched does not run as 1.20" >&2; "$program.new" --version >&2; exit 1; }
mv "$program.new" "$program"
realpath "$program"
