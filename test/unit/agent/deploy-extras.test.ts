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

  it("warns about variables that look like secrets and are not declared, by their names", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    const environments = [
      { key: "DB_PASSWORD", value: "planted-one" },
      { key: "API_TOKEN", value: "planted-two" },
      { key: "SMTP_PASS", value: "planted-three", secret: true },
      { key: "PIN", value: "123", secret: true },
      { key: "TZ", value: "planted-four" },
    ];
    const warnings = async (id: string): Promise<string[]> => {
      await rig.untilEnd(id);
      return rig.events(id).flatMap(({ message }) => (/secret/.test(message) ? [message] : []));
    };
    const both = [
      "DB_PASSWORD and API_TOKEN look like secrets and are not declared as such (environments[].secret): " +
        "if the app prints a value, its log shows it.",
      "A secret in PIN is too short to be masked in the app's log: secrets of less than 4 characters are not masked.",
    ];
    rig.deployments.deploy("dry", { ...REQUEST, environments }, { dry_run: true });
    expect(await warnings("dry")).toEqual(both);
    rig.deployments.deploy("d1", { ...REQUEST, environments });
    expect(await warnings("d1")).toEqual(both);
    // An update is about what it changes.
    const change = (id: string, changed: readonly object[]) =>
      rig.deployments.change(id, { action: "update", app: "app", spec: { environments: changed } });
    change(
      "d2",
      environments.map((entry) => (entry.key === "TZ" ? { ...entry, value: "UTC" } : entry)),
    );
    expect(await warnings("d2")).toEqual([]);
    const many = Array.from({ length: 13 }, (_, n) => ({ key: `KEY_${n}_TOKEN`, value: "planted" }));
    change("d3", [...environments.slice(1), ...many]);
    expect(await warnings("d3")).toEqual([expect.stringMatching(/^KEY_0_TOKEN, .*KEY_9_TOKEN and 3 more look/)]);
    change("d4", [{ key: "DB_PASSWORD", value: "planted" }]);
    expect(await warnings("d4")).toEqual([expect.stringMatching(/^DB_PASSWORD looks like a secret and is not/)]);
    expect(JSON.stringify(["dry", "d1", "d3"].map((id) => rig.events(id))) + rig.log.join("")).not.toContain("planted");
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
