#!/usr/bin/env python3
"""rundelay.py PID... - how long the threads of these processes stood ready and got no processor.

One line each tenth of a second in which one of them lost more than 4 ms: the monotonic clock in microseconds at its
end, and the milliseconds of the thread that lost most. Ends with SIGTERM. A machine that others share makes
hitches which are not the program's: /proc/PID/task/*/schedstat tells them apart."""
import glob
import signal
import sys
import time

signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))


def delays(pids):
    found = {}
    for pid in pids:
        for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
            try:
                with open(path) as f:
                    found[path] = int(f.read().split()[1])
            except (OSError, IndexError):
                pass  # the thread is gone
    return found


before = delays(sys.argv[1:])
while True:
    time.sleep(0.1)
    now = delays(sys.argv[1:])
    worst = max((now[p] - before.get(p, now[p]) for p in now), default=0) / 1e6
    if worst > 4:
        print(f"{time.monotonic_ns() // 1000} {worst:.1f}", flush=True)
    before = now
