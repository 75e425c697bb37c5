import { describe, expect, it } from "vitest";
import { LABELS } from "../../../src/agent/core/app/container.ts";
import { AgentRig } from "../../support/agent-rig.ts";

const IMAGE = "example/app:1";
const REQUEST = { name: "app", image: IMAGE };

describe("deploying with fields that are absent by default", () => {
  it("hands all of them to the engine, and keeps them on a label", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    rig.host.devices.add("/dev/ttyUSB0");
    rig.deployments.deploy("d1", {
      ...REQUEST,
      ports: [{ host_port: 30_053, target_port: 53, protocol: "udp" }],
      command: ["serve"],
      cpu_limit: 0.5,
      memory_limit: 64_000_000,
      devices: [{ local: "/dev/ttyUSB0" }],
      healthcheck: { command: ["check"], interval_s: 5 },
      restart_policy: "always",
    });
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
    const request = rig.engine.container("app")?.request;
    expect(request).toMatchObject({
      ports: [{ hostPort: 30_053, targetPort: 53, protocol: "udp" }],
      command: ["serve"],
      cpuLimit: 0.5,
      memoryLimit: 64_000_000,
      devices: [{ local: "/dev/ttyUSB0", target: "/dev/ttyUSB0", permissions: "rwm" }],
      healthcheck: { command: ["check"], intervalS: 5, timeoutS: 30, retries: 3, startPeriodS: 0 },
      restartPolicy: "always",
    });
    expect(JSON.parse(request?.labels[LABELS.extras] ?? "")).toMatchObject({ cpu_limit: 0.5, command: ["serve"] });
  });

  it("says on the label too that an app has none of them: left out, it would be the image's", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    rig.deployments.deploy("d1", REQUEST);
    await rig.untilEnd("d1");
    const { labels } = rig.engine.container("app")!.request;
    expect(Object.keys(labels).toSorted()).toEqual(Object.values(LABELS).toSorted());
    expect(labels).toMatchObject({ [LABELS.extras]: "{}", [LABELS.previousImage]: "" });
  });

  it("says which limits this kernel cannot hold an app to", async () => {
    await using rig = new AgentRig();
    Object.assign(rig.engine.engineInfo, { limits: { memory: false, cpu: true } });
    rig.engine.addImage(IMAGE);
    rig.deployments.deploy("d1", { ...REQUEST, memory_limit: 64_000_000, cpu_limit: 1 });
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
    const said = rig.events("d1").filter(({ message }) => message.includes("has no effect"));
    expect(said).toMatchObject([{ step: "checking", message: expect.stringContaining("memory_limit") as string }]);
  });

  it("refuses a device that is not there before anything is downloaded", async () => {
    await using rig = new AgentRig();
    rig.engine.publish(IMAGE);
    rig.deployments.deploy("d1", { ...REQUEST, devices: [{ local: "/dev/ttyUSB7" }] });
    expect(await rig.untilEnd("d1")).toMatchObject({ code: "InvalidRequest", step: "checking" });
    expect(await rig.engine.inspectImage(IMAGE, new AbortController().signal)).toBeUndefined();
  });

  it("takes an app that ends without an error for deployed, if it may end", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE, { behaviour: { exit: { code: 0, afterMs: 200 } } });
    rig.deployments.deploy("d1", { ...REQUEST, restart_policy: "no" });
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success", message: "App app is deployed." });
    expect(rig.events("d1").map(({ message }) => message)).toContain(
      "The app ended by itself, without an error, as its restart policy allows.",
    );
    expect(rig.engine.container("app")?.status).toBe("exited");
  });

  it("fails one that ends with an error, and leaves nothing of it", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE, { behaviour: { exit: { code: 3, afterMs: 200 } } });
    rig.deployments.deploy("d1", { ...REQUEST, restart_policy: "no" });
    expect(await rig.untilEnd("d1")).toMatchObject({ code: "CrashLoopBackOff", details: { exit_code: 3 } });
    expect(rig.engine.containers).toEqual([]);
  });
});
