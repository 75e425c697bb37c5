import { InvalidArgumentError } from "commander";
import type { PortMapping } from "../../protocol/app-spec.ts";

/** Reads `HOST:TARGET`, such as `30080:80`. The range is for the service to judge. */
export function parsePort(text: string): PortMapping {
  const [ports = "", transport] = text.split("/", 2);
  if (transport !== undefined && transport !== "tcp") throw new InvalidArgumentError("Only TCP ports can be mapped.");
  const match = /^(\d{1,5}):(\d{1,5})$/.exec(ports);
  if (!match) throw new InvalidArgumentError("Write HOST:TARGET, such as 30080:80.");
  return { host_port: Number(match[1]), target_port: Number(match[2]) };
}
