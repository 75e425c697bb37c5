import { InvalidArgumentError } from "commander";
import type { AppSpec } from "../../protocol/app-spec.ts";

export type DeviceMapping = NonNullable<AppSpec["devices"]>[number];

/** Reads `LOCAL[:TARGET[:PERMISSIONS]]`, such as `/dev/ttyUSB0` or `/dev/ttyUSB0:/dev/serial:rw`. */
export function parseDevice(text: string): DeviceMapping {
  const [local = "", target, permissions, ...rest] = text.split(":");
  if (rest.length > 0 || !local.startsWith("/") || (target !== undefined && !target.startsWith("/"))) {
    throw new InvalidArgumentError("Write LOCAL, LOCAL:TARGET or LOCAL:TARGET:rw with absolute paths.");
  }
  return { local, ...(target !== undefined && { target }), ...(permissions !== undefined && { permissions }) };
}
