#!/usr/bin/env python3
"""windows_zip.py BUILD - packs the programs for Windows as a zip, BUILD/keylock-VERSION-windows-x64.zip, and prints its path.

It holds one folder, Keylock: the programs, the bundled game, a README.txt, and the licences of all that is linked into the
programs: of the libraries from the archives that `make windows` has built them from, of the compiler's runtime from its Debian
packages. Equal programs give equal bytes: the names are sorted, and all times are the commit's.
  DEB_VERSION        the version (KL_VERSION, and the number of the commit), as in deb.sh
  SOURCE_DATE_EPOCH  the time of all files, in seconds since 1970 (the commit's)"""
import glob
import os
import re
import subprocess
import sys
import tarfile
import time
import zipfile

PROGRAMS = ("keylock.exe", "keylock-relay.exe", "keylock_libretro.dll")
# The licence in each archive of build/windows/root/.sources, for the name of its package.
LIBRARIES = {"enet": "LICENSE", "json-c": "COPYING", "libarchive": "COPYING", "libnatpmp": "LICENSE", "libsamplerate": "COPYING",
             "libsodium": "LICENSE", "libzstd": "LICENSE", "miniupnpc": "LICENSE", "opus": "COPYING", "speexdsp": "COPYING", "utf8proc": "LICENSE.md", "xxhash": "LICENSE",
             "xz-utils": "COPYING", "zlib": "LICENSE"}
# C code that the compiler adds: mingw-w64's and GCC's, whose exception lets programs of any licence have it.
RUNTIME = {"mingw-w64": "/usr/share/doc/mingw-w64-common/copyright", "gcc": "/usr/share/doc/gcc-mingw-w64-base/copyright"}
README = """Keylock {version}: online play for libretro cores, on Windows 10 and later.

1. Put this whole folder, Keylock, into RetroArch's folder (of retroarch.exe;
   the installer's is C:\\RetroArch-Win64).
2. Get a core in RetroArch: Main Menu, Load Core, Download a Core.
   Here it is nestopia (NES).
3. Open a terminal in this folder: right-click in it, "Open in Terminal".
       .\\keylock install nestopia --relay relay.example.org --name ada
       .\\keylock doctor
   relay.example.org stands for the relay that you and your friend use.
4. In RetroArch, load the core "Keylock: NES (Nestopia)" and a game.
   games\\shooter.nes is one. Your friend does the same.

Before an update: end RetroArch. Unpack the new zip here, then run
.\\keylock install --all again. To take everything away:
.\\keylock install --remove --all, then delete this folder.
docs/players.md of the source says the rest. Keylock's licence is MIT; the
folder licences has it, and those of the libraries in the programs.
"""


def refuse(text):
    print(f"windows_zip: {text}", file=sys.stderr)
    sys.exit(1)


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError as error:
        refuse(f"{path} is missing: {error.strerror}")


def version():
    with open("net/engine/engine.h", encoding="utf-8") as f:
        program = re.search(r'^#define KL_VERSION "(.*?)"', f.read(), re.M)[1]
    return os.environ.get("DEB_VERSION") or f"{program}+r{output_of('git', 'rev-list', '--count', 'HEAD')}"


def licence(sources, package, name):
    """The text of that name in the top folder of the package's archive."""
    found = glob.glob(f"{sources}/{package}_*.orig.tar.*")
    if len(found) != 1:
        refuse(f"expected one archive of {package} in {sources}, found {len(found)}")
    with tarfile.open(found[0]) as archive:
        for member in archive:
            if re.fullmatch(rf"[^/]+/{re.escape(name)}", member.name):
                return archive.extractfile(member).read()
    refuse(f"expected {name} in {found[0]}, found none")


def contents(build):
    """{path in the zip: bytes}."""
    files = {name: read(f"{build}/windows/{name}") for name in PROGRAMS}
    files["games/shooter.nes"] = read(f"{build}/content/shooter.nes")
    files["README.txt"] = README.format(version=version()).replace("\n", "\r\n").encode()
    texts = {package: licence(f"{build}/windows/root/.sources", package, name) for package, name in LIBRARIES.items()}
    texts |= {name: read(path) for name, path in RUNTIME.items()}
    texts["keylock"] = read("LICENSE")
    for name, text in texts.items(): # the lines' ends are Windows's, for its oldest editors
        files[f"licences/{name}.txt"] = re.sub(b"\r?\n", b"\r\n", text)
    return {f"Keylock/{name}": data for name, data in files.items()}


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: windows_zip.py BUILD")
    build = sys.argv[1]
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or output_of("git", "log", "-1", "--format=%ct"))
    when = time.gmtime(seconds - seconds % 2)[:6] # a zip counts by two seconds
    path = f"{build}/keylock-{version()}-windows-x64.zip"
    files = contents(build)
    for old in glob.glob(f"{build}/keylock-*-windows-x64.zip"):
        os.remove(old)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, when)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 0 # of no Linux permissions
            archive.writestr(entry, files[name])
    print(path)


main()
