#!/usr/bin/env python3
"""fake_router.py [OPTIONS] INSIDE OUTSIDE - a home's router for the scenario setup/host-here.

It answers at the address INSIDE to NAT-PMP and to UPnP (search by multicast, description, SOAP), and forwards UDP from its
address OUTSIDE, as its mappings say. It logs each question, a line each.

--natpmp WAY  none, yes, refuse, silent, garbage (random bytes), short (answers that break off), zero (a lifetime of 0)
--upnp WAY    none, yes, refuse, conflict (the first two ports are others'), permanent (knows no leases), garbage (random
              bytes for a description), nothing (a yes without an entry), page (a web page for each answer), endless (a description without
              an end), elsewhere (its description leads to another machine), outward (the search's answer does)
--address A   its outside address as it tells it (OUTSIDE)
--life S      the longest lease it gives"""
import argparse
import http.server
import os
import re
import select
import socket
import struct
import threading

p = argparse.ArgumentParser()
p.add_argument("--natpmp", default="none")
p.add_argument("--upnp", default="none")
p.add_argument("--address")
p.add_argument("--life", type=int, default=86400)
p.add_argument("inside")
p.add_argument("outside")
args = p.parse_args()
address = args.address or args.outside
SERVICE = "urn:schemas-upnp-org:service:WANIPConnection:1"
ELSEWHERE = "203.0.113.99"
mappings = {}  # outside port: (socket, client, port)


def log(text):
    print(text, flush=True)


def forward(sock, client, port):
    """Each peer outside has a socket of its own inside, as with a NAT."""
    peers, back = {}, {}
    while True:
        try:
            for s in select.select([sock, *back], [], [], 0.2)[0]:
                if s is sock:
                    data, peer = s.recvfrom(4096)
                    if peer not in peers:
                        peers[peer] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                        back[peers[peer]] = peer
                        log(f"forwards port={sock.getsockname()[1]}")
                    peers[peer].sendto(data, (client, port))
                else:
                    sock.sendto(s.recvfrom(4096)[0], back[s])
        except ConnectionRefusedError:
            pass
        except (OSError, ValueError):
            return  # the mapping is gone


def add(outside, client, port):
    if outside in mappings:
        if mappings[outside][1:] == (client, port):
            return
        remove(outside)
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((args.outside, outside))
    mappings[outside] = (sock, client, port)
    threading.Thread(target=forward, args=mappings[outside], daemon=True).start()


def remove(outside):
    if outside in mappings:
        mappings.pop(outside)[0].close()


def natpmp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((args.inside, 5351))
    while True:
        data, peer = s.recvfrom(64)
        refused = 2 if args.natpmp == "refuse" else 0
        if len(data) == 2:
            log("natpmp address")
            answer = struct.pack(">BBHI4s", 0, 128, refused, 1, socket.inet_aton(address))
        else:
            _, code, _, port, outside, life = struct.unpack(">BBHHHI", data)
            log(f"natpmp map port={port} outside={outside} life={life}")
            outside = outside or port
            life = 0 if args.natpmp == "zero" else min(life, args.life)
            if not refused and life:
                add(outside, peer[0], port)
            elif not life:
                remove(outside)
            answer = struct.pack(">BBHIHHI", 0, 128 + code, refused, 1, port, outside, life)
        if args.natpmp == "garbage":
            for n in (1, 4, 8, 12, 16, 64, 1400):
                s.sendto(os.urandom(n), peer)
        elif args.natpmp == "short":
            for n in range(1, len(answer)):
                s.sendto(answer[:n], peer)
        elif args.natpmp != "silent":
            s.sendto(answer, peer)


def search():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("", 1900))
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("239.255.255.250") + socket.inet_aton(args.inside))
    log("router ready")
    while True:
        data, peer = s.recvfrom(2048)
        kind = re.search(rb"ST: *(\S+)", data)
        if not data.startswith(b"M-SEARCH") or not kind:
            continue
        log("upnp search")
        host = ELSEWHERE if args.upnp == "outward" else args.inside
        s.sendto(b"HTTP/1.1 200 OK\r\nST: %s\r\nUSN: uuid:1::%s\r\nLOCATION: http://%s:5000/root.xml\r\n\r\n"
                 % (kind[1], kind[1], host.encode()), peer)


def description():
    control = f"http://{ELSEWHERE}:5000/control" if args.upnp == "elsewhere" else "/control"

    def device(kind, inner):
        return f"<deviceType>urn:schemas-upnp-org:device:{kind}:1</deviceType>{inner}"

    def service(kind, url):
        return (f"<serviceList><service><serviceType>{kind}</serviceType><serviceId>urn:upnp-org:serviceId:1</serviceId>"
                f"<controlURL>{url}</controlURL><eventSubURL>/events</eventSubURL><SCPDURL>/scpd.xml</SCPDURL></service></serviceList>")

    def child(text):
        return f"<deviceList><device>{text}</device></deviceList>"
    connection = device("WANConnectionDevice", service(SERVICE, control))
    wan = device("WANDevice", service("urn:schemas-upnp-org:service:WANCommonInterfaceConfig:1", "/common") + child(connection))
    return (f'<?xml version="1.0"?><root xmlns="urn:schemas-upnp-org:device-1-0"><device>'
            f'{device("InternetGatewayDevice", child(wan))}</device></root>')


def soap(action, say):
    """(HTTP status, the answer's content); an int: an error."""
    def arg(name):
        found = re.search(f"<{name}>([^<]*)</{name}>", say)
        return found[1] if found else ""
    port = int(arg("NewExternalPort") or 0)
    if action == "AddPortMapping":
        log(f"upnp add port={port} client={arg('NewInternalClient')}:{arg('NewInternalPort')} {arg('NewProtocol')} lease={arg('NewLeaseDuration')}")
        if args.upnp == "refuse":
            return 606
        if args.upnp == "conflict" and port < 55438:
            return 718
        if args.upnp == "permanent" and arg("NewLeaseDuration") != "0":
            return 725
        if args.upnp != "nothing":
            add(port, arg("NewInternalClient"), int(arg("NewInternalPort")))
        return ""
    if action == "DeletePortMapping":
        log(f"upnp delete port={port} {arg('NewProtocol')}")
        remove(port)
        return ""
    if action == "GetSpecificPortMappingEntry":
        if port not in mappings:
            return 714
        _, client, inside = mappings[port]
        return (f"<NewInternalPort>{inside}</NewInternalPort><NewInternalClient>{client}</NewInternalClient><NewEnabled>1</NewEnabled>"
                f"<NewPortMappingDescription>x</NewPortMappingDescription><NewLeaseDuration>9</NewLeaseDuration>")
    if action == "GetExternalIPAddress":
        return f"<NewExternalIPAddress>{address}</NewExternalIPAddress>"
    if action == "GetStatusInfo":
        return "<NewConnectionStatus>Connected</NewConnectionStatus><NewLastConnectionError>x</NewLastConnectionError><NewUptime>9</NewUptime>"
    return 401


class Pages(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, status, text):
        data = text if isinstance(text, bytes) else text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/xml")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        log(f"upnp describe at={self.connection.getsockname()[0]}")
        if args.upnp == "garbage":
            self.answer(200, os.urandom(20000))
        elif args.upnp == "endless":
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"<a>" * 100000)
            except OSError:
                log("upnp hung up")
        else:
            self.answer(200, description())

    def do_POST(self):
        say = self.rfile.read(int(self.headers["Content-Length"])).decode()
        action = self.headers["SOAPAction"].strip('"').split("#")[-1]
        log(f"upnp {action} at={self.connection.getsockname()[0]}")
        result = soap(action, say)
        if args.upnp == "page":
            self.answer(200, "<html><body>Log in, please</body></html>")
        elif isinstance(result, int):
            self.answer(500, f"<s:Envelope><s:Body><s:Fault><detail><UPnPError><errorCode>{result}</errorCode>"
                             f"<errorDescription>\x1b[31mno</errorDescription></UPnPError></detail></s:Fault></s:Body></s:Envelope>")
        else:
            self.answer(200, f'<s:Envelope><s:Body><u:{action}Response xmlns:u="{SERVICE}">{result}</u:{action}Response></s:Body></s:Envelope>')


jobs = [natpmp] * (args.natpmp != "none")
if args.upnp != "none":
    jobs += [search, http.server.ThreadingHTTPServer(("", 5000), Pages).serve_forever]
threads = [threading.Thread(target=job, daemon=True) for job in jobs]
for t in threads:
    t.start()
if search not in jobs:
    log("router ready")
threading.Event().wait()
