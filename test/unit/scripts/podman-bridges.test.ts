import { expect, test } from "vitest";
import { type Bridges, clearOldBridge } from "../../../scripts/setup/podman-bridges.ts";

interface Machine {
  readonly addresses: readonly (readonly [name: string, address: string])[];
  readonly attached?: number;
  readonly isInstalled?: boolean;
}

const OLD = ["cni-podman0", "10.88.0.1/16"] as const;
const NEW = ["podman0", "10.88.0.1/16"] as const;

function clear({ addresses, attached = 0, isInstalled = false }: Machine) {
  const removed: string[] = [];
  const said: string[] = [];
  const bridges: Bridges = {
    addresses: () => addresses.map(([name, address]) => ({ name, address })),
    attached: () => attached,
    remove: (bridge) => removed.push(bridge) > 0,
  };
  clearOldBridge(isInstalled, bridges, (text) => said.push(text));
  return { removed, said: said.join("\n") };
}

test("the old bridge is removed by the run that installs netavark, if nothing is on it", () => {
  const { removed, said } = clear({ addresses: [OLD], isInstalled: true });
  expect(removed).toEqual(["cni-podman0"]);
  expect(said).toContain("nothing is on it, so it is removed");
});

test.each<[string, Machine, string]>([
  [
    "containers are on it",
    { addresses: [OLD], attached: 2, isInstalled: true },
    "2 interfaces are on it: stop those containers",
  ],
  ["an earlier run installed netavark", { addresses: [OLD, NEW] }, "Remove it: ip link delete cni-podman0"],
  ["both are in use", { addresses: [OLD, NEW], attached: 1 }, "1 interface is on it"],
])("the old bridge stays, and is named, where %s", (_where, machine, text) => {
  const { removed, said } = clear(machine);
  expect(removed).toEqual([]);
  expect(said).toContain(text);
});

test.each<[string, Machine]>([
  ["Podman is used with it", { addresses: [OLD], attached: 1 }],
  ["Podman was used with it", { addresses: [OLD] }],
  ["it has other addresses", { addresses: [["cni-podman0", "10.99.0.1/16"], NEW], isInstalled: true }],
  ["there is only the new one", { addresses: [NEW], isInstalled: true }],
])("nothing is said or removed where %s", (_where, machine) => {
  expect(clear(machine)).toEqual({ removed: [], said: "" });
});
