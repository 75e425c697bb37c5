import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findRefusal } from "../../../src/agent/core/deployment/check.ts";
import { oldVersionName, newVersionName, containerName, LABELS } from "../../../src/agent/core/app/container.ts";
import { newApp } from "../../../src/agent/core/records.ts";
import { AppReconciler } from "../../../src/agent/steps/app-reconciler.ts";
import { parseAppSpec, parseNewAppSpec } from "../../../src/protocol/apps/app-spec.ts";
import { AgentRig } from "../../support/agent-rig.ts";
import { EMPTY_HOST_STATE } from "../../support/empty-host-state.ts";

const IMAGE = "example/app:1";
const signal = new AbortController().signal;

/** Names that come near each other, and any. */
const name = fc
  .oneof(
    fc.tuple(
      fc.constantFrom("a", "b", "A", "a-app", "ab"),
      fc.array(fc.constantFrom("-app", ".edge-agent-new", ".edge-agent-old", ".Edge-Agent-New", "-"), { maxLength: 2 }),
    ),
    fc.tuple(fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$/), fc.constant([])),
  )
  .map(([first, more]) => [first, ...more].join(""));

const given = (app: string) => [containerName(app), newVersionName(app), oldVersionName(app)];

describe("names of containers", () => {
  it("are never those of another app that is accepted beside it", () => {
    fc.assert(
      fc.property(name, name, fc.constantFrom("apps", "concurrentDeployments"), (one, other, as) => {
        const accepted = [one, other].map((app) => parseNewAppSpec({ name: app, image: IMAGE }));
        fc.pre(one !== other && accepted.every(({ ok }) => ok));
        const first = parseAppSpec({ name: one, image: IMAGE });
        if (!first.ok) return;
        const there = as === "apps" ? { name: other, hostPorts: [] } : { id: "d2", app: other, hostPorts: [] };
        const refusal = findRefusal(first.spec, { ...EMPTY_HOST_STATE, [as]: [there] });
        const collides = given(one).some((called) => given(other).includes(called));
        const differInCaseOnly = one.toLowerCase() === other.toLowerCase();
        expect(refusal?.code).toBe(differInCaseOnly ? "AppExists" : collides ? "ErrorNameExists" : undefined);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("further names of an app on its networks", () => {
  it.each([
    ["is one of another app's", { aliases: ["BROKER"] }, "AppExists"],
    ["is another app's own", { aliases: ["mqtt"] }, "AppExists"],
    ["is free", { aliases: ["other"] }, undefined],
    ["is of an app on another network", { aliases: ["mqtt"], networks: ["own"] }, undefined],
    [
      "is of an app of the same project, which the apply has checked",
      { aliases: ["mqtt"], project: "line" },
      undefined,
    ],
  ])("are refused where one %s", (_, more, code) => {
    const parsed = ["mqtt", "app"].map((app) => parseAppSpec({ name: app, image: IMAGE, ...(app === "app" && more) }));
    const [there, asked] = parsed.map((result) => (result.ok ? result.spec : undefined));
    if (!there || !asked) throw new Error("is no app");
    const named = { ...there, aliases: ["broker"], project: "line" };
    const refusal = findRefusal(asked, { ...EMPTY_HOST_STATE, apps: [{ name: "mqtt", hostPorts: [], named }] });
    expect(refusal?.code).toBe(code);
  });

  it("are those under which the container is on its networks", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    rig.deployments.deploy("d1", { name: "app", image: IMAGE, aliases: ["broker"] });
    await rig.untilEnd("d1");
    expect(rig.engine.container("app")?.request.network).toMatchObject({ aliases: ["app", "broker"] });
    rig.deployments.deploy("d2", { name: "none", image: IMAGE, aliases: ["x"], network: "none" });
    expect(await rig.untilEnd("d2")).toMatchObject({ code: "InvalidRequest" });
  });
});

describe("an app named as the agent names versions, from a release that let it be", () => {
  it.each([".edge-agent-new", ".edge-agent-old"])("is changed, found again and removed as any: %s", async (ending) => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    const app = `web${ending}`;
    rig.deployments.deploy("d0", { name: app, image: IMAGE });
    expect(await rig.untilEnd("d0")).toMatchObject({ status: "Fail", code: "InvalidRequest" });
    const parsed = parseAppSpec({ name: app, image: IMAGE });
    if (!parsed.ok) throw parsed.error;
    const [labels, image] = [
      { [LABELS.app]: app, [LABELS.deployment]: "d1" },
      await rig.engine.inspectImage(IMAGE, signal),
    ];
    const containerId = await rig.engine.createContainer(
      {
        name: app,
        image: IMAGE,
        labels: { ...labels, [LABELS.stateDir]: rig.services.config.stateDir, [LABELS.image]: IMAGE },
        environment: [],
        ports: [],
        volumes: [],
        hostNetwork: false,
        privileged: false,
        restartPolicy: "unless-stopped",
        logLimit: { maxBytes: 1_000_000, maxFiles: 2 },
      },
      signal,
    );
    await rig.engine.startContainer(containerId, signal);
    const record = newApp(parsed.spec, { deploymentId: "d1", imageId: image!.id, containerId });
    rig.store.save({ app: record });
    expect(rig.store.apps()).toEqual([record]);
    // Its namesake, which would not get through its updates, is refused before anything is done.
    rig.deployments.deploy("d2", { name: "web", image: IMAGE });
    expect(await rig.untilEnd("d2")).toMatchObject({ code: "ErrorNameExists", details: { app } });
    const commands = [
      ["u1", "update"],
      ["s1", "stop"],
      ["s2", "start"],
      ["s3", "restart"],
    ] as const;
    for (const [id, action] of commands) {
      const spec = { environments: [{ key: "A", value: "b" }] };
      rig.deployments.change(id, { action, app, ...(action === "update" && { spec }) });
      expect([id, await rig.untilEnd(id)]).toMatchObject([id, { status: "Success" }]);
    }
    for (const [id] of commands) rig.store.acknowledge(id, 100);
    rig.store.save({ removedApp: app });
    const rebuild = { isSet: true, clear: () => void (rebuild.isSet = false) };
    const reconciler = new AppReconciler({
      ...rig.services,
      rebuild,
      lease: (held) => rig.deployments.lease(held),
      endedRuns: () => rig.deployments.endedRuns,
    });
    await reconciler.reconcile(signal);
    expect(rig.store.apps()).toMatchObject([{ name: app, deploymentId: "u1" }]);
    rig.deployments.change("r1", { action: "remove", app });
    expect(await rig.untilEnd("r1")).toMatchObject({ status: "Success" });
    expect(rig.engine.containers).toEqual([]);
  });
});
