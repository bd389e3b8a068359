"""Writes a BGP message as hexadecimal text, one field after the other, with names at the end of the lines.

Knows only where fields end. That is enough for layout, and keeps it apart from the codec that the vectors test.
"""

ATTRIBUTES = {
    1: "ORIGIN", 2: "AS_PATH", 3: "NEXT_HOP", 4: "MULTI_EXIT_DISC", 5: "LOCAL_PREF", 6: "ATOMIC_AGGREGATE",
    7: "AGGREGATOR", 8: "COMMUNITIES", 9: "ORIGINATOR_ID", 10: "CLUSTER_LIST", 14: "MP_REACH_NLRI",
    15: "MP_UNREACH_NLRI", 16: "EXTENDED_COMMUNITIES", 17: "AS4_PATH", 18: "AS4_AGGREGATOR",
    25: "IPV6_EXTENDED_COMMUNITIES", 26: "AIGP", 32: "LARGE_COMMUNITIES", 35: "ONLY_TO_CUSTOMER",
}
CAPABILITIES = {
    1: "multiprotocol", 2: "route refresh", 5: "extended next hop", 6: "extended message", 9: "role",
    64: "graceful restart", 65: "four-octet AS", 69: "add-path", 70: "enhanced route refresh",
    71: "long-lived graceful restart", 73: "name", 75: "software version",
}
KINDS = {1: "open", 2: "update", 3: "notification", 4: "keepalive", 5: "route-refresh"}


# What is told about a prefix in an UPDATE; by its octets, the more telling first.
SUBJECTS = {
    "10ac10": "originated", "3020010db80016": "v6-originated", "18c63364": "all-attributes", "100a01": "incomplete",
    "100a02": "set-and-reflected", "200a030001": "many-communities", "100a03": "many-communities",
    "100a04": "rare-attributes", "100a05": "only-to-customer", "3020010db80100": "v6",
    "19cb007180": "all-attributes", "00": "default-route",
}


def title(message, add_path):
    """A name that says what the message is about."""
    kind = KINDS.get(message[18], "unknown")
    body = message[19:]
    if kind == "notification":
        return f"{kind}-{body[0]}-{body[1]}"
    if kind == "route-refresh":
        return ["refresh", "begin-of-refresh", "end-of-refresh"][body[2]] + f"-afi-{body[1]}"
    if kind != "update":
        return kind
    withdrawn = int.from_bytes(body[:2], "big")
    total = int.from_bytes(body[2 + withdrawn:4 + withdrawn], "big")
    attributes = body[4 + withdrawn:4 + withdrawn + total]
    gone, come = body[2:2 + withdrawn], body[4 + withdrawn + total:]
    while attributes:
        wide = 2 if attributes[0] & 0x10 else 1
        length = int.from_bytes(attributes[2:2 + wide], "big")
        value, code = attributes[2 + wide:2 + wide + length], attributes[1]
        attributes = attributes[2 + wide + length:]
        if code == 14:
            come = value[5 + value[3]:]
        elif code == 15:
            gone = value[3:]
            if not gone:
                return f"end-of-rib-afi-{value[1]}"
    if not come and not gone:
        return "end-of-rib"
    named = {route[4 if add_path else 0:].hex() for route in routes(come or gone, add_path)}
    subject = next((subject for route, subject in SUBJECTS.items() if route in named), "other")
    return ("announce-" if come else "withdraw-") + subject


def lines(message, add_path):
    """The message as lines of hexadecimal text. `add_path`: its NLRI carry path identifiers."""
    header = [message[0:4], message[4:8], message[8:12], message[12:16], message[16:18], message[18:19]]
    out = [line(header, KINDS.get(message[18], "unknown"))]
    body = message[19:]
    if message[18] == 1:
        out += open_lines(body)
    elif message[18] == 2:
        out += update_lines(body, add_path)
    elif message[18] == 3:
        out.append(line([body[0:1], body[1:2], body[2:]], "code, subcode, data"))
    elif message[18] == 5:
        out.append(line([body[0:2], body[2:3], body[3:4], body[4:]], "AFI, subtype, SAFI"))
    elif body:
        out.append(line([body], ""))
    return out


def line(fields, name):
    text = " ".join(field.hex() for field in fields if field)
    return f"{text:<60} # {name}" if name else text


def open_lines(body):
    fixed = [body[0:1], body[1:3], body[3:5], body[5:9], body[9:10]]
    out = [line(fixed, "version, AS, hold time, identifier, length of parameters")]
    rest = body[10:]
    while rest:
        parameter, value = rest[:2], rest[2:2 + rest[1]]
        rest = rest[2 + rest[1]:]
        head = [parameter]
        while value:
            length = value[1]
            fields = head + [value[:1], value[1:2], value[2:2 + length]]
            out.append(line(fields, CAPABILITIES.get(value[0], "capability unknown to the layout")))
            value, head = value[2 + length:], []
    return out


def update_lines(body, add_path):
    withdrawn = int.from_bytes(body[:2], "big")
    out = [line([body[:2]], "length of withdrawn routes")]
    out += [line([route], "") for route in routes(body[2:2 + withdrawn], add_path)]
    rest = body[2 + withdrawn:]
    total = int.from_bytes(rest[:2], "big")
    out.append(line([rest[:2]], "length of attributes"))
    attributes, announced = rest[2:2 + total], rest[2 + total:]
    while attributes:
        wide = 2 if attributes[0] & 0x10 else 1
        length = int.from_bytes(attributes[2:2 + wide], "big")
        head = [attributes[0:1], attributes[1:2], attributes[2:2 + wide]]
        value = attributes[2 + wide:2 + wide + length]
        attributes = attributes[2 + wide + length:]
        name = ATTRIBUTES.get(head[1][0], "attribute unknown to the layout")
        if head[1][0] == 14:
            hop = value[3]
            out.append(line(head + [value[:2], value[2:3], value[3:4], value[4:4 + hop], value[4 + hop:5 + hop]], name))
            out += [line([route], "") for route in routes(value[5 + hop:], add_path)]
        elif head[1][0] == 15:
            out.append(line(head + [value[:2], value[2:3]], name))
            out += [line([route], "") for route in routes(value[3:], add_path)]
        else:
            out.append(line(head + split(head[1][0], value), name))
    return out + [line([route], "") for route in routes(announced, add_path)]


def split(code, value):
    """The members of a value that is a list of them."""
    size = {8: 4, 10: 4, 16: 8, 25: 20, 32: 4}.get(code)
    if size is None:
        return [value]
    return [value[at:at + size] for at in range(0, len(value), size)]


def routes(field, add_path):
    while field:
        length = 4 if add_path else 0
        length += 1 + (field[length] + 7) // 8
        yield field[:length]
        field = field[length:]
