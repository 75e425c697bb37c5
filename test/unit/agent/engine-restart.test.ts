import { describe, expect, it } from "vitest";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { AgentRig } from "../../support/agent-rig.ts";

const IMAGE = "example/app:1";
const away = new EngineError("unavailable", "connect ENOENT");

/** An app that is being verified. */
async function verifying() {
  const rig = new AgentRig();
  rig.engine.addImage(IMAGE);
  rig.deployments.deploy("d1", { name: "app", image: IMAGE });
  await rig.clock.advance(1_000);
  expect(rig.last("d1")?.step).toBe("verifying");
  return rig;
}

describe("an engine that restarts while an app is verified", () => {
  it.each([
    ["and brings the app up again", (rig: AgentRig) => rig.engine.reboot()],
    ["and leaves the app down", (rig: AgentRig) => rig.engine.container("app")?.stop()],
  ])("%s: the app is not taken for one that crashes", async (_what, restart) => {
    await using rig = await verifying();
    const refusing = rig.engine.faults.onCall(({ phase }) => {
      if (phase === "before") throw away;
    });
    restart(rig);
    await rig.clock.advance(5_000);
    refusing[Symbol.dispose]();
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
    expect(rig.engine.container("app")?.status).toBe("running");
  });

  it("still finds an app that crashes afterwards", async () => {
    await using rig = await verifying();
    const refusing = rig.engine.faults.onCall(({ phase }) => {
      if (phase === "before") throw away;
    });
    await rig.clock.advance(5_000);
    refusing[Symbol.dispose]();
    await rig.clock.advance(500);
    rig.engine.container("app")?.exit(1);
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Fail", code: "CrashLoopBackOff" });
  });
});
