import { MAX_HOST_PORT, MIN_HOST_PORT } from "../../../protocol/limits.ts";

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
