import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiClient, apiClient } from "../../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../../support/control-plane.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const OTHER_DIGEST = `sha256:${"b".repeat(64)}`;
const image = (digest = DIGEST): string => `registry.example.com/team/ui:4@${digest}`;

let control: ControlPlane;
let account: TestAccount;
let api: ApiClient;
let stranger: ApiClient;

beforeAll(async () => {
  control = await startControlPlane();
  account = await control.account();
  api = apiClient(control, account);
  stranger = apiClient(control, await control.account());
});
// Disposing also checks that every answer fits the document.
afterAll(() => control[Symbol.asyncDispose]());

let count = 0;
async function fleet(fields: object = {}): Promise<string> {
  const name = `fleet-${++count}`;
  const { status, body } = await api.post("/v1/fleets", { name, selector: `of=${name}`, apps: ["ui"], ...fields });
  expect(status, JSON.stringify(body)).toBe(201);
  return name;
}

async function member(of: string): Promise<string> {
  const { uuid } = await control.asset(account);
  expect((await api.put(`/v1/assets/${uuid}/tags`, { of })).status).toBe(200);
  // So that rollouts to it stay under way.
  expect((await api.put(`/v1/assets/${uuid}/hold`, { reason: "Test" })).status).toBe(200);
  return uuid;
}

function revise(name: string, app: object = {}) {
  return api.post(`/v1/fleets/${name}/revisions`, { apps: [{ app: { name: "ui", image: image(), ...app } }] });
}

describe("fleets", () => {
  test("are created, listed by name page by page, changed, renamed and removed", async () => {
    const name = await fleet({ selector: " role = kiosk , !beta ", strategy: { max_parallel: 7 } });
    const { body } = await api.get(`/v1/fleets/${name}`);
    expect(body).toMatchObject({
      selector: "role=kiosk,!beta",
      members: 0,
      stable_revision: null,
      last_revision: 0,
      latest_rollout: null,
      strategy: { max_parallel: 7, attempts: 2, waves: [] },
    });
    const changed = await api.patch(`/v1/fleets/${name}`, { strategy: { attempts: 3 }, paused_reason: "Trade fair" });
    expect(changed.body).toMatchObject({ strategy: { max_parallel: 7, attempts: 3 }, paused_reason: "Trade fair" });
    expect((await api.patch(`/v1/fleets/${name}`, { paused_reason: null })).body).toMatchObject({
      paused_reason: null,
    });
    const other = await fleet();
    expect((await api.patch(`/v1/fleets/${name}`, { name: other })).body).toMatchObject({ code: "FleetExists" });
    expect((await api.patch(`/v1/fleets/${name}`, { name: `${name}-renamed` })).status).toBe(200);
    expect((await api.get(`/v1/fleets/${name}`)).body).toMatchObject({ code: "FleetNotFound" });
    const names: string[] = [];
    for (let cursor = ""; ;) {
      const page = (await api.get(`/v1/fleets?limit=1${cursor && `&cursor=${cursor}`}`)).body as {
        readonly fleets: readonly { readonly name: string }[];
        readonly next_cursor: string | null;
      };
      names.push(...page.fleets.map((each) => each.name));
      if (page.next_cursor === null) break;
      cursor = page.next_cursor;
    }
    expect(names).toEqual(names.toSorted());
    expect(names).toEqual(expect.arrayContaining([other, `${name}-renamed`]));
    expect((await api.delete(`/v1/fleets/${name}-renamed`)).status).toBe(204);
    expect((await api.delete(`/v1/fleets/${name}-renamed`)).body).toMatchObject({ code: "FleetNotFound" });
  });

  test.each([
    [{ selector: "" }, "selector", "at character 1"],
    [{ selector: "role=kiosk,," }, "selector", "at character 12"],
    [{ apps: ["ui", "ui"] }, "apps[1]", "appears twice"],
    [{ name: "Not A Name" }, "name", "lowercase"],
    [{ strategy: { attempts: 0 } }, "strategy.attempts", "must be at least 1"],
    [{ strategy: { waves: [{ limit: "200%" }] } }, "strategy.waves[0].limit", "1%"],
    [{ colour: "red" }, "colour", "unknown field"],
  ])("refuse %j", async (fields, path, reason) => {
    const sent = { name: "bad", selector: "*", apps: ["ui"], ...fields };
    const { status, body } = await api.post("/v1/fleets", sent);
    expect(status).toBe(422);
    const { issues } = (body as { readonly details: { readonly issues: readonly object[] } }).details;
    expect(issues).toContainEqual({ path, reason: expect.stringContaining(reason) });
  });

  test("of another account are not there", async () => {
    const name = await fleet();
    await revise(name);
    const { body } = await api.post(`/v1/fleets/${name}/rollouts`, {});
    const rollout = `/rollouts/${(body as { readonly id: string }).id}`;
    for (const path of [
      "",
      "/members",
      "/revisions",
      "/revisions/1",
      "/revisions/1/diff/1",
      "/rollouts",
      rollout,
      `${rollout}/targets`,
    ]) {
      expect((await stranger.get(`/v1/fleets/${name}${path}`)).body, path).toMatchObject({ code: "FleetNotFound" });
    }
    expect((await stranger.delete(`/v1/fleets/${name}`)).status).toBe(404);
    const own = `stranger-${name}`;
    await stranger.post("/v1/fleets", { name: own, selector: "*", apps: ["ui"] });
    expect((await stranger.get(`/v1/fleets/${own}${rollout}`)).body).toMatchObject({ code: "RolloutNotFound" });
    expect((await stranger.get("/v1/fleets")).body).toMatchObject({ fleets: [{ name: own }] });
  });
});

describe("revisions", () => {
  test("are numbered; the same content is the same revision; what differs is told without values", async () => {
    const name = await fleet({ apps: ["ui", "old"] });
    const environments = [
      { key: "LEVEL", value: "info" },
      { key: "SITE", value: "${SITE}" },
    ];
    expect((await revise(name, { environments })).status).toBe(201);
    expect(await revise(name, { environments })).toMatchObject({ status: 200, body: { number: 1 } });
    const second = await api.post(`/v1/fleets/${name}/revisions`, {
      apps: [
        {
          app: {
            name: "ui",
            image: image(OTHER_DIGEST),
            environments: [{ key: "LEVEL", value: "debug" }, environments[1]],
          },
        },
        { name: "old", absent: true },
      ],
      comment: "Louder",
    });
    expect(second).toMatchObject({ status: 201, body: { number: 2, comment: "Louder" } });
    const diff = await api.get(`/v1/fleets/${name}/revisions/1/diff/2`);
    expect(diff.body).toEqual({
      from: 1,
      to: 2,
      apps: [
        { app: "old", change: "removed", fields: [] },
        { app: "ui", change: "changed", fields: ["image", "environments.LEVEL"] },
      ],
      agent: null,
    });
    const list = (await api.get(`/v1/fleets/${name}/revisions?limit=1`)).body as { readonly next_cursor: string };
    expect(list).toMatchObject({ revisions: [{ number: 2 }] });
    const rest = await api.get(`/v1/fleets/${name}/revisions?cursor=${list.next_cursor}`);
    expect(rest.body).toMatchObject({ revisions: [{ number: 1 }], next_cursor: null });
    expect((await api.get(`/v1/fleets/${name}/revisions/3`)).body).toMatchObject({ code: "RevisionNotFound" });
  });

  test.each([
    [{ image: "registry.example.com/team/${REGION}:4" }, "apps[0].app.image"],
    [{ labels: { site: "${SITE}" } }, "apps[0].app.labels.site"],
    [{ environments: [{ key: "A", value: "${9" }] }, "apps[0].app.environments[0].value"],
    [{ environments: [{ key: "A", secret: true }] }, "apps[0].app.environments[0].value"],
    [{ files: [{ target: "/etc/app.conf" }] }, "apps[0].app.files[0].content"],
  ])("refuse %j", async (app, path) => {
    const { status, body } = await revise(await fleet(), app);
    expect(status).toBe(422);
    expect(JSON.stringify(body)).toContain(`"path":"${path}"`);
  });

  test("refuse apps of others, a tag that cannot be resolved, and what is no group", async () => {
    const name = await fleet();
    const post = (apps: unknown) => api.post(`/v1/fleets/${name}/revisions`, { apps });
    expect((await post([{ name: "old", absent: true }])).body).toMatchObject({ code: "InvalidRequest" });
    expect((await revise(name, { image: "registry.example.com/team/ui:4" })).body).toMatchObject({
      code: "ImageNotResolved",
      details: { image: "registry.example.com/team/ui:4" },
    });
    const app = { name: "ui", image: image() };
    expect((await post([{ app }, { name: "ui", absent: true }])).body).toMatchObject({ code: "InvalidRequest" });
    expect((await post([{ app, depends_on: [{ app: "db" }] }])).body).toMatchObject({
      details: { issues: [{ path: "apps[0].depends_on[0].app" }] },
    });
  });
});

describe("rollouts", () => {
  test("have waves with their targets, are commanded, and supersede each other", async () => {
    const name = await fleet({ strategy: { waves: [{ limit: 1, advance: "manual" }] } });
    const uuids = [await member(name), await member(name), await member(name)];
    await revise(name);
    const made = await api.post(`/v1/fleets/${name}/rollouts`, { start: false });
    expect(made).toMatchObject({
      status: 201,
      body: { state: "draft", revision: 1, targets: 3, counts: { pending: 3 } },
    });
    expect(made.body).toMatchObject({
      waves: [
        { wave: 1, targets: 1, advance: "manual" },
        { wave: 2, targets: 2 },
      ],
    });
    const path = `/v1/fleets/${name}/rollouts/${(made.body as { readonly id: string }).id}`;
    const command = (verb: string) => api.post(`${path}/${verb}`, undefined);
    expect((await command("pause")).body).toMatchObject({ code: "RolloutStateConflict", details: { state: "draft" } });
    expect((await command("resume")).body).toMatchObject({ state: "running" });
    expect((await command("advance")).body).toMatchObject({ state: "running" });
    expect((await command("pause")).body).toMatchObject({
      state: "paused",
      reason: expect.stringContaining("Paused by"),
    });
    const targets = (await api.get(`${path}/targets?wave=2&state=pending,waiting`)).body as {
      readonly targets: readonly { readonly asset_id: string }[];
    };
    expect(targets.targets).toHaveLength(2);
    expect(uuids).toEqual(expect.arrayContaining(targets.targets.map(({ asset_id }) => asset_id)));
    expect((await api.get(`${path}/targets?state=lost,odd`)).body).toMatchObject({ code: "InvalidRequest" });
    expect((await api.get(`/v1/fleets/${name}/members`)).body).toMatchObject({
      members: expect.arrayContaining([
        expect.objectContaining({
          asset_id: uuids[0],
          revision: null,
          differences: [],
          conflict: null,
          target_state: expect.stringMatching(/^(?:pending|waiting)$/),
        }),
      ]),
    });
    const next = await api.post(`/v1/fleets/${name}/rollouts`, {});
    expect(next).toMatchObject({ status: 201, body: { state: "running" } });
    expect((await api.get(path)).body).toMatchObject({ state: "superseded" });
    const events = await (
      await fetch(`${control.url}${path}/events`, { headers: { "X-API-Key": account.apiKey } })
    ).text();
    const parsed = events.split("\n").flatMap((line) => (line.startsWith("data: ") ? [JSON.parse(line.slice(6))] : []));
    expect(parsed.map(({ seq }) => seq)).toEqual(parsed.map((_event, index) => index + 1));
    // What the service tells of targets comes in between.
    const states = parsed.map(({ state }) => state as string);
    expect(states.filter((state, index) => state !== states[index - 1])).toEqual([
      "draft",
      "running",
      "paused",
      "superseded",
    ]);
    expect(parsed.at(-1)).toMatchObject({ status: "Fail" });
    expect((await command("cancel")).body).toMatchObject({ code: "RolloutStateConflict" });
  });

  test("that need approval are approved by somebody else", async () => {
    const name = await fleet({ strategy: { requires_approval: true } });
    await revise(name);
    const { body } = await api.post(`/v1/fleets/${name}/rollouts`, {});
    expect(body).toMatchObject({ state: "awaiting_approval", approved_by: null });
    const path = `/v1/fleets/${name}/rollouts/${(body as { readonly id: string }).id}/approve`;
    expect(await api.post(path, undefined)).toMatchObject({ status: 403, body: { code: "ApprovalBySameUser" } });
    const other = await control.key(account, [], { role: "operator" });
    const approved = await apiClient(control, other).post(path, undefined);
    expect(approved.body).toMatchObject({ state: "running", approved_by: { kind: "key", id: other.keyId } });
  });

  test("are made once for an Idempotency-Key, also by requests at the same time", async () => {
    const name = await fleet();
    await revise(name);
    const send = async (body: object): Promise<{ readonly id?: string; readonly code?: string }> => {
      const response = await fetch(`${control.url}/v1/fleets/${name}/rollouts`, {
        method: "POST",
        headers: { "X-API-Key": account.apiKey, "Content-Type": "application/json", "Idempotency-Key": "k-1" },
        body: JSON.stringify(body),
      });
      return (await response.json()) as { id?: string };
    };
    const ids = (await Promise.all([send({}), send({}), send({})])).map(({ id }) => id);
    expect(new Set([...ids, (await send({})).id]).size).toBe(1);
    expect(await send({ start: false })).toMatchObject({
      code: "IdempotencyKeyReused",
      details: { rollout_id: expect.stringMatching(/^rol_/) },
    });
    expect((await api.get(`/v1/fleets/${name}/rollouts`)).body).toMatchObject({
      rollouts: [{ id: ids[0] }],
    });
  });

  test("of a revision that is not there are refused", async () => {
    const name = await fleet();
    expect((await api.post(`/v1/fleets/${name}/rollouts`, {})).body).toMatchObject({ code: "RevisionNotFound" });
    expect((await api.post(`/v1/fleets/${name}/reapply`, {})).body).toMatchObject({ code: "RevisionNotFound" });
  });
});
