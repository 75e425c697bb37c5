import { createHash } from "node:crypto";
import { MAX_HOST_PORT, MIN_HOST_PORT } from "../../protocol/limits.ts";
import type { Problems } from "../documents/problems.ts";
import { serviceOf } from "./app-names.ts";
import type { WrittenGroup, WrittenPort } from "./written-group.ts";

const PORTS = MAX_HOST_PORT - MIN_HOST_PORT + 1;

/** A port of an app on the device. */
export interface InstalledPort {
  readonly app: string;
  readonly hostPort: number;
  readonly targetPort: number;
  readonly protocol: string;
}

/** A port of the file with its host port. */
export interface MappedPort {
  readonly app: string;
  readonly port: WrittenPort;
  readonly hostPort: number;
}

/**
 * Gives each port outside the range, or without a host port, one of the range. The same file gets the same ports at every
 * repetition: an installed app keeps its port; a new one gets one that follows from the names of the project and the app
 * and the port in it, or the next one that is free. Adds a problem for each port for which none is left.
 */
export function mapPorts(written: WrittenGroup, installed: readonly InstalledPort[], problems: Problems): MappedPort[] {
  const names = new Set(written.apps.map(({ name }) => name));
  const others = installed.filter(({ app }) => !names.has(app));
  const taken = new Set(others.map(({ hostPort, protocol }) => `${hostPort}/${protocol}`));
  const wanted = written.apps.flatMap(({ name, ports }) => ports.map((port) => ({ app: name, port })));
  const found = new Map<WrittenPort, number>();
  const take = (port: WrittenPort, hostPort: number): boolean => {
    const key = `${hostPort}/${port.protocol}`;
    if (taken.has(key)) return false;
    taken.add(key);
    found.set(port, hostPort);
    return true;
  };
  for (const { port } of wanted) {
    if (!isInRange(port.hostPort)) continue;
    taken.add(`${port.hostPort}/${port.protocol}`);
    found.set(port, port.hostPort);
  }
  for (const { app, port } of wanted) {
    if (found.has(port)) continue;
    installed
      .filter((other) => other.app === app && other.targetPort === port.targetPort && other.protocol === port.protocol)
      .some(({ hostPort }) => isInRange(hostPort) && take(port, hostPort));
  }
  const exhausted = new Set<string>();
  for (const { app, port } of wanted) {
    if (found.has(port)) continue;
    const start = startOf(written.project, app, port.targetPort);
    const isFound = !exhausted.has(port.protocol) && candidates(start).some((hostPort) => take(port, hostPort));
    if (!isFound) exhausted.add(port.protocol);
    if (!isFound)
      problems.add(port.place, `${port.path} finds no free port from ${MIN_HOST_PORT} to ${MAX_HOST_PORT}.`);
  }
  return wanted.flatMap(({ app, port }) => {
    const hostPort = found.get(port);
    return hostPort === undefined ? [] : [{ app, port, hostPort }];
  });
}

/** Refuses ports outside the range, with the one that `mapPorts` would choose. */
export function requirePorts(written: WrittenGroup, problems: Problems): MappedPort[] {
  const mapped = mapPorts(written, [], problems);
  for (const { port, hostPort } of mapped) {
    if (port.hostPort === hostPort) continue;
    const problem =
      port.hostPort === undefined
        ? "has no port on the device."
        : `has the port ${port.hostPort} on the device, which must be from ${MIN_HOST_PORT} to ${MAX_HOST_PORT}.`;
    const address = port.hostAddress ?? "";
    const before = address === "" ? "" : `${address.includes(":") ? `[${address}]` : address}:`;
    const text = `${before}${hostPort}:${port.targetPort}${port.protocol === "udp" ? "/udp" : ""}`;
    problems.add(port.place, `${port.path} ${problem}`, `Use ${text}, or give --map-ports to have one chosen.`);
  }
  return mapped;
}

function isInRange(port: number | undefined): port is number {
  return port !== undefined && port >= MIN_HOST_PORT && port <= MAX_HOST_PORT;
}

/** The protocol does not count, so that a port of both protocols gets the same number if it is free. */
function startOf(project: string, app: string, targetPort: number): number {
  const digest = createHash("sha256")
    .update(JSON.stringify([project, serviceOf(project, app), targetPort]))
    .digest();
  return digest.readUInt32BE(0) % PORTS;
}

function candidates(start: number): number[] {
  return Array.from({ length: PORTS }, (_, index) => MIN_HOST_PORT + ((start + index) % PORTS));
}
