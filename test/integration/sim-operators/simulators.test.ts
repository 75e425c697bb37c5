import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { FakeClock } from "../../support/fake-clock.ts";
import { EMNIFY_KNOWN, EmnifySimulator } from "../../support/sim-operators/emnify-simulator.ts";
import { Extract } from "../../support/sim-operators/extract.ts";
import type { OperatorServer } from "../../support/sim-operators/operator-server.ts";
import { SuperSimSimulator } from "../../support/sim-operators/super-sim-simulator.ts";

const SID = `HS${"0a".repeat(16)}`;
const DAY_1 = Date.UTC(2026, 10, 1) / 1000;

let clock: FakeClock;
let superSim: SuperSimSimulator;
let emnify: EmnifySimulator;
let token: string;
beforeEach(async () => {
  clock = new FakeClock();
  superSim = await SuperSimSimulator.start(clock);
  onTestFinished(() => superSim[Symbol.asyncDispose]());
  superSim.addFleet("default_1gb", 1_000);
  superSim.addSim({ sid: SID, iccid: "8988307000001234567" });
  emnify = await EmnifySimulator.start(clock);
  onTestFinished(() => emnify[Symbol.asyncDispose]());
  emnify.addSim({ iccid: "8988303000001234567", imsi: "295050912345678" }).usage.set("2026-11-02", 1.5);
  token = await authenticate();
});

const JSON_BODY = { "Content-Type": "application/json" };
const authorize = async () =>
  fetch(`${emnify.url}/api/v1/authenticate`, {
    method: "POST",
    headers: JSON_BODY,
    body: JSON.stringify({ application_token: emnify.applicationToken }),
  });
const authenticate = async (): Promise<string> =>
  ((await (await authorize()).json()) as { auth_token: string }).auth_token;
const basic = (): string => `Basic ${Buffer.from(`${superSim.accountSid}:${superSim.authToken}`).toString("base64")}`;

type Call = readonly [method: string, path: string, body?: string | URLSearchParams | undefined];
const ask = (server: OperatorServer, [method, path, body]: Call) => {
  const authorization = server === superSim ? basic() : `Bearer ${token}`;
  const headers = { Authorization: authorization, ...(typeof body === "string" && JSON_BODY) };
  return fetch(server.url + path, { method, headers, ...(body !== undefined && { body }) });
};

const SUPER_SIM_CALLS: readonly (readonly [...Call, status: number])[] = [
  ["GET", "/v1/Sims?PageSize=1", undefined, 200],
  ["GET", "/v1/Sims?Iccid=8988307000001234567&Status=active", undefined, 200],
  ["GET", `/v1/Sims/${SID}`, undefined, 200],
  ["POST", `/v1/Sims/${SID}`, new URLSearchParams({ Status: "inactive", Fleet: "default_1gb" }), 200],
  ["GET", "/v1/Fleets", undefined, 200],
  ["GET", "/v1/Fleets/HF123", undefined, 404],
  ["GET", `/v1/UsageRecords?Sim=${SID}&Group=fleet&Granularity=hour&StartTime=2026-11-01T00:00:00Z`, undefined, 200],
];
const EMNIFY_CALLS: readonly (readonly [...Call, status: number])[] = [
  ["GET", "/api/v1/sim?q=iccid:8988303000001234567&page=1&per_page=1", undefined, 200],
  ["GET", "/api/v1/sim/101", undefined, 200],
  ["PATCH", "/api/v1/sim/101", JSON.stringify({ status: { id: 2 } }), 204],
  ["PATCH", "/api/v1/sim/101", JSON.stringify({ status: { id: 3 } }), 400],
  ["GET", "/api/v1/endpoint/5101", undefined, 200],
  ["GET", "/api/v1/endpoint/5101/stats/daily?start_date=2026-11-01&end_date=2026-11-30", undefined, 200],
  ["GET", "/api/v1/service_profile", undefined, 200],
];

describe("requests and responses", () => {
  test("that fit the documents are served, and the simulators' own responses fit them", async () => {
    superSim.use(SID, DAY_1, 100);
    for (const [server, calls] of [
      [superSim, SUPER_SIM_CALLS],
      [emnify, EMNIFY_CALLS],
    ] as const) {
      for (const [method, path, body, status] of calls) {
        const response = await ask(server, [method, path, body]);
        expect([method, path, response.status]).toEqual([method, path, status]);
        if (status === 204) expect(await response.text()).toBe("");
        else expect(await response.json()).toBeDefined();
      }
      // Disposing the server expects the same.
      expect(server.problems).toEqual([]);
    }
  });

  test.each<readonly [...Call, problem: string]>([
    ["GET", "/v1/Sims?PageSize=1001", undefined, "must be <= 1000"],
    ["GET", "/v1/Sims?Limit=5", undefined, "unknown parameter Limit"],
    ["GET", "/v1/Sims?Status=deleted", undefined, "must be equal to one of the allowed values"],
    ["GET", "/v1/UsageRecords?Granularity=month", undefined, "must be equal to one of the allowed values"],
    ["GET", "/v1/UsageRecords?StartTime=2026-11-01", undefined, 'must match format "date-time"'],
    ["POST", `/v1/Sims/${SID}`, new URLSearchParams({ Status: "scheduled" }), "must be equal to one of the allowed"],
    ["POST", `/v1/Sims/${SID}`, new URLSearchParams({ Active: "true" }), "must NOT have additional properties Active"],
    ["POST", `/v1/Sims/${SID}`, '{"Status":"active"}', "a body of application/json"],
    ["GET", "/v2/Sims", undefined, "no such operation"],
    ["PATCH", `/v1/Sims/${SID}`, new URLSearchParams(), "there is no PATCH"],
  ])("Super SIM: %s %s is refused and noted", async (method, path, body, problem) => {
    expect((await ask(superSim, [method, path, body])).status).toBe(400);
    expect(superSim.problems.splice(0).join()).toContain(problem);
  });

  test.each<readonly [...Call, problem: string]>([
    ["PATCH", "/api/v1/sim/101", "{}", "must have required property 'status'"],
    ["PATCH", "/api/v1/sim/101", '{"status":2}', "must be object"],
    ["PATCH", "/api/v1/sim/101", '{"status":{"id":2},"imsi":"1"}', "must NOT have additional properties imsi"],
    ["PATCH", "/api/v1/sim/101", new URLSearchParams({ status: "2" }), "a body of application/x-www-form-urlencoded"],
    ["GET", "/api/v1/sim?page=first", undefined, "must be integer"],
    ["GET", "/api/v1/endpoint/5101/stats/daily?start_date=2026-11-01T00:00:00Z", undefined, 'must match format "date"'],
    ["GET", "/api/v1/endpoint/5101/stats/daily?granularity=hour", undefined, "unknown parameter granularity"],
  ])("emnify: %s %s is refused and noted", async (method, path, body, problem) => {
    expect((await ask(emnify, [method, path, body])).status).toBe(400);
    expect(emnify.problems.splice(0).join()).toContain(problem);
  });

  test("a response that does not fit is noted: a field that nobody recorded, a wrong type, a status of none", async () => {
    const extract = await Extract.load("super-sim.openapi.json");
    const problemsOf = (status: number, body: unknown) =>
      extract.responseProblems("GET", "/v1/Sims/{Sid}", { status, body });
    expect(problemsOf(200, { sid: SID, status: "active", iccid: null })).toEqual([]);
    expect(problemsOf(200, { sid: SID, imsi: "1" })).toEqual(["must NOT have additional properties imsi"]);
    expect(problemsOf(200, { sid: "HS1" }).length).toBeGreaterThan(0);
    expect(problemsOf(200, { status: "deleted" }).length).toBeGreaterThan(0);
    expect(problemsOf(202, {})).toEqual(["GET /v1/Sims/{Sid} does not answer 202"]);
  });

  test("what is known of emnify beside its document is not in it, and is the only difference", async () => {
    const body = JSON.stringify({ status: { id: 1 } });
    const request = { method: "PATCH", url: new URL("http://x/api/v1/sim/1"), contentType: "application/json", body };
    const sim = { iccid: "1", iccid_with_luhn: "12" };
    const problemsOf = (extract: Extract) => [
      extract.requestProblems({ ...request, authorization: "Bearer x" }),
      extract.responseProblems("GET", "/api/v1/sim/{sim_id}", { status: 200, body: sim }),
      extract.responseProblems("GET", "/api/v1/sim", { status: 200, body: [sim] }),
    ];
    expect(problemsOf(await Extract.load("emnify.openapi.json", EMNIFY_KNOWN))).toEqual([[], [], []]);
    const plain = problemsOf(await Extract.load("emnify.openapi.json"));
    expect(plain.map((problems) => problems.length)).toEqual([3, 1, 1]);
    expect(Object.keys(EMNIFY_KNOWN)).toHaveLength(3);
    await expect(Extract.load("emnify.openapi.json", { "/components/nothing/here": 1 })).rejects.toThrow("has no");
  });
});

describe("behaviour", () => {
  test("emnify takes 10 lists or statistics a second, 100 authentications and 2,000 requests in 5 minutes", async () => {
    const list = async () => (await ask(emnify, ["GET", "/api/v1/sim?q=iccid:1"])).status;
    for (let number = 0; number < 10; number++) expect(await list()).toBe(200);
    expect(await list()).toBe(429);
    expect((await ask(emnify, ["GET", "/api/v1/sim/101"])).status).toBe(200);
    await clock.advance(1_000);
    expect(await list()).toBe(200);
    // One before the test.
    for (let number = 1; number < 100; number++) expect((await authorize()).status).toBe(200);
    expect((await authorize()).status).toBe(429);
    expect(emnify.throttled).toBe(2);
    for (let taken = 112; taken < 2_000; taken++)
      expect((await ask(emnify, ["GET", "/api/v1/sim/101"])).status).toBe(200);
    expect((await ask(emnify, ["GET", "/api/v1/sim/101"])).status).toBe(429);
    await clock.advance(300_000);
    expect((await ask(emnify, ["GET", "/api/v1/sim/101"])).status).toBe(200);
  });

  test("tokens end, are forgotten, and credentials are revoked", async () => {
    const read = async () => (await ask(emnify, ["GET", "/api/v1/sim/101"])).status;
    expect(await read()).toBe(200);
    await clock.advance(3_600_000);
    expect(await read()).toBe(401);
    token = await authenticate();
    expect(await read()).toBe(200);
    emnify.forgetTokens();
    expect(await read()).toBe(401);
    token = await authenticate();
    emnify.isRevoked = true;
    expect(await read()).toBe(401);
    expect((await authorize()).status).toBe(401);
  });

  test("Super SIM pages usage: every record once, or the last of each page twice", async () => {
    for (let hour = 0; hour < 10; hour++) superSim.use(SID, DAY_1 + hour * 3600, 1 + hour);
    superSim.pageSize = 4;
    const pages = async (): Promise<number[][]> => {
      const found: number[][] = [];
      let path: string | null =
        `/v1/UsageRecords?Sim=${SID}&Granularity=hour&Group=fleet&StartTime=2026-11-01T00:00:00Z&EndTime=2026-11-02T00:00:00Z`;
      while (path !== null) {
        const page = (await (await ask(superSim, ["GET", path])).json()) as {
          usage_records: { data_total: number }[];
          meta: { next_page_url: string | null };
        };
        found.push(page.usage_records.map(({ data_total: bytes }) => bytes));
        path = page.meta.next_page_url && page.meta.next_page_url.replace(superSim.url, "");
      }
      return found;
    };
    expect(await pages()).toEqual([
      [1, 2, 3, 4],
      [5, 6, 7, 8],
      [9, 10],
    ]);
    superSim.overlaps = true;
    expect(await pages()).toEqual([
      [1, 2, 3, 4],
      [4, 5, 6, 7, 8],
      [8, 9, 10],
    ]);
  });

  test("Super SIM queues changes: 202, and the status `scheduled` until they settle", async () => {
    superSim.schedules = true;
    const statusOf = async () =>
      ((await (await ask(superSim, ["GET", `/v1/Sims/${SID}`])).json()) as { status: string }).status;
    const queued = await ask(superSim, ["POST", `/v1/Sims/${SID}`, new URLSearchParams({ Status: "inactive" })]);
    expect([queued.status, await statusOf()]).toEqual([202, "scheduled"]);
    superSim.settle();
    expect(await statusOf()).toBe("inactive");
  });
});
