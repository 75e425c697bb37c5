import {
  CONFIG,
  config,
  CONTROL_NAME,
  dropIn,
  fakeTime,
  hosts,
  noHost,
  port,
  STATE,
  STOP,
  type Outside,
  url,
} from "./device-faults.ts";

/** A device with one fault. The commands run in a shell of the device. */
export interface BrokenDevice {
  readonly name: string;
  /** Makes the fault. The service is restarted afterwards, unless `isKept`. */
  readonly break: string;
  /** The service is left as the commands leave it. */
  readonly isKept?: boolean;
  /** Mends what `MEND` does not. */
  readonly mend?: string;
  /** The first check that fails; absent: nothing is broken. */
  readonly id?: string;
  /** What the check says. */
  readonly text?: RegExp;
  /** What it says to do. */
  readonly next?: RegExp;
  /** A check that warns, with its text. */
  readonly warns?: readonly [id: string, text: RegExp];
  /** Environment of the shell in which `doctor` runs. */
  readonly env?: string;
}

/** Every device of the list. */
export function brokenDevices(at: Outside): readonly BrokenDevice[] {
  const drop = `iptables -A BROKEN -p tcp -d ${at.host} --dport ${port} -j DROP`;
  return [
    { name: "nothing is broken", break: "true" },

    // The service.
    {
      name: "service stopped",
      break: STOP,
      isKept: true,
      id: "service",
      text: /is stopped since/,
      next: /^sudo systemctl start edge-agent$/,
    },
    {
      name: "service stopped and disabled",
      break: `${STOP} systemctl disable edge-agent`,
      isKept: true,
      id: "service",
      text: /stopped and disabled/,
      next: /^sudo systemctl enable --now edge-agent$/,
    },
    {
      name: "service disabled, but running",
      break: "systemctl disable edge-agent",
      isKept: true,
      warns: ["service", /not started when the device boots/],
    },
    {
      name: "service masked",
      break: `${STOP} systemctl mask edge-agent`,
      isKept: true,
      id: "service",
      text: /masked/,
      next: /unmask edge-agent/,
    },
    {
      name: "service of a user that does not exist",
      break: dropIn("User=nobody-such"),
      id: "service",
      text: /user nobody-such does not exist/,
      next: /restart edge-agent/,
    },
    {
      name: "service killed for lack of memory",
      break: dropIn("ExecStart=", 'ExecStart=/bin/sh -c "kill -KILL $$$$"'),
      id: "service",
      text: /killed by signal 9/,
      next: /MemoryMax.*journalctl -k -g oom/,
    },
    {
      name: "two agents",
      break: `${STOP} systemd-run --quiet --unit=second -p User=edge-agent -p SupplementaryGroups=docker -p RuntimeDirectory=second /usr/bin/edge-agent run; until grep -q agent.lock < <(ls -l /proc/$(systemctl show second -p MainPID --value)/fd); do sleep 0.1; done`,
      mend: "systemctl stop second",
      id: "service",
      text: /Another agent runs beside the service, as process \d+/,
      next: /^sudo kill \d+/,
    },

    // Configuration, token and certificates.
    {
      name: "configuration wrong",
      break: config("c.colour = 1"),
      id: "service",
      text: /Configuration: .*colour: unknown field/,
      next: /edge-agent config check/,
    },
    {
      name: "configuration is no JSON",
      break: `echo '{' > ${CONFIG}`,
      id: "service",
      text: /Configuration: .*not valid JSON/,
      next: /edge-agent config check/,
    },
    {
      name: "configuration of root",
      break: `chown root:root ${CONFIG}; chmod 600 ${CONFIG}`,
      id: "service",
      text: /Configuration: .*no permission.*user edge-agent/,
      next: /sudo chgrp edge-agent .*config.json && sudo chmod 640/,
    },
    {
      name: "directory of the configuration closed",
      break: "chown root:root /etc/edge-agent; chmod 700 /etc/edge-agent",
      id: "service",
      text: /no permission/,
      next: /sudo chgrp edge-agent \/etc\/edge-agent && sudo chmod g\+x \/etc\/edge-agent/,
    },
    {
      name: "not enrolled",
      break: `rm /etc/edge-agent/token; ${url("control.example.com")}`,
      id: "config",
      text: /not enrolled yet/,
      next: /^sudo edge-agent enroll/,
    },
    {
      name: "token missing",
      break: "rm /etc/edge-agent/token",
      id: "service",
      text: /not enrolled: there is no token/,
      next: /sudo edge-agent enroll/,
    },
    {
      name: "token of root",
      break: "chown root:root /etc/edge-agent/token",
      id: "service",
      text: /Token, certificates: .*no permission/,
      next: /sudo chown edge-agent: .*token && sudo chmod 600/,
    },
    {
      name: "token wrong",
      break: "echo ed_wrong > /etc/edge-agent/token",
      id: "token",
      text: /refused this device's token/,
      next: /edge-agent enroll/,
    },
    {
      name: "CA file of root",
      break: "chown root:root /etc/edge-agent/ca.pem; chmod 600 /etc/edge-agent/ca.pem",
      id: "service",
      text: /extra_ca_file .*no permission/,
      next: /sudo chmod 644 .*ca.pem/,
    },

    // Names and the network.
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

    // Proxies.
    {
      name: "a proxy in the unit that works",
      break: `${drop}; ${dropIn(`Environment=https_proxy=http://${at.host}:${at.proxy}`)}`,
    },
    {
      name: "a proxy in a file of the unit that works",
      break: `${drop}; echo 'https_proxy="http://${at.host}:${at.proxy}"' > /etc/edge-agent/env; ${dropIn("EnvironmentFile=/etc/edge-agent/env")}`,
    },
    {
      name: "a proxy in the shell only",
      break: drop,
      env: `https_proxy=http://${at.host}:${at.proxy}`,
      id: "tcp",
      text: /No answer from/,
      next: /the service has none: sudo systemctl edit edge-agent/,
    },
    {
      name: "a proxy in the unit that is not there",
      break: dropIn("Environment=https_proxy=http://127.0.0.1:9"),
      id: "tcp",
      text: /the proxy at 127\.0\.0\.1:9/,
      next: /https_proxy of the unit/,
    },
    {
      name: "a proxy that forbids it",
      break: dropIn(`Environment=https_proxy=http://${at.host}:${at.forbiddingProxy}`),
      id: "proxy",
      text: /forbids/,
      next: /to be allowed/,
    },

    // Time and certificates.
    {
      name: "clock a minute behind",
      break: fakeTime("-65s"),
      warns: ["clock", /1 min \d+ s behind the control plane's/],
    },
    {
      name: "clock a year ahead",
      break: fakeTime("+365d"),
      id: "clock",
      text: /365 days ahead of the control plane's/,
      next: /timedatectl/,
    },
    {
      name: "clock in 1970",
      break: fakeTime("@1970-01-02 00:00:00"),
      id: "clock",
      text: /which cannot be/,
      next: /timedatectl/,
    },
    {
      name: "certificate expired",
      break: url(`${at.host}:${at.expired}`),
      id: "tls",
      text: /has expired/,
      next: /new certificate/,
    },
    {
      name: "certificate of another host",
      break: url(`${at.host}:${at.otherHost}`),
      id: "tls",
      text: /for another host name/,
      next: /control_plane_url/,
    },
    {
      name: "certificate of an unknown authority",
      break: url(`${at.host}:${at.unknownAuthority}`),
      id: "tls",
      text: /not trusted/,
      next: /extra_ca_file/,
    },

    // The engine.
    {
      name: "engine's socket of mode 0600",
      break: "chmod 600 /run/docker.sock",
      id: "engine",
      text: /no permission/,
      next: /sudo chgrp docker \S*docker.sock && sudo chmod 660/,
    },
    {
      name: "engine's socket of another group",
      break: "chgrp root /run/docker.sock",
      id: "engine",
      text: /no permission/,
      next: /sudo chgrp docker/,
    },
    {
      name: "engine down",
      break: "systemctl stop docker.socket docker",
      isKept: true,
      id: "engine",
      text: /engine|socket/i,
      next: /sudo systemctl start docker/,
    },
    {
      name: "engine hung",
      break: "kill -STOP $(pidof dockerd)",
      isKept: true,
      mend: "kill -CONT $(pidof dockerd)",
      id: "engine",
      text: /no answer/i,
      next: /sudo systemctl restart docker/,
    },
    {
      name: "engine too old",
      break: `echo 'require("http").createServer((q, s) => s.end(q.url.includes("version") ? JSON.stringify({Version:"19.03.1",ApiVersion:"1.40",Os:"linux",Arch:"amd64"}) : q.url.includes("json") ? "[]" : JSON.stringify({DockerRootDir:"/var/lib/docker"}))).listen("/run/old.sock", () => require("fs").chmodSync("/run/old.sock", 0o666))' > /root/old.cjs; systemd-run --quiet --unit=old /usr/lib/edge-agent/node /root/old.cjs; until [ -S /run/old.sock ]; do sleep 0.1; done; ${config('c.engine = { socket: "/run/old.sock" }')}`,
      mend: "systemctl stop old; rm -f /run/old.sock",
      id: "engine",
      text: /docker 19\.03\.1, is older than 20\.10/,
      next: /Update it/,
    },
    {
      name: "no space for images",
      break: config("c.deploy = { disk_reserve_bytes: 1e15 }"),
      id: "disk",
      text: /held in reserve/,
      next: /docker system df/,
    },

    // The state.
    {
      name: "state of root",
      break: `${STOP} chown -R root:root ${STATE}`,
      isKept: true,
      id: "service",
      text: /stopped/,
      next: /start/,
    },
    {
      name: "store of root",
      break: `${STOP} chown root:root ${STATE}/agent.db`,
      id: "service",
      text: /State, permissions: .*cannot be written by edge-agent/,
      next: /sudo chown -R edge-agent: \/var\/lib\/edge-agent/,
    },
    {
      name: "store damaged",
      break: `${STOP} cp -a ${STATE}/agent.db /root/agent.db; head -c 8192 /dev/urandom | dd of=${STATE}/agent.db conv=notrunc status=none`,
      isKept: true,
      mend: `mv /root/agent.db ${STATE}/agent.db`,
      id: "service",
      text: /stopped/,
      next: /start/,
    },
    {
      name: "state read-only",
      break: `${STOP} mkfs.ext4 -q -m 0 -F /root/state.img 32M; mount -o loop,errors=remount-ro /root/state.img /mnt; cp -a ${STATE}/. /mnt/; umount /mnt; mount -o loop,errors=remount-ro /root/state.img ${STATE}; chown edge-agent: ${STATE}; systemctl start edge-agent; until edge-agent status > /dev/null; do sleep 0.2; done; echo 1 > /sys/fs/ext4/$(basename $(findmnt -no SOURCE ${STATE}))/trigger_fs_error`,
      isKept: true,
      mend: `${STOP} umount ${STATE}`,
      id: "permissions",
      text: /file system of \/var\/lib\/edge-agent is read-only/,
      next: /remount,rw/,
    },
    {
      name: "state full",
      break: `${STOP} mount -t tmpfs -o size=4M,mode=700 tmpfs ${STATE}; chown edge-agent: ${STATE}; systemctl start edge-agent; until edge-agent status > /dev/null; do sleep 0.2; done; dd if=/dev/zero of=${STATE}/filler bs=64k status=none; true`,
      isKept: true,
      mend: `${STOP} umount ${STATE}`,
      id: "permissions",
      text: /is full/,
      next: /Free space/,
    },

    // Apps.
    {
      name: "policy that forbids what runs",
      break: config('c.policy = { mounts: { deny: ["/srv"] } }'),
      id: "agent",
      text: /app does not run as it should: .*\/srv/,
      next: /edge-agent app app/,
    },
  ];
}
