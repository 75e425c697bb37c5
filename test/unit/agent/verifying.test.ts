import { describe, expect, it } from "vitest";
import { AgentRig } from "../../support/agent-rig.ts";

const IMAGE = "example/app:1";
const SECRET = "planted-secret-value";
const request = (fields: Record<string, unknown> = {}) => ({ name: "app", image: IMAGE, ...fields });

describe("the verification of an app", () => {
  it("says what to do about an app that ends with exit code 0", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE, { behaviour: { exit: { code: 0, afterMs: 700 } } });
    rig.deployments.deploy("d1", request());
    expect(await rig.untilEnd("d1")).toMatchObject({
      code: "CrashLoopBackOff",
      message:
        "The app ended by itself with exit code 0 while it was being verified. If that is all it has to do, deploy it " +
        "with restart_policy `no` or `on-failure` (edgectl: --restart no).",
      details: { exit_code: 0 },
    });
  });

  it("knows the exit code of an app that the engine restarts at once", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE, { behaviour: { exit: { code: 7, afterMs: 700 } } });
    rig.engine.faults.onCall(({ method, args: [id] }) => {
      // Between two runs: as with Podman, no sample sees it.
      const container = method === "inspectContainer" ? rig.engine.container(id as string) : undefined;
      if (container?.status === "restarting") container.start();
    });
    rig.deployments.deploy("d1", request());
    expect(await rig.untilEnd("d1")).toMatchObject({ code: "CrashLoopBackOff", details: { exit_code: 7 } });
  });

  it("gives a health check the time it asks for, and says every now and then that it waits", async () => {
    await using rig = new AgentRig();
    const healthcheck = { command: ["check"], interval_s: 10, timeout_s: 5, retries: 2, start_period_s: 60 };
    rig.engine.addImage("h/slow:1", { behaviour: { health: { becomes: "healthy", afterMs: 55_000 } } });
    rig.engine.addImage("h/never:1", {
      behaviour: {
        health: { becomes: "healthy", failing: `with ${SECRET}:\nnot yet` },
        logs: ["warming up", `with ${SECRET}`],
      },
    });
    const environments = [{ key: "PASSWORD", value: SECRET, secret: true }];
    rig.deployments.deploy("slow", request({ name: "slow", image: "h/slow:1", healthcheck }));
    rig.deployments.deploy("never", request({ name: "never", image: "h/never:1", healthcheck, environments }));
    expect(await rig.untilEnd("slow")).toMatchObject({ status: "Success" });
    const waits = (id: string) => rig.events(id).filter(({ message }) => message.startsWith("Waiting for the health"));
    expect(waits("slow").map(({ message }) => message)).toEqual([
      "Waiting for the health check: not healthy after 10 s of at most 95 s.",
      "Waiting for the health check: not healthy after 30 s of at most 95 s.",
    ]);
    // More than the device's own limit: the service gives the deployment this time.
    expect(waits("slow").map(({ details }) => details?.["waiting_s"])).toEqual([85, 65]);
    const end = await rig.untilEnd("never");
    expect(end).toMatchObject({
      code: "Unhealthy",
      message:
        "The app's health check did not become healthy within 95 s: its start period, interval, timeout and retries " +
        "allow no more. A request can set health_timeout_s.",
      details: { health: "starting", waited_s: 95, limit_s: 95, limit_from: "healthcheck" },
    });
    expect(end?.details?.["logs"]).toEqual(["warming up", "with ***"]);
    expect(waits("never").map(({ message }) => message)).toEqual(
      [10, 30, 90].map((seconds) => {
        return `Waiting for the health check: not healthy after ${seconds} s of at most 95 s. Its last output: with ***: not yet`;
      }),
    );
  });

  it("gives an app the time the request sets, and names the device's setting otherwise", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE, { behaviour: { health: { becomes: "healthy", afterMs: 40_000 } } });
    rig.deployments.deploy("d1", request());
    expect(await rig.untilEnd("d1")).toMatchObject({
      code: "Unhealthy",
      message:
        "The app's health check did not become healthy within 20 s, the device's `deploy.health_timeout_s`. A request " +
        "can set health_timeout_s.",
      details: { limit_s: 20, limit_from: "deploy.health_timeout_s" },
    });
    rig.deployments.deploy("d2", request({ health_timeout_s: 45 }));
    expect(await rig.untilEnd("d2")).toMatchObject({ status: "Success" });
    rig.deployments.deploy("d3", request({ name: "other", health_timeout_s: 2 }));
    expect(await rig.untilEnd("d3")).toMatchObject({
      code: "Unhealthy",
      message: "The app's health check did not become healthy within 2 s, the app's health_timeout_s.",
      details: { limit_s: 2, limit_from: "health_timeout_s" },
    });
  });

  it("is not silent over a long settle window either", async () => {
    await using rig = new AgentRig({ settleMs: 100_000 });
    rig.engine.addImage(IMAGE);
    rig.deployments.deploy("d1", request());
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
    const messages = rig.events("d1").map(({ message }) => message);
    expect(messages.filter((text) => text.startsWith("Waiting"))).toEqual([
      "Waiting whether the app stays up: it has for 10 s of 100 s.",
      "Waiting whether the app stays up: it has for 30 s of 100 s.",
      "Waiting whether the app stays up: it has for 90 s of 100 s.",
    ]);
  });

  it("of the previous version, in a rollback, has the time of that version", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE, { behaviour: { health: { becomes: "healthy", afterMs: 40_000 } } });
    rig.engine.addImage("example/app:2", { behaviour: { exit: { code: 7, afterMs: 100 } } });
    rig.deployments.deploy("d1", request({ health_timeout_s: 45 }));
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
    rig.deployments.change("d2", {
      action: "update",
      app: "app",
      spec: { image: "example/app:2", health_timeout_s: 5 },
    });
    expect(await rig.untilEnd("d2")).toMatchObject({
      code: "CrashLoopBackOff",
      message: expect.stringContaining("The previous version runs again."),
      details: { rolled_back: true },
    });
    const waits = rig.events("d2").filter(({ message }) => message.startsWith("Waiting for the health check"));
    expect(waits.map(({ step, message }) => `${step}: ${message}`)).toEqual([
      "rolling_back: Waiting for the health check: not healthy after 10 s of at most 45 s.",
      "rolling_back: Waiting for the health check: not healthy after 30 s of at most 45 s.",
    ]);
  });
});
