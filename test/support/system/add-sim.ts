import type { System } from "../system.ts";

/** Adds an asset with a Super SIM and no device to the system's account. */
export async function addSim({ control, account }: System, serialNumber: string): Promise<void> {
  const sim = ["--supersim-sid", "HS0123456789abcdef", "--supersim-iccid", "8988307000001234567"];
  const options = ["--account", account.accountId, "--serial-number", serialNumber, ...sim];
  await control.administer("asset", "add", ...options, "--network-group", "default_1gb");
}
