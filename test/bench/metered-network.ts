import { succeed } from "../support/command.ts";

/** A network namespace for one process, connected to this machine by a veth pair with byte counters. */
export interface MeteredNetwork extends AsyncDisposable {
  /** This machine's address in that network. */
  readonly host: string;
  /** Command prefix that runs a command in the namespace. */
  readonly enter: readonly string[];
  /** TCP bytes in both directions so far, including IP and TCP headers. */
  bytes(): Promise<number>;
}

const HOST = "10.213.77.1";
const INSIDE = "10.213.77.2";

/** Creates the network. Needs root, network namespaces and iptables; rejects without them. */
export async function meteredNetwork(): Promise<MeteredNetwork> {
  await using owner = new AsyncDisposableStack();
  const name = `eat${process.pid}`;
  await succeed("ip", ["netns", "add", name]);
  // The veth pair is removed with the namespace.
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
      // Some versions print the protocol's name, others its number.
      const counters = [...lines.matchAll(/^\s*\d+\s+(\d+)\s+(?:tcp|6)\s/gm)];
      if (counters.length !== 2) throw new Error(`iptables does not show the two counters:\n${lines}`);
      return counters.reduce((sum, [, bytes]) => sum + Number(bytes), 0);
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}
