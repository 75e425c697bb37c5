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

/** Removes the bridges of an engine that was killed. @param pool its address range, of 20 bits */
export async function removeBridgesIn(pool: string): Promise<void> {
  const [second, first = 0] = pool.split(".").slice(1, 3).map(Number);
  const listed = await succeed("ip", ["-brief", "-4", "address"]);
  for (const line of listed.split("\n")) {
    const [, name, ...address] = /^(br-\S+)\s+\S+\s+10\.(\d+)\.(\d+)\./.exec(line) ?? [];
    const [at, third = 0] = address.map(Number);
    if (name !== undefined && at === second && third >= first && third < first + 16)
      await succeed("ip", ["link", "delete", name]);
  }
}

function random(below: number): number {
  return Math.floor(Math.random() * below);
}
