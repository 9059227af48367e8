#!/usr/bin/env python3
"""stillness.py - one line each time this machine held up a thread that nothing in it may hold up: one for each processor, bound
to it, at the highest real-time priority, that sleeps 2 ms at a time. `CLOCK_US MS`: the monotonic clock at its waking, and
how much too late that was, from 4 ms on. A virtual machine that gets no processor from its host shows here and nowhere in
/proc/PID/schedstat. Ends with SIGTERM."""
import os
import signal
import sys
import time

NAP_S, WORTH_TELLING_S = 0.002, 0.004

signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
for cpu in sorted(os.sched_getaffinity(0))[1:]:
    if os.fork() == 0:
        break
else:
    cpu = min(os.sched_getaffinity(0))
os.sched_setaffinity(0, {cpu})
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(90))
except PermissionError:
    sys.exit(0)  # without that right its figures would not be the machine's
parent = os.getppid()
while os.getppid() == parent:
    before = time.monotonic()
    time.sleep(NAP_S)
    late = time.monotonic() - before - NAP_S
    if late > WORTH_TELLING_S:
        os.write(1, b"%d %.1f\n" % (time.monotonic_ns() // 1000, late * 1e3))
