import type { AppSpec } from "../../../protocol/app-spec.ts";
import { formatWholeMegabytes } from "../text.ts";
import type { Refusal, HostState } from "./check.ts";

/** Refuses an app that asks for more than the machine has: engines would find out after the download. */
export function findExceededLimit(
  { cpu_limit = 0, memory_limit = 0 }: AppSpec,
  { capacity, missingDevices }: Pick<HostState, "capacity" | "missingDevices">,
): Refusal | undefined {
  const { memoryBytes, cpus } = capacity;
  if (memory_limit > memoryBytes) {
    return {
      code: "InvalidRequest",
      message: `The device has ${formatWholeMegabytes(memoryBytes)} MB of memory; memory_limit is ${formatWholeMegabytes(memory_limit)} MB.`,
      details: { memory_limit, memory_bytes: memoryBytes },
    };
  }
  if (cpu_limit > cpus) {
    const message = `The device has ${cpus} processors; cpu_limit is ${cpu_limit}.`;
    return { code: "InvalidRequest", message, details: { cpu_limit, cpus } };
  }
  const [missing] = missingDevices;
  if (missing === undefined) return undefined;
  return {
    code: "InvalidRequest",
    message: `There is no device file ${missing} on the device.`,
    details: { devices: [...missingDevices] },
  };
}
