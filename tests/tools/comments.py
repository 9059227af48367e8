#!/usr/bin/env python3
"""comments.py [FOLDER ...] - holds comments to the rules of plain words that a program can see: one subject a sentence, and first.
It prints "ok", or "FAIL" with each place.

continues  no comment begins or ends with dots: it does not continue the one above, nor is it continued below
pronouns   no comment, and no sentence in one, begins with who, whom, whose, which, what or where, but a question, which ends
           with "?"
nameless   no comment of the product's C is made of words like "of it", "those", "here" alone: somebody who reads it alone must know the thing
wide       no line of a comment in C has more than 110 characters (the formatter leaves comments as they are)

Looked at: C, Python and shell of the whole tree, or of the named folders. A block of lines is one comment."""
import re
import subprocess
import sys

DOTS = re.compile(r"^(…|\.\.\.)|(^|\s)(…|\.\.\.)$")
PRONOUN = re.compile(r"(?:^|(?<=[.:] ))(?:Who|Whom|Whose|Which|What|Where|who|whom|whose|which|what|where)\b(?!:)[^.?]*[.?]?")
NAMELESS = set("a an all also and are as at both by each for from here if in it its itself not of on one ones or other others same so some that the their "
               "them then there these they this those to up we what which with".split())
RULES = {"continues": lambda text: DOTS.search(text),
         "pronouns": lambda text: next((m[0] for m in PRONOUN.finditer(text) if begins(text, m) and not m[0].endswith("?")), None),
         "nameless": lambda text: text and all(word in NAMELESS for word in re.findall(r"[^\s,.;:()]+", text.lower()))}


def begins(text, found):
    """A small letter behind a full stop or colon is an abbreviation's or a list's; at the beginning it counts."""
    return found.start() == 0 or found[0][0].isupper()


def of_c(text):
    """(line, words) of each comment; strings are passed over."""
    for m in re.finditer(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*(.*?)\*/', text, re.S):
        if m[1] is not None:
            yield text.count("\n", 0, m.start()) + 1, re.sub(r"\s*\n\s*\*?\s*", " ", m[1])


def of_script(text):
    """The same for # comments: lines of nothing else are one, if they follow each other."""
    block, first = [], 0
    for number, line in enumerate(text.split("\n") + [""], 1):
        whole = re.match(r"\s*#(?!!)\s?(.*)$", line)
        if whole:
            block, first = block + [whole[1]], first if block else number
            continue
        if block:
            yield first, " ".join(block)
            block = []
        behind = re.search(r"\s#\s(.*)$", re.sub(r'"(?:\\.|[^"\\])*"|\'[^\']*\'', '""', line))
        if behind:
            yield number, behind[1]


def plain(words):
    """Without rulers, markers and the file's name in front."""
    words = re.sub(r"-{3,}|\s+", " ", words).strip()
    return re.sub(r"^[\w./-]+(?: [A-Z…][^-]*)? - ", "", words)


def main():
    files = subprocess.run(["git", "ls-files", "--", *(sys.argv[1:] or ["."])], check=True, capture_output=True, text=True).stdout.split()
    wrong, count = {rule: [] for rule in [*RULES, "wide"]}, 0
    for path in files:
        read = of_c if path.endswith((".c", ".h")) else of_script if path.endswith((".py", ".sh", ".mk", "Makefile")) else None
        if not read:
            continue
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if read == of_c:
            for line, words in enumerate(text.split("\n"), 1):
                if len(words) > 110 and re.match(r"[^\"]*/\*| \*", words):
                    wrong["wide"].append(f"{path}:{line}: {len(words)} characters")
        for line, words in read(text):
            count += 1
            for rule, look in RULES.items():
                if rule == "nameless" and (not path.startswith(("net/", "core_wrapper/")) or "---" in words):
                    continue
                if look(plain(words)):
                    wrong[rule].append(f"{path}:{line}: {plain(words)[:160]}")
    for rule, places in wrong.items():
        print(f"FAIL comments/{rule}: {len(places)}" if places else f"ok comments/{rule}: none in {count} comments")
        for place in places:
            print(f"     {place}")
    sys.exit(any(wrong.values()))


if __name__ == "__main__":
    main()
