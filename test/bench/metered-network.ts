import { succeed } from "../support/command.ts";

/** A network of its own for one process, joined to this machine by a wire on which every byte is counted. */
export interface MeteredNetwork extends AsyncDisposable {
  /** This machine's address on the wire. */
  readonly host: string;
  /** Put before a command to run it in there. */
  readonly enter: readonly string[];
  /** Bytes of TCP in both directions so far, IP and TCP headers included. */
  bytes(): Promise<number>;
}

const HOST = "10.213.77.1";
const INSIDE = "10.213.77.2";

/** Makes one. Needs root, network namespaces and iptables; throws without them. */
export async function meteredNetwork(): Promise<MeteredNetwork> {
  await using owner = new AsyncDisposableStack();
  const name = `eat${process.pid}`;
  await succeed("ip", ["netns", "add", name]);
  // The wire goes with the namespace its other end is in.
  owner.defer(async () => void (await succeed("ip", ["netns", "delete", name])));
  const enter = ["ip", "netns", "exec", name];
  const inside = (...command: readonly string[]): Promise<string> => succeed("ip", [...enter.slice(1), ...command]);
  await succeed("ip", ["link", "add", name, "type", "veth", "peer", "name", "wire", "netns", name]);
  await succeed("ip", ["address", "add", `${HOST}/30`, "dev", name]);
  await succeed("ip", ["link", "set", name, "up"]);
  await inside("ip", "address", "add", `${INSIDE}/30`, "dev", "wire");
  await inside("ip", "link", "set", "wire", "up");
  for (const chain of ["INPUT", "OUTPUT"]) await inside("iptables", "--insert", chain, "--protocol", "tcp");
  const parts = owner.move();
  return {
    host: HOST,
    enter,
    bytes: async () => {
      const lines = await inside("iptables", "--list", "--numeric", "--verbose", "--exact");
      // Some versions name the protocol, others give its number.
      const counters = [...lines.matchAll(/^\s*\d+\s+(\d+)\s+(?:tcp|6)\s/gm)];
      if (counters.length !== 2) throw new Error(`iptables does not show the two counters:\n${lines}`);
      return counters.reduce((sum, [, bytes]) => sum + Number(bytes), 0);
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}
