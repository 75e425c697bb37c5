import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SimOperatorError } from "../../../src/control-plane/sim-operator/sim-operator.ts";
import { StoredSimOperator } from "../../../src/control-plane/sim-operator/stored-sim-operator.ts";
import { type ApiClient, apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { someProSim, someSuperSim } from "../../support/control-plane/sims.ts";
import { recordsOf } from "../../support/control-plane/usage-records.ts";
import { openStream } from "../../support/event-stream.ts";
import { FakeDevice } from "../../support/fake-device.ts";

/** Lists over all assets of an account, for programs that would otherwise ask for each asset. */

/** The operator does not answer about this SIM. */
const UNANSWERED = "8988307000009999991";

let control: ControlPlane;
let account: TestAccount;
let api: ApiClient;
let stranger: ApiClient;
beforeAll(async () => {
  control = await startControlPlane({ simOperator: ({ usage }) => new PartlyAnswering(usage) });
  account = await control.account();
  api = apiClient(control, account);
  stranger = apiClient(control, await control.account());
});
afterAll(() => control[Symbol.asyncDispose]());

class PartlyAnswering extends StoredSimOperator {
  override async readUsage(...given: Parameters<StoredSimOperator["readUsage"]>) {
    if (given[0].iccid === UNANSWERED) throw new SimOperatorError("no answer", false, { failure: "unavailable" });
    return super.readUsage(...given);
  }
}

interface Page {
  readonly deployments: readonly Record<string, unknown>[];
  readonly next_cursor: string | null;
}

async function pagesOf(path: string, client: ApiClient = api): Promise<Page[]> {
  const pages: Page[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const { status, body } = await client.get(`${path}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
    expect(status).toBe(200);
    pages.push(body as unknown as Page);
    cursor = (body as unknown as Page).next_cursor;
  }
  return pages;
}

const listed = async (query: string, client?: ApiClient): Promise<string[]> =>
  (await pagesOf(`/v1/deployments?limit=2${query}`, client)).flatMap(({ deployments }) =>
    deployments.map(({ asset_id, app }) => `${String(asset_id)} ${String(app)}`),
  );

describe("deployments of the account", () => {
  test("are those of all assets, by status, app, selector and time, and of no other account", async () => {
    const [one, two] = [await control.asset(account), await control.asset(account)];
    await api.put(`/v1/assets/${two.uuid}/tags`, { role: "kiosk" });
    await using device = await FakeDevice.connect(control.agentUrl, one.deviceToken);
    await using other = await FakeDevice.connect(control.agentUrl, two.deviceToken);
    const deploy = async (on: FakeDevice, uuid: string, name: string) => {
      const [stream, { deployment_id: id }] = await Promise.all([
        openStream(`${control.url}/v1/assets/${uuid}/edge/apps`, {
          apiKey: account.apiKey,
          body: { name, image: "registry.example.com/web:1" },
        }),
        on.next("deploy"),
      ]);
      return { stream, id };
    };
    const web = await deploy(device, one.uuid, "web");
    const database = await deploy(other, two.uuid, "db");
    other.event(database.id, {
      status: "Fail",
      step: "done",
      code: "CrashLoopBackOff",
      message: "The app has stopped.",
    });
    await database.stream.ended;
    const [first, second] = [`${one.uuid} web`, `${two.uuid} db`];

    expect(await listed("")).toEqual([second, first]);
    expect(await listed("&status=Running")).toEqual([first]);
    expect(await listed("&status=Fail")).toEqual([second]);
    expect(await listed("&app=web")).toEqual([first]);
    expect(await listed("&selector=role%3Dkiosk")).toEqual([second]);
    expect(await listed("&since=0")).toEqual([second, first]);
    expect(await listed("&updated_since=0")).toEqual([first, second]);
    expect(await listed(`&since=${Math.floor(Date.now() / 1000) + 3600}`)).toEqual([]);
    expect(await listed("", stranger)).toEqual([]);
    device.success(web.id);
    await web.stream.ended;
    expect(await listed("&updated_since=0")).toEqual([second, first]);
  });

  test("refuse what they do not know, by name", async () => {
    for (const [query, path] of [
      ["status=Done", "status"],
      ["since=1&updated_since=1", "updated_since"],
      ["selector=%3D", "selector"],
      ["cursor=x", "cursor"],
      ["limit=201", "limit"],
      ["state=Fail", "state"],
    ]) {
      const { status, body } = await api.get(`/v1/deployments?${query}`);
      expect([status, body["details"]], query).toEqual([
        422,
        { issues: [expect.objectContaining({ path }) as { path: string }] },
      ]);
    }
    // The order of a cursor is that of its list.
    const { body } = await api.get("/v1/deployments?limit=1");
    const cursor = encodeURIComponent(String(body["next_cursor"]));
    expect((await api.get(`/v1/deployments?updated_since=0&cursor=${cursor}`)).status).toBe(422);
  });
});

const startOfMonth = (): number => Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth(), 1) / 1000;

describe("usages of the account", () => {
  const START = Date.parse("2026-11-01T00:00:00Z") / 1000;
  const RANGE = `start_time=${START}&end_time=${START + 30 * 86_400}`;

  test("are those of all SIMs, with an error for one that cannot be read, and of no other account", async () => {
    const owner = await control.account();
    const client = apiClient(control, owner);
    const [supersim, prosim, silent] = [someSuperSim(), someProSim(), { ...someSuperSim(), iccid: UNANSWERED }];
    await control.asset(owner, { supersim, prosim });
    await control.asset(owner, { supersim: silent });
    await control.asset(owner);
    const record = (iccid: string, bucket: string, day: number, bytes: number) => {
      const startTime = START + day * 86_400;
      return { iccid, bucket, startTime, endTime: startTime + 3600, bytes };
    };
    await control.store.usage.recordUsage(
      recordsOf([
        record(supersim.iccid, "default_1gb", 0, 100),
        record(supersim.iccid, "default_1gb", 1, 20),
        record(prosim.iccid, "gold", 2, 7),
        // Another month.
        record(prosim.iccid, "gold", 40, 7),
      ]),
    );
    const pages = (await pagesOf(`/v1/usages?limit=2&${RANGE}`, client)) as unknown as {
      readonly sims: readonly Record<string, unknown>[];
    }[];
    expect(pages.map(({ sims }) => sims.length)).toEqual([2, 1]);
    expect(pages[0]).toMatchObject({ start_time: START, end_time: START + 30 * 86_400 });
    const sims = pages.flatMap((page) => page.sims);
    expect(sims.find(({ iccid }) => iccid === supersim.iccid)).toMatchObject({
      sim_type: "supersim",
      usages: [{ network_group: "default_1gb", total: 120 }],
    });
    expect(sims.find(({ iccid }) => iccid === prosim.iccid)).toMatchObject({
      sim_type: "prosim",
      usages: [{ service_profile: "gold", total: 7 }],
    });
    const unread = sims.find(({ iccid }) => iccid === UNANSWERED);
    expect(unread).toMatchObject({ error: { code: "SimOperatorFailed" } });
    expect(unread).not.toHaveProperty("usages");
    const days = await client.get(`/v1/usages?granularity=day&${RANGE}`);
    expect(JSON.stringify(days.body)).toContain(`"start_time":${START + 86_400}`);
    expect((await stranger.get(`/v1/usages?${RANGE}`)).body).toMatchObject({ sims: [], next_cursor: null });
  });

  test("are those of this month by default, and not by the hour", async () => {
    const before = startOfMonth();
    const { status, body } = await api.get("/v1/usages");
    expect(status).toBe(200);
    expect([before, startOfMonth()]).toContain(body["start_time"]);
    expect((await api.get("/v1/usages?granularity=hour")).status).toBe(422);
    expect((await api.get("/v1/usages?start_time=5&end_time=5")).status).toBe(422);
  });
});

/** A body without what follows the clock. */
const lasting = (body: unknown): string => JSON.stringify(body).replaceAll(/"finalized_until":[0-9]+/g, "");

/** Lists with a page after the first, each with a query, a parameter that differs from it, and one that is left out. */
const lists = (now: number): readonly (readonly [path: string, query: string, other: string])[] => [
  ["/v1/usages", "start_time=1788220800&end_time=1790812800&granularity=day", "end_time=1790812801"],
  ["/v1/usages", "start_time=1788220800&end_time=1790812800&granularity=day", "granularity=month"],
  ["/v1/usages", "", "start_time=1788220800"],
  ["/v1/uptime", `from=${now - 7200}&to=${now - 3600}`, `from=${now - 7201}`],
  ["/v1/uptime", `to=${now + 3600}`, `to=${now + 3601}`],
  ["/v1/assets", "type=Pumpe+%C3%BC&sort=-created_at", "sort=updated_at"],
  ["/v1/assets", "type=Pumpe+%C3%BC", "q=x"],
  ["/v1/sims", "type=supersim", "type=prosim"],
];

const forged = (...content: unknown[]): string =>
  encodeURIComponent(Buffer.from(JSON.stringify(content)).toString("base64url"));

describe("a cursor", () => {
  test("goes on with what its list was asked for, and with nothing else", async () => {
    const owner = await control.account();
    const client = apiClient(control, owner);
    for (let count = 0; count < 3; count += 1)
      await control.asset(owner, { type: "Pumpe ü", supersim: someSuperSim() });
    // Those of another type are no part of these lists.
    await control.asset(owner, { prosim: someProSim() });
    for (const [path, query, other] of lists(Math.floor(Date.now() / 1000))) {
      const first = await client.get(`${path}?limit=2&${query}`);
      const cursor = `cursor=${encodeURIComponent(String(first.body["next_cursor"]))}`;
      const rest = await client.get(`${path}?${cursor}&${query}`);
      expect([first.status, rest.status], `${path} ${query}`).toEqual([200, 200]);
      expect(lasting((await client.get(`${path}?${cursor}`)).body), `${path} ${query}`).toEqual(lasting(rest.body));
      for (const name of ["start_time", "end_time", "from", "to"])
        expect(rest.body[name], `${path} ${query}`).toBe(first.body[name]);
      expect(await client.get(`${path}?${cursor}&${other}`), `${path} ${query} ${other}`).toMatchObject({
        status: 422,
        body: {
          details: { issues: [{ path: other.split("=")[0], reason: expect.stringContaining("cursor") as string }] },
        },
      });
    }
  });

  test("is validated with all that it holds", async () => {
    for (const cursor of [
      forged("x", { type: "x".repeat(65) }, {}),
      forged("x", { type: 7 }, {}),
      forged("x", { limit: "1000" }, {}),
      forged("x", { other: "1" }, {}),
      forged("x", {}, { from: "1" }),
      forged("x", {}),
      forged("x", {}, {}),
      "eA",
    ])
      expect((await api.get(`/v1/assets?cursor=${cursor}`)).status, cursor).toBe(422);
    expect((await api.get(`/v1/assets?cursor=${forged("", {}, {})}&cursor=eA`)).status).toBe(422);
  });
});
