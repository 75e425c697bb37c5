import { succeed } from "../command.ts";

export interface Bridge extends AsyncDisposable {
  readonly name: string;
  /** This machine's address on it. */
  readonly address: string;
}

/** Creates a network bridge with its own address range. Disposing it removes it. Needs Debian's package iproute2. */
export async function createBridge(): Promise<Bridge> {
  const name = `eat${random(0x7fffffff).toString(36)}`;
  const address = `10.${64 + random(64)}.${random(256)}.1`;
  await succeed("ip", ["link", "add", name, "type", "bridge"]);
  const remove = async (): Promise<void> => void (await succeed("ip", ["link", "delete", name]));
  try {
    await succeed("ip", ["address", "add", `${address}/24`, "dev", name]);
    await succeed("ip", ["link", "set", name, "up"]);
  } catch (error) {
    await remove();
    throw error;
  }
  return { name, address, [Symbol.asyncDispose]: remove };
}

function random(below: number): number {
  return Math.floor(Math.random() * below);
}
