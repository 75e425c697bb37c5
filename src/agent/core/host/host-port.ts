import type { AppSpec } from "../../../protocol/app-spec.ts";

/** A port of the device. TCP and UDP have numbers of their own: one may be taken and the other free. */
export interface HostPort {
  readonly port: number;
  readonly protocol: "tcp" | "udp";
}

/** Whether both are the same port. */
export function isSamePort(a: HostPort, b: HostPort): boolean {
  return a.port === b.port && a.protocol === b.protocol;
}

/** Whether the port is one of these. */
export function includesPort(ports: readonly HostPort[], port: HostPort): boolean {
  return ports.some((candidate) => isSamePort(candidate, port));
}

/** Ports the app takes on the device: none on the host's network, where the mapping has no effect. */
export function hostPortsOf(spec: AppSpec): HostPort[] {
  return spec.host_network ? [] : spec.ports.map(toHostPort);
}

/** The port of the device that a mapping asks for. */
export function toHostPort({ host_port, protocol = "tcp" }: AppSpec["ports"][number]): HostPort {
  return { port: host_port, protocol };
}
