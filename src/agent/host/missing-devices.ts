import type { AppSpec } from "../../protocol/app-spec.ts";
import type { Host } from "./host.ts";

/** Returns the device files of an app that are not on the device. */
export async function findMissingDevices({ devices = [] }: AppSpec, host: Pick<Host, "isDevice">): Promise<string[]> {
  const found = await Promise.all(devices.map(({ local }) => host.isDevice(local)));
  return devices.flatMap(({ local }, index) => (found[index] ? [] : [local]));
}
