#!/usr/bin/env python3
"""documents.py [--blocks DIR] - checks the documents against the tree and the programs ($KL_BUILD, default build).

blocks    a fenced block is ```sh (tests/e2e/project/documents.sh runs it), ```sh not-run: WHY, or ```text without commands;
          blocks are never indented
links     links, pictures, #headings and `paths` lead to something that is there
sections  sections of net/PROTOCOL.md and net/ROOMS.md that any file refers to are there
commands  `make`, `keylock` and `keylock-relay` are named with targets, sub-commands and options that they have
lengths   README.md: 150 lines of 120 characters; prose elsewhere: 120 characters
words     no sentence begins with who, what or where as its subject
tables    docs/options.md has the tables of build/option_tables, and lists exactly what the sources and the programs have;
          net/relay/debian/relay.conf has the relay's options with their defaults

--blocks DIR writes each block to run into DIR/DOCUMENT.NUMBER.sh. --write-options puts the tables of build/option_tables into
docs/options.md, the options into relay.conf, and checks nothing."""
import glob
import os
import re
import shlex
import subprocess
import sys
import textwrap

BUILD = os.environ.get("KL_BUILD", "build")
DOCUMENTS = ["README.md", "CONTRIBUTING.md", *sorted(glob.glob("docs/*.md")), "net/PROTOCOL.md", "net/ROOMS.md", "net/RECORD.md",
             *sorted(p for top in ("net", "core_wrapper", "frontend_patch", "tests") for p in glob.glob(f"{top}/**/README.md", recursive=True))]
RELAY_CONF = "net/relay/debian/relay.conf"
MAKEFILES = {".": ["Makefile", "tests/tests.mk", "tests/bench/bench.mk"], "frontend_patch": ["frontend_patch/Makefile"]}
COMMAND = r"(?:\$ )?(?:sudo |[A-Z_]+=\S+ )*(?:make|keylock|keylock-relay|retroarch|git|apt-get|tests/\S+|build/\S+|python3|bash|sh) "
failed = False


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def say(name, wrong, news=""):
    global failed
    for text in wrong[:20] + [f"and {len(wrong) - 20} more"] * (len(wrong) > 20):
        print(f"FAIL documents/{name}: {text}")
    failed |= bool(wrong)
    if not wrong:
        print(f"ok documents/{name}" + (f": {news}" if news else ""))


class Block:
    def __init__(self, document, line, info):
        self.place, self.info, self.lines = f"{document}:{line}", info, []


class Document:
    """A document in parts: blocks, and lines of prose as (number, text)."""

    def __init__(self, path):
        self.path, self.blocks, self.prose, self.indented = path, [], [], []
        self.lines = read(path).split("\n")
        block = None
        for number, line in enumerate(self.lines, 1):
            fence = re.match(r"\s*```(.*)", line)
            if fence and block is None:
                block = Block(path, number, fence[1].strip())
                self.blocks.append(block)
            elif fence:
                block = None
            elif block is not None:
                block.lines.append(line)
            else:
                code = re.match(r"( {4}|\t)\s*(?![-*\d])\S", line) and not self.lines[number - 2].strip()
                if code:
                    self.indented.append(f"{path}:{number}")
                self.prose.append((number, line))

    def text(self):
        return "\n".join(line for _, line in self.prose)

    def spans(self):
        """What stands in backquotes, in prose and tables."""
        return [s.replace("\n", " ") for s in re.findall(r"`([^`]+)`", self.text())]

    def headings(self):
        heads = [re.sub(r"[`*]|\]\([^)]*\)|\[", "", line).lstrip("# ") for _, line in self.prose if line.startswith("#")]
        return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in heads}


# --- blocks, lengths, words ---------------------------------------------------------------------------------------

def check_blocks(documents, folder):
    wrong, ran, marked = [], 0, 0
    for d in documents:
        wrong += [f"{place}: an indented block; fence it" for place in d.indented]
        to_run = [b for b in d.blocks if b.info == "sh"]
        not_run = [b for b in d.blocks if re.fullmatch(r"sh not-run: \S.*", b.info)]
        for b in d.blocks:
            if b.info == "text":
                wrong += [f"{b.place}: a command in a text block: {line}" for line in b.lines if re.match(COMMAND, line)]
            elif b not in to_run + not_run:
                wrong.append(f"{b.place}: expected ```sh, ```sh not-run: WHY or ```text, got ```{b.info}")
        for i, b in enumerate(to_run, 1):
            if folder:
                with open(f"{folder}/{d.path.replace('/', '-').removesuffix('.md')}.{i}.sh", "w", encoding="utf-8") as f:
                    f.write("\n".join(b.lines) + "\n")
        ran, marked = ran + len(to_run), marked + len(not_run)
    say("blocks", wrong, f"{ran} are run, {marked} are not and say why")


def check_lengths(documents):
    wrong = []
    for d in documents:
        if d.path == "README.md":
            if len(d.lines) > 151:
                wrong.append(f"README.md has {len(d.lines) - 1} lines, at most 150 are allowed")
            wrong += [f"README.md:{n}: over 120 characters" for n, line in enumerate(d.lines, 1) if len(line) > 120]
        else:
            wrong += [f"{d.path}:{n}: over 120 characters" for n, line in d.prose
                      if len(line) > 120 and not line.startswith("|") and "://" not in line]
    say("lengths", wrong)


def check_words(documents):
    wrong = []
    for d in documents:
        for number, line in d.prose:
            parts = line.strip("|").split(" | ") if line.startswith("|") else re.split(r"(?<=[.:;!]) ", line)
            if not line.startswith("|") and d.lines[number - 2].strip()[-1:] not in ("", ".", ":", ";", "!", "?", "|"):
                parts = parts[1:] # the end of the sentence in the line above
            wrong += [f"{d.path}:{number}: {p.strip()[:60]}" for p in parts
                      if re.match(r"[-#*\s\d.]*(who|whoever|whose|what|whatever|where|wherever)\b", p, re.I) and not p.rstrip().endswith("?")]
    say("words", wrong)


# --- links and commands -------------------------------------------------------------------------------------------

def check_links(documents, tree):
    wrong, known = [], {d.path: d for d in documents}
    names = {os.path.basename(p) for p in tree}
    folders = {p[:i] for p in tree for i, c in enumerate(p) if c == "/"}
    for d in documents:
        here = os.path.dirname(d.path)
        for target in re.findall(r"\]\(([^)\s]+)\)", d.text()):
            if "://" in target:
                continue
            path, _, heading = target.partition("#")
            path = os.path.normpath(os.path.join(here, path)) if path else d.path
            if path not in tree and path not in folders:
                wrong.append(f"{d.path}: ({target}): no such file")
            elif heading and (path not in known or heading not in known[path].headings()):
                wrong.append(f"{d.path}: ({target}): no such heading")
        reasons = " ".join(b.info for b in d.blocks if b.info.startswith("sh not-run"))
        for span in d.spans() + re.findall(r"\b(?:tests|docs)/[\w./-]*\w", reasons):
            if re.fullmatch(r"(net|core_wrapper|tests|docs|frontend_patch)/[\w./-]+", span):
                if span.rstrip("/") not in tree | folders and os.path.normpath(os.path.join(here, span)) not in tree | folders:
                    wrong.append(f"{d.path}: `{span}`: no such file or folder")
            elif re.fullmatch(r"[\w-]+\.(c|h|sh|py|mk|md)", span) and span not in names:
                wrong.append(f"{d.path}: `{span}`: no file of that name")
    say("links", wrong)


def check_sections(tree):
    """PROTOCOL.md or ROOMS.md §N, Name, in any file, and §N in these: section N is there, with a heading of that word."""
    wrong, count, of = [], 0, {"PROTOCOL.md": {}, "ROOMS.md": {}}
    for page, sections in of.items():
        number = None
        for line in read(f"net/{page}").split("\n"):
            if head := re.match(r"## (\d+)\. ", line):
                number = head[1]
                sections[number] = []
            elif number and (head := re.match(r"###+ (.*)|(?:- )?\*\*([^*|]*)\*\*", line)):
                sections[number].append((head[1] or head[2]).lower())
    for path in sorted(tree):
        if not re.search(r"\.(c|h|md|py|sh)$", path):
            continue
        text = re.sub(r"\n\s*(\*|#|//)?\s*", " ", read(path))
        found = re.findall(r"(PROTOCOL\.md|ROOMS\.md)((?:[ ,]+(?:and |to )?§\d+)+)(?:, (?!docs/)([A-Za-z]+))?", text)
        if path in ("net/PROTOCOL.md", "net/ROOMS.md", "docs/protocol-reasons.md"):
            found += [("PROTOCOL.md", m, "") for m in re.findall(r"§\d+", re.sub(r"RFC \d+ §\d+", "", text))]
        for page, cited, name in found:
            sections = of[page]
            numbers = re.findall(r"\d+", cited)
            count += len(numbers)
            wrong += [f"{path}: {page} §{n}: no such section" for n in numbers if n not in sections]
            if name and not any(name.lower() in head for n in numbers for head in sections.get(n, [])):
                wrong.append(f"{path}: {page}{cited}, {name}: no such heading")
    say("sections", wrong, f"{count} of the protocol are referred to")


def targets(folder):
    found = set()
    for makefile in MAKEFILES.get(folder, [f"{folder}/Makefile"]):
        text = read(makefile)
        found |= set(re.findall(r"^([\w-]+):", text, re.M)) | set(" ".join(re.findall(r"^\.PHONY:((?:.*\\\n)*.*)", text, re.M)).split())
    return found


def options_of(program, *sub):
    """Those of its usage, and those that a line of its help begins with."""
    out = subprocess.run([f"{BUILD}/{program}", *sub, "--help"], capture_output=True, text=True, timeout=20, check=False)
    heads = re.findall(r"^Usage:(?:.*\n )*.*", out.stdout, re.M) + re.findall(r"(?:^ +|; )(-.*?)(?:  |$)", out.stdout, re.M)
    return list(dict.fromkeys(re.findall(r"(?<![\w-])--[a-z][\w-]*", " ".join(heads))))


def named_options(words):
    return [w.partition("=")[0] for w in words if re.match(r"--[a-z]", w) and " " not in w]


def check_commands(documents, commands):
    wrong, count = [], 0
    for d in documents:
        lines = [(d.path, s) for s in d.spans()]
        for b in d.blocks:
            if b.info.startswith("sh"):
                lines += [(b.place, line) for line in "\n".join(b.lines).replace("\\\n", " ").split("\n")]
        for place, line in lines:
            try:
                words = list(shlex.shlex(line, posix=True, punctuation_chars=";&|")) if "'" not in line else line.split()
            except ValueError:
                words = line.split()
            command = []
            for w in words + [";"]:
                if not re.fullmatch(r"[;&|]+", w):
                    command.append(w)
                    continue
                while command and re.fullmatch(r"[A-Z_]+=.*", command[0]):
                    command.pop(0)
                program, rest = (command[0], command[1:]) if command else ("", [])
                if program == "make":
                    folder = rest[rest.index("-C") + 1] if "-C" in rest else "."
                    asked = [r for r in rest if re.fullmatch(r"[a-z][\w-]*", r) and r != folder]
                    wrong += [f"{place}: make {r}: no such target" for r in asked if r not in targets(folder)]
                elif program == "keylock-relay":
                    wrong += [f"{place}: {program} {o}: no such option" for o in named_options(rest)
                              if o not in commands["keylock-relay"]]
                elif program == "keylock" and rest and re.fullmatch(r"[a-z]+", rest[0]):
                    sub = rest[0]
                    if sub != "help" and sub not in commands:
                        wrong.append(f"{place}: keylock {sub}: no such sub-command")
                    wrong += [f"{place}: keylock {sub} {o}: no such option" for o in named_options(rest)
                              if o not in commands.get(sub, []) and o != "--help"]
                count += program in ("make", "keylock", "keylock-relay")
                command = []
    say("commands", sorted(set(wrong)), f"{count} are named")


# --- the tables of docs/options.md --------------------------------------------------------------------------------

def table(first):
    """Rows, by column name, of the table whose heading begins with that cell; of all that do, one behind the other."""
    rows, heads = [], None
    for line in read("docs/options.md").split("\n"):
        cells = [c.strip() for c in line.strip("|").split("|")]
        if line.startswith(f"| {first} |"):
            heads = [c.strip("`") for c in cells]
        elif not line.startswith("|"):
            heads = None
        elif heads and not line.startswith("| ---"):
            rows.append(dict(zip(heads, cells)))
    return rows


def ticked(rows, column):
    return [w for r in rows for w in re.findall(r"`([^`]*)`", r.get(column, ""))]


def same(name, said, real):
    missing, more = sorted(set(real) - set(said)), sorted(set(said) - set(real))
    twice = sorted(w for w in set(said) if said.count(w) > 1)
    say(f"options/{name}", [] if not missing and not more and not twice else [f"missing {missing}, not there {more}, twice {twice}"])


def made_tables():
    """Those that the programs' own tables of options make: a list of lines each."""
    out = subprocess.run([f"{BUILD}/option_tables"], capture_output=True, text=True, timeout=20, check=True).stdout
    return [part.splitlines() for part in out.split("\n\n")]


def place_of(lines, made):
    """The lines of the document's table with the same heading: from, and up to."""
    begin = lines.index(made[0])
    return begin, next(i for i in range(begin, len(lines) + 1) if i == len(lines) or not lines[i].startswith("|"))


def write_options():
    lines = read("docs/options.md").split("\n")
    for made in made_tables():
        begin, end = place_of(lines, made)
        lines[begin:end] = made
    with open("docs/options.md", "w", encoding="utf-8") as f:
        f.write("\n".join(lines))
    settings = relay_conf(read(RELAY_CONF))
    with open(RELAY_CONF, "w", encoding="utf-8") as f:
        f.write(settings)


def check_made():
    lines, wrong, rows = read("docs/options.md").split("\n"), [], 0
    for made in made_tables():
        begin, end = place_of(lines, made)
        rows += len(made) - 2
        wrong += [f"make options would change the row: {line}" for line in made if line not in lines[begin:end]]
        wrong += [f"no such row: {line}" for line in lines[begin:end] if line not in made]
        if not wrong and lines[begin:end] != made:
            wrong.append(f"the rows of the table {made[0]} have another order")
    say("options/made", wrong, f"{rows} rows")


def relay_conf(text):
    """The package's settings with each option of the relay: a default that is a value is put right, and an option that is
    missing comes to the end, with its meaning; a line of an option that is gone goes."""
    made = {r["option"].split()[0].strip("`-"): r for r in table("option")}
    lines = []
    for line in text.rstrip("\n").split("\n"):
        key, value = (re.findall(r"^#([a-z-]+) = (.*)$", line) or [("", "")])[0]
        default = made.pop(key, {"default": None})["default"] if key else ""
        if default is None:
            continue
        fixed = re.match(r"([\w:]+)(,|$)", default)
        if fixed and fixed[1] != "none":
            value = fixed[1]
        lines.append(f"#{key} = {value}" if key else line)
    for key in [k for k in made if k != "config"]:
        lines += textwrap.wrap(made[key]["meaning"], 118, initial_indent="# ", subsequent_indent="# ")
        lines.append(f"#{key} = {made[key]['default']}")
    return "\n".join(lines) + "\n"


def check_relay_conf():
    said = read(RELAY_CONF)
    wrong = sorted(set(said.split("\n")) ^ set(relay_conf(said).split("\n"))) or ["it says an option twice"]
    say("options/relay.conf", [f"make options would change {line}" for line in wrong if said != relay_conf(said)])


def check_tables(commands):
    options, words = table("setting"), table("words")
    of_rooms, of_console = [r for r in words if "allowed for" in r], [r for r in words if "allowed for" not in r]
    console = re.findall(r'\n    \{"(\w+)', read("net/relay/program/console.c"))
    made = subprocess.run([f"{BUILD}/option_tables"], capture_output=True, text=True, timeout=20, check=True).stdout
    own = sorted(set(re.findall(r'#define KL_OWN_\w+ +"(keylock_\w+)"', read("core_wrapper/words/own_options.h")) + re.findall(r"`(keylock_\w+)`", made)))
    sources = "".join(read(p) for p in glob.glob("core_wrapper/**/*.c", recursive=True))
    asked = set(re.findall(r'(?:getenv|open_named)\("(KEYLOCK_\w+)"', sources))
    same("variables-for-tests", [v for v in asked if v in read("docs/options.md")], asked)
    same("flags", ticked(options, "keylock play"), commands["play"])
    same("core-options", sorted(set(ticked(options, "core option") + ticked(of_rooms, "core option"))), own)
    same("console", [w.split()[0] for w in ticked(of_console, "words")], console)
    same("relay", [o.split()[0] for o in ticked(table("option"), "option")], [o for o in commands["keylock-relay"] if o not in ("--check", "--help", "--version")])
    for row in table("sub-command"):
        sub = row["sub-command"].strip("`")
        if sub != "play":
            same(sub, ticked([row], "options"), commands.get(sub, ["no such sub-command"]))
    same("sub-commands", [r["sub-command"].strip("`") for r in table("sub-command")], [c for c in commands if c != "keylock-relay"])


def main():
    if sys.argv[1:] not in ([], ["--write-options"]) and (sys.argv[1] != "--blocks" or len(sys.argv) != 3):
        print(__doc__, file=sys.stderr)
        return 2
    os.chdir(os.path.dirname(os.path.abspath(__file__)) + "/../..")
    if sys.argv[1:] == ["--write-options"]:
        return write_options()
    tree = set(subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], check=True, capture_output=True, text=True).stdout.split("\n")) - {""}
    tree = {p for p in tree if os.path.exists(p)}
    documents = [Document(p) for p in DOCUMENTS]
    subs = subprocess.run([f"{BUILD}/keylock", "--help"], capture_output=True, text=True, timeout=20, check=False).stdout
    commands = {s: options_of("keylock", s) for s in re.findall(r"^  ([a-z]+)  ", subs, re.M)}
    commands["keylock-relay"] = options_of("keylock-relay")
    check_blocks(documents, sys.argv[2] if sys.argv[1:] else None)
    check_links(documents, tree)
    check_sections(tree)
    check_commands(documents, commands)
    check_lengths(documents)
    check_words(documents)
    check_made()
    check_relay_conf()
    check_tables(commands)
    return failed


if __name__ == "__main__":
    sys.exit(main())
