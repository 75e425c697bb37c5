import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type AccountEvent,
  accountEventSchema,
  accountStreamNoteSchema,
  type AccountStreamNote,
} from "../../../src/protocol/assets/account-event.ts";
import { apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { someFacts } from "../../support/control-plane/device-samples.ts";
import { someSuperSim } from "../../support/control-plane/sims.ts";
import { type EventStream, openStream } from "../../support/event-stream.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { waitFor } from "../../support/wait-for.ts";

let control: ControlPlane;
beforeAll(async () => {
  control = await startControlPlane();
});
afterAll(() => control[Symbol.asyncDispose]());

type Line = AccountEvent | AccountStreamNote;

const linesOf = (stream: EventStream): readonly Line[] => stream.events as unknown as readonly Line[];
const eventsOf = (stream: EventStream): readonly AccountEvent[] =>
  linesOf(stream).filter((line) => line.type !== "hello" && line.type !== "reset");
const typesOf = (stream: EventStream): readonly string[] => linesOf(stream).map(({ type }) => type);

async function follow({ apiKey }: Pick<TestAccount, "apiKey">, after?: string): Promise<EventStream> {
  const stream = await openStream(`${control.url}/v1/events${after === undefined ? "" : `?after=${after}`}`, {
    apiKey,
  });
  expect(stream.status).toBe(200);
  expect(stream.headers["content-type"]).toBe("text/event-stream");
  return stream;
}

async function begin(account: Pick<TestAccount, "apiKey">): Promise<EventStream> {
  const stream = await follow(account);
  await stream.until("the hello", () => linesOf(stream).length > 0);
  expect(linesOf(stream)[0]).toEqual({ type: "hello", id: expect.stringMatching(/^\d+$/) as string });
  return stream;
}

/** Waits for these types, in this order, and nothing else. */
async function receive(stream: EventStream, ...types: readonly string[]): Promise<void> {
  await stream.until(types.join(", "), () => typesOf(stream).length >= types.length);
  expect(typesOf(stream)).toEqual(types);
}

const report = (state: string) => ({
  base: null,
  hash: `hash ${state}`,
  apps: [
    {
      name: "web",
      image: "web:1",
      image_digest: null,
      state,
      desired_state: "running",
      since: null,
      restarts: 0,
      spec: {},
      last_deployment: null,
    },
  ],
  removed_apps: [],
});

test("what happens in the account is sent to each of its streams, and to no other account", async () => {
  const account = await control.account();
  const stranger = await control.account();
  using stream = await begin(account);
  using second = await begin(account);
  using other = await begin(stranger);
  const { uuid, deviceToken } = await control.asset(account, { supersim: someSuperSim() });
  const device = await FakeDevice.connect(control.agentUrl, deviceToken);
  device.send({ type: "report", ...report("unhealthy") });
  await stream.until("the report", () => typesOf(stream).includes("device.reported"));
  const api = apiClient(control, account);
  expect((await api.patch(`/v1/assets/${uuid}`, { name: "Other", status: "inactive" })).status).toBe(200);
  await device[Symbol.asyncDispose]();
  await stream.until("the end of the session", () => typesOf(stream).includes("device.disconnected"));
  expect((await api.delete(`/v1/assets/${uuid}`)).status).toBe(204);
  for (const each of [stream, second]) {
    await receive(
      each,
      "hello",
      "asset.registered",
      "device.connected",
      "device.reported",
      "sim.changed",
      "asset.changed",
      "device.disconnected",
      "asset.removed",
    );
  }
  for (const event of eventsOf(stream)) expect(accountEventSchema.parse(event)).toEqual(event);
  expect(accountStreamNoteSchema.safeParse(linesOf(stream)[0]).success).toBe(true);
  expect(eventsOf(stream)).toEqual(eventsOf(second));
  expect(eventsOf(stream)).toMatchObject([
    { asset_id: uuid },
    { agent_version: "0.0.0-test" },
    { attention: ["app_unhealthy"] },
    {},
    {},
    {},
    {},
  ]);
  const ids = eventsOf(stream).map(({ id }) => Number(id));
  expect(ids).toEqual(ids.toSorted((a, b) => a - b));
  expect(typesOf(other)).toEqual(["hello"]);
});

test("a deployment begins, moves and ends; its progress is in its own stream", async () => {
  const account = await control.account();
  const { uuid, deviceToken } = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  using stream = await begin(account);
  const spec = { name: "web", image: "registry.example.com/web:1" };
  using deployment = await openStream(`${control.url}/v1/assets/${uuid}/edge/apps`, {
    apiKey: account.apiKey,
    body: spec,
  });
  const { deployment_id: id } = await device.next("deploy");
  for (const progress of [1, 2, 3]) device.event(id, { step: "pulling", progress });
  device.event(id, { step: "starting" });
  device.event(id, { status: "Fail", step: "done", code: "InsufficientDisk", message: "Too little space." });
  await deployment.ended;
  await stream.until("the end", () => typesOf(stream).includes("deployment.ended"));
  const about = { asset_id: uuid, deployment_id: id, app: "web", action: "deploy" };
  expect(eventsOf(stream)).toMatchObject([
    { type: "deployment.started", ...about },
    { type: "deployment.moved", step: "pulling", ...about },
    { type: "deployment.moved", step: "starting", ...about },
    { type: "deployment.ended", status: "Fail", code: "InsufficientDisk", ...about },
  ]);
  const { body } = await apiClient(control, account).get(`/v1/assets/${uuid}`);
  expect(body).toMatchObject({ connected: true, attention: ["deployment_failed", "disk_low"] });
});

test("a disk that a device reports as low shows, until it reports that it is not", async () => {
  const account = await control.account();
  const { uuid, deviceToken } = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  using stream = await begin(account);
  const api = apiClient(control, account);
  const told: unknown[] = [];
  for (const disk of [{ disk_low: true }, {}, { disk_low: false }]) {
    const { length } = told;
    device.send({ type: "report", ...report("running"), hash: `h${length}`, device: someFacts(disk) });
    await stream.until("the report", () => eventsOf(stream).length > length);
    told.push(eventsOf(stream).at(-1));
    const { body } = await api.get(`/v1/assets/${uuid}`);
    expect(body).toMatchObject({ attention: (told.at(-1) as { attention: unknown }).attention });
    const showing = api.get(`/v1/assets/${uuid}/edge/device`);
    // Then what is stored is shown.
    device.endQuery((await device.next("query")).query_id, "DeviceNotReachable");
    const { body: shown } = await showing;
    expect(shown).toMatchObject({ device: disk });
  }
  // The second report is that of an earlier agent.
  expect(told).toMatchObject([{ attention: ["disk_low"] }, { attention: ["disk_low"] }, { attention: [] }]);
});

test("a stream goes on after the last event that was received, over a restart of the service", async () => {
  const account = await control.account();
  using first = await begin(account);
  await control.asset(account);
  await first.until("an event", () => eventsOf(first).length === 1);
  await control.asset(account);
  await control.restart();
  await first.ended;
  await control.asset(account);
  using second = await follow(account, eventsOf(first)[0]?.id);
  await second.until("both others", () => eventsOf(second).length === 2);
  expect(typesOf(second)).toEqual(["asset.registered", "asset.registered"]);
});

test("asked for events that are not there any more, or never were, a stream begins with a reset", async () => {
  const account = await control.account();
  using stream = await begin(account);
  await control.asset(account);
  await stream.until("an event", () => eventsOf(stream).length === 1);
  const last = eventsOf(stream)[0]?.id;
  using ahead = await follow(account, String(Number(last) + 1));
  await receive(ahead, "reset");
  await control.store.accountEvents.startAnew();
  using behind = await follow(account, last);
  await receive(behind, "reset");
  await control.asset(account);
  await receive(behind, "reset", "asset.registered");
  for (const wrong of ["x", "-1", "1.5", ""]) {
    const { status } = await openStream(`${control.url}/v1/events?after=${wrong}`, account);
    expect(status).toBe(422);
  }
});

test("a stream ends with the key or the session it was opened with, and with the service", async () => {
  const account = await control.account();
  const key = await control.key(account, []);
  const session = await control.session(account);
  using ofKey = await begin(key);
  using ofSession = await openStream(`${control.url}/v1/events`, { headers: { Cookie: session.cookie } });
  using ofService = await begin(account);
  await control.store.keys.revokeKey(key.keyId, 1);
  expect(await ofKey.ended).toBe(true);
  await ofService.until("the change of the key", () => typesOf(ofService).includes("key.changed"));
  expect(ofSession.status).toBe(200);
  await control.restart();
  expect(await ofSession.ended).toBe(true);
  expect(await ofService.ended).toBe(true);
});

test("a stream has the types and the app that it asks for only, of what has been and of what comes", async () => {
  const account = await control.account();
  const { uuid, deviceToken } = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  using all = await begin(account);
  const start = linesOf(all)[0]?.id ?? "";
  const filtered = (query: string): Promise<EventStream> =>
    openStream(`${control.url}/v1/events?after=${start}&${query}`, { apiKey: account.apiKey });
  const deploy = async (name: string): Promise<void> => {
    using stream = await openStream(`${control.url}/v1/assets/${uuid}/edge/apps`, {
      apiKey: account.apiKey,
      body: { name, image: "registry.example.com/web:1" },
    });
    device.success((await device.next("deploy")).deployment_id);
    await stream.ended;
  };
  const api = apiClient(control, account);
  await deploy("web");
  using ends = await filtered("types=deployment.ended,asset.changed");
  using ofApp = await filtered("types=deployment.*&app=db");
  using none = await filtered("types=key.*");
  await ends.until("the end of web", () => typesOf(ends).length > 0);
  await deploy("db");
  await api.patch(`/v1/assets/${uuid}`, { name: "Other" });
  await ends.until("the change of the name", () => typesOf(ends).includes("asset.changed"));
  await all.until("the same", () => typesOf(all).includes("asset.changed"));
  expect(eventsOf(ends)).toEqual(
    eventsOf(all).filter(({ type }) => type === "deployment.ended" || type === "asset.changed"),
  );
  await ofApp.until("the end of db", () => typesOf(ofApp).includes("deployment.ended"));
  expect(eventsOf(ofApp)).toEqual(eventsOf(all).filter((event) => "app" in event && event.app === "db"));
  expect(eventsOf(none)).toEqual([]);
  for (const types of ["deployment", "deployment.gone", "*", "key.*,"])
    expect((await api.get(`/v1/events?types=${types}`)).body).toMatchObject({ code: "InvalidRequest" });
});

const assetsOf = (stream: EventStream) =>
  eventsOf(stream).map((event) => [event.type, "asset_id" in event && event.asset_id]);

test("a stream has the events of assets that match its selector, of what has been and of what comes", async () => {
  const account = await control.account();
  const [north, south] = await Promise.all([control.asset(account), control.asset(account)]);
  const api = apiClient(control, account);
  await api.put(`/v1/assets/${north.uuid}/tags`, { region: "north" });
  using all = await begin(account);
  const start = linesOf(all)[0]?.id ?? "";
  const selecting = (selector: string, more = ""): Promise<EventStream> =>
    openStream(`${control.url}/v1/events?after=${start}&selector=${encodeURIComponent(selector)}${more}`, {
      apiKey: account.apiKey,
    });
  const rename = async ({ uuid }: { readonly uuid: string }): Promise<void> => {
    expect((await api.patch(`/v1/assets/${uuid}`, { name: "Other" })).status).toBe(200);
  };
  await rename(north);
  await rename(south);
  await control.key(account, []);
  using ofNorth = await selecting("region=north");
  using ofOthers = await selecting("!region", "&types=asset.*");
  await ofNorth.until("the change of before", () => typesOf(ofNorth).length > 0);
  await ofOthers.until("the change of before", () => typesOf(ofOthers).length > 0);
  await rename(south);
  // From now on it matches, as its own event.
  await api.put(`/v1/assets/${south.uuid}/tags`, { region: "north" });
  await api.delete(`/v1/assets/${south.uuid}`);
  for (const stream of [all, ofNorth, ofOthers])
    await stream.until("the removal", () => typesOf(stream).includes("asset.removed"));
  expect(assetsOf(ofNorth)).toContainEqual(["asset.changed", north.uuid]);
  expect(assetsOf(ofNorth)).toContainEqual(["asset.removed", south.uuid]);
  expect(typesOf(ofNorth)).not.toContain("key.changed");
  expect(assetsOf(ofOthers)).toContainEqual(["asset.changed", south.uuid]);
  expect(assetsOf(ofOthers).map(([, uuid]) => uuid)).not.toContain(north.uuid);
  expect((await api.get("/v1/events?selector=%3D")).body).toMatchObject({ code: "InvalidRequest" });
});

const COUNT = 16_000;

test("a stream that is not read is ended, and others go on", async () => {
  const account = await control.account();
  using unread = await begin(account);
  using reader = await begin(account);
  unread.freeze();
  // More than the connection itself holds.
  addEvents(account.accountId, COUNT, 900);
  await control.asset(account);
  await waitFor("the last event", () => hasLast(reader));
  expect(eventsOf(reader)).toHaveLength(COUNT + 1);
  unread.thaw();
  expect(await unread.ended).toBe(false);
  // It goes on where it was.
  const last = eventsOf(unread).at(-1)?.id;
  using again = await follow(account, last);
  await waitFor("the last event", () => hasLast(again));
  expect(eventsOf(unread).length + eventsOf(again).length).toBe(COUNT + 1);
});

const hasLast = (stream: EventStream): boolean => stream.text.slice(-1_000).includes("asset.registered");

/** Stores events as another process would. */
function addEvents(accountId: string, count: number, bytes: number): void {
  using database = new DatabaseSync(control.databasePath);
  const insert = database.prepare("INSERT INTO account_events (account_id, event) VALUES (?, ?)");
  database.exec("BEGIN");
  for (let index = 0; index < count; index++)
    insert.run(accountId, JSON.stringify({ type: "asset.changed", asset_id: "x".repeat(bytes) }));
  database.exec("COMMIT");
}
