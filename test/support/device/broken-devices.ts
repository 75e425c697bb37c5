import { brokenNetworks } from "./broken-network.ts";
import { BROKEN_STORAGE } from "./broken-storage.ts";
import {
  type BrokenDevice,
  CHAINS,
  CONFIG,
  config,
  dropIn,
  fakeTime,
  port,
  STOP,
  type Outside,
  url,
} from "./device-faults.ts";

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
      name: "service of a group that does not exist",
      break: dropIn("SupplementaryGroups=nogroup-such"),
      id: "service",
      text: /group nogroup-such does not exist/,
      next: /restart edge-agent/,
    },
    {
      name: "service with a directory on a disk that is not mounted",
      break: dropIn("ReadWritePaths=/data/parts"),
      id: "service",
      text: /cannot start: a directory that the unit names does not exist/,
      next: /-p ReadWritePaths.*restart edge-agent/,
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

    ...brokenNetworks(at, drop),

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
      // By less than what counts as a jump since the last start, which the status would tell.
      name: "clock most of a minute behind",
      break: fakeTime("-45s"),
      warns: ["clock", /4\d s behind the control plane's/],
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
      name: "engine's socket is a directory",
      break: "systemctl stop docker.socket docker; rm -rf /run/docker.sock; mkdir /run/docker.sock",
      isKept: true,
      mend: "rmdir /run/docker.sock; systemctl restart docker.socket docker",
      id: "engine",
      text: /\/run\/docker\.sock is a directory/,
      next: /^sudo rmdir \/run\/docker\.sock && sudo systemctl restart docker\.socket docker$/,
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
      name: "engine without its firewall rules",
      break: "for table in filter nat; do iptables -t $table -F; iptables -t $table -X; done; docker kill app",
      isKept: true,
      mend: `systemctl restart docker; ${CHAINS}`,
      id: "publishing",
      text: /lost its firewall rules/,
      next: /systemctl restart docker/,
    },
    {
      name: "a kernel that forwards no packets",
      break: "sysctl -qw net.ipv4.ip_forward=0",
      isKept: true,
      mend: "sysctl -qw net.ipv4.ip_forward=1",
      warns: ["publishing", /does not forward packets/],
    },
    {
      name: "no space for images",
      break: config("c.deploy = { disk_reserve_bytes: 1e15 }"),
      id: "disk",
      text: /held in reserve/,
      next: /docker system df/,
    },

    ...BROKEN_STORAGE,
  ];
}
