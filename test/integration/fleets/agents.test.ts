import { expect, test } from "vitest";
import type { Role } from "../../../src/protocol/people/principal.ts";
import { addSomeRelease } from "../../support/control-plane/served-release.ts";
import { apiClient } from "../../support/api-client.ts";
import { openStream } from "../../support/event-stream.ts";
import { type FleetRig, imageOf, type RigDevice, startFleetRig } from "../../support/fleets/fleet-rig.ts";
import { waitFor } from "../../support/wait-for.ts";

const VERSION = "1.5.0";

/** Devices with the agent 1.0.0, and a service that has release 1.5.0. */
async function startAgentRig(count: number): Promise<FleetRig> {
  const rig = await startFleetRig(count);
  await addSomeRelease(rig.control.store, VERSION, 1_000);
  return rig;
}

/** Makes a revision that asks for release 1.5.0, with the app `web` or without any. */
async function agentRevision(rig: FleetRig, fleet: string, image?: string): Promise<void> {
  const apps = image === undefined ? [] : [{ app: { name: "web", image: imageOf(image) } }];
  const made = await rig.api.post(`/v1/fleets/${fleet}/revisions`, { apps, agent: { version: VERSION } });
  expect(made).toMatchObject({ status: 201, body: { agent: { version: VERSION } } });
}

async function updateBy(device: RigDevice["device"], version: string): Promise<void> {
  device.agentVersion = version;
  await device.connect();
}

async function members(rig: FleetRig, fleet: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  return ((await rig.api.get(`/v1/fleets/${fleet}/members`)).body as { members: Record<string, unknown>[] }).members;
}

test("a rollout brings the agent first and then the apps, wave by wave, and leaves a newer agent as it is", async () => {
  await using rig = await startAgentRig(4);
  const [newer] = rig.devices as [RigDevice];
  await updateBy(newer.device, "1.10.0");
  const agentsAtApply: string[] = [];
  for (const { device } of rig.devices) {
    device.behave = () => {
      agentsAtApply.push(device.agentVersion);
      return "succeed";
    };
  }
  await rig.fleet("kiosks", { waves: [{ limit: 1, soak_s: 0 }], max_parallel: 1, max_download_bytes: 5_000 });
  await agentRevision(rig, "kiosks", "one");
  const id = await rig.rollOut("kiosks");
  expect(await rig.reach("kiosks", id, "succeeded")).toMatchObject({ counts: { succeeded: 4 }, wave: 2 });
  expect(agentsAtApply.toSorted()).toEqual(["1.10.0", VERSION, VERSION, VERSION]);
  const stored = await rig.control.store.agentReleases.findRelease(VERSION);
  for (const { uuid, device } of rig.devices) {
    expect(device.apps.get("web")?.image).toBe(imageOf("one"));
    expect(device.received).toHaveLength(1);
    if (device === newer.device) {
      expect(device).toMatchObject({ updates: [], agentVersion: "1.10.0" });
      continue;
    }
    const request = { version: VERSION, served: { repository: "edge-agent", digest: stored?.digest } };
    expect(device).toMatchObject({ updates: [{ request, isDryRun: false }], agentVersion: VERSION });
    const update = device.updates[0]?.deploymentId;
    const { body } = await rig.api.get(`/v1/assets/${uuid}/edge/deployments/${update}`);
    expect(body).toMatchObject({ action: "update_agent", app: "edge-agent", status: "Success" });
  }
  await expect
    .poll(() => members(rig, "kiosks"))
    .toMatchObject(rig.devices.map(() => ({ state: "current", revision: 1 })));
});

test("a bad release stops in the first wave, is tried once on each device, and no older version is asked for", async () => {
  await using rig = await startAgentRig(5);
  const stop = { stop_when: { failed: 1, min_attempted: 1 }, on_stop: "rollback", attempts: 3 };
  await rig.fleet("kiosks", { waves: [{ limit: 2, soak_s: 0 }], ...stop });
  await rig.revision("kiosks", "good");
  await rig.reach("kiosks", await rig.rollOut("kiosks"), "succeeded");
  await agentRevision(rig, "kiosks", "next");
  let isBad = true;
  for (const { device } of rig.devices)
    device.update = () => (isBad ? { fail: "AgentUpdateFailed", logs: ["cannot open the store"] } : "succeed");
  const id = await rig.rollOut("kiosks");
  const done = await rig.reach("kiosks", id, "rolled_back");
  expect(done["reason"]).toContain("AgentUpdateFailed");
  const got = rig.devices.filter(({ device }) => device.updates.length > 0);
  expect([1, 2]).toContain(got.length);
  for (const { device } of rig.devices) {
    expect(device.updates.length).toBeLessThanOrEqual(1);
    // The apps of the revision do not come without its agent.
    expect(device.received.every(({ images }) => images[0] === imageOf("good"))).toBe(true);
    expect(device.agentVersion).toBe("1.0.0");
  }
  const past = { direction: "forward", state: "failed", code: "AgentUpdateFailed", logs: "cannot open the store" };
  const targets = await rig.targets("kiosks", id);
  expect(targets.filter(({ state }) => state === "rolled_back")).toMatchObject(got.map(() => ({ attempts: [past] })));
  await expect
    .poll(() => members(rig, "kiosks"))
    .toMatchObject(rig.devices.map(() => ({ state: "current", revision: 1 })));

  // A device has set the release aside: who retries wants it tried there all the same.
  isBad = false;
  const retried = await rig.api.post(`/v1/fleets/kiosks/rollouts/${id}/retry`, undefined);
  const { id: retry } = retried.body as { readonly id: string };
  await rig.reach("kiosks", retry, "succeeded");
  for (const { device } of got)
    expect(device).toMatchObject({ agentVersion: VERSION, updates: [{}, { request: { again: true } }] });
});

test("what a device cannot have is refused and shown, and one that is away is served when it returns", async () => {
  await using rig = await startAgentRig(6);
  const codes = ["AgentPinned", "AgentUpdateUnsupported", "AgentArchitectureMissing", "InsufficientDisk"] as const;
  for (const [index, code] of codes.entries()) {
    const device = rig.devices[index]?.device;
    if (device) device.update = () => ({ fail: code });
  }
  const [away, present] = rig.devices.slice(4) as [RigDevice, RigDevice];
  await away.device.disconnect();
  await rig.fleet("agents", { refused: "allow" }, { apps: [] });
  await agentRevision(rig, "agents");
  const id = await rig.rollOut("agents");
  await waitFor("all others to have been served", async () => {
    const { succeeded, refused, waiting } = (await rig.rollout("agents", id))["counts"] as Record<string, number>;
    return succeeded === 1 && refused === 4 && waiting === 1;
  });
  const targets = new Map((await rig.targets("agents", id)).map((target) => [target["asset_id"], target]));
  for (const [index, code] of codes.entries())
    expect(targets.get(rig.devices[index]?.uuid)).toMatchObject({ state: "refused", code, attempt: 1 });
  expect(targets.get(away.uuid)).toMatchObject({ state: "waiting", for: "connection" });
  await away.device.connect();
  expect(await rig.reach("agents", id, "succeeded")).toMatchObject({ counts: { succeeded: 2, refused: 4 } });
  expect([away.device.agentVersion, present.device.agentVersion]).toEqual([VERSION, VERSION]);
  await waitFor("the members to be judged", async () => {
    const states = (await members(rig, "agents")).map(({ state }) => state);
    return states.filter((state) => state === "current").length === 2 && !states.includes("waiting");
  });
  const pinned = (await members(rig, "agents")).find(({ asset_id }) => asset_id === rig.devices[0]?.uuid);
  const what = `its agent is 1.0.0, older than ${VERSION}`;
  expect(pinned).toMatchObject({ state: "outdated", differences: [{ app: "edge-agent", kind: "agent", what }] });
});

test("an agent that a person has updated meanwhile needs no deployment, and going back leaves it", async () => {
  await using rig = await startAgentRig(2);
  const [one, other] = rig.devices as [RigDevice, RigDevice];
  await updateBy(one.device, VERSION);
  await rig.fleet("agents", {}, { apps: [] });
  await agentRevision(rig, "agents");
  // Attempted, so that there is something to go back from; the next attempt is a minute away.
  other.device.update = () => ({ fail: "NetworkUnavailable" });
  const id = await rig.rollOut("agents");
  await waitFor("the first one to be done", async () => {
    const { succeeded } = (await rig.rollout("agents", id))["counts"] as Record<string, number>;
    return succeeded === 1 && other.device.updates.length > 0;
  });
  const target = (await rig.targets("agents", id)).find(({ asset_id }) => asset_id === one.uuid);
  expect(target).toMatchObject({ state: "succeeded", attempt: 0, message: `Its agent is ${VERSION} already.` });
  expect((await rig.api.post(`/v1/fleets/agents/rollouts/${id}/rollback`, undefined)).status).toBe(200);
  await rig.reach("agents", id, "rolled_back");
  const back = (await rig.targets("agents", id)).find(({ asset_id }) => asset_id === other.uuid);
  expect(back).toMatchObject({ state: "rolled_back", attempt: 0, message: expect.stringContaining("stays at 1.0.0") });
  expect(one.device.updates).toEqual([]);
  for (const { request } of other.device.updates) expect(request).toMatchObject({ version: VERSION });
  expect(other.device.agentVersion).toBe("1.0.0");
});

test("a plan has the price of the agent and of the apps", async () => {
  await using rig = await startAgentRig(2);
  await updateBy((rig.devices as [RigDevice])[0].device, VERSION);
  await rig.fleet("kiosks");
  await agentRevision(rig, "kiosks", "one");
  const stream = await openStream(`${rig.control.url}/v1/fleets/kiosks/rollouts?dry_run=true`, {
    apiKey: rig.account.apiKey,
    method: "POST",
    body: {},
  });
  expect(await stream.ended).toBe(true);
  expect(stream.events.at(-1)).toMatchObject({ status: "Success", details: { asked: 2, download_bytes: 2_500 } });
});

test("who may not update agents cannot make such a revision, nor roll it out", async () => {
  await using rig = await startAgentRig(0);
  await rig.fleet("kiosks");
  const operator = apiClient(rig.control, await rig.control.key(rig.account, [], { role: "operator" }));
  const path = "/v1/fleets/kiosks";
  const body = { apps: [], agent: { version: VERSION } };
  const refused = { status: 403, body: { code: "Forbidden", details: { permission: "agents.update" } } };
  expect(await operator.post(`${path}/revisions`, body)).toMatchObject(refused);
  await agentRevision(rig, "kiosks", "one");
  expect(await operator.post(`${path}/rollouts`, {})).toMatchObject(refused);
  expect(await operator.post(`${path}/rollouts?dry_run=true`, { revision: 1 })).toMatchObject(refused);
  // Nor through a plan, or the retry of a rollout.
  const plan = await openStream(`${rig.control.url}${path}/rollouts?dry_run=true`, {
    apiKey: rig.account.apiKey,
    method: "POST",
    body: {},
  });
  await plan.ended;
  const planId = plan.events.at(-1)?.details?.["plan_id"];
  expect(await operator.post(`${path}/rollouts`, { plan_id: planId })).toMatchObject(refused);
  const id = await rig.rollOut("kiosks");
  await rig.reach("kiosks", id, "succeeded");
  expect(await operator.post(`${path}/rollouts/${id}/retry`, undefined)).toMatchObject(refused);
  await rig.revision("kiosks", "two");
  expect((await operator.post(`${path}/rollouts`, {})).status).toBe(201);
});

test("operators update agents while the account's settings say so, and others never", async () => {
  await using rig = await startAgentRig(1);
  await rig.fleet("agents", {}, { apps: [] });
  const keyOf = async (role: Role) => rig.control.key(rig.account, [], { role });
  const [operatorKey, installerKey] = [await keyOf("operator"), await keyOf("installer")];
  const [operator, installer] = [apiClient(rig.control, operatorKey), apiClient(rig.control, installerKey)];
  const revise = (client: typeof operator) =>
    client.post("/v1/fleets/agents/revisions", { apps: [], agent: { version: VERSION } });
  const permissions = async (client: typeof operator) => (await client.get("/v1/session")).body["permissions"];
  const refused = { status: 403, body: { code: "Forbidden", details: { permission: "agents.update" } } };
  expect((await operator.patch("/v1/agent-settings", { operators_update: true })).status).toBe(403);
  expect((await rig.api.patch("/v1/agent-settings", { operators_update: true })).status).toBe(200);
  // Of this account alone.
  const other = await rig.control.account();
  const stranger = apiClient(rig.control, await rig.control.key(other, [], { role: "operator" }));
  expect(await permissions(stranger)).not.toContain("agents.update");
  expect(await permissions(operator)).toContain("agents.update");
  expect(await permissions(installer)).not.toContain("agents.update");
  expect((await revise(operator)).status).toBe(201);
  const [device] = rig.devices as [RigDevice];
  const update = async ({ apiKey }: typeof operatorKey): Promise<string> => {
    const headers = { "X-API-Key": apiKey, "Content-Type": "application/json" };
    const url = `${rig.control.url}/v1/assets/${device.uuid}/edge/agent`;
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify({ version: "9.9.9" }) });
    return response.text();
  };
  expect(await update(operatorKey)).toContain("AgentReleaseNotFound");
  expect(await update(installerKey)).toContain("Forbidden");
  expect((await rig.api.patch("/v1/agent-settings", { operators_update: false })).status).toBe(200);
  expect(await revise(operator)).toMatchObject(refused);
  expect(await update(operatorKey)).toContain("Forbidden");
  expect(await permissions(operator)).not.toContain("agents.update");
});

test("revisions are compared with their agents, and one of an unknown release is refused", async () => {
  await using rig = await startAgentRig(0);
  await rig.fleet("kiosks");
  await rig.revision("kiosks", "one");
  await agentRevision(rig, "kiosks", "one");
  const path = "/v1/fleets/kiosks/revisions";
  expect((await rig.api.get(`${path}/1/diff/2`)).body).toMatchObject({
    apps: [{ app: "web", change: "same" }],
    agent: { from: null, to: VERSION },
  });
  expect((await rig.api.get(`${path}/2/diff/2`)).body).toMatchObject({ agent: null });
  expect((await rig.api.get(path)).body).toMatchObject({
    revisions: [
      { number: 2, agent: { version: VERSION } },
      { number: 1, agent: null },
    ],
  });
  const same = { apps: [{ app: { name: "web", image: imageOf("one") } }], agent: { version: VERSION } };
  expect(await rig.api.post(path, same)).toMatchObject({ status: 200, body: { number: 2 } });
  expect(await rig.api.post(path, { apps: [], agent: { version: "9.9.9" } })).toMatchObject({
    status: 404,
    body: { code: "AgentReleaseNotFound" },
  });
  expect(await rig.api.post(path, { apps: [] })).toMatchObject({ status: 422, body: { code: "InvalidRequest" } });
});
