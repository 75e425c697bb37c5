import { describe, expect, it } from "vitest";
import { LABELS } from "../../../src/agent/core/app/container.ts";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { enginePrefix } from "../../../src/agent/engine/engine-prefix.ts";
import { AppReconciler } from "../../../src/agent/steps/app-reconciler.ts";
import type { AppAction } from "../../../src/protocol/deployments/deployment-action.ts";
import { AgentRig, type RigConfig } from "../../support/agent-rig.ts";

const IMAGE = "example/app:1";
const BROKEN = "example/app:2";
const SHARED = "edge-agent";
const STATE_DIR = "/var/lib/edge-agent";
const OPEN = {
  privileged: true,
  host_network: true,
  mounts: { allow: [], deny: [] },
  registries: { allow: [] },
  external_networks: { allow: ["*"] },
};
const signal = new AbortController().signal;

function rigWith(config: Partial<RigConfig> = {}): AgentRig {
  const rig = new AgentRig(config);
  rig.engine.addImage(IMAGE);
  rig.engine.addImage(BROKEN, { behaviour: { exit: { code: 1, afterMs: 10 } } });
  return rig;
}

async function deploy(rig: AgentRig, name: string, fields: object = {}) {
  rig.deployments.deploy(`d-${name}`, { name, image: IMAGE, ...fields });
  return await rig.untilEnd(`d-${name}`);
}

let count = 0;
function change(rig: AgentRig, app: string, action: AppAction, spec?: unknown) {
  const id = `c${++count}`;
  rig.deployments.change(id, { action, app, spec });
  return rig.untilEnd(id);
}

function reconcilerOf(rig: AgentRig): AppReconciler {
  const rebuild = { isSet: false, clear: () => {} };
  return new AppReconciler({
    ...rig.services,
    rebuild,
    lease: (app) => rig.deployments.lease(app),
    endedRuns: () => rig.deployments.endedRuns,
  });
}

const reconcile = (rig: AgentRig): Promise<void> => reconcilerOf(rig).reconcile(signal);

/** The images of the running containers that an app finds under a name. */
function found(rig: AgentRig, from: string, name: string): string[] {
  return rig.engine.networks
    .resolve(rig.engine.container(from)!, name)
    .map(({ request }) => request.labels[LABELS.image]!);
}

const networksOf = (rig: AgentRig, app: string) => [...(rig.engine.container(app)?.networks.keys() ?? [])];

/** A container as releases without networks made it. */
async function fromBefore(rig: AgentRig, name: string): Promise<string> {
  await deploy(rig, name);
  const { request } = rig.engine.container(name)!;
  await rig.engine.removeContainer(name, signal);
  const { network: _none, ...before } = request;
  const id = await rig.engine.createContainer(before, signal);
  await rig.engine.startContainer(id, signal);
  const app = rig.store.apps().find((candidate) => candidate.name === name);
  rig.store.save({ app: { ...app!, containerId: id } });
  return id;
}

describe("apps of a device", () => {
  it("find each other by name, also names of one character, and not themselves' neighbours on the host", async () => {
    await using rig = rigWith();
    await deploy(rig, "mosquitto");
    await deploy(rig, "a");
    await deploy(rig, "hosted", { host_network: true });
    expect(found(rig, "mosquitto", "a")).toEqual([IMAGE]);
    expect(found(rig, "a-app", "mosquitto")).toEqual([IMAGE]);
    expect(found(rig, "mosquitto", "hosted")).toEqual([]);
    expect(rig.engine.networks.names).toEqual([SHARED]);
  });

  it("are led to the version in force by an update, and back by one that fails", async () => {
    await using rig = rigWith();
    await deploy(rig, "asks");
    await deploy(rig, "app");
    rig.engine.addImage("example/app:3");
    expect(await change(rig, "app", "update", { image: "example/app:3" })).toMatchObject({ status: "Success" });
    expect(found(rig, "asks", "app")).toEqual(["example/app:3"]);
    expect(await change(rig, "app", "update", { image: BROKEN })).toMatchObject({ status: "Fail" });
    expect(found(rig, "asks", "app")).toEqual(["example/app:3"]);
    await change(rig, "app", "stop");
    expect(found(rig, "asks", "app")).toEqual([]);
    await change(rig, "app", "start");
    expect(found(rig, "asks", "app")).toEqual(["example/app:3"]);
  });

  it("are never led to two versions during an update", async () => {
    await using rig = rigWith();
    await deploy(rig, "asks");
    await deploy(rig, "app");
    rig.engine.addImage("example/app:3");
    const seen: number[] = [];
    using _hook = rig.engine.faults.onCall(() => void seen.push(found(rig, "asks", "app").length));
    await change(rig, "app", "update", { image: "example/app:3" });
    expect(seen).toContain(0);
    expect(Math.max(...seen)).toBe(1);
  });

  it("find each other only on a common network", async () => {
    await using rig = rigWith();
    await deploy(rig, "web", { networks: ["front"] });
    await deploy(rig, "api", { networks: ["front", "back"] });
    await deploy(rig, "db", { networks: ["back"] });
    await deploy(rig, "alone", { network: "none" });
    expect([found(rig, "web", "api"), found(rig, "web", "db")]).toEqual([[IMAGE], []]);
    expect([found(rig, "db", "api"), found(rig, "api", "db")]).toEqual([[IMAGE], [IMAGE]]);
    expect(networksOf(rig, "alone")).toEqual([]);
    expect(rig.engine.networks.names).toEqual([`${SHARED}.front`, `${SHARED}.back`]);
  });

  it("of two agents have networks of their own", async () => {
    await using rig = rigWith({ stateDir: "/srv/other" });
    await deploy(rig, "app");
    expect(rig.engine.networks.names).toEqual([expect.stringMatching(/^edge-agent-[0-9a-f]{8}$/)]);
    expect(enginePrefix("/srv/other")).toBe(rig.engine.networks.names[0]);
    expect(enginePrefix("/srv/another")).not.toBe(enginePrefix("/srv/other"));
  });

  it("have internal networks apart from others of the same name", async () => {
    await using rig = rigWith();
    const made: unknown[] = [];
    rig.engine.faults.onCall(({ method, phase, args }) => {
      if (method === "networks.create" && phase === "before") made.push(args[0]);
    });
    await deploy(rig, "app", { networks: ["a", "b"], internal_networks: ["a"] });
    await deploy(rig, "other", { networks: ["a"] });
    expect(networksOf(rig, "app")).toEqual(["edge-agent.b", "edge-agent-internal.a"]);
    expect(networksOf(rig, "other")).toEqual(["edge-agent.a"]);
    expect(made).toMatchObject([
      { name: "edge-agent.b" },
      { name: "edge-agent-internal.a", isInternal: true },
      { name: "edge-agent.a" },
    ]);
    expect(await change(rig, "app", "update", { internal_networks: null })).toMatchObject({ status: "Success" });
    expect(networksOf(rig, "app")).toEqual(["edge-agent.a", "edge-agent.b"]);
    expect(rig.engine.networks.names.toSorted()).toEqual(["edge-agent.a", "edge-agent.b"]);
  });

  it("are on networks of the engine that the policy allows, which are neither made nor removed", async () => {
    await using rig = rigWith({ policy: OPEN });
    await rig.engine.networks.create({ name: "proxy", labels: {} }, signal);
    const both = { networks: ["proxy", "own"], external_networks: ["proxy"] };
    expect(await deploy(rig, "app", both)).toMatchObject({ status: "Success" });
    expect(networksOf(rig, "app")).toEqual(["proxy", "edge-agent.own"]);
    await deploy(rig, "other", { networks: ["proxy"] });
    expect(networksOf(rig, "other")).toEqual(["edge-agent.proxy"]);
    await change(rig, "app", "remove");
    await change(rig, "other", "remove");
    expect(rig.engine.networks.names).toEqual(["proxy"]);
  });

  it.each([
    ["is missing", "gone", "InvalidRequest", "On the device: docker network create gone"],
    ["is this agent's", "edge-agent.own", "PolicyDenied", "belongs to an edge-agent"],
    ["is another agent's", "edge-agent-1234.own", "PolicyDenied", "belongs to an edge-agent"],
  ])("are refused by a dry run and a deployment where one %s", async (_, name, code, text) => {
    await using rig = rigWith({ policy: OPEN });
    for (const [own, stateDir] of Object.entries({ "edge-agent.own": STATE_DIR, "edge-agent-1234.own": "/other" }))
      await rig.engine.networks.create({ name: own, labels: { [LABELS.stateDir]: stateDir } }, signal);
    const { names } = rig.engine.networks;
    const message = expect.stringContaining(text) as string;
    for (const dry_run of [true, false]) {
      const spec = { name: "app", image: IMAGE, networks: [name], external_networks: [name] };
      rig.deployments.deploy(`d-${dry_run}`, spec, { dry_run });
      expect(await rig.untilEnd(`d-${dry_run}`)).toMatchObject({ status: "Fail", step: "checking", code, message });
    }
    expect(rig.engine.networks.names).toEqual(names);
  });

  it("do not join a network of the engine again that is gone, nor make it", async () => {
    await using rig = rigWith({ policy: OPEN });
    await rig.engine.networks.create({ name: "proxy", labels: {} }, signal);
    await deploy(rig, "app", { networks: ["proxy"], external_networks: ["proxy"] });
    await change(rig, "app", "stop");
    rig.engine.networks.delete("proxy");
    expect(await change(rig, "app", "start")).toMatchObject({ status: "Fail", code: "InvalidRequest" });
    expect(rig.engine.networks.names).toEqual([]);
  });

  it("change networks by an update, and get theirs back where it fails", async () => {
    await using rig = rigWith();
    await deploy(rig, "app", { networks: ["a", "b"] });
    await deploy(rig, "other", { networks: ["a"] });
    expect(await change(rig, "app", "update", { networks: ["c"], image: BROKEN })).toMatchObject({ status: "Fail" });
    expect(networksOf(rig, "app")).toEqual(["edge-agent.a", "edge-agent.b"]);
    expect(rig.engine.networks.names).toEqual(["edge-agent.a", "edge-agent.b"]);
    expect(await change(rig, "app", "update", { networks: null })).toMatchObject({ status: "Success" });
    expect(networksOf(rig, "app")).toEqual([SHARED]);
    expect(rig.engine.networks.names).toEqual(["edge-agent.a", SHARED]);
  });

  it("leave no network behind", async () => {
    await using rig = rigWith();
    await deploy(rig, "app", { networks: ["a", "b"] });
    await deploy(rig, "other");
    expect(await deploy(rig, "broken", { image: BROKEN, networks: ["c"] })).toMatchObject({ status: "Fail" });
    expect(rig.engine.networks.names).toEqual(["edge-agent.a", "edge-agent.b", SHARED]);
    await change(rig, "app", "remove");
    expect(rig.engine.networks.names).toEqual([SHARED]);
    await change(rig, "other", "remove");
    expect(rig.engine.networks.names).toEqual([]);
  });

  it("keep the network of a stopped app", async () => {
    await using rig = rigWith();
    await deploy(rig, "app", { networks: ["a"] });
    await change(rig, "app", "stop");
    await deploy(rig, "other");
    await change(rig, "other", "remove");
    expect(rig.engine.networks.names).toEqual(["edge-agent.a"]);
    expect(await change(rig, "app", "start")).toMatchObject({ status: "Success" });
  });

  it("whose update contradicts itself are refused before anything changes", async () => {
    await using rig = rigWith();
    await deploy(rig, "app", { networks: ["a"] });
    expect(await change(rig, "app", "update", { network: "none" })).toMatchObject({
      status: "Fail",
      code: "InvalidRequest",
      details: { issues: [{ path: "networks" }] },
    });
    expect(await deploy(rig, "new", { networks: ["a"], host_network: true })).toMatchObject({
      code: "InvalidRequest",
      details: { issues: [{ path: "networks" }] },
    });
  });
});

describe("an app from before", () => {
  it("joins the network that apps share while it runs, without a restart", async () => {
    await using rig = rigWith();
    const id = await fromBefore(rig, "old");
    await deploy(rig, "fresh");
    const { startedAt } = rig.engine.container(id)!.state;
    expect(networksOf(rig, "old")).toEqual(["bridge"]);
    await rig.clock.advance(20_000);
    await reconcile(rig);
    expect(networksOf(rig, "old")).toEqual(["bridge", SHARED]);
    expect(found(rig, "fresh", "old")).toEqual([IMAGE]);
    expect(rig.engine.container(id)?.state.startedAt).toBe(startedAt);
    expect(rig.engine.containers).toHaveLength(2);
  });

  it("costs nothing once it is on it", async () => {
    await using rig = rigWith();
    await fromBefore(rig, "old");
    const reconciler = reconcilerOf(rig);
    // After the start it also looks for networks that a crash has left.
    await reconciler.reconcile(signal);
    const calls: string[] = [];
    using _hook = rig.engine.faults.onCall(({ method, phase }) => void (phase === "before" && calls.push(method)));
    await rig.clock.advance(30_000);
    await reconciler.reconcile(signal);
    expect(calls).toEqual(["listContainers"]);
  });

  it("on the host's network stays there", async () => {
    await using rig = rigWith();
    await deploy(rig, "hosted", { host_network: true });
    await reconcile(rig);
    expect(networksOf(rig, "hosted")).toEqual([]);
    expect(rig.engine.networks.names).toEqual([]);
  });
});

describe("a network", () => {
  it("that was removed while its app was down is made again, and the app is found there", async () => {
    await using rig = rigWith();
    await deploy(rig, "asks", { networks: ["a"] });
    await deploy(rig, "app", { networks: ["a", "b"] });
    for (const name of ["asks", "app"]) rig.engine.container(name)!.stop();
    for (const name of rig.engine.networks.names) rig.engine.networks.delete(name);
    await rig.clock.advance(20_000);
    await reconcile(rig);
    expect(found(rig, "asks", "app")).toEqual([IMAGE]);
    expect(networksOf(rig, "app")).toEqual(["edge-agent.a", "edge-agent.b"]);
  });

  it("that an app was taken off by hand is joined again", async () => {
    await using rig = rigWith();
    await deploy(rig, "app", { networks: ["a", "b"] });
    await rig.engine.networks.disconnect("edge-agent.b", rig.engine.container("app")!.id, signal);
    await reconcile(rig);
    expect(networksOf(rig, "app")).toEqual(["edge-agent.a", "edge-agent.b"]);
  });

  it("of ours by its name only is not used", async () => {
    await using rig = rigWith();
    await rig.engine.networks.create({ name: SHARED, labels: {} }, signal);
    expect(await deploy(rig, "app")).toMatchObject({
      status: "Fail",
      code: "ErrorNameExists",
      message: "The container engine has a network named edge-agent that edge-agent did not make.",
      details: { network: SHARED },
    });
    expect(rig.engine.containers).toEqual([]);
    expect(rig.engine.networks.names).toEqual([SHARED]);
  });

  it("takes the first subnet of the configuration that is free", async () => {
    await using rig = rigWith({ networkSubnets: ["10.90.0.0/24", "10.90.1.0/24"] });
    const subnets: unknown[] = [];
    using _hook = rig.engine.faults.onCall(({ method, phase, args }) => {
      if (method === "networks.create" && phase === "after") subnets.push((args[0] as { subnet: string }).subnet);
    });
    await deploy(rig, "app", { networks: ["a", "b"] });
    expect(subnets).toEqual(["10.90.0.0/24", "10.90.1.0/24"]);
    expect(await deploy(rig, "third", { networks: ["c"] })).toMatchObject({ code: "NetworkUnavailable" });
  });

  it("for which no addresses are left fails the deployment, and leaves nothing", async () => {
    await using rig = rigWith();
    rig.engine.networks.capacity = 1;
    expect(await deploy(rig, "app", { networks: ["a", "b"] })).toMatchObject({
      status: "Fail",
      code: "NetworkUnavailable",
      step: "creating",
    });
    expect(rig.engine.containers).toEqual([]);
    await deploy(rig, "next");
    await change(rig, "next", "remove");
    expect(rig.engine.networks.names).toEqual([]);
  });

  it("without a name service is said in an event", async () => {
    await using rig = rigWith();
    rig.engine.networks.resolvesNames = false;
    expect(await deploy(rig, "app")).toMatchObject({ status: "Success" });
    expect(rig.events("d-app").map(({ message }) => message)).toContainEqual(
      expect.stringContaining("has no name service"),
    );
  });

  it("is joined after a crash between the creation and the further networks", async () => {
    await using rig = rigWith();
    const error = new EngineError("unavailable", "cut");
    using _fault = rig.engine.faults.fail("networks.connect", error);
    rig.deployments.deploy("d-app", { name: "app", image: IMAGE, networks: ["a", "b"] });
    expect(await rig.untilEnd("d-app")).toMatchObject({ status: "Success" });
    expect(networksOf(rig, "app")).toEqual(["edge-agent.a", "edge-agent.b"]);
    expect(rig.engine.containers).toHaveLength(1);
  });
});
