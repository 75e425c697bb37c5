import { METHODS } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { captureLog } from "../../support/link/log-capture.ts";
import { waitFor } from "../../support/wait-for.ts";

let control: ControlPlane;
let account: TestAccount;
const log = captureLog();
const NOTHING = { code: "NotFound", message: "There is nothing at this address." };

beforeAll(async () => {
  control = await startControlPlane({ logger: log.logger });
  account = await control.account();
});
afterAll(() => control[Symbol.asyncDispose]());

/** Sends raw bytes and returns everything received until the connection is closed. */
function raw(bytes: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(control.server.port, "127.0.0.1");
    let text = "";
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => (text += chunk));
    socket.on("close", () => resolve(text));
    socket.on("error", reject);
    socket.write(bytes);
  });
}

const get = (target: string, headers = ""): Promise<string> =>
  raw(`GET ${target} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${account.apiKey}\r\n${headers}Connection: close\r\n\r\n`);

test("a liveness and a readiness check answer without a key", async () => {
  for (const path of ["/healthz", "/readyz"]) {
    const response = await fetch(control.url + path);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: "ok" });
  }
});

test("an unknown address is a typed 404", async () => {
  for (const path of ["/", "/v1", "/v2/assets", "/v1/agent", "/v1/assets/x/y", "//", "/v1/nothing/"]) {
    const response = await fetch(control.url + path, { headers: { "X-API-Key": account.apiKey } });
    expect(response.status, path).toBe(404);
    expect(await response.json()).toEqual(NOTHING);
  }
});

test.each([
  ["/v1/assets/", "/v1/assets"],
  ["/v1/assets/?limit=1", "/v1/assets"],
  ["/v1/assets/x/", "/v1/assets/x"],
  ["/v1/assets/x/edge/apps/", "/v1/assets/x/edge/apps"],
  ["/v1/assets/x//tags", "/v1/assets/x/tags"],
  ["//v1//fleets//", "/v1/fleets"],
])("%s is a typed 404 that names %s, whatever the method", async (path, meant) => {
  for (const method of ["GET", "POST", "PUT", "DELETE", "OPTIONS"]) {
    const response = await fetch(control.url + path, { method, headers: { "X-API-Key": account.apiKey } });
    expect([method, response.status]).toEqual([method, 404]);
    const message = `There is nothing at this address; did you mean ${meant}?`;
    expect(await response.json()).toEqual({ code: "NotFound", message });
  }
});

test("an unknown address is 404 also where it is asked with an unknown method, or a body", async () => {
  for (const [method, body] of [
    ["PROPFIND", ""],
    ["POST", "{"],
    ["POST", "x".repeat(60 * 1024)],
  ] as const) {
    const response = await fetch(`${control.url}/v1/nothing`, { method, body, headers: { "X-API-Key": "none" } });
    expect([method, response.status, await response.json()]).toEqual([method, 404, expect.objectContaining(NOTHING)]);
  }
});

// Node.js itself closes the connection of a CONNECT.
test.each(METHODS.filter((method) => !["CONNECT", "GET", "HEAD"].includes(method)))(
  "%s is 405 with Allow on an address that has only GET",
  async (method) => {
    for (const path of ["/healthz", "/v1/assets/x/edge/device", "/v1/overview", "/openapi.json"]) {
      const answer = await raw(`${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      expect(answer, path).toMatch(/^HTTP\/1.1 405 /);
      expect(answer).toMatch(/^allow: GET, HEAD\r$/im);
      expect(answer).toContain('"code":"MethodNotAllowed"');
    }
  },
);

test.each([
  ["PUT", "/v1/assets/x", /GET/],
  ["PUT", "/v1/assets/x/edge/apps", /^GET, HEAD, POST$/],
  ["PATCH", "/v1/assets/x/edge/deployments/y", /^DELETE, GET, HEAD$/],
  ["HEAD", "/v1/assets/x/edge/deployments/y/events", /^GET$/],
  ["POST", "/healthz", /^GET, HEAD$/],
  ["OPTIONS", "/readyz", /^GET, HEAD$/],
])("%s %s is 405 with Allow", async (method, path, allow) => {
  const response = await fetch(control.url + path, { method, headers: { "X-API-Key": account.apiKey } });
  expect(response.status).toBe(405);
  expect(response.headers.get("allow")).toMatch(allow);
  if (method !== "HEAD") expect(await response.json()).toMatchObject({ code: "MethodNotAllowed" });
});

describe("what Node's parser or the router refuses", () => {
  test.each(["/v1/assets/%", "/v1/assets/%zz", "/v1/assets/%ff", "/v1/assets/%c3%28"])("%s is 400", async (target) => {
    const answer = await get(target);
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(answer).toContain('"code":"BadRequest"');
    expect(answer).toContain("begins no valid escape");
  });

  test.each([
    "/v1/assets/a%2Fb",
    "/v1/assets/..",
    "/v1/assets/%2e%2e",
    "/v1/assets/%00",
    "/v1/assets/a;b",
    "/v1/assets/%E2%80%AE",
  ])("%s is an asset that does not exist", async (target) => {
    const answer = await get(target);
    expect(answer).toMatch(/^HTTP\/1.1 404 /);
    expect(answer).toContain('"code":"AssetNotFound"');
  });

  test("headers that are too large are 431", async () => {
    const answer = await get("/healthz", `X-Filler: ${"x".repeat(20_000)}\r\n`);
    expect(answer).toMatch(/^HTTP\/1.1 431 /);
    expect(answer).toContain('{"code":"BadRequest","message":"The request\'s headers are too large."}');
  });

  test.each(["GARBAGE\r\n\r\n", "GET /healthz HTTP/9.9\r\n\r\n", "\x16\x03\x01\x02\x00", "GET /\0 HTTP/1.1\r\n\r\n"])(
    "%j is 400",
    async (bytes) => {
      const answer = await raw(bytes);
      expect(answer).toMatch(/^HTTP\/1.1 400 /);
      expect(answer).toContain('{"code":"BadRequest","message":"The request is not valid HTTP."}');
    },
  );

  test.each([
    ["no HTTP", 400, "GARBAGE\r\n\r\n"],
    ["large headers", 431, `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Filler: ${"x".repeat(20_000)}\r\n\r\n`],
    ["no Host", 400, "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n"],
    ["an unknown expectation", 417, "GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: cake\r\nConnection: close\r\n\r\n"],
  ])("the refusal of %s is an error of the API, with the id under which it is logged", async (_what, status, bytes) => {
    const answer = await raw(bytes);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toContain('{"code":"BadRequest","message":"');
    expect(answer.toLowerCase()).toContain("content-type: application/json");
    const id = /^x-request-id: (\S+)\r$/im.exec(answer)?.[1];
    expect(id).toMatch(/^[0-9a-f]{8}-\w+$/);
    await waitFor("its line in the log", () => log.lines.some(({ request_id: logged }) => logged === id));
  });

  test("an offer of HTTP/2 is declined and the request answered", async () => {
    const answer = await get("/healthz", "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n").catch(String);
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
  });
});

test("a request without a key is refused by its headers, without waiting for the body", async () => {
  const answer = await raw(
    "POST /v1/assets/x/edge/apps HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nConnection: close\r\n\r\n",
  );
  expect(answer).toMatch(/^HTTP\/1.1 401 /);
});

test("a request that announces a body of any size is refused at once, and others of its account and address are not", async () => {
  const viewer = await control.key(account, [], { role: "viewer" });
  for (const key of [viewer.apiKey, "ek_none"]) {
    const head = `POST /v1/assets HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\n`;
    const refused = await raw(`${head}Content-Length: ${Number.MAX_SAFE_INTEGER}\r\n\r\n`);
    expect(refused).toMatch(/^HTTP\/1.1 40[13] /);
  }
  expect(await get("/v1/assets")).toMatch(/^HTTP\/1.1 200 /);
  const unknown = await raw("GET /v1/assets HTTP/1.1\r\nHost: x\r\nX-API-Key: ek_other\r\nConnection: close\r\n\r\n");
  expect(unknown).toMatch(/^HTTP\/1.1 401 /);
});

test("the rest of a large body is not read when its request is refused, and its sender gets the response", async () => {
  const { hostname, port } = new URL(control.url);
  const socket = connect(Number(port), hostname);
  const head = `POST /v1/assets/GW-1/edge/apps HTTP/1.1\r\nHost: ${hostname}\r\nContent-Type: application/json\r\n`;
  const chunk = Buffer.alloc(64 * 1024, 0x20);
  const total = 1024 * chunk.length;
  let response = "";
  socket.on("error", () => {}).on("data", (data: Buffer) => (response += data.toString()));
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.write(`${head}Content-Length: ${total}\r\n\r\n`);
  const send = (): void => {
    while (socket.writable && socket.bytesWritten < total)
      if (!socket.write(chunk)) return void socket.once("drain", send);
  };
  send();
  await closed;
  expect(response).toMatch(/^HTTP\/1.1 401 /);
  expect(response).toMatch(/\r\nconnection: close\r\n/i);
  // What the buffers of both sides' kernels take, of 64 MiB.
  expect(socket.bytesWritten).toBeLessThan(total / 2);
});

test("the connection of a request that was refused with a small body is kept", async () => {
  const response = await fetch(`${control.url}/v1/assets/GW-1/edge/apps`, { method: "POST", body: "x".repeat(10_000) });
  expect(response.status).toBe(401);
  expect(response.headers.get("connection")).not.toBe("close");
  await response.text();
});

test("the time of last use is recorded, at most once a minute", async () => {
  const fresh = await control.account();
  const request = (): Promise<Response> =>
    fetch(`${control.url}/v1/assets/x`, { headers: { "X-API-Key": fresh.apiKey } });
  await request();
  const first = await control.store.keys.findKey(fresh.keyId);
  expect(first?.lastUsedAt).toBeGreaterThan(1_700_000_000);
  await control.store.keys.recordKeyUse(fresh.keyId, (first?.lastUsedAt ?? 0) - 30);
  await request();
  expect((await control.store.keys.findKey(fresh.keyId))?.lastUsedAt).toBe((first?.lastUsedAt ?? 0) - 30);
  await control.store.keys.recordKeyUse(fresh.keyId, (first?.lastUsedAt ?? 0) - 100);
  await request();
  expect((await control.store.keys.findKey(fresh.keyId))?.lastUsedAt).toBeGreaterThanOrEqual(first?.lastUsedAt ?? 0);
});
