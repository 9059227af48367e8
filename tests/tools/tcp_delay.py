#!/usr/bin/env python3
"""tcp_delay.py LISTEN_PORT HOST PORT MS - hands TCP connections to this machine's port on to HOST:PORT, what comes either way MS later.

Nothing is lost and nothing held back longer: the lower bound of what a line of that length does. Ends by a signal."""
import queue, socket, sys, threading, time

port, host, to, delay = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]) / 1000


def put_off(source, waiting):
    while True:
        try: data = source.recv(65536)
        except OSError: data = b""
        waiting.put((time.monotonic() + delay, data))
        if not data: return


def pass_on(waiting, target):
    while True:
        due, data = waiting.get()
        time.sleep(max(0, due - time.monotonic()))
        try:
            if not data: return target.shutdown(socket.SHUT_WR)
            target.sendall(data)
        except OSError: return


listening = socket.create_server(("127.0.0.1", port))
print("listening", flush=True)
while True:
    near, _ = listening.accept()
    far = socket.create_connection((host, to))
    for a, b in ((near, far), (far, near)):
        a.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        line = queue.Queue()
        threading.Thread(target=put_off, args=(a, line), daemon=True).start()
        threading.Thread(target=pass_on, args=(line, b), daemon=True).start()
