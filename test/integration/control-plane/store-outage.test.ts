import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { issueCode } from "../../../src/control-plane/assets/enrolment-codes.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import { StoreOutageLog } from "../../../src/control-plane/store/outage-log.ts";
import { watchedStore } from "../../../src/control-plane/store/watched-store.ts";
import { captureLogText, type CapturedLog } from "../../support/captured-log.ts";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { type FailingStore, type Fate, failingStore } from "../../support/control-plane/failing-store.ts";
import { someProSim, someSuperSim } from "../../support/control-plane/sims.ts";
import { openStream } from "../../support/event-stream.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { FastClock } from "../../support/fast-clock.ts";
import { type HeldRollout, SOME_REVISION, startHeldRollout } from "../../support/fleets/held-rollout.ts";
import { readDocument } from "../../support/openapi/read-document.ts";
import { sampleRequests, type SampleRequest } from "../../support/openapi/sample-requests.ts";
import { RawStreamClient } from "../../support/raw-stream-client.ts";
import { waitFor } from "../../support/wait-for.ts";

let clock: Clock;
let log: CapturedLog;
let failing: FailingStore;
let control: ControlPlane;
let account: TestAccount;
let asset: TestAsset;

/** Starts a control plane whose time runs faster. */
async function start(times: number): Promise<void> {
  clock = new FastClock(times);
  log = captureLogText();
  control = await startControlPlane({
    clock,
    logger: log.logger,
    config: { legacy_removal_at: "2999-01-01T00:00:00Z", ack_timeout_s: 600 },
    decorateStore: (store) => {
      failing = failingStore(store);
      return watchedStore(failing.store, new StoreOutageLog(clock, log.logger));
    },
  });
  account = await control.account(["apps.forward", "apps.exec"]);
  asset = await control.asset(account, { supersim: someSuperSim(), prosim: someProSim() });
}
beforeEach(() => start(5));
// Disposing also checks that every answer fits the OpenAPI document.
afterEach(() => control[Symbol.asyncDispose]());

/** From now on every call has this fate. */
function setFate(fate: Fate): void {
  failing.fate = () => fate;
}

/** The messages of this level and above, as logged so far. */
function logged(level: number): string[] {
  const lines = log.text().split("\n").filter(Boolean);
  return lines
    .map((line) => JSON.parse(line) as { level: number; msg: string })
    .flatMap((line) => (line.level >= level ? [line.msg] : []));
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly retryAfter: string | null;
  readonly text: string;
  /** Of a JSON error, or of the last event of a stream. */
  readonly code: unknown;
}

/** Streams that do not end by themselves: of an account, and of a rollout that goes on. */
const ENDLESS: ReadonlySet<string> = new Set(["/v1/events", "/v1/fleets/{fleet}/rollouts/{rollout_id}/events"]);

async function readBeginning({ body }: Response): Promise<string> {
  const reader = body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  await reader?.cancel();
  return Buffer.from(value ?? []).toString();
}

/** Sends a request of the document to this asset. */
async function send(
  { method, path, body }: SampleRequest,
  { uuid }: TestAsset,
  deploymentId = "dep_x",
  key = account.apiKey,
  { fleet, rolloutId }: HeldRollout = { fleet: "kiosks", rolloutId: "rol_x" },
): Promise<Answer> {
  const url = path
    .replace("{asset_id}", uuid)
    .replace("{deployment_id}", deploymentId)
    .replace("{name}", "web")
    .replace("{fleet}", fleet)
    .replace("{rollout_id}", rolloutId)
    .replace(/\{(number|other)\}/g, "1")
    .replace("{sim_type}", "supersim");
  const query = path.endsWith("usages") ? "?start_time=1785000000&end_time=1785540000" : "";
  const response = await fetch(control.url + url + query, {
    method,
    headers: { "X-API-Key": key, ...(body !== undefined && { "Content-Type": "application/json" }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await (response.ok && ENDLESS.has(path) ? readBeginning(response) : response.text());
  const last =
    text
      .trimEnd()
      .split("\n")
      .at(-1)
      ?.replace(/^data: /, "") ?? "";
  const type = response.headers.get("content-type") ?? "";
  // A new enrolment code is in a field of that name, too.
  const mayFail = !response.ok || type.startsWith("text/event-stream");
  return {
    status: response.status,
    type,
    retryAfter: response.headers.get("retry-after"),
    text,
    code: mayFail && last.startsWith("{") ? (JSON.parse(last) as { code?: unknown }).code : undefined,
  };
}

async function allRequests(): Promise<SampleRequest[]> {
  return sampleRequests(await readDocument(control.url));
}

/** Endpoints that ask the database for nothing, with their usual response; the provider is not configured. */
const WITHOUT_DATABASE: ReadonlyMap<string, number> = new Map([
  ["/healthz", 200],
  ["/v1/oidc/start", 404],
  ["/v1/oidc/callback", 404],
]);

const isStream = ({ method, path }: SampleRequest): boolean =>
  method !== "GET" && /\/edge\/(?:agent|apps|apply)/.test(path);

/** Everything that clients can change. */
async function everything(): Promise<string> {
  const { assets, deployments } = control.store;
  const filter = { status: undefined, type: undefined, text: undefined };
  const time = { now: 0, notSeenBefore: 0, serviceNowMs: 0 };
  const page = await assets.listAssets(account.accountId, filter, 1000, undefined, time);
  // The state of an asset follows its device, not its clients.
  const found = page.assets.map(({ asset }) => asset);
  const listed = await Promise.all(found.map(({ uuid }) => deployments.listDeployments(uuid, 100)));
  return JSON.stringify([found, listed]);
}

test("every endpoint of the document responds with 503 and Retry-After, nothing changes, and one line is logged", async () => {
  const requests = await allRequests();
  expect(requests.length).toBeGreaterThan(30);
  const before = await everything();
  setFate("refused");
  for (const key of [account.apiKey, "ek_wrong"]) {
    for (const request of requests) {
      const name = `${request.method} ${request.path}`;
      const answer = await send(request, asset, "dep_x", key);
      const usual = WITHOUT_DATABASE.get(request.path);
      if (usual !== undefined) {
        expect(answer.status, name).toBe(usual);
        continue;
      }
      expect([answer.status, answer.retryAfter, answer.code], name).toEqual([503, "5", "ServiceUnavailable"]);
      expect(answer.type, name).toContain(isStream(request) ? "text/event-stream" : "application/json");
      if (isStream(request)) expect(answer.text, name).toMatch(/^data: \{"status":"Fail",[^\n]*\n\n$/);
    }
  }
  expect(logged(40)).toEqual([expect.stringContaining("the database cannot be reached")]);
  setFate("done");
  expect(await everything()).toBe(before);
  for (const request of requests) expect((await send(request, asset)).code).not.toBe("ServiceUnavailable");
  await waitFor("the line that says it is over", async () => {
    await fetch(`${control.url}/readyz`);
    return logged(30).filter((line) => line === "the database can be reached again").length === 1;
  });
  expect(logged(40)).toHaveLength(1);
});

test.each<Fate>(["refused", "result_lost"])(
  "at whichever call of a request the database is lost (%s), the response is the usual one or 503",
  async (fate) => {
    // Without devices, whose time limits need real time.
    await control[Symbol.asyncDispose]();
    await start(100);
    for (const request of await allRequests()) {
      const name = `${request.method} ${request.path}`;
      // A read whose result is lost is one that was refused.
      if (fate === "result_lost" && request.method === "GET") continue;
      // What is only read can be read again.
      const read = request.method === "GET" ? await prepare(request) : undefined;
      const attempt = async (fateOf: () => Fate) => sendTo(read ?? (await prepare(request)), fateOf);
      const usual = await attempt(() => "done");
      let lost = 0;
      for (let at = 0; ; at++) {
        let calls = 0;
        const before = failing.failures;
        const answer = await attempt(() => (calls++ === at ? fate : "done"));
        if (failing.failures === before) break;
        lost++;
        const where = `${name}, call ${at}: ${answer.text}`;
        if (answer.code === "ServiceUnavailable") expect([answer.status, answer.retryAfter], where).toEqual([503, "5"]);
        else expect([answer.status, answer.code], where).toEqual([usual.status, usual.code]);
      }
      if (!WITHOUT_DATABASE.has(request.path)) expect(lost, name).toBeGreaterThan(0);
    }
    expect(logged(40).filter((line) => !line.startsWith("the database cannot be reached"))).toEqual([]);
  },
);

interface PreparedRequest {
  readonly request: SampleRequest;
  readonly asset: TestAsset;
  readonly deploymentId: string | undefined;
  readonly rollout: HeldRollout | undefined;
}

async function deployTo({ uuid }: TestAsset): Promise<string> {
  const deployed = await openStream(`${control.url}/v1/assets/${uuid}/edge/apps`, {
    apiKey: account.apiKey,
    body: { name: "web", image: "web:1" },
  });
  await deployed.ended;
  return deployed.deploymentId;
}

/** Makes what a request is about: an asset, and a deployment or a fleet with a rollout if it names one. */
async function prepare(request: SampleRequest): Promise<PreparedRequest> {
  const fresh = await control.asset(account, { supersim: someSuperSim(), prosim: someProSim() });
  const deploymentId = request.path.includes("{deployment_id}") ? await deployTo(fresh) : undefined;
  let body = request.body;
  if (request.path === "/v1/enrolments") {
    const { code } = await issueCode({ store: control.store, clock }, fresh.uuid, {
      validS: 24 * 3600,
      mayReplace: true,
    });
    body = { code, nonce: randomBytes(16).toString("base64url") };
  }
  if (request.path === "/v1/assets" && request.method === "POST")
    body = { serial_number: randomBytes(8).toString("hex") };
  if (request.path === "/v1/users" && request.method === "POST")
    body = { email: `${randomBytes(8).toString("hex")}@example.com`, role: "viewer" };
  if (request.path === "/v1/fleets" && request.method === "POST")
    body = { name: `fleet-${randomBytes(8).toString("hex")}`, selector: "role=none", apps: ["kiosk-ui"] };
  const rollout = request.path.includes("{fleet}") ? await startHeldRollout(control, account, fresh) : undefined;
  if (request.path.endsWith("/revisions") && request.method === "POST") body = SOME_REVISION;
  if (request.path.endsWith("/rollouts") && request.method === "POST") body = { revision: 1 };
  return { request: { ...request, body }, asset: fresh, deploymentId, rollout };
}

async function sendTo(
  { request, asset: to, deploymentId, rollout }: PreparedRequest,
  fate: () => Fate,
): Promise<Answer> {
  failing.fate = fate;
  try {
    return await send(request, to, deploymentId, account.apiKey, rollout);
  } finally {
    setFate("done");
  }
}

describe("a request for a WebSocket is refused with 503 and Retry-After", () => {
  test.each(["/v1/agent", "/v1/assets/x/edge/apps/web/stream"])("%s", async (path) => {
    setFate("refused");
    const headers = { Authorization: `Bearer ${asset.deviceToken}`, "X-API-Key": account.apiKey };
    const socket = new WebSocket(control.url.replace(/^http/, "ws") + path, { headers });
    socket.on("error", () => {});
    const [, response] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage];
    expect([response.statusCode, response.headers["retry-after"]]).toEqual([503, "5"]);
    socket.terminate();
    setFate("done");
    await using device = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
    await using client = await RawStreamClient.connect(control.url, asset.uuid, "web", account.apiKey);
    expect([device.isClosed, client.frames]).toEqual([false, []]);
  });
});

test.each<Fate>(["refused", "result_lost"])(
  "frames wait, nothing is acknowledged, and the stream goes on by itself (%s)",
  async (fate) => {
    await using device = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
    using stream = await openStream(`${control.url}/v1/assets/${asset.uuid}/edge/apps`, {
      apiKey: account.apiKey,
      body: { name: "web", image: "web:1" },
    });
    const { deployment_id: id } = await device.next("deploy");
    const record = () => control.store.deployments.findDeployment(id);
    await waitFor("the acknowledgement on record", async () => (await record())?.state.kind === "acknowledged");
    setFate(fate);
    const before = failing.failures;
    device.event(id, { step: "pulling", message: "Pulling." });
    device.event(id, { step: "starting", message: "Starting." });
    device.success(id);
    await device.flushed();
    await waitFor("three attempts", () => failing.failures >= before + 3);
    expect(device.received.filter(({ type }) => type === "event_ack")).toEqual([]);
    expect(device.isClosed).toBe(false);
    setFate("done");
    await stream.ended;
    await waitFor("the acknowledgements", () => device.received.filter(({ type }) => type === "event_ack").length >= 3);
    const acks = device.received.flatMap((frame) => (frame.type === "event_ack" ? [frame.device_seq] : []));
    expect(acks).toEqual([1, 2, 3]);
    const { events } = stream;
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, index) => index + 1));
    expect(events.map(({ message }) => message).slice(-3)).toEqual(["Pulling.", "Starting.", "The app runs."]);
    expect(device.received.filter(({ type }) => type === "deploy")).toHaveLength(1);
    expect(logged(40)).toHaveLength(1);
  },
);

test("a hello that comes during the outage is answered once, after it", async () => {
  await using device = await FakeDevice.open(control.agentUrl, asset.deviceToken);
  setFate("result_lost");
  const before = failing.failures;
  device.hello();
  await waitFor("three attempts", () => failing.failures >= before + 3);
  expect(device.received).toEqual([]);
  setFate("done");
  await device.next("welcome");
  using stream = await openStream(`${control.url}/v1/assets/${asset.uuid}/edge/apps`, {
    apiKey: account.apiKey,
    body: { name: "web", image: "web:1" },
  });
  const { deployment_id: id } = await device.next("deploy");
  device.success(id);
  await stream.ended;
  expect(device.received.filter(({ type }) => type === "welcome")).toHaveLength(1);
});

test("a disconnect during the outage is on record after it", async () => {
  const device = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
  setFate("refused");
  const before = failing.failures;
  await device.cut();
  await waitFor("an attempt to store it", () => failing.failures > before);
  setFate("done");
  await waitFor("the record", async () => (await control.store.sessions.find(asset.uuid))?.instanceId === undefined);
});

test("a deployment that was stored although its client heard 503 is delivered, and repeating the request joins it", async () => {
  await using device = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
  failing.fate = (call) => (call === "deployments.createDeployment" ? "result_lost" : "done");
  const request = {
    apiKey: account.apiKey,
    headers: { "Idempotency-Key": "once" },
    body: { name: "web", image: "web:1", registry_auth: { username: "u", password: "p" } },
  };
  const path = `${control.url}/v1/assets/${asset.uuid}/edge/apps`;
  using refused = await openStream(path, request);
  await refused.ended;
  expect([refused.status, refused.events.map(({ code }) => code)]).toEqual([503, ["ServiceUnavailable"]]);
  setFate("done");
  const { deployment_id: id, options } = await device.next("deploy");
  expect(options?.registry_auth).toEqual({ username: "u", password: "p" });
  using joined = await openStream(path, request);
  device.success(id);
  await joined.ended;
  expect([joined.deploymentId, joined.events.at(-1)?.status]).toEqual([id, "Success"]);
  expect((await control.store.deployments.listDeployments(asset.uuid, 10)).deployments).toHaveLength(1);
  expect(device.received.filter(({ type }) => type === "deploy")).toHaveLength(1);
});

test("the audit log has the end of an access that came during the outage", async () => {
  await using device = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
  await using client = await RawStreamClient.connect(control.url, asset.uuid, "web", account.apiKey);
  client.open(7, "exec", { command: ["sh"], tty: false });
  const { stream_id: id } = await device.next("stream_open");
  const actions = async () =>
    (await control.store.audit.listEntries(account.accountId, 10)).map(({ action }) => action);
  await waitFor("the first entry", async () => (await actions()).length === 1);
  setFate("refused");
  device.send({ type: "stream_close", stream_id: id });
  await client.next("stream_close");
  setFate("done");
  await waitFor("the second entry", async () => (await actions()).length === 2);
  expect(await actions()).toEqual(["remote_access.closed", "remote_access.opened"]);
});

test("the service stops during an outage, and the stream continues after the next start", async () => {
  await using device = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
  using stream = await openStream(`${control.url}/v1/assets/${asset.uuid}/edge/apps`, {
    apiKey: account.apiKey,
    body: { name: "web", image: "web:1" },
  });
  const { deployment_id: id } = await device.next("deploy");
  await stream.until("the first event", ({ events }) => events.length > 0);
  const after = stream.events.length;
  setFate("refused");
  await control.restart();
  expect(await stream.ended).toBe(true);
  await using again = await FakeDevice.connect(control.agentUrl, asset.deviceToken, { held: [id] });
  const url = `${control.url}/v1/assets/${asset.uuid}/edge/deployments/${id}/events?after=${after}`;
  using resumed = await openStream(url, { apiKey: account.apiKey });
  again.success(id);
  await resumed.ended;
  expect(resumed.events[0]?.seq).toBe(after + 1);
  expect(resumed.events.at(-1)?.status).toBe("Success");
});
