import { describe, expect, it, onTestFinished } from "vitest";
import { PulledImages } from "../../../../src/agent/cleanup/pulled-images.ts";
import { EngineError } from "../../../../src/agent/engine/engine-error.ts";
import { RegistryError } from "../../../../src/agent/registry/registry-error.ts";
import { AgentRig } from "../../../support/agent-rig.ts";

const MB = 1_000_000;
const IMAGE = "registry.example.com/team/app:1";

function newRig(): AgentRig {
  const rig = new AgentRig();
  onTestFinished(() => rig[Symbol.asyncDispose]());
  return rig;
}

async function deploy(rig: AgentRig, image: string) {
  rig.deployments.deploy("d1", { name: "web", image });
  return await rig.untilEnd("d1");
}

describe("what the check has found on the device", () => {
  const latest = "registry.example.com/team/app:latest";

  it("is not asked for again, and is asked for again after a failed pull", async () => {
    const rig = newRig();
    const asked: string[] = [];
    rig.engine.faults.onCall(({ method, phase }) => {
      if (phase === "before" && (method === "inspectImage" || method === "pullImage")) asked.push(method);
    });
    rig.engine.publish(IMAGE, { layers: [MB] });
    const unreachable = new RegistryError("registry_unreachable", "registry.example.com: no answer");
    rig.registry.failures.push(unreachable, unreachable);
    rig.engine.faults.fail("pullImage", new EngineError("registry_unreachable", "connection refused"));
    expect((await deploy(rig, IMAGE))?.status).toBe("Success");
    // The check, a pull by the engine, what is there instead, the second lookup, a pull by the agent.
    expect(asked).toEqual(["inspectImage", "pullImage", "inspectImage", "inspectImage", "pullImage"]);
  });

  it("is asked for again if the image is gone when the container is created", async () => {
    const rig = newRig();
    rig.engine.publish(IMAGE, { layers: [MB] });
    await rig.engine.pullImage(IMAGE, () => {}, new AbortController().signal);
    let removed = false;
    rig.engine.faults.onCall(async ({ method, phase, signal }) => {
      if (method !== "createContainer" || phase !== "before" || removed) return;
      removed = true;
      await rig.engine.untagImage(IMAGE, signal);
    });
    expect((await deploy(rig, IMAGE))?.status).toBe("Success");
    expect(rig.events("d1").map(({ message }) => message)).toContain(
      `Image ${IMAGE} is not on the device any more; it is fetched again.`,
    );
  });

  it("counts as what was there before the pull: the image it then gives again is never cleaned up", async () => {
    const rig = newRig();
    rig.engine.addImage(latest, { layers: [MB] });
    rig.engine.publish(latest, { layers: [MB] });
    expect((await deploy(rig, latest))?.status).toBe("Success");
    expect(new PulledImages(rig.store).all()).toEqual([]);
  });

  it("makes way for the image that is pulled, which may be cleaned up", async () => {
    const rig = newRig();
    rig.engine.addImage(latest, { layers: [2 * MB] });
    rig.engine.publish(latest, { layers: [MB] });
    expect((await deploy(rig, latest))?.status).toBe("Success");
    expect(new PulledImages(rig.store).all()).toMatchObject([{ reference: latest, before: null }]);
  });
});
