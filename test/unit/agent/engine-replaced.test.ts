import { describe, expect, it } from "vitest";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { AppReconciler } from "../../../src/agent/steps/app-reconciler.ts";
import { AgentRig, type RigConfig } from "../../support/agent-rig.ts";

const IMAGE = "example/app:1";
const APP = { name: "app", image: IMAGE, ports: [{ host_port: 30_001, target_port: 80 }] };

/** Another engine answers at the socket, with nothing on it. */
async function replaceEngine({ engine }: AgentRig): Promise<void> {
  for (const { id } of engine.containers) await engine.removeContainer(id, new AbortController().signal);
  engine.removeImages();
}

/** The image vanishes just before a container is made of it, so many times. */
function loseImage({ engine }: AgentRig, times: number): Disposable {
  let left = times;
  return engine.faults.onCall(({ method, phase }) => {
    if (method === "createContainer" && phase === "before" && left-- > 0) engine.removeImages();
  });
}

async function deployed(config: Partial<RigConfig> = {}) {
  const rig = new AgentRig(config);
  rig.engine.publish(IMAGE);
  rig.deployments.deploy("d1", APP);
  await rig.untilEnd("d1");
  const rebuild = { isSet: false, clear: () => undefined };
  const reconciler = new AppReconciler({
    ...rig.services,
    rebuild,
    lease: (app) => rig.deployments.lease(app),
    endedRuns: () => rig.deployments.endedRuns,
  });
  const stop = new AbortController();
  const running = reconciler.run(stop.signal);
  await rig.clock.advance(0);
  return {
    rig,
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("test over"));
      await running;
      await rig[Symbol.asyncDispose]();
    },
  };
}

describe("an engine that was replaced in the middle of a deployment", () => {
  it("is given the image again, and runs the app", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    rig.engine.publish(IMAGE);
    using _loss = loseImage(rig, 1);
    rig.deployments.deploy("d1", APP);
    expect((await rig.untilEnd("d1"))?.status).toBe("Success");
    expect(rig.events("d1").map(({ message }) => message)).toContain(
      `Image ${IMAGE} is not on the device any more; it is fetched again.`,
    );
    expect(rig.engine.container("app")?.status).toBe("running");
  });

  it("fails the deployment by name where no registry has the image", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    using _loss = loseImage(rig, 1);
    rig.deployments.deploy("d1", APP);
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Fail", code: "ImagePullBackOff" });
    expect(rig.engine.containers).toEqual([]);
  });

  it("does not fetch an image for ever that does not stay", async () => {
    await using rig = new AgentRig();
    rig.engine.publish(IMAGE);
    using _loss = loseImage(rig, Infinity);
    rig.deployments.deploy("d1", APP);
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Fail", code: "ImagePullBackOff" });
  });

  it("begins anew with an app that was being verified", async () => {
    await using rig = new AgentRig();
    rig.engine.publish(IMAGE);
    rig.deployments.deploy("d1", APP);
    while (!rig.events("d1").some(({ step }) => step === "verifying")) await rig.clock.advance(50);
    const down = rig.engine.faults.onCall(() => {
      throw new EngineError("unavailable", "connect ENOENT");
    });
    await rig.clock.advance(2_000);
    down[Symbol.dispose]();
    await replaceEngine(rig);
    expect((await rig.untilEnd("d1"))?.status).toBe("Success");
    expect(rig.engine.containers).toHaveLength(1);
  });
});

describe("an engine that was replaced while apps ran on it", () => {
  it("is given the image again by what the registry called it, and runs the app within two minutes", async () => {
    await using test = await deployed();
    const { rig } = test;
    const before = rig.store.apps()[0];
    expect(before?.digest).toMatch(/^sha256:/);
    await replaceEngine(rig);
    await rig.clock.advance(120_000);
    expect(rig.engine.container("app")?.status).toBe("running");
    expect(rig.store.apps()[0]?.imageId).toBe(before?.imageId);
    const noted = rig.store
      .history(10)
      .flatMap((entry) => (entry.kind === "repair" ? (entry.error ?? "repaired") : []));
    expect(noted).toEqual(["its image is not on the device any more; it is being fetched again", "repaired"]);
  });

  it("is given the same image again although its tag has moved", async () => {
    await using test = await deployed();
    const { rig } = test;
    const before = rig.store.apps()[0];
    await replaceEngine(rig);
    const published = rig.engine.published(IMAGE);
    rig.engine.publish(IMAGE, { layers: [7] });
    rig.engine.publish("example/app:0", published);
    await rig.clock.advance(120_000);
    expect(rig.engine.container("app")?.status).toBe("running");
    expect(rig.store.apps()).toMatchObject([{ imageId: before?.imageId, digest: before?.digest }]);
  });

  it("is not given an image that costs more than a download may", async () => {
    await using test = await deployed({ maxDownloadBytes: 5_000_000 });
    const { rig } = test;
    await replaceEngine(rig);
    const large = { layers: [6_000_000] };
    rig.engine.publish("example/large:1", large);
    rig.engine.addImage("example/large:1", large);
    rig.deployments.deploy("d2", { name: "large", image: "example/large:1", ports: [] });
    expect(await rig.untilEnd("d2")).toMatchObject({ status: "Success" });
    await replaceEngine(rig);
    await rig.clock.advance(600_000);
    expect(rig.engine.container("app")?.status).toBe("running");
    expect(rig.engine.container("large")).toBeUndefined();
    expect(rig.log.join("")).toContain("the app's image could not be fetched again");
  });

  it("is tried again, ever more seldom, while the registry is out of reach", async () => {
    await using test = await deployed();
    const { rig } = test;
    await replaceEngine(rig);
    rig.engine.publish(IMAGE, new EngineError("registry_unreachable", "no route to host"));
    await rig.clock.advance(1_200_000);
    const tries = rig.log.filter((line) => line.includes("the app's image could not be fetched again")).length;
    expect(tries).toBeGreaterThan(2);
    expect(tries).toBeLessThan(10);
    rig.engine.publish(IMAGE);
    await rig.clock.advance(1_800_000);
    expect(rig.engine.container("app")?.status).toBe("running");
  });

  it("does not keep the other apps waiting while an image is fetched", async () => {
    await using test = await deployed();
    const { rig } = test;
    rig.engine.addImage("example/other:1", { pullMs: 5 });
    rig.deployments.deploy("d2", { name: "other", image: "example/other:1", ports: [] });
    await rig.untilEnd("d2");
    await replaceEngine(rig);
    rig.engine.addImage("example/other:1", { pullMs: 5 });
    rig.engine.publish(IMAGE, { pullMs: 1e9 });
    await rig.clock.advance(60_000);
    expect(rig.engine.container("other")?.status).toBe("running");
    expect(rig.engine.container("app")).toBeUndefined();
  });
});
