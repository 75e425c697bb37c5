import { describe, expect, it, onTestFinished } from "vitest";
import { EngineError } from "../../../../src/agent/engine/engine-error.ts";
import { RegistryError } from "../../../../src/agent/registry/registry-error.ts";
import { AgentRig, type RigConfig } from "../../../support/agent-rig.ts";

const IMAGE = "registry.example.com/team/app:1";

function rigWith(config: Partial<RigConfig> = {}): AgentRig {
  const rig = new AgentRig(config);
  onTestFinished(() => rig[Symbol.asyncDispose]());
  return rig;
}

async function deploy(rig: AgentRig) {
  rig.deployments.deploy("d1", { name: "web", image: IMAGE }, {});
  return await rig.untilEnd("d1");
}

describe("a registry's answer that cannot be used", () => {
  it("is the registry's fault, also where the engine fails in words that are not known", async () => {
    const rig = rigWith();
    rig.engine.publish(IMAGE, new EngineError("unknown", "manifest has too many layers"));
    rig.registry.failures.push(
      new RegistryError("unsupported", "the registry sent a manifest that has more than 50000 values"),
    );
    const last = await deploy(rig);
    expect(last).toMatchObject({ status: "Fail", code: "ImagePullBackOff", details: { reason: "unsupported" } });
    expect(last?.message).toBe(
      "The registry's answer cannot be used: the registry sent a manifest that has more than 50000 values",
    );
  });

  it("is not called a registry that cannot be reached", async () => {
    const rig = rigWith({ pullAttempts: 2 });
    rig.engine.publish(IMAGE, new EngineError("wrong_content", "filesystem layer verification failed"));
    rig.registry.failures.push(
      ...Array.from({ length: 10 }, () => new RegistryError("unsupported", "registry.example.com: no answer")),
    );
    await deploy(rig);
    const texts = rig
      .events("d1")
      .map(({ message }) => message)
      .filter((text) => text.includes("verification failed"));
    expect(texts).toHaveLength(2);
    for (const text of texts) expect(text).toMatch(/^The registry sent wrong content/);
  });
});
