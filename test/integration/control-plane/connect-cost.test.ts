import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, test, vi } from "vitest";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { waitFor } from "../../support/wait-for.ts";

const DEVICES = 20;

afterEach(() => {
  vi.restoreAllMocks();
});

/** Counts the transactions of all databases, and those of them that cost a sync of the disk. */
function countTransactions() {
  const exec = vi.spyOn(DatabaseSync.prototype, "exec");
  const countOf = (sql: string): number => exec.mock.calls.filter(([executed]) => executed === sql).length;
  return () => {
    const all = countOf("COMMIT");
    return { all, synced: all - countOf("PRAGMA synchronous = NORMAL") };
  };
}

async function connect(control: ControlPlane, account: TestAccount): Promise<FakeDevice> {
  const { deviceToken } = await control.asset(account);
  return FakeDevice.open(control.agentUrl, deviceToken);
}

test("to connect an idle device takes one transaction and no sync of the disk", async () => {
  // Nothing that is done from time to time is counted.
  await using control = await startControlPlane({ clock: new FakeClock(Date.now()) });
  const device = await connect(control, await control.account());
  await using _device = device;
  const list = vi.spyOn(control.store.deployments, "listUndelivered");
  const count = countTransactions();
  device.hello();
  await device.next("welcome");
  // The last that is done for a device that connects.
  await waitFor("what waits for the device to be read", () => list.mock.calls.length > 0);
  expect(count()).toEqual({ all: 1, synced: 0 });
});

test("devices that say hello in one turn share a transaction", async () => {
  await using control = await startControlPlane();
  const account = await control.account();
  const uuids: string[] = [];
  for (let index = 0; index < DEVICES; index++) uuids.push((await control.asset(account)).asset.uuid);
  const count = countTransactions();
  // A transaction takes what comes within some milliseconds, however long that takes here.
  vi.spyOn(performance, "now").mockReturnValue(performance.now());
  const { sessions } = control.store;
  const open = (assetUuid: string) =>
    sessions.open({ assetUuid, sessionId: "s", instanceId: "ins_1", protocol: 3, at: 1 });
  await Promise.all(uuids.map(open));
  const { all, synced } = count();
  expect(synced).toBe(0);
  expect(all).toBe(1);
});
