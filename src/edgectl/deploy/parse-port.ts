import { InvalidArgumentError } from "commander";
import type { PortMapping } from "../../protocol/app-spec.ts";

/** Reads `HOST:TARGET` or `HOST:TARGET/udp`, such as `30080:80`. The range is for the service to judge. */
export function parsePort(text: string): PortMapping {
  const match = /^(\d{1,5}):(\d{1,5})(?:\/(tcp|udp))?$/.exec(text);
  if (!match) throw new InvalidArgumentError("Write HOST:TARGET, such as 30080:80, or HOST:TARGET/udp.");
  const ports = { host_port: Number(match[1]), target_port: Number(match[2]) };
  return match[3] === "udp" ? { ...ports, protocol: "udp" } : ports;
}
