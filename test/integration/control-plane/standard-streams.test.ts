import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { openStream } from "../../support/event-stream.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { startHeldRollout } from "../../support/fleets/held-rollout.ts";
import { parseEventStream, readAsStandardClient, type ServerSentEvent } from "../../support/sse-client.ts";

/* Streams as standard clients read them, and commands as clients that read no streams send them. */

let control: ControlPlane;
let account: TestAccount;

beforeAll(async () => {
  control = await startControlPlane();
});
// Disposing also checks that every answer fits the document.
afterAll(() => control[Symbol.asyncDispose]());

beforeEach(async () => {
  account = await control.account();
});

const app = { name: "web", image: "web:1" };

const deploy = (uuid: string, headers: Record<string, string> = {}, body: unknown = app) =>
  openStream(`${control.url}/v1/assets/${uuid}/edge/apps`, { apiKey: account.apiKey, body, headers });

const idsOf = (events: readonly ServerSentEvent[]): number[] => events.map(({ lastEventId }) => Number(lastEventId));
const seqsOf = (events: readonly ServerSentEvent[]): number[] =>
  events.map(({ data }) => (JSON.parse(data) as { seq: number }).seq);

describe("the stream of a deployment", () => {
  test.each([Infinity, 1, 2])(
    "is read once by a standard client whose connections break after %s events",
    async (breakAfter) => {
      const { uuid, deviceToken } = await control.asset(account);
      await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
      using first = await deploy(uuid);
      const id = first.deploymentId;
      const url = `${control.url}/v1/assets/${uuid}/edge/deployments/${id}/events`;
      const reading = readAsStandardClient({ url, apiKey: account.apiKey, breakAfter });
      for (const step of ["checking", "pulling", "creating"] as const) device.event(id, { step });
      device.success(id);
      await first.ended;
      const { events } = await reading;
      expect(seqsOf(events)).toEqual([1, 2, 3, 4, 5]);
      expect(idsOf(events)).toEqual([1, 2, 3, 4, 5]);
      expect(events.map(({ data }) => data)).toEqual(parseEventStream(first.text).map(({ data }) => data));
      // The response to the command has lines of data alone.
      expect(first.text.split("\n").filter((line) => line !== "" && !line.startsWith("data: "))).toEqual([]);
    },
  );

  test("has nothing for a reader that has all of what has ended", async () => {
    const { uuid } = await control.asset(account);
    using first = await deploy(uuid);
    await first.ended;
    const last = first.events.at(-1)?.seq ?? 0;
    const url = `${control.url}/v1/assets/${uuid}/edge/deployments/${first.deploymentId}/events`;
    const get = (query: string, headers = {}) => openStream(`${url}${query}`, { apiKey: account.apiKey, headers });
    for (const [query, headers] of [
      [`?after=${last}`, {}],
      ["", { "Last-Event-ID": String(last) }],
      // A client connects again to the address with which it began.
      ["?after=0", { "Last-Event-ID": String(last) }],
    ] as const) {
      using stream = await get(query, headers);
      await stream.ended;
      expect([query, stream.status, stream.text]).toEqual([query, 204, ""]);
    }
    using rest = await get("?after=99", { "Last-Event-ID": String(last - 1) });
    await rest.ended;
    expect(rest.events).toEqual(first.events.slice(-1));
    // A client that has received no id yet may send none in the header.
    using all = await get("", { "Last-Event-ID": "" });
    await all.ended;
    expect([all.status, all.events.length]).toEqual([200, last]);
    using wrong = await get("", { "Last-Event-ID": "x" });
    await wrong.ended;
    expect([wrong.status, wrong.text]).toEqual([422, expect.stringContaining("Last-Event-Id")]);
  });
});

test("the stream of a rollout has ids, and ends for standard clients", async () => {
  const asset = await control.asset(account);
  const { fleet, rolloutId } = await startHeldRollout(control, account, asset);
  const path = `${control.url}/v1/fleets/${fleet}/rollouts/${rolloutId}`;
  const headers = { "X-API-Key": account.apiKey };
  expect((await fetch(`${path}/cancel`, { method: "POST", headers })).status).toBe(200);
  const { events, connections } = await readAsStandardClient({ url: `${path}/events`, apiKey: account.apiKey });
  expect(events.length).toBeGreaterThan(0);
  expect(idsOf(events)).toEqual(seqsOf(events));
  expect(connections).toBe(2);
});

test("events of an account arrive once over connections that break", async () => {
  const url = `${control.url}/v1/events`;
  using stream = await openStream(url, account);
  await stream.until("the beginning", ({ text }) => text.endsWith("\n\n"));
  const [hello] = parseEventStream(stream.text);
  expect(hello?.lastEventId).toBe((JSON.parse(hello?.data ?? "{}") as { id: string }).id);
  for (let number = 0; number < 6; number++) {
    const body = JSON.stringify({ serial_number: `GW-${number}`, name: "x", type: "gateway" });
    const headers = { "X-API-Key": account.apiKey, "Content-Type": "application/json" };
    expect((await fetch(`${control.url}/v1/assets`, { method: "POST", headers, body })).status).toBe(201);
  }
  await stream.until("all events", ({ text }) => text.split("asset.registered").length === 7);
  const all = parseEventStream(stream.text).slice(1);
  const seen: ServerSentEvent[] = [];
  let last = hello?.lastEventId ?? "";
  while (seen.length < all.length) {
    using part = await openStream(`${url}?after=0`, { ...account, headers: { "Last-Event-ID": last } });
    await part.until("two events", ({ text }) => parseEventStream(text).length >= 2 || text.includes(all.at(-1)!.data));
    seen.push(...parseEventStream(part.text, last).slice(0, 2));
    last = seen.at(-1)?.lastEventId ?? "";
  }
  expect(seen).toEqual(all);
  expect(seen.every(({ data, lastEventId }) => (JSON.parse(data) as { id: string }).id === lastEventId)).toBe(true);
});

describe("a client that reads no streams", () => {
  const JSON_ONLY = { Accept: "application/json" };

  test.each([
    [{ name: "web" }, 422, "ErrorNoImage"],
    [{ ...app, unknown: 1 }, 422, "InvalidRequest"],
  ])("gets refusals as JSON with their status: %j", async (body, status, code) => {
    const { uuid } = await control.asset(account);
    // As axios sends it, which takes anything else, too.
    const axios = { Accept: "application/json, text/plain, */*" };
    for (const headers of [JSON_ONLY, axios, { Prefer: "respond-async" }]) {
      using refused = await deploy(uuid, headers, body);
      await refused.ended;
      expect([refused.status, refused.headers["content-type"]]).toEqual([
        status,
        expect.stringMatching(/^application\/json/),
      ]);
      expect(JSON.parse(refused.text)).toMatchObject({ code });
    }
  });

  test.each(["*/*", "application/json, text/event-stream", "application/json;q=0.9, */*"])(
    "gets a stream if it prefers no JSON: %s",
    async (Accept) => {
      const { uuid } = await control.asset(account);
      using refused = await deploy(uuid, { Accept }, { name: "web" });
      await refused.ended;
      expect(refused.events).toMatchObject([{ status: "Fail", code: "ErrorNoImage" }]);
    },
  );

  test("gets 404 for an asset that is not there", async () => {
    using refused = await deploy("GW-none", JSON_ONLY);
    await refused.ended;
    expect([refused.status, JSON.parse(refused.text)]).toEqual([
      404,
      { code: "AssetNotFound", message: "Asset not found" },
    ]);
  });

  test("gets the deployment at once with Prefer: respond-async, and follows it at its path", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    using accepted = await deploy(uuid, { Prefer: "wait=5, Respond-Async", "Idempotency-Key": "async" });
    await accepted.ended;
    const id = accepted.deploymentId;
    expect(accepted.status).toBe(202);
    expect(accepted.headers).toMatchObject({
      location: `/v1/assets/${uuid}/edge/deployments/${id}`,
      "preference-applied": "respond-async",
    });
    expect(JSON.parse(accepted.text)).toMatchObject({ deployment_id: id, status: "Running", action: "deploy" });
    using repeated = await deploy(uuid, { Prefer: "respond-async", "Idempotency-Key": "async" });
    await repeated.ended;
    expect([repeated.status, repeated.deploymentId]).toEqual([202, id]);
    device.success(id);
    const path = `${control.url}${accepted.headers.location}`;
    const { events } = await readAsStandardClient({ url: `${path}/events`, apiKey: account.apiKey });
    expect(events.at(-1)?.data).toContain('"Success"');
    const record = await fetch(path, { headers: { "X-API-Key": account.apiKey } });
    expect(await record.json()).toMatchObject({ deployment_id: id, status: "Success" });
  });
});
