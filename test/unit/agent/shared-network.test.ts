import { describe, expect, it } from "vitest";
import { LABELS } from "../../../src/agent/core/app/container.ts";
import { AppReconciler } from "../../../src/agent/steps/app-reconciler.ts";
import type { AppAction } from "../../../src/protocol/deployments/deployment-action.ts";
import { AgentRig, type RigConfig } from "../../support/agent-rig.ts";

const IMAGE = "example/app:1";
const NEXT = "example/app:2";
const signal = new AbortController().signal;

let count = 0;
function change(rig: AgentRig, app: string, action: AppAction, spec?: unknown) {
  const id = `c${++count}`;
  rig.deployments.change(id, { action, app, spec });
  return rig.untilEnd(id);
}

async function deploy(rig: AgentRig, name: string, fields: object = {}) {
  rig.deployments.deploy(`d-${name}`, { name, image: IMAGE, ...fields });
  return await rig.untilEnd(`d-${name}`);
}

/** A device with `vpn`, and with `client`, which has the network of that. */
async function withClient(fields: object = {}, config: Partial<RigConfig> = {}): Promise<AgentRig> {
  const rig = new AgentRig(config);
  for (const image of [IMAGE, NEXT]) rig.engine.addImage(image);
  expect(await deploy(rig, "vpn")).toMatchObject({ status: "Success" });
  expect(await deploy(rig, "client", { network: "app:vpn", ...fields })).toMatchObject({ status: "Success" });
  return rig;
}

async function reconcile(rig: AgentRig): Promise<void> {
  const reconciler = new AppReconciler({
    ...rig.services,
    rebuild: { isSet: false, clear: () => {} },
    lease: (app) => rig.deployments.lease(app),
    endedRuns: () => rig.deployments.endedRuns,
  });
  const round = reconciler.reconcile(signal);
  // What is stopped takes its time.
  await rig.clock.advance(20_000);
  await round;
}

const id = (rig: AgentRig, app: string): string => rig.engine.container(app)!.id;
const joined = (rig: AgentRig, app = "client"): unknown => rig.engine.container(app)?.request.network;

describe("an app with the network of another one", () => {
  it("has that one's, is on no other, and says which container's", async () => {
    await using rig = await withClient();
    expect(joined(rig)).toEqual({ container: id(rig, "vpn") });
    expect(rig.engine.container("client")!.request.labels[LABELS.networkOf]).toBe(id(rig, "vpn"));
    expect(rig.engine.container("client")!.joinable).toBeUndefined();
    expect(rig.engine.networks.names).toEqual(["edge-agent"]);
    await reconcile(rig);
    expect(joined(rig)).toEqual({ container: id(rig, "vpn") });
  });

  it.each<[string, (rig: AgentRig) => Promise<unknown>]>([
    ["updated", (rig) => change(rig, "vpn", "update", { image: NEXT })],
    ["restarted", (rig) => change(rig, "vpn", "restart")],
    [
      "started again by its engine",
      async (rig) => {
        await rig.clock.advance(5_000);
        rig.engine.container("vpn")!.exit(1);
        await rig.clock.advance(5_000);
      },
    ],
    ["removed by hand", async (rig) => rig.engine.removeContainer("vpn", signal)],
  ])("gets another container, and time to end, once that one is %s", async (_how, happen) => {
    await using rig = await withClient({ restart_policy: "on-failure" });
    const before = id(rig, "client");
    const stopped: unknown[] = [];
    using _calls = rig.engine.faults.onCall(({ method, args }) => {
      if (method === "stopContainer") stopped.push(args[0]);
    });
    await happen(rig);
    await reconcile(rig);
    expect(rig.engine.container("vpn")!.status).toBe("running");
    expect(id(rig, "client")).not.toBe(before);
    expect(joined(rig)).toEqual({ container: id(rig, "vpn") });
    expect(rig.engine.container("client")!.status).toBe("running");
    expect(stopped).toContain(before);
    // And then it stays as it is.
    const after = id(rig, "client");
    await reconcile(rig);
    expect(id(rig, "client")).toBe(after);
  });

  it("is left alone where it runs once only, and where it was stopped", async () => {
    await using rig = await withClient({ restart_policy: "no" });
    const before = id(rig, "client");
    await change(rig, "vpn", "restart");
    await reconcile(rig);
    expect(id(rig, "client")).toBe(before);
    await change(rig, "client", "stop");
    await change(rig, "vpn", "update", { image: NEXT });
    await reconcile(rig);
    expect(id(rig, "client")).toBe(before);
    // The container that it had the network of is gone: it is started as another one.
    expect(await change(rig, "client", "start")).toMatchObject({ status: "Success" });
    expect(id(rig, "client")).not.toBe(before);
    expect(joined(rig)).toEqual({ container: id(rig, "vpn") });
  });

  it("does not run without it, and runs again when it does", async () => {
    await using rig = await withClient();
    await change(rig, "vpn", "stop");
    rig.engine.container("client")!.stop();
    await reconcile(rig);
    expect(rig.engine.container("client")!.status).toBe("exited");
    expect(await change(rig, "client", "start")).toMatchObject({
      status: "Fail",
      message: expect.stringContaining(
        "The app vpn, whose network this app has, does not run. Start that one first.",
      ) as string,
    });
    await change(rig, "vpn", "start");
    await rig.clock.advance(60_000);
    await reconcile(rig);
    expect(rig.engine.container("client")!.status).toBe("running");
  });

  it("keeps the other one from being removed, and from having yet another one's", async () => {
    await using rig = await withClient();
    expect(await change(rig, "vpn", "remove")).toMatchObject({
      status: "Fail",
      code: "InvalidRequest",
      message: expect.stringContaining("The app client has the network of vpn") as string,
    });
    await deploy(rig, "router");
    expect(await change(rig, "vpn", "update", { network: "app:router" })).toMatchObject({
      message: expect.stringContaining("the app client has the network of this one") as string,
    });
    expect(await deploy(rig, "chain", { network: "app:client" })).toMatchObject({
      message: expect.stringContaining("the app client has the network of another one itself") as string,
    });
    expect(await deploy(rig, "lost", { network: "app:nobody" })).toMatchObject({
      message: expect.stringContaining("there is no app nobody on the device") as string,
    });
    await change(rig, "client", "remove");
    expect(await change(rig, "vpn", "remove")).toMatchObject({ status: "Success" });
  });

  it("comes and goes with it in a group, which leaves none without", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    const client = { app: { name: "client", image: IMAGE, network: "app:vpn" }, depends_on: [{ app: "vpn" }] };
    const vpn = { app: { name: "vpn", image: IMAGE } };
    const apply = (id: string, request: object) => {
      rig.deployments.apply(id, { project: "line", ...request });
      return rig.untilEnd(id);
    };
    expect(await apply("g0", { apps: [client] })).toMatchObject({ status: "Fail" });
    expect(await apply("g1", { apps: [client, vpn] })).toMatchObject({ status: "Success" });
    expect(joined(rig)).toEqual({ container: id(rig, "vpn") });
    expect(await apply("g2", { apps: [], remove: ["vpn"] })).toMatchObject({
      status: "Fail",
      message: expect.stringContaining("The app client cannot have its network: there is no app vpn") as string,
    });
    expect(await apply("g3", { apps: [], remove: ["vpn", "client"] })).toMatchObject({ status: "Success" });
    expect(rig.engine.containers).toEqual([]);
  });

  it("may do what the other one may: on the host's network, as the policy says", async () => {
    const policy = { privileged: true, host_network: true, mounts: { allow: [], deny: [] }, registries: { allow: [] } };
    await using rig = new AgentRig({ policy });
    rig.engine.addImage(IMAGE);
    await deploy(rig, "vpn", { host_network: true });
    expect(await deploy(rig, "client", { network: "app:vpn" })).toMatchObject({ status: "Success" });
    policy.host_network = false;
    expect(await deploy(rig, "late", { network: "app:vpn" })).toMatchObject({ code: "PolicyDenied" });
  });
});
