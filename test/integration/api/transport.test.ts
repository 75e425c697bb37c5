import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { captureLog } from "../../support/link/log-capture.ts";
import { waitFor } from "../../support/wait-for.ts";

/** What requests and responses carry besides their content: ids, credentials, challenges, pauses, origins. */

const PAGE = "https://fleet.example.com";
/** Of another account. */
const OTHER_PAGE = "https://other.example.com";
const CHALLENGE = 'Bearer realm="edge-control"';

let control: ControlPlane;
let account: TestAccount;
let asset: TestAsset;
const log = captureLog();
beforeAll(async () => {
  const owners = { acc_page: [PAGE], acc_other: [OTHER_PAGE] };
  control = await startControlPlane({ logger: log.logger, config: { cors_origins: owners } });
  await control.store.accounts.createAccount({ id: "acc_page", name: "page", createdAt: 1 });
  account = await control.key({ accountId: "acc_page", keyId: "", apiKey: "" }, []);
  asset = await control.asset(account);
});
afterAll(() => control[Symbol.asyncDispose]());

const call = (path: string, headers: Record<string, string> = {}, init: RequestInit = {}): Promise<Response> =>
  fetch(`${control.url}${path}`, { ...init, headers });
const withKey = (headers: Record<string, string> = {}) => ({ "X-API-Key": account.apiKey, ...headers });
const idOf = (response: Response): string => response.headers.get("x-request-id") ?? "";

/** The status and headers of the refusal of a WebSocket. */
function refusal(headers: Record<string, string>): Promise<{ status: number; challenge: string | undefined }> {
  return new Promise((resolve, reject) => {
    const url = `${control.url.replace("http", "ws")}/v1/assets/${asset.uuid}/edge/apps/web/stream`;
    const socket = new WebSocket(url, { headers });
    socket.on("unexpected-response", (_request, response) => {
      response.resume();
      resolve({ status: response.statusCode ?? 0, challenge: response.headers["www-authenticate"] });
    });
    socket.on("open", () => reject(new Error("was accepted")));
    socket.on("error", () => undefined);
  });
}

describe("the id of a request", () => {
  test("is in every response, the one of the log", async () => {
    const responses = [
      await call("/v1/assets", withKey()),
      await call("/v1/assets"),
      await call("/v1/assets?limit=0", withKey()),
      await call("/nothing"),
      await call("/v1/assets", withKey(), { method: "PUT" }),
      await call("/v1/assets/%zz", withKey()),
      await call("/healthz"),
      await call("/openapi.json"),
      await call(`/v1/assets/${asset.uuid}/edge/apps`, withKey(), { method: "POST", body: "{" }),
    ];
    const ids = responses.map(idOf);
    expect(ids).not.toContain("");
    expect(new Set(ids).size).toBe(responses.length);
    const [listed = ""] = ids;
    await waitFor("its line in the log", () => log.lines.some(({ request_id: id }) => id === listed));
  });

  test("is that of the client if it is well-formed and short enough, and a new one otherwise", async () => {
    for (const sent of ["7f9c2ba4-e88f-4273-a5c1-0b1f9d2d3c5e", "Root=1-67891233-abcdef01", "a".repeat(128)])
      expect(idOf(await call("/v1/assets", withKey({ "X-Request-Id": sent })))).toBe(sent);
    for (const sent of ["", "a b", "a".repeat(129), '"}{', "-x", "é"])
      expect(idOf(await call("/v1/assets", withKey({ "X-Request-Id": sent })))).toMatch(/^[0-9a-f]{8}-\w+$/);
  });

  test("is on streams, too", async () => {
    const abort = new AbortController();
    const stream = await call("/v1/events", withKey({ "X-Request-Id": "stream-1" }), { signal: abort.signal });
    expect(idOf(stream)).toBe("stream-1");
    abort.abort();
  });
});

describe("credentials", () => {
  test("a key is accepted as X-API-Key and as a bearer token", async () => {
    for (const scheme of ["Bearer", "bearer", "BEARER"])
      expect((await call("/v1/assets", { Authorization: `${scheme} ${account.apiKey}` })).status).toBe(200);
  });

  test("X-API-Key counts if both are sent, and the Authorization of something else is not looked at", async () => {
    expect(
      (await call("/v1/assets", { "X-API-Key": "ek_wrong", Authorization: `Bearer ${account.apiKey}` })).status,
    ).toBe(401);
    for (const other of ["Basic dTpw", "Bearer eyJhbGciOi.e30.x", "Bearer"])
      expect((await call("/v1/assets", withKey({ Authorization: other }))).status, other).toBe(200);
    const { cookie } = await control.session(account);
    expect((await call("/v1/assets", { Cookie: cookie, Authorization: "Bearer eyJhbGciOi.e30.x" })).status).toBe(200);
    expect((await call("/v1/assets", { Cookie: cookie, Authorization: "Bearer ek_wrong" })).status).toBe(401);
  });

  test("streams to apps take them, too", async () => {
    // Without the permission it is known who asks.
    expect(await refusal({ Authorization: `Bearer ${account.apiKey}` })).toEqual({ status: 403, challenge: undefined });
    expect(await refusal({ Authorization: "Bearer ek_wrong" })).toEqual({ status: 401, challenge: CHALLENGE });
  });

  test("401 names what is accepted, wherever it comes from", async () => {
    const json = { "Content-Type": "application/json" };
    const signIn = { method: "POST", body: JSON.stringify({ email: "a@example.com", password: "wrong" }) };
    const responses = [
      await call("/v1/assets"),
      await call("/v1/assets", { "X-API-Key": "ek_wrong" }),
      await call(`/v1/assets/${asset.uuid}/edge/apps`, json, { method: "POST", body: "{}" }),
      await call("/v1/session", json, signIn),
    ];
    for (const response of responses) {
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toBe(CHALLENGE);
    }
    expect((await call("/v1/assets", withKey())).headers.get("www-authenticate")).toBeNull();
  });
});

test("a device that is not reachable is to be asked again in a while", async () => {
  const response = await call(`/v1/assets/${asset.uuid}/edge/volumes`, withKey());
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ code: "DeviceNotReachable" });
  expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
});

const preflight = (origin: string, url = control.url): Promise<Response> =>
  fetch(`${url}/v1/assets/${asset.uuid}`, {
    method: "OPTIONS",
    headers: {
      Origin: origin,
      "Access-Control-Request-Method": "PATCH",
      "Access-Control-Request-Headers": "x-api-key",
    },
  });

describe("pages of other origins", () => {
  test("that are configured may call the API with a key, and read what clients need", async () => {
    const asked = await preflight(PAGE);
    expect(asked.status).toBe(204);
    expect(asked.headers.get("access-control-allow-origin")).toBe(PAGE);
    expect(asked.headers.get("access-control-allow-methods")).toContain("PATCH");
    expect(asked.headers.get("access-control-allow-headers")).toContain("X-API-Key");
    expect(asked.headers.get("access-control-allow-headers")).toContain("Authorization");
    const response = await call("/v1/assets", withKey({ Origin: PAGE }));
    expect(response.status).toBe(200);
    expect(response.headers.get("access-control-allow-origin")).toBe(PAGE);
    expect(response.headers.get("access-control-expose-headers")?.split(", ")).toEqual(
      expect.arrayContaining(["ETag", "Idempotent-Replayed", "Location", "Retry-After"]),
    );
    expect(response.headers.get("vary")).toContain("Origin");
    expect(response.headers.get("access-control-expose-headers")).toContain("X-Request-Id");
    expect(response.headers.get("access-control-expose-headers")).toContain("X-Next-Cursor");
    const misspelt = await call("/v1/assets/%zz", withKey({ Origin: PAGE }));
    expect([misspelt.status, misspelt.headers.get("access-control-allow-origin")]).toEqual([400, PAGE]);
    // A refusal that the page could not read would look like a network error.
    expect((await call("/v1/assets", { Origin: PAGE })).headers.get("access-control-allow-origin")).toBe(PAGE);
  });

  test("that are configured for another account read nothing of this one", async () => {
    // Neither a preflight nor a refusal for want of a key says anything of an account.
    expect((await preflight(OTHER_PAGE)).headers.get("access-control-allow-origin")).toBe(OTHER_PAGE);
    expect((await call("/v1/assets", { Origin: OTHER_PAGE })).headers.get("access-control-allow-origin")).toBe(
      OTHER_PAGE,
    );
    for (const path of ["/v1/assets", "/v1/assets/unknown", "/v1/events?types=x", "/v1/assets?foo=1"]) {
      const response = await call(path, withKey({ Origin: OTHER_PAGE }));
      await response.body?.cancel();
      expect([path, response.headers.get("access-control-allow-origin")]).toEqual([path, null]);
      expect(response.headers.get("access-control-expose-headers")).toBeNull();
      expect(response.headers.get("vary")).toContain("Origin");
    }
    const stranger = await control.account();
    const response = await call("/v1/assets", { Origin: PAGE, "X-API-Key": stranger.apiKey });
    expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([200, null]);
  });

  test("never with the session of a person", async () => {
    const { cookie } = await control.session(account);
    const response = await call("/v1/assets", { Origin: PAGE, Cookie: cookie });
    expect(response.headers.get("access-control-allow-credentials")).toBeNull();
    const change = { method: "PATCH", body: '{"name":"x"}' };
    const headers = { Origin: PAGE, Cookie: cookie, "Content-Type": "application/json" };
    expect((await call(`/v1/assets/${asset.uuid}`, headers, change)).status).toBe(403);
  });

  test("that are not configured get nothing, and none is by default", async () => {
    for (const origin of ["https://evil.example.com", `${PAGE}.evil.example.com`, "http://fleet.example.com", "null"]) {
      const asked = await preflight(origin);
      expect([asked.status, asked.headers.get("access-control-allow-origin")], origin).toEqual([403, null]);
      expect(await asked.json()).toMatchObject({ message: expect.stringContaining("cors_origins") as string });
    }
    await using plain = await startControlPlane();
    const asked = await preflight(PAGE, plain.url);
    expect([asked.status, asked.headers.get("access-control-allow-origin")]).toEqual([403, null]);
  });
});

test("an id in a request that cannot be understood is sent back, too", async () => {
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const request = httpRequest(`${control.url}/v1/assets/%E0%A4%A`, { headers: { "X-Request-Id": "bad-1" } });
    request.on("response", (response) => {
      response.resume();
      expect(response.headers["x-request-id"]).toBe("bad-1");
      resolve(response.statusCode);
    });
    request.on("error", reject);
    request.end();
  });
  expect(status).toBe(400);
});
