"""The daemons and their settings: AS 65001, identifier 192.0.2.1, a reflector and transit for all scripted peers."""

import os
import re
import signal
import subprocess
import time

NETNS = "wire-daemon"

# Name, address, AS, whether it is a reflector client.
PEERS = [
    ("external", "192.0.2.11", 65002, False),
    ("client", "192.0.2.12", 65001, True),
    ("two-octet", "192.0.2.13", 65003, False),
    ("add-path", "192.0.2.14", 65004, False),
    ("source", "192.0.2.15", 65001, True),
    ("v6-session", "2001:db8::16", 65006, False),
]


class Daemon:
    def __init__(self, directory):
        self.directory, self.processes = directory, []
        os.makedirs(directory, exist_ok=True)
        os.chmod(directory, 0o777)

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def start(self, *command, env=None):
        log = open(self.path(os.path.basename(command[0]) + ".log"), "wb")
        whole = ["ip", "netns", "exec", NETNS, *command]
        environment = {**os.environ, **(env or {})}
        self.processes.append(subprocess.Popen(whole, stdout=log, stderr=log, stdin=subprocess.PIPE, env=environment))

    def ask(self, *command):
        whole = ["ip", "netns", "exec", NETNS, *command]
        done = subprocess.run(whole, capture_output=True, text=True)
        return (done.stdout + done.stderr).strip()

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


class Bird(Daemon):
    version = "BIRD 2.0.12 (Debian 2.0.12-7)"

    def launch(self):
        text = """
router id 192.0.2.1;
protocol device { }
protocol direct { ipv4; ipv6; interface "*"; }
protocol static { ipv4; route 172.16.0.0/16 blackhole; }
protocol static { ipv6; route 2001:db8:16::/48 blackhole; }
"""
        for name, address, asn, client in PEERS:
            local = "2001:db8::1" if ":" in address else "192.0.2.1"
            paths = "add paths on;" if name == "add-path" else ""
            hop = "extended next hop on;" if name == "v6-session" else ""
            both = name != "two-octet"
            channel = f"import all; export where source ~ [ RTS_BGP, RTS_STATIC ]; {paths}"
            text += f"""
protocol bgp {self.protocol(name)} {{
    local {local} as 65001; neighbor {address} as {asn}; connect delay time 1; error wait time 1, 2;
    hold time 180; graceful restart on; {"long lived graceful restart on; long lived stale time 3600;" if both else ""}
    {"rr client; rr cluster id 192.0.2.1;" if client else ""}
    enable extended messages on;
    ipv4 {{ {channel} {hop} }};
    {f"ipv6 {{ {channel} }};" if both else ""}
}}
"""
        self.start("bird", "-f", "-c", self.write("bird.conf", text), "-s", self.path("bird.ctl"))

    @staticmethod
    def protocol(name):
        return "to_" + name.replace("-", "_")

    def control(self, *words):
        return self.ask("birdc", "-s", self.path("bird.ctl"), *words)

    def refresh(self, name):
        return self.control("reload", "in", self.protocol(name))

    def shutdown(self, name, text):
        return self.control("disable", self.protocol(name), f'"{text}"')

    def reset(self, name, text):
        return self.control("restart", self.protocol(name), f'"{text}"')


class Frr(Daemon):
    version = "FRR bgpd 8.4.4 (Debian 8.4.4-1.1~deb12u1)"

    def launch(self):
        text = "hostname frr1\nrouter bgp 65001\n bgp router-id 192.0.2.1\n bgp cluster-id 192.0.2.1\n"
        text += " no bgp ebgp-requires-policy\n no bgp network import-check\n bgp graceful-restart\n"
        text += " bgp long-lived-graceful-restart stale-time 3600\n"
        for name, address, asn, _client in PEERS:
            text += f" neighbor {address} remote-as {asn}\n neighbor {address} timers connect 1\n"
            text += f" neighbor {address} advertisement-interval 0\n"
            if name == "v6-session":
                text += f" neighbor {address} capability extended-nexthop\n"
            if name == "external":
                text += f" neighbor {address} local-role provider\n"
        for family, network in (("ipv4", "172.16.0.0/16"), ("ipv6", "2001:db8:16::/48")):
            text += f" address-family {family} unicast\n  network {network}\n"
            for name, address, _asn, client in PEERS:
                if family == "ipv6" and name == "two-octet":
                    continue
                text += f"  neighbor {address} activate\n  neighbor {address} soft-reconfiguration inbound\n"
                if client:
                    text += f"  neighbor {address} route-reflector-client\n"
                if name == "add-path":
                    text += f"  neighbor {address} addpath-tx-all-paths\n"
                text += f"  no neighbor {address} soft-reconfiguration inbound\n"
            text += " exit-address-family\n"
        self.write("vtysh.conf", "no service integrated-vtysh-config\n")
        common = ["--vty_socket", self.directory, "-z", self.path("zserv.api"), "-P", "0", "--log", "stdout"]
        zebra = self.write("zebra.conf", "hostname frr1\n")
        self.start("/usr/lib/frr/zebra", *common, "-i", self.path("zebra.pid"), "-f", zebra)
        time.sleep(2)
        bgpd = self.write("bgpd.conf", text)
        self.start("/usr/lib/frr/bgpd", *common, "-i", self.path("bgpd.pid"), "-f", bgpd, "-S", "--no_kernel")

    def control(self, *lines):
        words = [word for text in lines for word in ("-c", text)]
        return self.ask("vtysh", "--vty_socket", self.directory, "--config_dir", self.directory, *words)

    def address(self, name):
        return next(peer[1] for peer in PEERS if peer[0] == name)

    def refresh(self, name):
        return self.control(f"clear bgp ipv4 unicast {self.address(name)} soft in")

    def shutdown(self, name, text):
        line = f"neighbor {self.address(name)} shutdown message {text}"
        return self.control("configure terminal", "router bgp 65001", line)

    def reset(self, name, _text):
        return self.control(f"clear bgp ipv4 unicast {self.address(name)}")


class GoBgp(Daemon):
    version = "GoBGP 3.10.0 (Debian 3.10.0-1+b4)"

    def launch(self):
        text = '[global.config]\nas = 65001\nrouter-id = "192.0.2.1"\nport = -1\n'
        for name, address, asn, client in PEERS:
            text += f'[[neighbors]]\n[neighbors.config]\nneighbor-address = "{address}"\npeer-as = {asn}\n'
            text += "[neighbors.timers.config]\nconnect-retry = 1\nhold-time = 180\n"
            text += "[neighbors.graceful-restart.config]\nenabled = true\nrestart-time = 120\nnotification-enabled = true\n"
            text += "long-lived-enabled = true\n" if name == "client" else ""
            if client:
                text += "[neighbors.route-reflector.config]\nroute-reflector-client = true\n"
                text += 'route-reflector-cluster-id = "192.0.2.1"\n'
            for family in ("ipv4", "ipv6") if name != "two-octet" else ("ipv4",):
                text += f'[[neighbors.afi-safis]]\n[neighbors.afi-safis.config]\nafi-safi-name = "{family}-unicast"\n'
                text += "[neighbors.afi-safis.mp-graceful-restart.config]\nenabled = true\n"
                if name == "client":
                    text += "[neighbors.afi-safis.long-lived-graceful-restart.config]\nenabled = true\nrestart-time = 3600\n"
                if name == "add-path":
                    text += "[neighbors.afi-safis.add-paths.config]\nreceive = true\nsend-max = 8\n"
        config = self.write("gobgpd.toml", text)
        self.start("gobgpd", "-f", config, "--api-hosts", "unix://" + self.path("sock"), "--pprof-disable")
        time.sleep(2)
        self.control("global", "rib", "add", "172.16.0.0/16", "-a", "ipv4")
        self.control("global", "rib", "add", "2001:db8:16::/48", "-a", "ipv6", "nexthop", "2001:db8::1")

    def control(self, *words):
        return self.ask("gobgp", "--target", "unix://" + self.path("sock"), *words)

    def address(self, name):
        return next(peer[1] for peer in PEERS if peer[0] == name)

    def refresh(self, name):
        return self.control("neighbor", self.address(name), "softresetin")

    def shutdown(self, name, text):
        return self.control("neighbor", self.address(name), "shutdown", "--reason", text)

    def reset(self, name, text):
        return self.control("neighbor", self.address(name), "reset", "--reason", text)


class OpenBgpd(Daemon):
    version = "OpenBGPD 7.7 (Debian 7.7-2)"

    def launch(self):
        text = f'AS 65001\nrouter-id 192.0.2.1\nfib-update no\nsocket "{self.path("sock")}"\nlisten on 192.0.2.1\n'
        text += "network 172.16.0.0/16\nnetwork 2001:db8:16::/48\nnexthop qualify via default\n"
        for name, address, asn, client in PEERS:
            text += f"neighbor {address} {{\n remote-as {asn}\n holdtime 180\n announce IPv4 unicast\n"
            text += " announce restart yes\n announce refresh yes\n"
            if name == "two-octet":
                text += " announce as-4byte yes\n"
            else:
                text += " announce IPv6 unicast\n announce enhanced refresh yes\n"
            text += " route-reflector 192.0.2.1\n" if client else ""
            text += " announce add-path recv yes\n announce add-path send all\n" if name == "add-path" else ""
            text += " announce policy provider\n" if name == "external" else ""
            text += "}\n"
        text += "allow from any\nallow to any\n"
        config = self.write("bgpd.conf", text)
        os.chmod(config, 0o600)
        self.start("/usr/sbin/bgpd", "-d", "-f", config)

    def control(self, *words):
        return self.ask("bgpctl", "-s", self.path("sock"), *words)

    def address(self, name):
        return next(peer[1] for peer in PEERS if peer[0] == name)

    def refresh(self, name):
        return self.control("neighbor", self.address(name), "refresh")

    def shutdown(self, name, text):
        return self.control("neighbor", self.address(name), "down", text)

    def reset(self, name, text):
        return self.control("neighbor", self.address(name), "clear", text)


class ExaBgp(Daemon):
    version = "ExaBGP 4.2.21 (Debian 4.2.21-1.1)"

    def render(self, with_routes):
        text = ""
        many = " ".join(f"65001:{number}" for number in range(1, 71))
        for name, address, asn, _client in PEERS:
            local = "2001:db8::1" if ":" in address else "192.0.2.1"
            paths = "add-path send/receive;" if name == "add-path" else ""
            four = "asn4 disable;" if name == "two-octet" else "asn4 enable;"
            text += f"""
neighbor {address} {{
  router-id 192.0.2.1; local-address {local}; local-as 65001; peer-as {asn}; hold-time 180;
  host-name exa; domain-name example;
  capability {{ route-refresh enable; graceful-restart 120; {paths} {four} }}
  family {{ ipv4 unicast; ipv6 unicast; }}
  {"add-path { ipv4 unicast; ipv6 unicast; }" if paths else ""}
  static {{
    route 172.16.0.0/16 next-hop 192.0.2.1 {"path-information 0.0.0.7" if paths else ""};
    route 10.1.0.0/16 next-hop 192.0.2.1 origin incomplete med 50 local-preference 200 as-path [ 65010 4200000001 ] \
community [ 65001:1 65001:2 ] large-community [ 65001:1:2 ] extended-community [ target:65001:100 origin:65001:7 ] \
atomic-aggregate aggregator ( 4200000001:198.51.100.1 ) {"path-information 0.0.0.7" if paths else ""};
    route 10.2.0.0/16 next-hop 192.0.2.1 aigp 1000 originator-id 10.9.9.9 cluster-list [ 10.9.9.8 10.9.9.7 ] \
attribute [ 0xc8 0xc0 0x0102 ] {"path-information 0.0.0.7" if paths else ""};
    route 10.3.0.0/16 next-hop 192.0.2.1 community [ {many} ] {"path-information 0.0.0.7" if paths else ""};
    route 2001:db8:16::/48 next-hop 2001:db8::1 origin egp community [ 65001:1 ] {"path-information 0.0.0.7" if paths else ""};
  }}
}}
"""
        # Without the routes, for a reload: what is between the braces of "static" goes.
        return text if with_routes else re.sub(r"static \{.*?\n  \}", "static { }", text, flags=re.DOTALL)

    def launch(self):
        environment = {
            "exabgp.daemon.user": "root", "exabgp.daemon.daemonize": "false", "exabgp.log.destination": "stdout",
            "exabgp.api.cli": "false", "exabgp.tcp.attempts": "0", "PYTHONUNBUFFERED": "1",
        }
        self.start("/usr/sbin/exabgp", self.write("exabgp.conf", self.render(True)), env=environment)

    def withdraw(self):
        self.write("exabgp.conf", self.render(False))
        self.processes[0].send_signal(signal.SIGUSR1)

    def refresh(self, _name):
        return "not on request"

    def shutdown(self, _name, _text):
        return "not on request"

    def reset(self, _name, _text):
        return "not on request"
