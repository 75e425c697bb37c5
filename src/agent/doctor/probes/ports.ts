import { readFile } from "node:fs/promises";
import { MAX_HOST_PORT, MIN_HOST_PORT } from "../../../protocol/limits.ts";
import { clashesWithApps } from "../../core/host/host-port.ts";
import { good, type Probe, warning } from "../probe.ts";

const RANGE = `${MIN_HOST_PORT}-${MAX_HOST_PORT}`;

/** The kernel does not use the apps' port range for outgoing connections. */
export const probePorts: Probe = async () => {
  const [local, reserved] = await Promise.all([read("ip_local_port_range"), read("ip_local_reserved_ports")]);
  if (!clashesWithApps(local, reserved)) return good(`${RANGE} are kept for apps.`);
  return warning(
    `Outgoing connections of this device use ports ${local.trim().replaceAll(/\s+/g, "-")}, which takes some of ${RANGE} from apps at random.`,
    `Keep them for apps: sysctl -w net.ipv4.ip_local_reserved_ports=${RANGE}, and the same in /etc/sysctl.d.`,
  );
};

function read(name: string): Promise<string> {
  // Absent in some containers.
  return readFile(`/proc/sys/net/ipv4/${name}`, "utf8").catch(() => "");
}
