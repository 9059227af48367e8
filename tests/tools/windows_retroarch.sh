#!/bin/sh
# windows_retroarch.sh FOLDER - RetroArch 1.20 for Windows, FOLDER/retroarch.exe, from Debian 13's source archive: drawn by GDI, with
# the menu rgui, without sound. It needs the system's own DLLs alone. Installs mingw-w64's compiler and zlib where they are missing.
# Three minutes, once; the archive stays in FOLDER/.sources.
set -eu
. "$(dirname "$0")/own_apt.sh"
. "$(dirname "$0")/pinned.sh"

# suite     package    version         archive's file                        its SHA-256
pins='
trixie      retroarch  1.20.0+dfsg-2   retroarch_1.20.0+dfsg.orig.tar.xz     a8ab0449560c6a5622befc30be27572f1fd85f67234bed58be6c11f4cb893199
'
# Parts that the tests do not need; some lack files in Debian's archive, and XAudio does not build by mingw-w64.
off='accessibility audiomixer blissbox bsv_movie builtinflac builtinglslang builtinmbedtls builtinzlib cdrom chd cheevos crtswitchres
    d3d9 d3d10 d3d11 d3d12 d3dx discord dr_mp3 dsound dsp_filter ffmpeg flac glsl glslang ibxm imageviewer langextra libretrodb libusb
    materialui microphone networkgamepad nvda online_updater opengl opengl1 opengl_core overlay ozone qt rbmp rjpeg rtga sapi sdl sdl2
    slang spirv_cross ssa ssl stb_font stb_image stb_vorbis translate video_filter vulkan wasapi winmm winrawinput xaudio xdelta xmb 7zip'

mkdir -p "$1"
root=$(realpath "$1")
exec 9>"$root/.lock"
flock 9
this=$(cat "$0" "$(dirname "$0")/pinned.sh" | sha256sum | cut -c 1-16)
[ "$(cat "$root/.complete" 2>/dev/null)" = "$this" ] && exit 0
install_missing gcc-mingw-w64-x86-64-posix libz-mingw-w64-dev make xz-utils
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sources=$root/.sources
mkdir -p "$sources"
host=x86_64-w64-mingw32

fetched trixie
unpacked retroarch
cd "$work/retroarch"
echo "windows_retroarch: retroarch" >&2
# All libraries are linked into it. The archive lacks its copy of zlib, and its Makefile knows no other way to name one.
export LDFLAGS=-static
{
    # shellcheck disable=SC2046,SC2086
    CROSS_COMPILE=$host- CC=$host-gcc-posix CXX=$host-g++-posix PKG_CONF_PATH=none ./configure --host=$host \
        $(printf -- '--disable-%s ' $off) &&
        printf 'HAVE_ZLIB = 1\nHAVE_BUILTINZLIB = 0\nZLIB_LIBS = -l:libz.a\n' >>config.mk &&
        make -s -j2
} >"$work/retroarch.log" 2>&1 || { tail -n 20 "$work/retroarch.log" >&2; echo "windows_retroarch: it does not build" >&2; exit 1; }
$host-strip -o "$root/retroarch.exe" retroarch.exe
echo "$this" >"$root/.complete"
