import { describe, expect, it } from "vitest";
import { listVolumes, removeVolume, type VolumeSources } from "../../../../src/agent/apps/volumes.ts";
import { EngineError } from "../../../../src/agent/engine/engine-error.ts";
import { volumeLabels } from "../../../../src/agent/engine/volume-names.ts";
import { volumeListSchema } from "../../../../src/protocol/apps/volume-list.ts";
import { AgentRig } from "../../../support/agent-rig.ts";

const IMAGE = "example/app:1";
const STATE_DIR = "/var/lib/edge-agent";
const signal = new AbortController().signal;

async function rigWithApps(): Promise<AgentRig & { readonly sources: VolumeSources }> {
  const rig = new AgentRig();
  rig.engine.addImage(IMAGE);
  const deploy = async (name: string, volumes: object[]): Promise<void> => {
    rig.deployments.deploy(`d-${name}`, { name, image: IMAGE, volumes });
    expect(await rig.untilEnd(`d-${name}`)).toMatchObject({ status: "Success" });
  };
  await deploy("writer", [{ name: "data", target: "/data" }]);
  await deploy("reader", [{ name: "data", target: "/data", readonly: true }]);
  const sources = { ...rig.services, stateDir: STATE_DIR };
  return Object.assign(rig, { sources });
}

describe("the volumes that the agent manages", () => {
  it("are listed by name with the apps that have them, without those of others", async () => {
    await using rig = await rigWithApps();
    rig.engine.volumes.add("edge-agent.alone", volumeLabels("alone", STATE_DIR, "d0"));
    rig.engine.volumes.add("edge-agent-00000000.other", volumeLabels("other", "/srv/other", "d0"));
    // Labels can be copied: the name has to fit too.
    rig.engine.volumes.add("copied", volumeLabels("copied", STATE_DIR, "d0"));
    rig.engine.volumes.add("foreign");
    const list = await listVolumes(rig.sources, { size: false }, signal);
    expect(volumeListSchema.parse(list)).toEqual(list);
    const created_at = expect.any(Number) as number;
    const apps = [
      { app: "reader", readonly: true },
      { app: "writer", readonly: false },
    ];
    expect(list).toEqual({
      volumes: [
        { name: "alone", apps: [], apps_left_out: 0, size_bytes: null, created_at },
        { name: "data", apps, apps_left_out: 0, size_bytes: null, created_at },
      ],
      left_out: 0,
    });
  });

  it("are measured only if that is asked for, and listed without sizes if it takes too long", async () => {
    await using rig = await rigWithApps();
    rig.engine.volumes.write("edge-agent.data", 42);
    const { volumes } = await listVolumes(rig.sources, { size: true }, signal);
    expect(volumes[0]?.size_bytes).toBe(42);
    using hanging = rig.engine.faults.hang("volumes.measure");
    const listing = listVolumes(rig.sources, { size: true }, signal);
    while (hanging.waiting === 0) await rig.clock.advance(50);
    await rig.clock.advance(7_000);
    expect((await listing).volumes[0]?.size_bytes).toBeNull();
  });

  it("are counted beyond the limit", async () => {
    await using rig = await rigWithApps();
    for (let number = 0; number < 500; number++) {
      rig.engine.volumes.add(`edge-agent.v${number}`, volumeLabels(`v${number}`, STATE_DIR, "d0"));
    }
    const { volumes, left_out } = await listVolumes(rig.sources, { size: false }, signal);
    expect([volumes.length, left_out]).toEqual([500, 1]);
  });

  it("are not removed while an app has them, is being deployed with them or may be restored with them", async () => {
    await using rig = await rigWithApps();
    await expect(removeVolume(rig.sources, "data", signal)).rejects.toMatchObject({
      code: "VolumeInUse",
      message: "The app reader has the volume data. Remove the app first, or update it without the volume.",
      details: { volume: "data", app: "reader" },
    });
    rig.deployments.change("r1", { action: "remove", app: "writer" });
    rig.deployments.change("r2", { action: "remove", app: "reader" });
    await expect(removeVolume(rig.sources, "data", signal)).rejects.toMatchObject({ code: "VolumeInUse" });
    await rig.untilEnd("r1");
    await rig.untilEnd("r2");
    // A success is provisional until it is acknowledged: the app may come back.
    await expect(removeVolume(rig.sources, "data", signal)).rejects.toMatchObject({ code: "VolumeInUse" });
    expect(rig.engine.volumes.names).toEqual(["edge-agent.data"]);
  });

  it("that are being removed are made anew for an app that is deployed meanwhile, not found and then lost", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    rig.engine.volumes.add("edge-agent.data", volumeLabels("data", STATE_DIR, "d0"));
    rig.engine.volumes.write("edge-agent.data", 42);
    const sources = { ...rig.services, stateDir: STATE_DIR };
    const client = new AbortController();
    const hanging = rig.engine.faults.hang("volumes.remove");
    const removing = removeVolume(sources, "data", client.signal);
    await rig.clock.advance(0);
    expect(hanging.waiting).toBe(1);
    // The technician's connection ends; the engine is at it.
    client.abort();
    rig.deployments.deploy("d1", { name: "app", image: IMAGE, volumes: [{ name: "data", target: "/data" }] });
    await rig.clock.advance(100);
    hanging[Symbol.dispose]();
    await removing;
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
    expect(rig.events("d1").map(({ message }) => message)).toContain("Volume data is made.");
    expect((await rig.engine.volumes.measure(signal)).get("edge-agent.data")).toBe(0);
    await expect(removeVolume(sources, "data", signal)).rejects.toMatchObject({ code: "VolumeInUse" });
  });

  it("are removed with their data once no app has them", async () => {
    await using rig = new AgentRig();
    rig.engine.volumes.add("edge-agent.data", volumeLabels("data", STATE_DIR, "d0"));
    await removeVolume({ ...rig.services, stateDir: STATE_DIR }, "data", signal);
    expect(rig.engine.volumes.names).toEqual([]);
  });

  it("are not removed while a container has them, and not if somebody else made them", async () => {
    await using rig = new AgentRig();
    const sources = { ...rig.services, stateDir: STATE_DIR };
    rig.engine.volumes.add("edge-agent.foreign", volumeLabels("foreign", "/srv/other", "d0"));
    for (const name of ["foreign", "none"]) {
      await expect(removeVolume(sources, name, signal)).rejects.toMatchObject({ code: "VolumeNotFound" });
    }
    rig.engine.volumes.add("edge-agent.data", volumeLabels("data", STATE_DIR, "d0"));
    using _inUse = rig.engine.faults.fail("volumes.remove", new EngineError("conflict", "volume is in use - [c1]"));
    await expect(removeVolume(sources, "data", signal)).rejects.toMatchObject({
      code: "VolumeInUse",
      message: "A container on the device has the volume data: volume is in use - [c1]",
    });
  });
});
