"""A scripted BGP speaker: says what it is told to, and keeps every message that the other side sends."""

import socket
import struct
import threading
import time

MARKER = b"\xff" * 16


def message(kind, body=b""):
    return MARKER + struct.pack("!HB", 19 + len(body), kind) + body


def capability(code, value=b""):
    return bytes([code, len(value)]) + value


def multi_protocol(afi, safi=1):
    return capability(1, struct.pack("!HBB", afi, 0, safi))


def four_octets(asn):
    return capability(65, struct.pack("!I", asn))


def attribute(flags, code, value):
    if len(value) > 255:
        return struct.pack("!BBH", flags | 0x10, code, len(value)) + value
    return struct.pack("!BBB", flags, code, len(value)) + value


def update(attributes=b"", announced=b"", withdrawn=b""):
    body = struct.pack("!H", len(withdrawn)) + withdrawn + struct.pack("!H", len(attributes)) + attributes
    return message(2, body + announced)


class Peer:
    """Listens on `address`; the daemon dials. One session at a time, each with a list of what was received."""

    def __init__(self, name, address, asn, capabilities, hold_time=180, marker=MARKER):
        self.name, self.address, self.asn, self.capabilities = name, address, asn, capabilities
        self.hold_time, self.marker = hold_time, marker
        self.received, self.established = [], threading.Event()
        self.connection, self.silent = None, False
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.listener = socket.create_server((address, 179), family=family)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.listener.accept()
            self.connection = connection
            try:
                self.session(connection)
            except OSError:
                pass
            self.established.clear()
            connection.close()

    def session(self, connection):
        buffer = b""
        while chunk := connection.recv(65536):
            buffer += chunk
            while len(buffer) >= 19 and len(buffer) >= (length := struct.unpack("!H", buffer[16:18])[0]):
                frame, buffer = buffer[:length], buffer[length:]
                self.received.append(frame)
                if frame[18] == 1:
                    connection.sendall(self.open())
                    if not self.silent:
                        connection.sendall(message(4))
                elif frame[18] == 4:
                    self.established.set()
                    if not self.silent:
                        connection.sendall(message(4))

    def open(self):
        parameters = b"".join(bytes([2, len(one)]) + one for one in self.capabilities)
        body = struct.pack("!BHH", 4, min(self.asn, 65535) if self.asn < 65536 else 23456, self.hold_time)
        identifier = socket.inet_aton("10.255.0.%d" % (int(self.address.rsplit(".", 1)[-1].rsplit(":", 1)[-1]) % 256))
        whole = message(1, body + identifier + bytes([len(parameters)]) + parameters)
        return self.marker + whole[16:]

    def send(self, octets):
        try:
            self.connection.sendall(octets)
        except (AttributeError, OSError) as error:
            print(f"{self.name}: nothing sent: {error}")

    def settle(self, quiet=2.0, longest=20.0):
        """Waits until nothing has come for a while."""
        end, count, since = time.monotonic() + longest, len(self.received), time.monotonic()
        while time.monotonic() < end and time.monotonic() - since < quiet:
            time.sleep(0.1)
            if len(self.received) != count:
                count, since = len(self.received), time.monotonic()
