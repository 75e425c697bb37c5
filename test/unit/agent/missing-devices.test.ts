import { describe, expect, it } from "vitest";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { readDeviceStatus } from "../../../src/agent/local/device-status.ts";
import { deployedApps } from "../../support/reconciler-rig.ts";

const IMAGE = "example/app:1";
const DEVICE = "/dev/ttyUSB0";
const signal = new AbortController().signal;

/** An app with a device that has been unplugged, and whose container the engine cannot start since. */
async function unplugged() {
  const apps = await deployedApps(IMAGE);
  const { rig } = apps;
  rig.host.devices.add(DEVICE);
  rig.deployments.deploy("d1", { name: "meter", image: IMAGE, devices: [{ local: DEVICE }] });
  await rig.untilEnd("d1");
  rig.engine.faults.onCall(({ method, phase }) => {
    if (method === "startContainer" && phase === "before" && !rig.host.devices.has(DEVICE))
      throw new EngineError("invalid", `error gathering device information while adding custom device "${DEVICE}"`);
  });
  rig.host.devices.clear();
  rig.engine.container("meter")!.stop();
  return apps;
}

describe("an app whose device is gone", () => {
  it("says which one, instead of how its last run ended", async () => {
    const { rig, reconciler } = await unplugged();
    await using _rig = rig;
    const { apps } = await readDeviceStatus({ ...rig.services, diskReserveBytes: 0 }, signal);
    expect(apps).toMatchObject([{ state: "stopped", trouble: `its device file ${DEVICE} is not there` }]);
    await reconciler.reconcile(signal);
    expect(rig.store.history(1)).toMatchObject([
      { kind: "repair", error: `There is no device file ${DEVICE} on the device.` },
    ]);
  });

  it("runs in the next round after it is back, however long it was gone", async () => {
    const { rig, reconciler } = await unplugged();
    await using _rig = rig;
    let tries = 0;
    rig.engine.faults.onCall(({ method, phase }) => {
      if (method === "startContainer" && phase === "before") tries++;
    });
    for (let minute = 0; minute < 60; minute++) {
      await reconciler.reconcile(signal);
      await rig.clock.advance(60_000);
    }
    expect(tries).toBeLessThan(15);
    rig.host.devices.add(DEVICE);
    await reconciler.reconcile(signal);
    expect(rig.engine.container("meter")?.status).toBe("running");
  });
});
