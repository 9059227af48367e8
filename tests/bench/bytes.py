#!/usr/bin/env python3
"""bytes.py - what each client sends and receives on the wire, idle and mashing.

A tap between clients and link counts each client's datagrams and their bytes, so all is in: session headers, ENet's own,
what is repeated. IP and UDP headers (28 bytes a datagram) stand in a column of their own. The yardstick, in the same
table: the least that sends every frame by UDP at once, a datagram each frame with two bytes a pad and nothing else."""
import concurrent.futures
import os
import selectors
import socket
import statistics
import subprocess
import sys
import threading
import time

import bench

SETTLE = float(os.environ.get("BENCH_SETTLE", 3 if bench.QUICK else 6))
MEASURE = float(os.environ.get("BENCH_SECONDS", 4 if bench.QUICK else 10))
AT_ONCE = 3 # rooms side by side: the number of bytes hardly depends on it
HEADERS = 28 # IPv4 and UDP
FPS = 60


class Tap:
    """A port that leads to `to`; counts by client."""

    def __init__(self, to):
        host, port = to.rsplit(":", 1)
        self.to = (host, int(port))
        self.listen = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.listen.bind(("127.0.0.1", 0))
        self.listen.setblocking(False) # a datagram that select() promised may be gone, and recv() would then stop all players
        self.address = "127.0.0.1:%d" % self.listen.getsockname()[1]
        self.flows, self.counts = {}, {}
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listen, selectors.EVENT_READ, None)
        self.open = True
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def count(self, client, way, size):
        c = self.counts.setdefault(client, {"up": [0, 0], "down": [0, 0]})[way]
        c[0] += 1
        c[1] += size

    def run(self):
        while self.open:
            for key, _ in self.selector.select(0.2):
                try:
                    data, source = key.fileobj.recvfrom(4096)
                    if key.data is not None:
                        self.count(key.data, "down", len(data))
                        self.listen.sendto(data, key.data)
                        continue
                    if source not in self.flows:
                        self.flows[source] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                        self.flows[source].connect(self.to)
                        self.flows[source].setblocking(False)
                        self.selector.register(self.flows[source], selectors.EVENT_READ, source)
                    self.count(source, "up", len(data))
                    self.flows[source].send(data)
                except OSError:
                    pass

    def snapshot(self):
        return {c: {way: tuple(n) for way, n in ways.items()} for c, ways in self.counts.items()}

    def close(self):
        self.open = False
        self.thread.join()
        for s in [self.listen, *self.flows.values()]:
            s.close()


def room(tag, players, rtt, link, pads, *options):
    """Datagrams and bytes a second of each way, averaged over the clients; and what the JSON says. Nothing where it failed."""
    relay, at = bench.relay(tag)
    proxy, to = bench.through(at, rtt, *link, tag=tag)
    tap = Tap(to)
    frames = int((SETTLE + MEASURE + 4) * FPS)
    clients = [bench.start(f"{tag}b{i}", bench.KEYLOCK, "run", "--quiet", "--core", bench.PRESS_CORE, "--content",
                           os.path.join(bench.CONTENT, "shooter.nes"), "--frames", frames, "--relay", tap.address, "--room", "bytes",
                           "--players", players, "--speed", "real", "--wait", 20, "--name", f"b{i}",
                           "--input", "none" if pads == "idle" else f"random:{i + 1}", *options) for i in range(players)]
    try:
        bench.wait_said(relay, r"event=started|started.*frame=0", 20)
        time.sleep(SETTLE + 1)
        before, from_s = tap.snapshot(), time.monotonic()
        time.sleep(MEASURE)
        after, seconds = tap.snapshot(), time.monotonic() - from_s
        if any(c.poll() is not None for c in clients):
            bench.say(f"  {tag}: a client ended before its time")
        codes = [c.wait(30) for c in clients]
    except (SystemExit, subprocess.TimeoutExpired) as e:
        return bench.say(f"  {e}; {bench.said(clients[0])[-200:]}")
    finally:
        for p in clients + [proxy, relay]:
            bench.stop(p)
        tap.close()
    if any(codes):
        return bench.say(f"  exit status {codes}: {bench.said(clients[0])[-300:]}")
    said = [bench.last_json(c) for c in clients]
    rows = {}
    for way, key in (("up", "sent_bytes"), ("down", "received_bytes")):
        both = [(before[c][way], after[c][way]) for c in after if c in before]
        datagrams = statistics.mean(b[0] - a[0] for a, b in both) / seconds
        payload = statistics.mean(b[1] - a[1] for a, b in both) / seconds
        lean = FPS * (HEADERS + 2 * (1 if way == "up" else players))
        bodies = [j[key] / j["wall_s"] for j in said if j.get("wall_s")]
        rows[way] = {"datagrams_per_s": datagrams, "payload_bytes_per_s": payload, "ip_udp_header_bytes_per_s": datagrams * HEADERS,
                     "wire_bytes_per_s": payload + datagrams * HEADERS, "yardstick_bytes_per_s": lean,
                     "ratio_to_yardstick": (payload + datagrams * HEADERS) / lean,
                     "lock_bodies_per_s": statistics.mean(bodies) if bodies else None}
    return rows


def cells():
    """(algorithm, players, rtt, link, pads, options)"""
    off, half, economy = ("--subframes", "off"), ("--half-steps", "on"), ("--economy", "on")
    if bench.QUICK:
        return [("keylock", 2, 100, (0, 0), "idle", ()), ("keylock", 2, 100, (0, 0), "mashing", ()), ("original", 2, 100, (0, 0), "mashing", off),
                ("economy", 2, 100, (0, 0), "mashing", economy)]
    rows = [("keylock", players, rtt, (0, 0), pads, ()) for players in (2, 4, 8) for rtt in bench.RTTS for pads in ("idle", "mashing")]
    for players in (2, 8):
        rows += [("original", players, 100, (0, 0), "mashing", off), ("keylock", players, 100, (10, 3), "mashing", ()),
                 ("economy", players, 100, (0, 0), "mashing", economy), ("economy", players, 100, (10, 3), "mashing", economy),
                 ("half steps", players, 100, (0, 0), "mashing", half), ("half steps", players, 100, (10, 3), "mashing", half)]
    return rows


def groups(rows):
    """The cells as (heading, [(label, up, down)]): first by players, then the variants on one link."""
    def twin(up):
        return next(r for r in rows if r["way"] == "down" and all(r[k] == up[k] for k in ("algorithm", "players", "rtt_ms", "jitter_ms", "pads")))
    found = {}
    for up in (r for r in rows if r["way"] == "up"):
        plain = up["algorithm"] == "keylock" and not up["jitter_ms"]
        heading = f"{up['players']} players" if plain else f"{up['players']} players, RTT {up['rtt_ms']} ms, mashing"
        lossy = f" {up['jitter_ms']} ms, {up['loss_percent']} %%" if up["jitter_ms"] else ""
        label = f"RTT {up['rtt_ms']} {up['pads']}" if plain else ("" if up["algorithm"] == "keylock" else up["algorithm"]) + lossy
        found.setdefault(heading, []).append((label.strip(), up, twin(up)))
    return found.items()


def picture(rows):
    """A pair of bars for each cell, headers at their foot; the yardstick as a mark."""
    highest = max(r["wire_bytes_per_s"] for r in rows) / 1000 * 1.25
    data, tics, heads, x = [], [], [], 0.0
    for heading, cells_of in groups(rows):
        heads.append(f'set label "{heading}" at {x + (len(cells_of) + 1) / 2},graph 1.02 center font "Sans,9"\n')
        for label, up, down in cells_of:
            x += 1
            data.append({"x": x, **{f"u{k}": up[c] / 1000 for k, c in COLUMNS}, **{f"d{k}": down[c] / 1000 for k, c in COLUMNS}})
            tics.append(f'"{label}" {x}')
        x += 1.2
    script = bench.head("bytes", 1400, 640)
    script += 'set title "On the wire, each client: up (left bar) and down (right bar), with IP and UDP headers" font "Sans,15" offset 0,1\n'
    script += f'set ylabel "kB/s"\nset yrange [0:{highest:.1f}]\nset xrange [0:{x:g}]\nset boxwidth 0.38\nset style fill solid\nset key top left\n'
    script += "".join(heads) + "set xtics rotate by 55 right font 'Sans,9' (" + ", ".join(tics) + ")\n"
    script += 'set object 1 rect from graph 0,first 4.4 to graph 1,first 5.8 fc rgb "#ffe8cc" fs solid noborder behind\n'
    script += bench.block("d", data, ["x", "uw", "uh", "uy", "dw", "dh", "dy"])
    script += """plot $d using ($1-0.2):2 with boxes lc rgb "#1f77b4" title "up: payload", $d using ($1-0.2):3 with boxes lc rgb "#aec7e8" title "up: IP and UDP headers", \\
  $d using ($1+0.2):5 with boxes lc rgb "#2ca02c" title "down: payload", $d using ($1+0.2):6 with boxes lc rgb "#98df8a" title "down: IP and UDP headers", \\
  $d using ($1-0.39):4:(0.38):(0) with vectors nohead lw 2 lc rgb "#222222" title "the least: a bare datagram a frame, two bytes a pad", \\
  $d using ($1+0.01):7:(0.38):(0) with vectors nohead lw 2 lc rgb "#222222" notitle, \\
  NaN with boxes lc rgb "#ffe8cc" title "RetroArch 1.14's own netplay, two players, TCP, each way (measured earlier: 4.4 to 5.8)"
"""
    bench.plot("bytes", script)


COLUMNS = (("w", "wire_bytes_per_s"), ("h", "ip_udp_header_bytes_per_s"), ("y", "yardstick_bytes_per_s"))


def one_cell(numbered):
    number, (algorithm, players, rtt, link, pads, options) = numbered
    figures = room(f"c{number}-", players, rtt, link, pads, *options)
    if not figures:
        return []
    up, down = figures["up"], figures["down"]
    bench.say(f"  {algorithm}, {players} players, RTT {rtt} jitter {link[0]} loss {link[1]}, {pads}: up {up['wire_bytes_per_s'] / 1000:.2f} kB/s in"
              f" {up['datagrams_per_s']:.0f} datagrams ({up['ratio_to_yardstick']:.2f} of the least), down {down['wire_bytes_per_s'] / 1000:.2f} kB/s in"
              f" {down['datagrams_per_s']:.0f} ({down['ratio_to_yardstick']:.2f})")
    return [{"algorithm": algorithm, "players": players, "rtt_ms": rtt, "jitter_ms": link[0], "loss_percent": link[1], "pads": pads, "way": way,
             **figures[way]} for way in ("up", "down")]


def main():
    if "--plot" in sys.argv:
        return picture(bench.read_csv("bytes"))
    bench.needs(bench.KEYLOCK, bench.RELAY, bench.WRAPPER, bench.PROXY, bench.PRESS_CORE)
    bench.begin(f"bytes: {MEASURE:g} s a cell")
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        rows = [row for both in pool.map(one_cell, enumerate(cells())) for row in both]
    bench.write_csv("bytes", rows)
    picture(rows)


if __name__ == "__main__":
    sys.exit(main())
