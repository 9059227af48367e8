"""draw.py - part of borders.py: one picture (SVG) of the folders, the arrows between them, and the circles inside.

An arrow's number counts the pairs of modules that lead from one folder to the other. A grey arrow leads where a chain of other
arrows leads too; it has no number of its own in the picture, but a tooltip. A ring stands for a circle of modules inside a
folder, with their number; it is red above the limit. An arrow upwards, which closes a circle of folders, is red."""
import collections
import os
from html import escape

WIDTH, ROW, BOX_W, BOX_H, TOP = 1500, 108, 186, 46, 108
COLOURS = {"net/relay": "#e8dcf4", "net": "#d9e8f7", "core_wrapper/tool": "#fbe3cf", "core_wrapper": "#dff0d8"}


def colour(name):
    return next(c for top, c in COLOURS.items() if name.startswith(top))


def reach(goes, start):
    reached, next_ones = set(), [start]
    while next_ones:
        for b in goes[next_ones.pop()]:
            if b not in reached:
                reached.add(b)
                next_ones.append(b)
    return reached


def rings(calls, folder):
    """{folder: [modules of each circle inside it]}, the largest first."""
    goes, found = collections.defaultdict(set), collections.defaultdict(list)
    for a, b in calls:
        if folder(a) == folder(b):
            goes[a].add(b)
    seen = set()
    for start in sorted(goes):
        ring = {m for m in reach(goes, start) if start in reach(goes, m)} - seen
        if len(ring) > 1:
            found[folder(start)].append(sorted(ring))
        seen |= ring
    return {top: sorted(all_of, key=len, reverse=True) for top, all_of in found.items()}


class Picture:
    def __init__(self, names, arrows):
        """names: in the order of the layers, the lowest first; arrows: {(from, to): count}."""
        self.order = {n: i for i, n in enumerate(names)}
        self.numbers = []  # the places of the numbers: (x, y, width)
        self.down = collections.defaultdict(set)
        for a, b in arrows:
            if self.order[a] > self.order[b]:
                self.down[a].add(b)
        self.place = self.places(names)

    def depth(self, name, memo):
        if name not in memo:
            memo[name] = 1 + max([self.depth(b, memo) for b in self.down[name]], default=-1)
        return memo[name]

    def places(self, names):
        """{name: (x, y) of the box's middle}: rows by the longest chain below, ordered by what they use."""
        memo, rows = {}, collections.defaultdict(list)
        for n in names:
            rows[self.depth(n, memo)].append(n)
        self.rows = len(rows)
        place = {}
        for d in sorted(rows):
            def wish(n):
                below = [place[b][0] for b in self.down[n] if self.is_drawn(n, b)]
                side = WIDTH * (0.22 if n.startswith("net") else 0.8 if "tool" in n else 0.55)
                return (sum(below) / len(below) if below else WIDTH / 2) * 0.35 + side * 0.65
            row = sorted(rows[d], key=wish)
            xs = []
            for n in row:
                xs.append(max(wish(n), BOX_W / 2 + 12, xs[-1] + BOX_W + 26 if xs else 0))
            over = xs[-1] - (WIDTH - BOX_W / 2 - 12)
            for i in reversed(range(len(xs))):
                if over > 0:
                    xs[i] = min(xs[i], (xs[i + 1] - BOX_W - 26) if i + 1 < len(xs) else WIDTH - BOX_W / 2 - 12)
            for n, x in zip(row, xs):
                place[n] = (x, TOP + (self.rows - 1 - d) * ROW + BOX_H / 2)
        return place

    def is_drawn(self, a, b):
        """Whether no chain of other arrows leads from a to b."""
        return not any(b in reach(self.down, c) for c in self.down[a] if c != b)

    def arrow(self, a, b, count):
        up, main = self.order[a] < self.order[b], self.is_drawn(a, b)
        (ax, ay), (bx, by) = self.place[a], self.place[b]
        sign = -1 if ay > by else 1
        ax += max(-70, min(70, (bx - ax) * 0.12))
        bx += max(-70, min(70, (ax - bx) * 0.12))
        ay, by = ay + sign * BOX_H / 2, by - sign * (BOX_H / 2 + 3)
        lean = sign * max(22, abs(by - ay) * 0.35)
        kind = "up" if up else "main" if main else "more"
        line = (f'<path class="{kind}" d="M{ax:.0f} {ay:.0f}C{ax:.0f} {ay + lean:.0f} {bx:.0f} {by - lean:.0f} {bx:.0f} {by:.0f}">'
                f'<title>{escape(a)} to {escape(b)}: {count}</title></path>')
        if kind == "more":
            return line, ""
        w = 8 + 7 * len(str(count))
        x, y = self.free_place([(ax, ay), (ax, ay + lean), (bx, by - lean), (bx, by)], w)
        return line, (f'<rect class="n" x="{x - w / 2:.0f}" y="{y - 8:.0f}" width="{w}" height="16" rx="8"/>'
                      f'<text class="n" x="{x:.0f}" y="{y + 4:.0f}">{count}</text>')

    def free_place(self, curve, width):
        """A point of the curve where a number hides no box and no other number, as near as can be to a third of the way."""
        def point(t):
            return tuple((1 - t)**3 * p + 3 * (1 - t)**2 * t * q + 3 * (1 - t) * t * t * r + t**3 * s for p, q, r, s in zip(*curve))

        def is_free(x, y):
            return (all(abs(x - bx) > (BOX_W + width) / 2 or abs(y - by) > BOX_H / 2 + 9 for bx, by in self.place.values()) and
                    all(abs(x - nx) > (width + w) / 2 + 1 or abs(y - ny) > 17 for nx, ny, w in self.numbers))
        ways = sorted((abs(i / 40 - 0.33), i / 40) for i in range(3, 38))
        x, y = next((point(t) for _, t in ways if is_free(*point(t))), point(0.33))
        self.numbers.append((x, y, width))
        return x, y

    def box(self, name, modules, circles, limit):
        x, y = self.place[name]
        left, top = x - BOX_W / 2, y - BOX_H / 2
        out = [f'<rect class="box" x="{left:.0f}" y="{top:.0f}" width="{BOX_W}" height="{BOX_H}" rx="7" fill="{colour(name)}"/>',
               f'<text class="name" x="{left + 9:.0f}" y="{top + 19:.0f}">{escape(name)}</text>',
               f'<text x="{left + 9:.0f}" y="{top + 37:.0f}">{modules} {"modules" if modules != 1 else "module"}</text>']
        for i, ring in enumerate(circles[:4]):
            cx, kind = left + BOX_W - 17 - 27 * i, "ring bad" if len(ring) > limit else "ring"
            names = ", ".join(os.path.basename(m) for m in ring)
            out.append(f'<circle class="{kind}" cx="{cx:.0f}" cy="{top + 32:.0f}" r="10"><title>{escape(names)}</title></circle>'
                       f'<text class="n" x="{cx:.0f}" y="{top + 36:.0f}">{len(ring)}</text>')
        return "".join(out)


STYLE = """text{font:12px sans-serif;fill:#222}.name{font-weight:bold}.head{font:bold 20px sans-serif}.n{text-anchor:middle}
rect.n{fill:#fff;stroke:#999;stroke-width:.6}.box{stroke:#444}path{fill:none}.main{stroke:#333;stroke-width:1.5;marker-end:url(#a)}
.more{stroke:#bbb;stroke-width:.6;opacity:.55}.up{stroke:#c00;stroke-width:2.5;marker-end:url(#r)}
.ring{fill:#fff;stroke:#26a;stroke-width:2.2}.bad{stroke:#c00}"""


def draw(path, names, arrows, modules, circles, limit, note):
    """Writes the picture. note: a line below its title. modules: {folder: number}; circles: rings(); limit: the most modules of a ring."""
    p = Picture(names, arrows)
    lines, numbers = zip(*(p.arrow(a, b, n) for (a, b), n in sorted(arrows.items(), key=lambda i: (p.is_drawn(*i[0]), i[0]))))
    height, up = TOP + p.rows * ROW, sum(p.order[a] < p.order[b] for a, b in arrows)
    sizes = [len(r) for all_of in circles.values() for r in all_of]
    told = (f"{len(names)} folders, {sum(modules.values())} modules, {sum(arrows.values())} arrows between modules of different folders, "
            f"{up} upwards. Circles of modules inside folders: {len(sizes)}, the largest of {max(sizes, default=0)} (limit {limit}).")
    marks = "".join(f'<marker id="{i}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto" '
                    f'markerUnits="userSpaceOnUse"><path d="M0 0L8 4L0 8z" style="fill:{c}"/></marker>' for i, c in (("a", "#333"), ("r", "#c00")))
    with open(path, "w", encoding="utf-8") as f:
        f.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
                f"<style>{STYLE}</style><defs>{marks}</defs><rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>"
                f'<text class="head" x="16" y="30">Folders: who uses whom</text><text x="16" y="50">{escape(told)}</text>'
                '<text x="16" y="68">Black: the only way from one folder to the other, with its number of arrows. Grey: a black chain leads '
                "there too. Blue ring: modules of one folder that reach each other.</text>"
                f'<text x="16" y="86">{escape(note)}</text>\n' +
                "\n".join(lines) + "\n" +
                "\n".join(p.box(n, modules[n], circles.get(n, []), limit) for n in names) + "\n" + "\n".join(numbers) + "</svg>\n")
