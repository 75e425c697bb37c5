import { type BrokenDevice, config, CONTROL_NAME, hosts, noHost, type Outside, port, url } from "./device-faults.ts";

/**
 * Devices whose network is broken, from the cable up to the address of the control plane.
 *
 * @param drop drops packets to the control plane
 */
export function brokenNetworks(at: Outside, drop: string): readonly BrokenDevice[] {
  return [
    {
      // The link counts as online until its next probe.
      name: "a cable that is pulled",
      break: `ip link add eth1 type veth peer name eth2; ip address add 192.0.2.7/24 dev eth1; ip link set eth1 up; ip link set eth0 down`,
      isKept: true,
      mend: `ip link delete eth1; ip link set eth0 up; ip route replace default via ${at.host}`,
      id: "interface",
      text: /eth1 has no cable/,
      next: /Plug in the cable of eth1/,
    },
    {
      name: "a network interface that is turned off",
      break: "ip link set eth0 down",
      isKept: true,
      mend: `ip link set eth0 up; ip route replace default via ${at.host}`,
      id: "interface",
      text: /eth0 is turned off/,
      next: /^sudo ip link set eth0 up/,
    },
    {
      name: "a network that gives no address",
      break: "ip -4 -o address show eth0 | awk '{ print $4 }' > /root/address; ip address flush dev eth0",
      isKept: true,
      mend: `ip address add $(cat /root/address) dev eth0; ip route replace default via ${at.host}`,
      id: "interface",
      text: /eth0 is connected and has no address/,
      next: /networkctl renew eth0/,
    },
    {
      name: "no default route",
      break: `ip route delete default; ${hosts("203.0.113.9")}`,
      mend: `ip route replace default via ${at.host}`,
      id: "tcp",
      text: /no default route/,
      next: /ip route/,
    },
    {
      name: "a file of name servers that is closed",
      break: `${noHost}; chmod 600 /etc/resolv.conf`,
      mend: "chmod 644 /etc/resolv.conf",
      id: "dns",
      text: /edge-agent may not read \/etc\/resolv\.conf/,
      next: /^sudo chmod 644 \/etc\/resolv\.conf$/,
    },
    {
      name: "an address with another path",
      break: config('c.control_plane_url = c.control_plane_url.replace("/v1/agent", "/")'),
      id: "token",
      text: /HTTP 404/,
      next: /\/v1\/agent.*restart edge-agent/,
    },
    {
      name: "name servers that drop packets",
      break: `${noHost}; echo 'nameserver ${at.host}' > /etc/resolv.conf; for kind in udp icmp; do iptables -A BROKEN-IN -s ${at.host} -p $kind -j DROP; done`,
      id: "dns",
      text: /name server [\d.]+ does not answer/,
      next: /UDP port 53/,
    },
    {
      name: "a name server that refuses",
      break: `${noHost}; echo 'nameserver 127.0.0.1' > /etc/resolv.conf`,
      id: "dns",
      text: /127\.0\.0\.1/,
      next: /resolv\.conf/,
    },
    {
      name: "no name server",
      break: `${noHost}; echo > /etc/resolv.conf; iptables -A BROKEN -p udp --dport 53 -j REJECT`,
      id: "dns",
      text: /name server/,
      next: /resolv\.conf|resolvectl/,
    },
    {
      name: "a name with a wrong address",
      break: hosts("127.0.0.9"),
      id: "tcp",
      text: /nothing listens/,
      next: /control_plane_url/,
    },
    {
      name: "a name with IPv6 addresses only",
      break: hosts("2001:db8::9"),
      id: "dns",
      text: /IPv6 addresses only, and this device has none/,
      next: /A record/,
    },
    { name: "a firewall that drops the connection", break: drop, id: "tcp", text: /No answer from/, next: /firewall/ },
    {
      name: "a port where nothing listens",
      break: url(`${CONTROL_NAME}:9`),
      id: "tcp",
      text: /nothing listens/,
      next: /control_plane_url/,
    },
    {
      name: "a path that loses large packets",
      break: `for chain in "BROKEN --dport" "BROKEN-IN --sport"; do set -- $chain; iptables -A $1 -p tcp $2 ${port} -m length --length 400:65535 -j DROP; done`,
      id: "tls",
      text: /large ones get lost.*MTU/,
      next: /ip link set dev \w+ mtu 1280/,
    },
    {
      name: "a captive portal",
      break: `iptables -t nat -A BROKEN -p tcp -d ${at.host} -j DNAT --to-destination ${at.host}:${at.portal}`,
      id: "tls",
      text: /wants a login first: login\.portal\.test/,
      next: /Log in at/,
    },
  ];
}
