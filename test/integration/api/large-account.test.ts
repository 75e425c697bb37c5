import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AccountEvent } from "../../../src/protocol/assets/account-event.ts";
import type { AssetList } from "../../../src/protocol/assets/asset.ts";
import { apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { type EventStream, openStream } from "../../support/event-stream.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { waitFor } from "../../support/wait-for.ts";

const ASSETS = 100_000;
const DEPLOYMENTS = 500;
/** Every so many deployments one fails. */
const FAILS_EACH = 25;
const FAILED = DEPLOYMENTS / FAILS_EACH;
const PAGE = 200;

let control: ControlPlane;
let account: TestAccount;
beforeAll(async () => {
  control = await startControlPlane();
  account = await control.account();
});
afterAll(() => control[Symbol.asyncDispose]());

interface Running {
  readonly asset: TestAsset;
  readonly device: FakeDevice;
  readonly stream: EventStream;
  readonly id: string;
}

test("100,000 assets and 500 deployments at once: list, overview and events answer, and nothing is lost", async () => {
  await using owned = new AsyncDisposableStack();
  addAssets(ASSETS - DEPLOYMENTS);
  const assets: TestAsset[] = [];
  for (let index = 0; index < DEPLOYMENTS; index++) assets.push(await control.asset(account));
  const events = owned.use(await begin());
  const devices = await Promise.all(
    assets.map(async ({ deviceToken }) => owned.use(await FakeDevice.connect(control.agentUrl, deviceToken))),
  );
  await untilOverview({ assets: ASSETS, connected: DEPLOYMENTS, never_connected: ASSETS - DEPLOYMENTS });

  const running = await Promise.all(assets.map((asset, index) => deploy(asset, devices[index] as FakeDevice)));
  for (const { stream } of running) owned.use(stream);
  await untilOverview({ deployments_running: DEPLOYMENTS });
  // The list is read from its first page to its last while all of them move.
  const [listed] = await Promise.all([listAll(), move(running)]);
  expect(listed).toHaveLength(ASSETS);
  expect(new Set(listed.map(({ uuid }) => uuid)).size).toBe(ASSETS);
  expect(listed.filter(({ connected }) => connected)).toHaveLength(DEPLOYMENTS);

  for (const [index, each] of running.entries()) end(each, index);
  for (const { stream, id } of running) {
    expect(await stream.ended).toBe(true);
    expect(stream.deploymentId).toBe(id);
    expect(stream.events.filter(({ status }) => status !== "Running")).toHaveLength(1);
  }
  await untilOverview({ deployments_running: 0, attention: FAILED });
  expect((await page("&attention=deployment_failed")).assets).toHaveLength(FAILED);

  await waitFor("all ends", () => accountEventsOf(events, "deployment.ended").length >= DEPLOYMENTS);
  checkEvents(linesOf(events).slice(1), running);
  // Read again from the beginning in parts, it is the same.
  const again = await readInParts(linesOf(events)[0]?.id ?? "", linesOf(events).length - 1);
  expect(again).toEqual(linesOf(events).slice(1));
});

const linesOf = (stream: EventStream) => stream.events as unknown as readonly AccountEvent[];
const accountEventsOf = (stream: EventStream, type: string) => linesOf(stream).filter((event) => event.type === type);

async function begin(after?: string): Promise<EventStream> {
  const stream = await openStream(`${control.url}/v1/events${after === undefined ? "" : `?after=${after}`}`, account);
  await stream.until("its first line", ({ events }) => events.length > 0);
  return stream;
}

async function deploy(asset: TestAsset, device: FakeDevice): Promise<Running> {
  const [stream, { deployment_id: id }] = await Promise.all([
    openStream(`${control.url}/v1/assets/${asset.uuid}/edge/apps`, {
      apiKey: account.apiKey,
      body: { name: "web", image: "registry.example.com/web:1" },
    }),
    device.next("deploy"),
  ]);
  expect(stream.status).toBe(200);
  return { asset, device, stream, id };
}

async function move(running: readonly Running[]): Promise<void> {
  for (const step of ["pulling", "starting"] as const)
    for (const { device, id } of running) {
      device.event(id, { step });
      await device.flushed();
    }
}

function end({ device, id }: Running, index: number): void {
  if (index % FAILS_EACH > 0) device.success(id);
  else device.event(id, { status: "Fail", step: "done", code: "CrashLoopBackOff", message: "The app has stopped." });
}

/** Each deployment has begun, moved and ended once, in this order; numbers rise; no event says anything else. */
function checkEvents(events: readonly AccountEvent[], running: readonly Running[]): void {
  const ids = events.map(({ id }) => Number(id));
  expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b));
  const byDeployment = new Map<string, string[]>();
  for (const event of events) {
    if (!("deployment_id" in event) || event.deployment_id === undefined) continue;
    const said = [event.type, "step" in event ? event.step : "", "status" in event ? event.status : ""]
      .join(" ")
      .trim();
    byDeployment.set(event.deployment_id, [...(byDeployment.get(event.deployment_id) ?? []), said]);
  }
  expect([...byDeployment.keys()].toSorted()).toEqual(running.map(({ id }) => id).toSorted());
  for (const [index, { id }] of running.entries())
    expect(byDeployment.get(id)).toEqual([
      "deployment.started",
      "deployment.moved pulling",
      "deployment.moved starting",
      `deployment.ended  ${index % FAILS_EACH > 0 ? "Success" : "Fail"}`,
    ]);
  const connected = events.flatMap((event) => (event.type === "device.connected" ? [event.asset_id] : []));
  expect(connected.toSorted()).toEqual(running.map(({ asset }) => asset.uuid).toSorted());
}

/** Reads so many events after an id, and takes the stream up anew now and then. */
async function readInParts(after: string, count: number): Promise<AccountEvent[]> {
  const read: AccountEvent[] = [];
  while (read.length < count) {
    using stream = await begin(read.at(-1)?.id ?? after);
    const wanted = Math.min(count - read.length, PART);
    await stream.until("a part", ({ events }) => events.length >= wanted);
    read.push(...linesOf(stream).slice(0, wanted));
  }
  return read;
}

const PART = 700;

async function untilOverview(counts: Readonly<Record<string, number>>): Promise<void> {
  await waitFor(`the overview to say ${JSON.stringify(counts)}`, async () => {
    const { status, body } = await apiClient(control, account).get("/v1/overview");
    expect(status).toBe(200);
    expect(body).toMatchObject(counts);
    return true;
  });
}

async function page(query: string): Promise<AssetList> {
  const { status, body } = await apiClient(control, account).get(`/v1/assets?limit=${PAGE}${query}`);
  expect(status).toBe(200);
  return body as unknown as AssetList;
}

async function listAll(): Promise<AssetList["assets"]> {
  const all: AssetList["assets"] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const next: AssetList = await page(cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`);
    all.push(...next.assets);
    cursor = next.next_cursor;
  }
  return all;
}

/** Writes assets as another process would, in one transaction: single registrations would take most of a minute. */
function addAssets(count: number): void {
  using database = new DatabaseSync(control.databasePath);
  database.exec("BEGIN; CREATE TEMP TABLE fleet (uuid TEXT, serial TEXT, at INTEGER)");
  database
    .prepare(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
       INSERT INTO fleet SELECT printf('%08x-0000-4000-8000-%012x', i, i), printf('GW-%06d', i), 1790000000 + i FROM n`,
    )
    .run(count);
  database
    .prepare(
      `INSERT INTO assets (uuid, account_id, serial_number, name, type, created_at)
       SELECT uuid, ?, serial, 'Gateway ' || serial, 'gateway', at FROM fleet`,
    )
    .run(account.accountId);
  database.exec(`
    INSERT INTO identifiers (value, asset_uuid)
      SELECT uuid, uuid FROM fleet UNION ALL SELECT serial, uuid FROM fleet;
    DROP TABLE fleet; COMMIT`);
}
