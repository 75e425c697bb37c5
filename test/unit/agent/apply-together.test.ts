import { describe, expect, it } from "vitest";
import type { ApplyRequestInput } from "../../../src/protocol/apps/apply.ts";
import { AgentRig } from "../../support/agent-rig.ts";

const image = (app: string): string => `example/${app}:1`;
const entry = (name: string, fields: Record<string, unknown> = {}) => ({
  app: { name, image: image(name), ...fields },
});
const group = (apps: ApplyRequestInput["apps"]): ApplyRequestInput => ({ project: "line", apps });

describe("apps of a group that need each other", () => {
  it("waits for an app to complete where another depends on that", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(image("web"));
    rig.engine.addImage(image("migrate"), { behaviour: { exit: { afterMs: 60_000, code: 0 } } });
    const web = { ...entry("web"), depends_on: [{ app: "migrate", condition: "completed" as const }] };
    rig.deployments.apply("g1", group([web, entry("migrate", { restart_policy: "no" })]));
    expect(await rig.untilEnd("g1")).toMatchObject({ status: "Success", details: { changed: ["migrate", "web"] } });
    const steps = rig.events("g1").map(({ app, step }) => `${app ?? ""} ${step}`);
    expect(steps.indexOf("web creating")).toBeGreaterThan(steps.lastIndexOf("migrate verifying"));
    expect(rig.engine.container("migrate")?.status).toBe("exited");
  });

  it.each([
    ["ends with an error", { exit: { afterMs: 60_000, code: 1 } }, "CrashLoopBackOff"],
    ["does not end", {}, "Unhealthy"],
  ])("fails where an app that others wait for %s", async (_, behaviour, code) => {
    await using rig = new AgentRig();
    rig.engine.addImage(image("web"));
    rig.engine.addImage(image("migrate"), { behaviour });
    const web = { ...entry("web"), depends_on: [{ app: "migrate", condition: "completed" as const }] };
    rig.deployments.apply("g1", group([web, entry("migrate", { restart_policy: "no" })]));
    expect(await rig.untilEnd("g1")).toMatchObject({ status: "Fail", code, details: { app: "migrate" } });
    expect(rig.engine.container("web")).toBeUndefined();
  });

  it("changes apps that write to one volume together, again and again", async () => {
    await using rig = new AgentRig();
    for (const app of ["db", "web"]) rig.engine.addImage(image(app));
    const volumes = [{ name: "data", target: "/data", shared: true }];
    const apps = (level: string) =>
      ["db", "web"].map((app) => entry(app, { volumes, environments: [{ key: "LEVEL", value: level }] }));
    for (const [index, level] of ["1", "2", "3"].entries()) {
      rig.deployments.apply(`g${index}`, group(apps(level)));
      expect(await rig.untilEnd(`g${index}`)).toMatchObject({ status: "Success", details: { changed: ["db", "web"] } });
    }
  });
});
