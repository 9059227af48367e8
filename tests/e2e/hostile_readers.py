"""hostile_readers.py HOST:PORT SECONDS - a thousand connections to --http that send a byte now and then, send garbage, or do not read."""
import random, select, socket, sys
host, port = sys.argv[1].rsplit(":", 1)
chance = random.Random(1)
all = []
for i in range(1000):
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex((host, int(port)))
    all.append(s)
print("open", flush=True)
for s in all[1::5]: # streams that nobody reads, more than there may be
    try:
        s.send(b"GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    except OSError:
        pass
request = b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-" + b"a" * 100
for turn in range(int(sys.argv[2]) * 10):
    for i, s in enumerate(all):
        try:
            if i % 2 == 0:
                s.send(request[turn % 100:turn % 100 + 1])
            elif turn % 40 == i % 40:
                s.send(bytes(chance.randrange(256) for _ in range(2000)))
        except OSError:
            pass
    select.select([], [], [], 0.1)
