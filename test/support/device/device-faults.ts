/* Commands of a shell that break a device, and mend it. */

/** Name of the control plane, in /etc/hosts of the device. */
export const CONTROL_NAME = "control.site.test";

/** The agent's configuration. */
export const CONFIG = "/etc/edge-agent/config.json";
const DROP_INS = "/etc/systemd/system/edge-agent.service.d";
/** Its state directory. */
export const STATE = "/var/lib/edge-agent";
/** Stops the service. */
export const STOP = "systemctl stop edge-agent;";

/** Changes the configuration with a statement of JavaScript on `c`. */
export const config = (statement: string): string =>
  `/usr/lib/edge-agent/node -e 'const fs = require("fs"), f = "${CONFIG}", c = JSON.parse(fs.readFileSync(f)); ${statement}; fs.writeFileSync(f, JSON.stringify(c))'`;
/** Changes settings of the unit. */
export const dropIn = (...lines: readonly string[]): string =>
  `mkdir -p ${DROP_INS}; printf '%s\\n' '[Service]' ${lines.map((line) => `'${line}'`).join(" ")} > ${DROP_INS}/broken.conf; systemctl daemon-reload`;
/** Gives the service another time, as libfaketime writes it. */
export const fakeTime = (offset: string): string =>
  dropIn(
    "Environment=LD_PRELOAD=/usr/lib/faketime.so",
    `Environment="FAKETIME=${offset}"`,
    "Environment=FAKETIME_DONT_FAKE_MONOTONIC=1",
  );
/** The port of the control plane, as a substitution of the shell. */
export const port = `$(sed -E 's/.*:([0-9]+).v1.agent.*/\\1/;t;d' ${CONFIG} | head -1)`;
/** Gives the device another address of its control plane. */
export const url = (target: string): string => config(`c.control_plane_url = "wss://${target}/v1/agent"`);
/** Gives the control plane another address in /etc/hosts. */
export const hosts = (line: string): string =>
  `sed '/${CONTROL_NAME}/d' /root/hosts > /etc/hosts; echo '${line} ${CONTROL_NAME}' >> /etc/hosts`;
/** Leaves the name of the control plane to the name servers. */
export const noHost = `sed '/${CONTROL_NAME}/d' /root/hosts > /etc/hosts`;

/** Makes the chains of the firewall in which faults are. */
export const CHAINS = `for table in filter nat; do iptables -t $table -N BROKEN; iptables -t $table -I OUTPUT -j BROKEN; done
  iptables -N BROKEN-IN; iptables -I INPUT -j BROKEN-IN`;

/** Keeps what a healthy device is like, for `MEND`. */
export const KEEP = `
  cp -a /etc/edge-agent /root/good; cat /etc/hosts > /root/hosts; cat /etc/resolv.conf > /root/resolv.conf
  ${CHAINS}`;

/** Makes it healthy again, and starts the service. */
export const MEND = `
  iptables -F BROKEN; iptables -F BROKEN-IN; iptables -t nat -F BROKEN
  cat /root/hosts > /etc/hosts; cat /root/resolv.conf > /etc/resolv.conf
  rm -rf ${DROP_INS} /etc/edge-agent; cp -a /root/good /etc/edge-agent
  systemctl unmask edge-agent; systemctl daemon-reload; systemctl enable edge-agent
  chown -R edge-agent: ${STATE}; chmod 700 ${STATE}
  systemctl start docker.socket docker
  chgrp docker /run/docker.sock; chmod 660 /run/docker.sock
  systemctl reset-failed edge-agent; systemctl restart edge-agent`;

/** What the list needs beside the device: addresses of servers that are broken, and of a proxy. */
export interface Outside {
  /** Of the machine with the control plane, in the devices' network. */
  readonly host: string;
  readonly proxy: number;
  readonly forbiddingProxy: number;
  /** Answers every request with a redirect to its login page. */
  readonly portal: number;
  /** Ports of servers with certificates that are not as they should be. */
  readonly expired: number;
  readonly otherHost: number;
  readonly unknownAuthority: number;
}

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
