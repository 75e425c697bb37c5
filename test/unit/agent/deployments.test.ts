import { describe, expect, it } from "vitest";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import type { DeviceEvent } from "../../../src/protocol/deployments/deployment-event.ts";
import { AgentRig } from "../../support/agent-rig.ts";

const IMAGE = "example/app:1";
const SECRET = "planted-secret-value";
const request = (fields: Record<string, unknown> = {}) => ({ name: "app", image: IMAGE, ...fields });
const withPort = (host_port: number, name = "app") => request({ name, ports: [{ host_port, target_port: 80 }] });
const steps = (events: readonly DeviceEvent[]) => events.map(({ status, step }) => `${status} ${step}`);

describe("a deployment", () => {
  it("runs an image that is present without pulling it, every step an event", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    rig.deployments.deploy("d1", request());
    await rig.untilEnd("d1");
    expect(steps(rig.events("d1"))).toEqual([
      "Running checking",
      "Running pulling",
      "Running creating",
      "Running starting",
      "Running verifying",
      "Success done",
    ]);
    expect(rig.engine.container("app")?.status).toBe("running");
    expect(rig.store.apps().map(({ name }) => name)).toEqual(["app"]);
  });

  it("is on disk when the command returns", async () => {
    await using rig = new AgentRig();
    rig.deployments.deploy("d1", request());
    expect(rig.store.deployment("d1")).toMatchObject({ outcome: "pending", app: "app" });
    expect(rig.deployments.openDeployments()).toEqual(["d1"]);
  });

  it("hands the engine everything that was asked for", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    const volumes = [{ local: "/data", target: "/d", readonly: true }];
    const environments = [{ key: "A", value: "1" }];
    const fields = { ports: [{ host_port: 30_001, target_port: 80 }], volumes, environments, privileged: true };
    rig.deployments.deploy("d1", request(fields));
    await rig.untilEnd("d1");
    expect(rig.engine.container("app")?.request).toMatchObject({
      name: "app",
      image: IMAGE,
      environment: ["A=1"],
      ports: [{ hostPort: 30_001, targetPort: 80 }],
      volumes,
      privileged: true,
      hostNetwork: false,
      restartPolicy: "unless-stopped",
      labels: { "io.edge-agent.app": "app", "io.edge-agent.deployment": "d1" },
    });
    expect(rig.engine.container("app")?.request.labels["io.edge-agent.spec-hash"]).toMatch(/^[0-9a-f]{64}$/);
  });

  it("pulls an absent image with at most one progress event a second, kept collapsed to the last", async () => {
    await using rig = new AgentRig();
    rig.engine.publish(IMAGE, { pullMs: 10_000 });
    const seen: DeviceEvent[] = [];
    using _listening = rig.store.onEvents(() => seen.push(...rig.events("d1").slice(-1)));
    rig.deployments.deploy("d1", request());
    await rig.untilEnd("d1");
    const progress = seen.filter((event) => event.progress !== undefined);
    expect(progress.length).toBeGreaterThan(5);
    expect(progress.length).toBeLessThanOrEqual(11);
    expect(progress.map((event) => event.progress)).toEqual(
      progress.map((event) => event.progress).toSorted((a = 0, b = 0) => a - b),
    );
    expect(progress.at(-1)?.bytes?.total).toBe(4_000_000);
    expect(rig.events("d1").filter((event) => event.progress !== undefined)).toHaveLength(1);
  });

  it("asks the registry again for latest, and uses the image that is there when the registry does not answer", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage("example/app:latest");
    rig.engine.publish("example/app:latest", new EngineError("registry_unreachable", "connection refused"));
    rig.deployments.deploy("d1", request({ image: "example/app:latest" }));
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
    expect(rig.events("d1").map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/using the image that is on the device/),
    );
  });

  it("gives up on a registry that stays away, after as many attempts as configured", async () => {
    await using rig = new AgentRig();
    rig.engine.publish(IMAGE, new EngineError("registry_unreachable", "connection refused"));
    rig.deployments.deploy("d1", request());
    expect(await rig.untilEnd("d1")).toMatchObject({
      status: "Fail",
      code: "ImagePullBackOff",
      message: expect.stringMatching(/could not be reached: connection refused/),
    });
    expect(rig.events("d1").filter(({ message }) => /attempt \d of 3/.test(message))).toHaveLength(2);
  });

  it.each([
    ["image_not_found", /no such image/],
    ["image_denied", /denies/],
    ["wrong_platform", /not built for this device/],
  ] as const)("does not try again after %s", async (kind, message) => {
    await using rig = new AgentRig();
    rig.engine.publish(IMAGE, new EngineError(kind, "says the registry"));
    rig.deployments.deploy("d1", request());
    expect(await rig.untilEnd("d1", 1_000)).toMatchObject({
      status: "Fail",
      code: "ImagePullBackOff",
      message: expect.stringMatching(message),
    });
  });

  it.each([
    ["ErrorNoName", { image: IMAGE }],
    ["ErrorNoImage", { name: "app" }],
    ["InvalidRequest", request({ bogus: 1 })],
    ["ErrorNodePortIsNotCorrectRange", withPort(29_999)],
    ["InvalidRequest", "no object at all"],
  ])("checks the request again on the device: %s", async (code, input) => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    rig.deployments.deploy("d1", input);
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Fail", code });
    expect(rig.engine.containers).toEqual([]);
  });

  it("takes a command it already holds for the same", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    rig.deployments.deploy("d1", request());
    rig.deployments.deploy("d1", request());
    await rig.untilEnd("d1");
    rig.deployments.deploy("d1", request());
    await rig.clock.advance(10_000);
    expect(steps(rig.events("d1")).filter((step) => step === "Success done")).toHaveLength(1);
    expect(rig.engine.containers).toHaveLength(1);
  });
});

describe("two deployments at once", () => {
  it("of different apps run side by side", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    rig.deployments.deploy("d1", withPort(30_001, "one"));
    rig.deployments.deploy("d2", withPort(30_002, "two"));
    expect([await rig.untilEnd("d1"), await rig.untilEnd("d2")]).toMatchObject([
      { status: "Success" },
      { status: "Success" },
    ]);
  });

  it("that want one port: the first wins, the other is told who has it", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    rig.deployments.deploy("d1", withPort(30_001, "one"));
    rig.deployments.deploy("d2", withPort(30_001, "two"));
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
    expect(await rig.untilEnd("d2")).toMatchObject({
      code: "ErrorPortInUse",
      message: "The desired port is already in use.",
      details: { host_port: 30_001, holder: { kind: "deployment", name: "one" } },
    });
  });

  it("that want one name: the first wins", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    rig.deployments.deploy("d1", request());
    rig.deployments.deploy("d2", request());
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
    expect(await rig.untilEnd("d2")).toMatchObject({
      code: "ErrorDeploymentAlreadyExist",
      details: { deployment_id: "d1" },
    });
  });

  it("pull two images at a time, and a third says that it waits", async () => {
    await using rig = new AgentRig();
    for (const tag of [1, 2, 3]) {
      rig.engine.publish(`example/app:${tag}`, { pullMs: 5_000 });
      rig.deployments.deploy(`d${tag}`, request({ name: `app${tag}`, image: `example/app:${tag}` }));
    }
    await Promise.all(["d1", "d2", "d3"].map((id) => rig.untilEnd(id)));
    const waiting = ["d1", "d2", "d3"].filter((id) =>
      rig.events(id).some(({ message }) => /Waiting for another/.test(message)),
    );
    expect(waiting).toHaveLength(1);
  });
});

describe("a deployment that fails", () => {
  it("leaves no container of a crashing app, and says how it ended", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE, { behaviour: { exit: { code: 3, afterMs: 700 }, logs: [`using ${SECRET}`, "bye"] } });
    rig.deployments.deploy("d1", request({ environments: [{ key: "PASSWORD", value: SECRET, secret: true }] }));
    const end = await rig.untilEnd("d1");
    expect(end).toMatchObject({
      status: "Fail",
      code: "CrashLoopBackOff",
      message: expect.stringContaining("exit code 3"),
    });
    expect(end?.details).toMatchObject({
      exit_code: 3,
      oom_killed: false,
      logs: expect.arrayContaining(["using ***", "bye"]),
    });
    expect(rig.engine.containers).toEqual([]);
    expect(rig.store.apps()).toEqual([]);
  });

  it("quotes undeclared values in the app's last output, and has them in no log of its own", async () => {
    await using rig = new AgentRig();
    const logs = ["listening on 0.0.0.0:8080 in mode server"];
    const environments = Object.entries({ PORT: "8080", MODE: "server" }).map(([key, value]) => ({ key, value }));
    rig.engine.addImage(IMAGE, { behaviour: { exit: { code: 3, afterMs: 700 }, logs } });
    rig.engine.addImage("h/bad:1", {
      behaviour: { health: { becomes: "unhealthy", afterMs: 2_000, output: "8080: no answer" } },
    });
    rig.deployments.deploy("d1", request({ environments }));
    rig.deployments.deploy("d2", request({ name: "bad", image: "h/bad:1", environments }));
    expect(await rig.untilEnd("d1")).toMatchObject({ details: { logs: expect.arrayContaining(logs) } });
    expect(await rig.untilEnd("d2")).toMatchObject({ details: { output: "8080: no answer" } });
    expect(rig.log.filter((line) => /8080|server/.test(line))).toEqual([]);
    // The rest of the details is logged.
    expect(rig.log.join("")).toContain('"exit_code":3');
  });

  it("tells an app that runs out of memory", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE, { behaviour: { exit: { code: 137, afterMs: 100, oomKilled: true } } });
    rig.deployments.deploy("d1", request());
    expect(await rig.untilEnd("d1")).toMatchObject({
      message: expect.stringMatching(/memory/),
      details: { oom_killed: true },
    });
  });

  it("waits for a health check, and does not wait for ever", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage("h/good:1", { behaviour: { health: { becomes: "healthy", afterMs: 8_000 } } });
    rig.engine.addImage("h/bad:1", {
      behaviour: { health: { becomes: "unhealthy", afterMs: 2_000, output: "no answer" } },
    });
    rig.engine.addImage("h/never:1", { behaviour: { health: { becomes: "healthy" } } });
    for (const kind of ["good", "bad", "never"])
      rig.deployments.deploy(kind, request({ name: kind, image: `h/${kind}:1` }));
    expect(await rig.untilEnd("good")).toMatchObject({ status: "Success" });
    expect(await rig.untilEnd("bad")).toMatchObject({ code: "Unhealthy", details: { output: "no answer" } });
    expect(await rig.untilEnd("never")).toMatchObject({
      code: "Unhealthy",
      message: expect.stringMatching(/within 20 s/),
    });
    expect(rig.engine.containers.map(({ request: { name } }) => name)).toEqual(["good"]);
  });

  it("finds a port that was taken after the check", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    rig.host.listening.set(30_009, { pid: 7, name: "other" });
    using _port = rig.engine.occupyPort(30_001);
    rig.deployments.deploy("d1", withPort(30_001));
    expect(await rig.untilEnd("d1")).toMatchObject({
      code: "ErrorPortInUse",
      step: "starting",
      details: { host_port: 30_001 },
    });
    expect(rig.engine.containers).toEqual([]);
  });

  it("names the process that holds a port", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    rig.host.listening.set(30_001, { pid: 7, name: "other" });
    rig.deployments.deploy("d1", withPort(30_001));
    expect(await rig.untilEnd("d1")).toMatchObject({
      code: "ErrorPortInUse",
      step: "checking",
      details: { holder: { kind: "process", pid: 7, name: "other" } },
    });
  });

  it("fails at once while the engine is not there, before anything exists", async () => {
    await using rig = new AgentRig();
    using _away = rig.engine.faults.fail("listContainers", new EngineError("unavailable", "connection refused"), {
      times: 100,
    });
    rig.deployments.deploy("d1", request());
    expect(await rig.untilEnd("d1", 100)).toMatchObject({
      code: "EngineUnavailable",
      message: expect.stringMatching(/connection refused/),
    });
  });

  it("waits for an engine that is there and too busy to answer", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    using _busy = rig.engine.faults.fail("listContainers", new EngineError("timeout", "no answer"), { times: 3 });
    rig.deployments.deploy("d1", request());
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
  });

  it("masks what an engine repeats of the environment", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    using _bad = rig.engine.faults.fail("createContainer", new EngineError("invalid", `invalid variable: ${SECRET}`));
    rig.deployments.deploy("d1", request({ environments: [{ key: "A", value: SECRET }] }));
    expect(await rig.untilEnd("d1")).toMatchObject({ code: "InvalidRequest", message: expect.stringContaining("***") });
    expect(JSON.stringify(rig.events("d1")) + rig.log.join("")).not.toContain(SECRET);
  });

  it("ends in Internal after an error nobody foresaw, which the log holds", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    using _bug = rig.engine.faults.onCall(({ method }) => {
      if (method === "startContainer") throw new TypeError("x is not a function");
    });
    rig.deployments.deploy("d1", request());
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Fail", code: "Internal" });
    expect(rig.log.join("")).toContain("x is not a function");
    expect(rig.engine.containers).toEqual([]);
  });
});

describe("an engine that goes away in mid-deployment", () => {
  it("is waited for, and the deployment goes on", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    using _away = rig.engine.faults.fail("startContainer", new EngineError("unavailable", "gone"), { times: 3 });
    rig.deployments.deploy("d1", request());
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
    expect(rig.events("d1").filter(({ message }) => /waiting for it/.test(message))).toHaveLength(1);
  });

  it("is not waited for longer than patience allows; what is left is removed before the failure is told", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    let isAway = false;
    using away = rig.engine.faults.onCall(({ method, phase }) => {
      if (method === "startContainer" && phase === "before") isAway = true;
      if (isAway) throw new EngineError("unavailable", "gone");
    });
    rig.deployments.deploy("d1", request());
    await rig.clock.advance(200_000);
    expect(rig.last("d1")).toMatchObject({ status: "Running" });
    expect(rig.engine.containers).toHaveLength(1);
    isAway = false;
    away[Symbol.dispose]();
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Fail", code: "EngineUnavailable" });
    expect(rig.engine.containers).toEqual([]);
  });
});

describe("cancelling", () => {
  it("ends a deployment in any step and removes what it made", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    rig.deployments.deploy("d1", request());
    await rig.clock.advance(1_000);
    expect(rig.engine.container("app")?.status).toBe("running");
    rig.deployments.cancel("d1", "requested");
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Fail", code: "DeploymentCancelled" });
    expect(rig.engine.containers).toEqual([]);
  });

  it("stops a pull in its tracks", async () => {
    await using rig = new AgentRig();
    rig.engine.publish(IMAGE, { pullMs: 60_000 });
    rig.deployments.deploy("d1", request());
    await rig.clock.advance(5_000);
    rig.deployments.cancel("d1", "timeout");
    expect(await rig.untilEnd("d1", 100)).toMatchObject({ code: "DeploymentCancelled" });
  });

  it("undoes a success the control plane never took note of", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    rig.deployments.deploy("d1", request());
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
    rig.deployments.cancel("d1", "not_reachable");
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Fail", code: "DeploymentCancelled" });
    expect(rig.engine.containers).toEqual([]);
    expect(rig.store.apps()).toEqual([]);
  });

  it("of what is not there, or has failed already, changes nothing", async () => {
    await using rig = new AgentRig();
    rig.deployments.cancel("d9", "requested");
    rig.deployments.deploy("d1", withPort(1));
    await rig.untilEnd("d1");
    rig.deployments.cancel("d1", "requested");
    await rig.clock.advance(1_000);
    expect(rig.last("d1")).toMatchObject({ code: "ErrorNodePortIsNotCorrectRange" });
  });
});
