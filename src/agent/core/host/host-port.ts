import type { AppSpec } from "../../../protocol/apps/app-spec.ts";

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
