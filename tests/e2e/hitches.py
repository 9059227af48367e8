#!/usr/bin/env python3
"""hitches.py PID… - how long this machine stood still for these processes. A judgement in time takes it off.

It prints a line for each tenth of a second in which the machine held up somebody by more than 4 ms: the wall clock's microseconds
at the end, and the milliseconds. That is the larger of two: how much too late this process itself woke from its naps of 5 ms, as a
virtual machine that gets no processor shows nowhere else; and the time that the worst thread of each PID stood ready without a
processor (/proc/PID/task/*/schedstat), added up, as one may wait for the other. Ends with SIGTERM."""
import glob
import signal
import sys
import time

NAP_S, NAPS, WORTH_MS = 0.005, 20, 4

signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))


def delays(pid):
    """Milliseconds without a processor so far, by thread."""
    found = {}
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        try:
            with open(path) as f:
                found[path] = int(f.read().split()[1]) / 1e6
        except (OSError, IndexError):
            pass  # the thread is gone
    return found


before = {pid: delays(pid) for pid in sys.argv[1:]}
while True:
    late_ms = 0
    for _ in range(NAPS):
        begin = time.monotonic()
        time.sleep(NAP_S)
        late_ms += max(0, (time.monotonic() - begin - NAP_S) * 1e3 - 1)  # a timer's own millisecond
    now = {pid: delays(pid) for pid in sys.argv[1:]}
    held_ms = sum(max((ms - before[pid].get(path, ms) for path, ms in now[pid].items()), default=0) for pid in now)
    before = now
    if max(late_ms, held_ms) > WORTH_MS:
        print(f"{time.time_ns() // 1000} {max(late_ms, held_ms):.1f}", flush=True)
