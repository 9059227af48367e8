#!/usr/bin/env python3
"""awake.py - keeps this machine's processors from going to rest, by a loop on each that gives way to everything (idle
scheduling). A virtual machine's processor that rests is taken away by its host, and may get back 50 ms late when the next timer
is due; one that never rests keeps its place. Ends with SIGTERM or with its parent."""
import os
import signal

signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
parent = os.getppid()
cpus = sorted(os.sched_getaffinity(0))
for cpu in cpus[1:]:
    if os.fork() == 0:
        parent = os.getppid()
        break
else:
    cpu = cpus[0]
os.sched_setaffinity(0, {cpu})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
while os.getppid() == parent:
    for _ in range(1000000):
        pass
