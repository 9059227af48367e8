#!/usr/bin/env python3
"""router_news.py KEYLOCK PORT LEASE [leave | TERM | KILL] - asks the router as `keylock play --host-here` does.

Starts `keylock router PORT LEASE` with a channel and prints each news as a line. At SIGTERM it closes the channel (leave), or
sends that signal to the program. It prints how the program ended, after how many ms, and how much memory it had. Without a
signal it ends with the program."""
import os
import resource
import signal
import socket
import struct
import sys
import time

NEWS = struct.Struct("<BBHIIi")  # struct kl_router_news
RESULT, WAY = ("none", "mapped", "refused", "odd"), ("natpmp", "upnp")
ours, theirs = socket.socketpair()
keylock, port, lease = sys.argv[1:4]
how = sys.argv[4] if len(sys.argv) > 4 else "leave"
began = time.monotonic()
asked = []


def leave(*_):
    asked.append(time.monotonic())
    if how == "leave":
        ours.shutdown(socket.SHUT_RDWR)
    else:
        os.kill(child, getattr(signal, f"SIG{how}"))


child = os.fork()
if child == 0:
    theirs = os.dup(theirs.fileno())  # above the numbers that it may have, so that dup2 leaves it open in the program
    os.dup2(theirs, 3)
    os.execv(keylock, ["keylock", "router", port, lease])
theirs.close()
signal.signal(signal.SIGTERM, leave)


def read(n):
    data = b""
    while len(data) < n:
        part = ours.recv(n - len(data))
        if not part:
            return None
        data += part
    return data


while True:
    head = read(16)
    if not head:
        break
    mark, zero, size = struct.unpack("<IIQ", head)
    if mark != 0x4b4c6d31 or zero or size != NEWS.size:
        sys.exit(f"router_news: expected a message of {NEWS.size} bytes, got {head.hex()}")
    result, way, outside, host, seconds, code = NEWS.unpack(read(size))
    print(f"news {RESULT[result]} by={WAY[way]} port={outside} host={socket.inet_ntoa(struct.pack('<I', host))} lease={seconds} "
          f"code={code} after={int((time.monotonic() - began) * 1000)}", flush=True)
_, status = os.waitpid(child, 0)
took = int((time.monotonic() - (asked or [began])[0]) * 1000)
print(f"ended status={os.waitstatus_to_exitcode(status)} after={took} "
      f"mib={resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024}", flush=True)
