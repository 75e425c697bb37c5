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

/** The pulls of the engine's own, from the registry. */
function pullsOf({ engine }: AgentRig): readonly unknown[] {
  const pulls: unknown[] = [];
  engine.faults.onCall(({ method, args: [reference] }) => {
    if (method === "pullImage" && reference === IMAGE) pulls.push(reference);
  });
  return pulls;
}

const page = () =>
  new RegistryError(
    "foreign_answer",
    "registry.example.com: the network answers with a page of its own (HTML); does it want a login?",
    {
      receivedBytes: 4_000,
    },
  );

describe("a page in place of the registry's answer", () => {
  it("that comes once costs an attempt: the price is known, and the engine is not asked", async () => {
    const rig = rigWith({ pullBy: "agent" });
    const pulls = pullsOf(rig);
    rig.engine.publish(IMAGE);
    rig.registry.failures.push(page());
    expect(await deploy(rig)).toMatchObject({ status: "Success" });
    expect(rig.events("d1").map(({ message }) => message)).toContainEqual(expect.stringContaining("to download"));
    expect(pulls).toEqual([]);
  });

  it("that comes for ever ends in ImagePullBackOff that says so, without the engine's own try", async () => {
    const rig = rigWith({ pullAttempts: 4 });
    const pulls = pullsOf(rig);
    rig.engine.publish(IMAGE, new EngineError("unknown", "invalid character '<' looking for beginning of value"));
    rig.registry.failures.push(...Array.from({ length: 10 }, page));
    const last = await deploy(rig);
    expect(last).toMatchObject({
      status: "Fail",
      code: "ImagePullBackOff",
      details: { reason: "foreign_answer", next: expect.stringMatching(/want a login/) as string },
    });
    expect(last?.message).toMatch(/^Something answers in place of the registry: .*login\?$/);
    expect(rig.registry.asked.filter((what) => what === "image")).toHaveLength(4);
    expect(pulls).toEqual([]);
  });
});
