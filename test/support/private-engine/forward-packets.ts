import { succeed } from "../command.ts";

/**
 * Lets the packets between containers on networks of this address range through, which the rules of the machine's own
 * engine drop. Disposing it takes that back. Needs iptables.
 */
export async function forwardPacketsIn(range: string): Promise<AsyncDisposable> {
  const rule = ["FORWARD", "-s", range, "-d", range, "-m", "comment", "--comment", "edge-agent test", "-j", "ACCEPT"];
  await succeed("iptables", ["--wait", "--insert", ...rule]);
  return { [Symbol.asyncDispose]: async () => void (await succeed("iptables", ["--wait", "--delete", ...rule])) };
}
