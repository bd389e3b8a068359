#!/usr/bin/env python3
"""Makes real daemons speak BGP to scripted peers and writes down every message that they send.

    capture.py DIRECTORY [bird] [frr] [gobgp] [openbgpd] [exabgp]

As root, on Linux. The daemons run in the network namespace `wire-daemon`, the peers in `wire-peers`; both are made here
and removed again. DIRECTORY/NAME/PEER-TITLE.hex are the messages; `-2` and so on is another one of that title.
"""

import os
import shutil
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # nothing is left behind in the repository

import daemons
import layout
from peer import MARKER, Peer, attribute, capability, four_octets, message, multi_protocol, update

NETNS = "wire-peers"
DAEMONS = {
    "bird": daemons.Bird, "frr": daemons.Frr, "gobgp": daemons.GoBgp, "openbgpd": daemons.OpenBgpd,
    "exabgp": daemons.ExaBgp,
}


def run(*command):
    subprocess.run(command, check=True)


def make_network():
    for name in (NETNS, daemons.NETNS):
        run("ip", "netns", "add", name)
        run("ip", "-n", name, "link", "set", "lo", "up")
    run("ip", "link", "add", "wire-d", "netns", daemons.NETNS, "type", "veth", "peer", "name", "wire-p", "netns", NETNS)
    run("ip", "-n", daemons.NETNS, "link", "set", "wire-d", "address", "02:00:00:00:00:01")
    run("ip", "-n", daemons.NETNS, "addr", "add", "192.0.2.1/24", "dev", "wire-d")
    run("ip", "-n", daemons.NETNS, "addr", "add", "2001:db8::1/64", "dev", "wire-d", "nodad")
    for number in range(11, 22):
        run("ip", "-n", NETNS, "addr", "add", f"192.0.2.{number}/24", "dev", "wire-p")
        run("ip", "-n", NETNS, "addr", "add", f"2001:db8::{number}/64", "dev", "wire-p", "nodad")
    run("ip", "-n", daemons.NETNS, "link", "set", "wire-d", "up")
    run("ip", "-n", NETNS, "link", "set", "wire-p", "up")
    time.sleep(3)  # duplicate address detection of the link-local addresses


def remove_network():
    for name in (NETNS, daemons.NETNS):
        subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)


def make_peers():
    both = [multi_protocol(1), multi_protocol(2), capability(2)]
    graceful = capability(64, struct.pack("!HHBBHBB", 120, 1, 1, 0, 2, 1, 0))
    enhanced = capability(70)
    capabilities = {
        "external": [*both, enhanced, graceful],
        "client": [*both, enhanced, graceful],
        "two-octet": [],
        "add-path": [*both, capability(69, bytes([0, 1, 1, 3, 0, 2, 1, 3])), graceful],
        "source": [*both],
        "v6-session": [*both, capability(5, struct.pack("!HHH", 1, 1, 2)), capability(6), graceful],
    }
    peers = {}
    for name, address, asn, _client in daemons.PEERS:
        wide = [] if name == "two-octet" else [four_octets(asn)]
        peers[name] = Peer(name, address, asn, capabilities[name] + wide)
    return peers


def routes():
    """What the source announces: every attribute, spread over some messages."""
    origin = [attribute(0x40, 1, bytes([number])) for number in range(3)]
    hop = attribute(0x40, 3, bytes([192, 0, 2, 15]))
    preference = attribute(0x40, 5, struct.pack("!I", 200))
    path = attribute(0x40, 2, struct.pack("!BBII", 2, 2, 65010, 4200000001))
    with_set = attribute(0x40, 2, struct.pack("!BBIBBII", 2, 1, 65010, 1, 2, 65020, 65021))
    empty = attribute(0x40, 2, b"")
    communities = attribute(0xc0, 8, struct.pack("!HHHH", 65001, 1, 65001, 2))
    many = attribute(0xc0, 8, b"".join(struct.pack("!HH", 65001, number) for number in range(1, 71)))
    extended = attribute(0xc0, 16, bytes.fromhex("0002fde900000064 0003fde900000007"))
    large = attribute(0xc0, 32, struct.pack("!III", 65001, 1, 2))
    aggregator = attribute(0xc0, 7, struct.pack("!I4B", 4200000001, 198, 51, 100, 1))
    reflected = attribute(0x80, 9, bytes([10, 9, 9, 9])) + attribute(0x80, 10, bytes([10, 9, 9, 8, 10, 9, 9, 7]))
    aigp = attribute(0x80, 26, struct.pack("!BHQ", 1, 11, 1000))
    ipv6_extended = attribute(0xc0, 25, bytes.fromhex("0002 20010db8000000000000000000000001 0064"))
    otc = attribute(0xc0, 35, struct.pack("!I", 65010))
    unknown = attribute(0xc0, 200, b"\x01\x02")
    reach = attribute(0x80, 14, bytes.fromhex("000201 10 20010db8000000000000000000000015 00 3020010db80100 00"))
    everything = origin[0] + path + hop + attribute(0x80, 4, struct.pack("!I", 50)) + preference
    everything += attribute(0x40, 6, b"") + aggregator + communities
    return [
        update(everything + extended + large, bytes.fromhex("18c63364 19cb007180")),
        update(origin[2] + empty + hop + preference, bytes.fromhex("100a01 00")),
        update(origin[1] + with_set + hop + preference + reflected, bytes.fromhex("100a02")),
        update(origin[0] + path + hop + preference + many, bytes.fromhex("200a030001")),
        update(origin[0] + path + hop + preference + ipv6_extended + aigp + unknown, bytes.fromhex("100a04")),
        update(origin[0] + path + hop + preference + otc, bytes.fromhex("100a05")),
        update(reach + origin[1] + path + preference + communities),
    ]


def withdraws():
    v6 = attribute(0x80, 15, bytes.fromhex("000201 3020010db80100 00"))
    v4 = bytes.fromhex("18c63364 19cb007180 100a01 00 100a02 200a030001 100a04 100a05")
    return [update(withdrawn=v4), update(v6)]


def provoke(peer, octets):
    """Sends what ends the session."""
    peer.established.wait(10)
    peer.send(octets)
    peer.settle(1, 5)


def capture(name, directory):
    scratch = os.path.join(directory, name + ".run")
    daemon = DAEMONS[name](scratch)
    peers = make_peers()
    daemon.launch()
    try:
        for peer in peers.values():
            if not peer.established.wait(30):
                print(f"{name}: no session with {peer.name}")
        source = peers["source"]
        peers["client"].settle()
        if name != "exabgp":  # it forwards nothing, and has routes of its own
            for octets in routes():
                source.send(octets)
        settle(peers)
        if name == "exabgp":
            daemon.withdraw()
        else:
            for octets in withdraws():
                source.send(octets)
        settle(peers)
        # The peers ask for everything again, and are asked.
        peers["external"].send(message(5, bytes([0, 1, 0, 1])))
        settle(peers)
        print(name, "refresh:", daemon.refresh("client"))
        settle(peers)
        # Ends of sessions, each for another reason.
        print(name, "shutdown:", daemon.shutdown("client", "maintenance, back at 3"))
        print(name, "reset:", daemon.reset("add-path", "new policy"))
        provoke(peers["external"], b"\x00" * 16 + message(4)[16:])
        provoke(peers["v6-session"], MARKER + struct.pack("!HB", 20, 4) + b"\x00")
        provoke(peers["external"], MARKER + struct.pack("!HB", 19, 9))
        provoke(peers["external"], update(attribute(0x40, 77, b"\x01"), bytes.fromhex("100a09")))
        provoke(peers["two-octet"], message(1, bytes.fromhex("04 fdeb 00b4 0aff000d 00")))
        peers["v6-session"].asn, peers["v6-session"].capabilities = 65099, []
        provoke_next_open(peers["v6-session"])
        peers["two-octet"].hold_time, peers["two-octet"].silent = 3, True
        provoke_next_open(peers["two-octet"])
        time.sleep(6)
    finally:
        daemon.stop()
    time.sleep(1)
    write(name, directory, daemon.version, peers)


def provoke_next_open(peer):
    """Drops the connection, so that another OPEN is tried."""
    try:
        peer.connection.shutdown(2)
    except OSError:
        pass
    time.sleep(6)


def settle(peers):
    for peer in peers.values():
        peer.settle(1.5)


def write(name, directory, version, peers):
    out = os.path.join(directory, name)
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    for peer in peers.values():
        seen, titles = [], {}
        for octets in peer.received:
            if octets in seen:
                continue
            seen.append(octets)
            add_path = peer.name == "add-path" and octets[18] == 2
            text = f"# Sent by {version} to the scripted peer \"{peer.name}\" of capture/capture.py.\n\n"
            text += "\n".join(line.rstrip() for line in layout.lines(octets, add_path)) + "\n"
            title = layout.title(octets, add_path)
            titles[title] = titles.get(title, 0) + 1
            again = f"-{titles[title]}" if titles[title] > 1 else ""
            with open(os.path.join(out, f"{peer.name}-{title}{again}.hex"), "w") as file:
                file.write(text)


def main():
    directory, names = os.path.abspath(sys.argv[1]), sys.argv[2:] or list(DAEMONS)
    if os.environ.get("WIRE_CAPTURE") is None:
        remove_network()
        make_network()
        try:
            for name in names:
                again = ["ip", "netns", "exec", NETNS, sys.executable, os.path.abspath(__file__), directory, name]
                run("env", "WIRE_CAPTURE=1", *again)
        finally:
            remove_network()
        return
    capture(names[0], directory)


if __name__ == "__main__":
    main()
