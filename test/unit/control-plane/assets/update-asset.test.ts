import { expect, test, vi } from "vitest";
import { AssetUpdater } from "../../../../src/control-plane/assets/update-asset.ts";
import { LeaseLock } from "../../../../src/control-plane/instances/lease-lock.ts";
import { planUpdate } from "../../../../src/control-plane/core/asset-update.ts";
import { soleOperator } from "../../../../src/control-plane/sim-operator/sim-operators.ts";
import { StoredSimOperator } from "../../../../src/control-plane/sim-operator/stored-sim-operator.ts";
import { openStore } from "../../../../src/control-plane/store/sqlite/open-store.ts";
import { StoreUnavailableError } from "../../../../src/control-plane/store/unavailable.ts";
import { captureLogText } from "../../../support/captured-log.ts";
import { FailingSimOperator } from "../../../support/control-plane/failing-sim-operator.ts";
import { someSuperSim } from "../../../support/control-plane/sims.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const ORIGIN = { accountId: "acc_1", actor: { kind: "key", id: "key_1" }, source: undefined } as const;

test("a change that is stored has its entry, whether or not those after it are", async () => {
  await using store = openStore(":memory:");
  await store.accounts.createAccount({ id: "acc_1", name: "test", createdAt: 0 });
  const uuid = "0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11";
  const asset = { uuid, accountId: "acc_1", serialNumber: "S", name: "Before", type: "", createdAt: 0 };
  await store.assets.registerAsset({ ...asset, supersim: someSuperSim(), prosim: undefined }, new Uint8Array([1]));
  const { logger } = captureLogText();
  const clock = new FakeClock();
  const locks = new LeaseLock({ leases: undefined, instanceId: "ins_1", clock, logger });
  const simOperator = new StoredSimOperator(store.usage);
  const updater = new AssetUpdater({
    store,
    simOperators: soleOperator(simOperator),
    locks,
    clock,
    logger,
    stopping: new AbortController().signal,
  });
  const setSimState = store.sims.setSimState.bind(store.sims);
  vi.spyOn(store.sims, "setSimState")
    .mockImplementationOnce(setSimState)
    .mockRejectedValueOnce(new StoreUnavailableError("away"));
  const update = { name: "After", status: "inactive", supersim: { network_group: "default_10gb" } } as const;
  const updating = updater.update(ORIGIN, "S", (found, groups) => planUpdate(found, update, groups));
  await expect(updating).rejects.toThrow(StoreUnavailableError);
  const entries = await store.audit.listEntries("acc_1", 10);
  expect(entries.map(({ action, details }) => ({ action, details }))).toEqual([
    { action: "asset.changed", details: { network_group: "default_10gb", changed: ["supersim.network_group"] } },
  ]);
});

test("when the server stops, an update that has begun tells what it did, and one that waits changes nothing", async () => {
  await using store = openStore(":memory:");
  await store.accounts.createAccount({ id: "acc_1", name: "test", createdAt: 0 });
  const asset = {
    uuid: "0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11",
    accountId: "acc_1",
    serialNumber: "S",
    name: "Before",
    type: "",
    createdAt: 0,
    supersim: someSuperSim(),
    prosim: undefined,
  };
  await store.assets.registerAsset(asset, new Uint8Array([1]));
  const operator = new FailingSimOperator(new StoredSimOperator(store.usage));
  const stopping = new AbortController();
  const { logger } = captureLogText();
  const clock = new FakeClock();
  const locks = new LeaseLock({ leases: undefined, instanceId: "ins_1", clock, logger });
  const parts = { store, simOperators: soleOperator(operator), locks, clock, logger, stopping: stopping.signal };
  const updater = new AssetUpdater(parts);
  operator.beforeCall = async (call) => {
    if (!call.startsWith("deactivate")) return;
    stopping.abort();
    throw stopping.signal.reason;
  };
  const update = { name: "After", status: "inactive", supersim: { network_group: "default_10gb" } } as const;
  const begun = updater.update(ORIGIN, "S", (found, groups) => planUpdate(found, update, groups));
  const waiting = updater.update(ORIGIN, "S", (found, groups) => planUpdate(found, { name: "Later" }, groups));
  await expect(begun).rejects.toMatchObject({
    code: "SimOperatorFailed",
    details: { changed: ["supersim.network_group"], not_changed: ["supersim.status", "name"] },
  });
  await expect(waiting).rejects.toMatchObject({ code: "ServiceUnavailable" });
  expect(await store.assets.findAsset("acc_1", "S")).toMatchObject({
    name: "Before",
    supersim: { networkGroup: "default_10gb", status: "active" },
  });
});
