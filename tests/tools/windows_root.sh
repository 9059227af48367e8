#!/bin/sh
# windows_root.sh FOLDER - the libraries for `make windows`: FOLDER/include and FOLDER/lib, static, built by mingw-w64 from
# Debian's source archives. Installs the compiler and what the libraries' builds need where it is missing. Some minutes, once: a
# library that is there is left, and FOLDER/.complete stands when all are. The archives stay in FOLDER/.sources.
set -eu
. "$(dirname "$0")/own_apt.sh"
. "$(dirname "$0")/pinned.sh"

# Archives, and Debian's changes to them where these mend the library itself. A mirror drops what a later point release replaces:
# then the download fails here, and a line below gets the version and sum that the mirror has now (apt-cache showsrc).
# suite     package        version             archive's file                   its SHA-256
pins='
trixie      enet           1.3.18+ds-1         enet_1.3.18+ds.orig.tar.xz       f1ba5f8aaf253cb19b9545031450bf74122f151435998259ca978808e9e4fec3
bookworm    libsodium      1.0.18-1+deb12u1    libsodium_1.0.18.orig.tar.gz     d59323c6b712a1519a5daf710b68f5e7fde57040845ffec53850911f10a5d4f4
bookworm    libsodium      1.0.18-1+deb12u1    libsodium_1.0.18-1+deb12u1.debian.tar.xz f410474e46346b06b162defa05b1be26906aeed6cf309e3d4ebe30b4d1350733
bookworm    libzstd        1.5.4+dfsg2-5       libzstd_1.5.4+dfsg2.orig.tar.xz  8cf4bbb65e77ec348d052c8d6230eba66d435bddf64c8b5be2fcb16880c19953
bookworm    libzstd        1.5.4+dfsg2-5       libzstd_1.5.4+dfsg2-5.debian.tar.xz 82ce911445772861d0838bd4545f93bc50658bc7f3cefdb17a307dfb8ffca5d8
bookworm    xxhash         0.8.1-1             xxhash_0.8.1.orig.tar.gz         3bb6b7d6f30c591dd65aaaff1c8b7a5b94d81687998ca9400082c739a690436c
bookworm    libsamplerate  0.2.2-3             libsamplerate_0.2.2.orig.tar.gz  16e881487f184250deb4fcb60432d7556ab12cb58caea71ef23960aec6c0405a
bookworm    json-c         0.16-2              json-c_0.16.orig.tar.gz          3ecaeedffd99a60b1262819f9e60d7d983844073abc74e495cb822b251904185
bookworm    utf8proc       2.8.0-1             utf8proc_2.8.0.orig.tar.gz       a0a60a79fe6f6d54e7d411facbfcc867a6e198608f2cd992490e46f04b1bcecc
bookworm    zlib           1:1.2.13.dfsg-1     zlib_1.2.13.dfsg.orig.tar.bz2    71feb7947e3c00ef125f83b79a4e529bde31171e5babe48b391f06758d1ab0a1
bookworm    xz-utils       5.4.1-1+deb12u1     xz-utils_5.4.1.orig.tar.xz       5d9827aa1875b21c288f78864bb26d2650b436ea8d2cad364e4921eb6266a5a5
bookworm    xz-utils       5.4.1-1+deb12u1     xz-utils_5.4.1-1+deb12u1.debian.tar.xz 3e162db2b76480c7e157f4c2f6ff9a426fc023f262d4dc3287530b36e2843ebe
bookworm    libarchive     3.6.2-1+deb12u4     libarchive_3.6.2.orig.tar.xz     9e2c1b80d5fbe59b61308fdfab6c79b5021d7ff4ff2489fb12daf0a96a83551d
bookworm    libarchive     3.6.2-1+deb12u4     libarchive_3.6.2-1+deb12u4.debian.tar.xz 8144870ef70a09d57a5aea9bc6a00ae0493e829b542d78f5312969b10f1ea322
bookworm    miniupnpc      2.2.4-1             miniupnpc_2.2.4.orig.tar.gz      481a5e4aede64e9ef29895b218836c3608d973e77a35b4f228ab1f3629412c4b
trixie      libnatpmp      20230423-1.2        libnatpmp_20230423.orig.tar.gz   0684ed2c8406437e7519a1bd20ea83780db871b3a3a5d752311ba3e889dbfc70
bookworm    opus           1.3.1-3             opus_1.3.1.orig.tar.gz           65b58e1e25b2a114157014736a3d9dfeaad8d41be1c8179866f144a2fb44ff9d
bookworm    speexdsp       1.2.1-1             speexdsp_1.2.1.orig.tar.gz       8c777343e4a6399569c72abc38a95b24db56882c83dbdb6c6424a5f4aeb54d3d
bookworm    cmocka         1.1.5-2.1           cmocka_1.1.5.orig.tar.xz         f0ccd8242d55e2fd74b16ba518359151f6f8383ff8aef4976e48393f77bba8b6
'

mkdir -p "$1"
root=$(realpath "$1")
exec 9>"$root/.lock"
flock 9
# The pins and the recipes are this file: a root of another one is made anew, library by library.
this=$(sha256sum <"$0" | cut -c 1-16)
[ "$(cat "$root/.complete" 2>/dev/null)" = "$this" ] && exit 0

install_missing gcc-mingw-w64-x86-64 retroarch-dev make cmake autoconf automake libtool patch xz-utils bzip2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sources=$root/.sources
mkdir -p "$root/include" "$root/lib" "$sources"
host=x86_64-w64-mingw32
cc=$host-gcc
cflags="-O2 -D_WIN32_WINNT=0x0A00 -D__USE_MINGW_ANSI_STDIO=1 -ffile-prefix-map=$work=."

# archive NAME FLAGS SOURCE…: compiles these and makes them lib/libNAME.a.
archive() {
    name=$1 flags=$2
    shift 2
    for c; do
        # shellcheck disable=SC2086
        $cc $cflags $flags -c -o "$(echo "$c" | tr / _).o" "$c"
    done
    rm -f "lib$name.a"
    $host-ar rcs "lib$name.a" ./*.o
    cp "lib$name.a" "$root/lib/"
}

# by_cmake TARGET OPTION…: configures, and makes the target.
by_cmake() {
    target=$1
    shift
    mkdir -p built
    cmake -S . -B built -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_C_COMPILER=$cc -DCMAKE_RC_COMPILER=$host-windres -DCMAKE_BUILD_TYPE= \
        -DCMAKE_C_FLAGS="$cflags" -DCMAKE_INSTALL_PREFIX="$root" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_FIND_ROOT_PATH="$root" \
        -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY -DBUILD_SHARED_LIBS=OFF "$@" >&2
    make -s -j"$(nproc)" -C built "$target" >&2
}

# by_configure OPTION…: configures a static library.
by_configure() {
    ./configure -q --host=$host --prefix="$root" --disable-shared --enable-static --disable-dependency-tracking CFLAGS="$cflags" "$@" >&2
}

build_enet() {
    archive enet '-Iinclude -DENET_BUILDING_LIB' callbacks.c compress.c host.c list.c packet.c peer.c protocol.c win32.c
    cp -r include/enet "$root/include/"
}
build_xxhash() {
    archive xxhash '' xxhash.c
    cp xxhash.h xxh3.h "$root/include/"
}
build_utf8proc() {
    archive utf8proc -DUTF8PROC_STATIC utf8proc.c
    cp utf8proc.h "$root/include/"
}
build_libsamplerate() {
    archive samplerate '-Iinclude -DPACKAGE="libsamplerate" -DVERSION="0.2.2" -DHAVE_STDBOOL_H=1 -DENABLE_SINC_FAST_CONVERTER
        -DENABLE_SINC_MEDIUM_CONVERTER -DENABLE_SINC_BEST_CONVERTER' src/samplerate.c src/src_linear.c src/src_sinc.c src/src_zoh.c
    cp include/samplerate.h "$root/include/"
}
build_zlib() {
    archive z '' *.c
    cp zlib.h zconf.h "$root/include/"
}
build_libzstd() {
    archive zstd '-DZSTD_DISABLE_ASM -DXXH_NAMESPACE=ZSTD_' lib/common/*.c lib/compress/*.c lib/decompress/*.c
    cp lib/zstd.h lib/zstd_errors.h "$root/include/"
}
build_miniupnpc() {
    sed -e 's|OS/version|Windows|' -e "s|\"version\"|\"$(cat VERSION)\"|" miniupnpcstrings.h.in >miniupnpcstrings.h
    archive miniupnpc '-Iinclude -I. -DMINIUPNP_STATICLIB -DNDEBUG' $(printf 'src/%s.c ' miniwget minixml igd_desc_parse minisoap minissdpc \
        miniupnpc upnpreplyparse upnpcommands upnperrors connecthostport portlistingparse receivedata upnpdev addr_is_reserved)
    mkdir -p "$root/include/miniupnpc"
    cp include/*.h "$root/include/miniupnpc/"
}
build_libnatpmp() {
    archive natpmp '-DNATPMP_STATICLIB -DSTATICLIB -DENABLE_STRNATPMPERR' natpmp.c getgateway.c wingettimeofday.c
    cp natpmp.h natpmp_declspec.h "$root/include/"
}
build_cmocka() { # it makes a DLL, too
    by_cmake install -DWITH_STATIC_LIB=ON -DWITH_EXAMPLES=OFF
    mv "$root/lib/libcmocka-static.a" "$root/lib/libcmocka.a"
    rm -rf "$root/lib/libcmocka.dll.a" "$root/bin"
}
build_json_c() { by_cmake install -DBUILD_APPS=OFF -DBUILD_STATIC_LIBS=ON -DBUILD_TESTING=OFF -DDISABLE_WERROR=ON -DDISABLE_EXTRA_LIBS=ON; }
build_xz_utils() { # the part of 7z that libarchive lacks
    by_cmake liblzma -DENCODERS= -DENABLE_THREADS=OFF -DENABLE_NLS=OFF
    cp built/liblzma.a "$root/lib/"
    cp -r src/liblzma/api/lzma.h src/liblzma/api/lzma "$root/include/"
}
build_libarchive() { # reads 7z
    off=
    for part in ACL BZip2 CAT CNG CPIO EXPAT ICONV LIBB2 LIBXML2 LZ4 LZO MBEDTLS NETTLE OPENSSL PCREPOSIX TAR TEST WERROR XATTR ZSTD; do
        off="$off -DENABLE_$part=OFF"
    done
    # shellcheck disable=SC2086
    by_cmake archive_static $off -DENABLE_LZMA=ON -DENABLE_ZLIB=ON -DZLIB_WINAPI_EXITCODE=1 -DZLIB_WINAPI_EXITCODE__TRYRUN_OUTPUT= \
        -DCMAKE_C_FLAGS="$cflags -DLZMA_API_STATIC"
    cp built/libarchive/libarchive.a "$root/lib/" 2>/dev/null || cp built/libarchive/libarchive_static.a "$root/lib/libarchive.a"
    cp libarchive/archive.h libarchive/archive_entry.h "$root/include/"
}
build_libsodium() {
    autoreconf -fi >&2
    by_configure --disable-pthreads
    make -s -j"$(nproc)" -C src install >&2
}
build_opus() {
    cflags="$cflags -D_FORTIFY_SOURCE=0" # else it is 2, which needs functions of a library of its own
    by_configure --disable-doc --disable-extra-programs --disable-stack-protector
    make -s -j"$(nproc)" install >&2
}
build_speexdsp() {
    by_configure --disable-examples
    make -s -j"$(nproc)" install >&2
}

fetched bookworm
fetched trixie
for package in xxhash enet utf8proc libsamplerate zlib cmocka libzstd miniupnpc libnatpmp json-c libsodium opus speexdsp xz-utils libarchive; do
    [ "$(cat "$root/.$package" 2>/dev/null)" = "$this" ] && continue
    echo "windows_root: $package" >&2
    unpacked $package
    (cd "$work/$package" && "build_$(echo $package | tr - _)") >"$work/$package.log" 2>&1 ||
        { tail -n 20 "$work/$package.log" >&2; echo "windows_root: $package does not build" >&2; exit 1; }
    rm -rf "${work:?}/$package"
    echo "$this" >"$root/.$package"
done
rm -rf "$root/lib/cmake" "$root/lib/pkgconfig" "$root"/lib/*.la "$root/share"
echo "$this" >"$root/.complete"
