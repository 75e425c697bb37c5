import { describe, expect, it } from "vitest";
import { timingsOf } from "../../../src/protocol/deployments/deployment-timings.ts";
import { AgentRig } from "../../support/agent-rig.ts";

const IMAGE = "example/app:1";
const request = (fields: Record<string, unknown> = {}) => ({ name: "app", image: IMAGE, ...fields });

/** The fake engine takes this long, in milliseconds, for each of these calls. */
function slow(rig: AgentRig, durations: Readonly<Record<string, number>>): void {
  rig.engine.faults.onCall(async ({ method, phase, signal }) => {
    const ms = phase === "before" ? durations[method] : undefined;
    if (ms !== undefined) await rig.clock.sleep(ms, signal);
  });
}

describe("the times of a deployment's steps", () => {
  it("say what each step took, and the engine's part of it; calls side by side count once", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    // Two of the check, at the same time, of which one takes longer.
    slow(rig, { listContainers: 30, inspectImage: 50, createContainer: 200, startContainer: 100 });
    rig.deployments.deploy("d1", request());
    expect(timingsOf((await rig.untilEnd("d1")) ?? {})).toEqual({
      total_ms: 3_350,
      steps: [
        { step: "checking", ms: 50, engine_ms: 50 },
        { step: "creating", ms: 200, engine_ms: 200 },
        { step: "starting", ms: 100, engine_ms: 100 },
        // The app is watched for three seconds.
        { step: "verifying", ms: 3_000, engine_ms: 0 },
      ],
    });
  });

  it("belong to the deployment whose call it was, beside others", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    rig.engine.faults.onCall(async ({ method, phase, args, signal }) => {
      const name = (args[0] as { readonly name?: string } | undefined)?.name;
      if (method === "createContainer" && phase === "before" && name?.includes("slow"))
        await rig.clock.sleep(1_000, signal);
    });
    rig.deployments.deploy("slow", request({ name: "slow" }));
    rig.deployments.deploy("quick", request({ name: "quick" }));
    const creating = async (id: string) =>
      timingsOf((await rig.untilEnd(id)) ?? {})?.steps.find(({ step }) => step === "creating");
    expect(await creating("quick")).toEqual({ step: "creating", ms: 0, engine_ms: 0 });
    expect(await creating("slow")).toEqual({ step: "creating", ms: 1_000, engine_ms: 1_000 });
  });

  it("count the calls of the image's provider, which pulls", async () => {
    await using rig = new AgentRig();
    rig.engine.publish(IMAGE);
    slow(rig, { pullImage: 700 });
    rig.deployments.deploy("d1", request());
    const timings = timingsOf((await rig.untilEnd("d1")) ?? {});
    expect(timings?.steps).toContainEqual({ step: "pulling", ms: 700, engine_ms: 700 });
  });

  it("are in a failure too, with the rollback", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE, { behaviour: { exit: { code: 7, afterMs: 500 } } });
    slow(rig, { removeContainer: 40 });
    rig.deployments.deploy("d1", request());
    const end = await rig.untilEnd("d1");
    expect(end).toMatchObject({ status: "Fail", details: { exit_code: 7 } });
    const timings = timingsOf(end ?? {});
    expect(timings?.steps.map(({ step }) => step)).toEqual([
      "checking",
      "creating",
      "starting",
      "verifying",
      "rolling_back",
    ]);
    expect(timings?.steps.at(-1)).toEqual({ step: "rolling_back", ms: 40, engine_ms: 40 });
  });

  it("after a restart of the agent are those since then, and say so", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    slow(rig, { createContainer: 200 });
    rig.deployments.deploy("d1", request());
    await rig.clock.advance(1_000);
    await rig.restart();
    const end = await rig.untilEnd("d1");
    expect(end?.status).toBe("Success");
    expect(timingsOf(end ?? {})).toEqual({
      total_ms: 3_000,
      // It runs already.
      steps: [{ step: "verifying", ms: 3_000, engine_ms: 0 }],
      since_restart: true,
    });
  });

  it("are absent where no step was taken", async () => {
    await using rig = new AgentRig();
    rig.deployments.deploy("d1", { name: "app" });
    const end = await rig.untilEnd("d1");
    expect(end).toMatchObject({ status: "Fail", code: "ErrorNoImage" });
    expect(end?.details ?? {}).not.toHaveProperty("timings");
  });

  it("are in the log for those who search, and not beside the end of the deployment", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    slow(rig, { createContainer: 200 });
    rig.deployments.deploy("d1", request());
    await rig.untilEnd("d1");
    const lines = rig.log.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toContainEqual(
      expect.objectContaining({ level: 20, deployment: "d1", step: "create", ms: 200, engine_ms: 200 }),
    );
    expect(lines.find(({ status }) => status === "Success")).not.toHaveProperty("timings");
  });
});
