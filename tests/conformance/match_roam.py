"""match_roam.py - a client whose address changes. §2 and §9 of net/PROTOCOL.md, Addresses."""
import socket

from judge import Match, equal_at, plays_past
from link import ENET, PATH, UPDATE


def roam(program, seed):
    with Match(program, seed) as m:
        ann, bob = m.client("ann"), m.client("bob")
        m.until(lambda: all(c.lock and c.lock.ran >= 30 for c in (ann, bob)))
        session, link = bob.link.session.number, bob.link
        doubted(m, ann, link)
        one_datagram(m, link)
        proved(m, link)
        have = ann.lock.ran
        m.until(lambda: plays_past(bob, have) and equal_at(ann, bob, have))
        assert link.session.number == session and bob.log.count(16) == 1
        print("ok at a new address that it has proved a client plays on in the same session")
        repeated(m, link)


def doubted(m, ann, link):
    """It answers no challenge."""
    link.answers_path = False
    link.roam()
    m.until(lambda: link.came[True, PATH])
    link.came.clear()
    have = ann.lock.ran
    m.until(lambda: ann.lock.ran >= have + 45 and link.came[True, UPDATE] and link.came[True, PATH] and link.came[False, ENET])
    assert link.came[False, UPDATE] and not link.came[True, ENET], link.came
    print("ok an unproved new address gets the inputs and the challenge, the proved one the inputs and ENet's datagrams")


def one_datagram(m, link):
    """The second new address sends one datagram, or the few of one turn, and no more."""
    link.roam()
    link.came.clear()
    link.last, link.sent_bytes = b"", 0
    m.until(lambda: link.last)
    link.mute, sent = True, link.sent_bytes
    m.until(lambda: link.came[True, UPDATE] and link.came[True, PATH])
    m.turn_for(0.5)
    link.mute = False
    assert link.came[True, UPDATE] <= 3 * sent, (link.came, sent)
    print("ok an unproved address gets at most three times the bytes of inputs that came from it")


def proved(m, link):
    link.answers_path = True
    m.until(lambda: link.came[True, ENET])
    link.came.clear()
    m.until(lambda: link.came[True, ENET] and link.came[True, UPDATE])
    assert all(new for new, _ in link.came), link.came


def repeated(m, link):
    """A third machine repeats a datagram of the client from an address of its own."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.setblocking(False)
        other.sendto(link.last, ("127.0.0.1", link.port))
        link.came.clear()
        m.until(lambda: link.came[True, ENET] and link.came[True, UPDATE])
        try:
            assert not other.recv(2000), "the relay has answered"
        except BlockingIOError:
            pass
    print("ok a repeated datagram from another address changes nothing")
