import { describe, expect, it } from "vitest";
import { AgentRig } from "../../support/agent-rig.ts";

const image = (app: string): string => `example/${app}:1`;
const entry = (name: string, fields: object = {}) => ({
  app: { name, image: image(name), pull: "missing", ...fields },
});
const group = (apps: readonly object[]) => ({ project: "line", apps });
const denied = (path: string) => ({ volumes: [{ local: path, target: "/r", readonly: true }] });

describe("a dry run that fails", () => {
  it("says what is wrong with each app, and tells of nothing that did not happen", async () => {
    const policy = { privileged: true, host_network: true, mounts: { allow: ["/srv"], deny: [] } };
    await using rig = new AgentRig({ policy: { ...policy, registries: { allow: [] } } });
    for (const app of ["ok", "a", "b"]) rig.engine.addImage(image(app));
    rig.deployments.apply("g1", group([entry("ok"), entry("a", denied("/etc")), entry("b", denied("/opt"))]), {
      dry_run: true,
    });
    const end = await rig.untilEnd("g1");
    expect(end).toMatchObject({
      status: "Fail",
      code: "PolicyDenied",
      message:
        "App a: This device does not allow mounting /etc. App b: This device does not allow mounting /opt. No app was changed.",
      details: { app: "a", failures: [{ app: "a" }, { app: "b", code: "PolicyDenied" }] },
    });
    const told = JSON.stringify(rig.events("g1"));
    for (const story of ["go back", "goes back", "brought back", "goes on trying"]) expect(told).not.toContain(story);
    expect(end?.details).not.toHaveProperty("not_restored");
    expect(rig.store.apps()).toEqual([]);
  });

  it("is not taken for one that could not be undone where another app fails beside it", async () => {
    const policy = { privileged: true, host_network: true, mounts: { allow: ["/srv"], deny: [] } };
    await using rig = new AgentRig({ policy: { ...policy, registries: { allow: [] } } });
    for (const app of ["a", "b"]) rig.engine.addImage(image(app));
    rig.deployments.apply("g1", group([entry("a", denied("/etc")), entry("b", denied("/opt"))]));
    const end = await rig.untilEnd("g1");
    expect(end?.message).toContain("No app was changed.");
    expect(end?.details).not.toHaveProperty("not_restored");
  });

  it("says that an app of the project is in the way which the request leaves out", async () => {
    await using rig = new AgentRig();
    for (const app of ["old", "new"]) rig.engine.addImage(image(app));
    const volumes = [{ name: "data", target: "/data" }];
    rig.deployments.apply("g1", group([entry("old", { volumes })]));
    expect(await rig.untilEnd("g1")).toMatchObject({ status: "Success" });
    rig.deployments.apply("g2", group([entry("new", { volumes })]), { dry_run: true });
    const end = await rig.untilEnd("g2");
    expect(end?.message).toContain("old is of the same project and not in the request: prune removes it first.");
  });
});
