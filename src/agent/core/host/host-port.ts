import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import { MAX_HOST_PORT, MIN_HOST_PORT } from "../../../protocol/limits.ts";

/** A port of the device. TCP and UDP ports are separate: one may be taken and the other free. */
export interface HostPort {
  readonly port: number;
  readonly protocol: "tcp" | "udp";
}

export function isSamePort(a: HostPort, b: HostPort): boolean {
  return a.port === b.port && a.protocol === b.protocol;
}

export function includesPort(ports: readonly HostPort[], port: HostPort): boolean {
  return ports.some((candidate) => isSamePort(candidate, port));
}

/** Returns the device's ports an app uses; none on the host's network, where the mapping has no effect. */
export function hostPortsOf(spec: AppSpec): HostPort[] {
  return spec.host_network ? [] : spec.ports.map(toHostPort);
}

/** Returns the host port of a port mapping. */
export function toHostPort({ host_port, protocol = "tcp" }: AppSpec["ports"][number]): HostPort {
  return { port: host_port, protocol };
}

/**
 * Whether the kernel may use host ports of apps as source ports of outgoing connections.
 *
 * @param local first and last port of the kernel's `ip_local_port_range`
 * @param reserved ports excluded from that range, as in `ip_local_reserved_ports`: `8080,30000-32767`
 */
export function clashesWithApps(local: string, reserved: string): boolean {
  const [first = 0, last = -1] = local.trim().split(/\s+/).map(Number);
  const ranges = reserved
    .trim()
    .split(",")
    .map((range) => range.split("-").map(Number))
    .map(([from = -1, to = from]) => ({ from, to }));
  for (let port = Math.max(first, MIN_HOST_PORT); port <= Math.min(last, MAX_HOST_PORT); port++) {
    if (!ranges.some(({ from, to }) => port >= from && port <= to)) return true;
  }
  return false;
}
