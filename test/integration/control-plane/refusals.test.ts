import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MAX_REQUEST_BYTES } from "../../../src/protocol/limits.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { type EventStream, openStream, type StreamRequest } from "../../support/event-stream.ts";

let control: ControlPlane;
let account: TestAccount;
let uuid: string;

beforeAll(async () => {
  control = await startControlPlane();
  account = await control.account();
  ({ uuid } = await control.asset(account));
});
afterAll(() => control[Symbol.asyncDispose]());

const app = { name: "web", image: "web:1" };

const deploy = (request: StreamRequest, asset = uuid): Promise<EventStream> =>
  openStream(`${control.url}/v1/assets/${asset}/edge/apps`, { method: "POST", apiKey: account.apiKey, ...request });

/** Expects a body of exactly one Fail event, to the byte. */
async function expectOneFail(stream: EventStream, status: number, code: string, message: unknown): Promise<unknown> {
  await stream.ended;
  expect(stream.status).toBe(status);
  expect(stream.headers).toMatchObject({ "content-type": "text/event-stream", "cache-control": "no-cache" });
  expect(stream.headers["deployment-id"]).toBeUndefined();
  const [event, ...rest] = stream.events;
  expect(rest).toEqual([]);
  expect(stream.text).toBe(`data: ${JSON.stringify(event)}\n\n`);
  expect(event).toEqual({
    status: "Fail",
    message,
    deployment_id: "",
    seq: 1,
    timestamp: expect.any(Number),
    step: "received",
    code,
    ...(event?.details && { details: event.details }),
  });
  return event?.details;
}

describe("a refused request is one Fail event with its own HTTP status", () => {
  test.each([
    ["{", ": line 1, column 2"],
    ["", ": it ends too early"],
    ['{\n  "name": "web",\n}', ": line 3, column 1"],
    ["{'a':1}", ": line 1, column 2"],
    // The parser says no place.
    ["nonsense", ""],
    ['{"name":}', ""],
    ["\0", ""],
  ])("%j: 400", async (body, place) => {
    await expectOneFail(await deploy({ body }), 400, "InvalidJson", `The request body is not valid JSON${place}.`);
  });

  test("a field given twice: 422", async () => {
    const body = '{"name":"web","image":"web:1","image":"web:2"}';
    const message = "The request is not valid: image: is given more than once";
    await expectOneFail(await deploy({ body }), 422, "InvalidRequest", message);
  });

  test("no body: 400", async () => {
    await expectOneFail(await deploy({}), 400, "InvalidJson", "The request body is not valid JSON.");
  });

  test.each(["unknown", "%00", "..%2f..%2fetc", "a".repeat(5000), "%F0%9F%92%A9", "'%20OR%201=1--"])(
    "asset %j: 404, to the letter",
    async (asset) => {
      await expectOneFail(await deploy({ body: app }, asset), 404, "AssetNotFound", "Asset not found");
    },
  );

  test("an asset of another account: the same response", async () => {
    const other = await control.asset(await control.account());
    await expectOneFail(await deploy({ body: app }, other.uuid), 404, "AssetNotFound", "Asset not found");
  });

  test("a body above 256 KiB: 413", async () => {
    const body = { ...app, environments: [{ key: "A", value: "x".repeat(MAX_REQUEST_BYTES) }] };
    await expectOneFail(await deploy({ body }), 413, "PayloadTooLarge", "The request body is too large.");
  });

  test.each(["text/plain", "application/x-www-form-urlencoded", "application/xml", "multipart/form-data; boundary=x"])(
    "content type %s: 415",
    async (type) => {
      const stream = await deploy({ body: JSON.stringify(app), headers: { "Content-Type": type } });
      await expectOneFail(stream, 415, "UnsupportedMediaType", expect.stringContaining("application/json"));
    },
  );

  test.each([{ image: "x:1" }, { name: "", image: "x:1" }, { name: null, image: "x" }, {}])(
    "without a name %j: 422",
    async (body) => {
      await expectOneFail(await deploy({ body }), 422, "ErrorNoName", expect.stringContaining("`name`"));
    },
  );

  test.each([{ name: "x" }, { name: "x", image: "" }])("without an image %j: 422", async (body) => {
    await expectOneFail(await deploy({ body }), 422, "ErrorNoImage", expect.stringContaining("`image`"));
  });

  test.each([
    [null, ""],
    [[], ""],
    ["text", ""],
    [{ ...app, colour: 1 }, "colour"],
    [{ ...app, name: "-x" }, "name"],
    [{ ...app, ports: [{ host_port: "30000", target_port: 80 }] }, "ports[0].host_port"],
    [{ ...app, ports: [{ host_port: 30_000, target_port: 0 }] }, "ports[0].target_port"],
    [{ ...app, environments: [{ key: "A=B", value: "x" }] }, "environments[0].key"],
    [{ ...app, volumes: [{ local: "/a/../b", target: "/c" }] }, "volumes[0].local"],
    [{ ...app, privileged: 1 }, "privileged"],
  ])("%j: 422 naming %j", async (body, path) => {
    const details = await expectOneFail(
      await deploy({ body: JSON.stringify(body) }),
      422,
      "InvalidRequest",
      expect.stringContaining("not valid"),
    );
    expect(details).toMatchObject({ issues: [{ path }] });
  });

  test.each([
    [{ ...app, environment: [] }, "environment", "unknown field; did you mean `environments`?"],
    [{ ...app, registry_auth: { user: "u", password: "p" } }, "registry_auth.user", "did you mean `username`"],
    [{ ...app, image: "Nginx:1" }, "image", "names are lower case; write nginx:1"],
    [{ ...app, image: "https://ghcr.io/team/app:1" }, "image", "write it without the scheme"],
  ])("%j: 422 says what is wrong with %j: %s", async (body, path, reason) => {
    const details = await expectOneFail(
      await deploy({ body: JSON.stringify(body) }),
      422,
      "InvalidRequest",
      expect.stringContaining("not valid"),
    );
    const issue = { path, reason: expect.stringContaining(reason) as string };
    expect(details).toMatchObject({ issues: expect.arrayContaining([issue]) as unknown });
  });

  test.each(["", "ü", "x".repeat(256), "a b"])("Idempotency-Key %j: 422", async (key) => {
    const stream = await deploy({ body: app, headers: { "Idempotency-Key": Buffer.from(key).toString("latin1") } });
    await expectOneFail(stream, 422, "InvalidRequest", expect.stringContaining("Idempotency-Key"));
  });

  test("more requests than allowed: 429 with Retry-After and RateLimit headers", async () => {
    await using limited = await startControlPlane({ config: { rate_limit_per_minute: 2 } });
    const { apiKey } = await limited.account();
    const other = await limited.account();
    const request = (key: string): Promise<EventStream> =>
      openStream(`${limited.url}/v1/assets/x/edge/apps`, { apiKey: key, body: app });
    const first = await request(apiKey);
    expect(first.headers).toMatchObject({ "ratelimit-limit": "2", "ratelimit-remaining": "1" });
    await request(apiKey);
    const third = await request(apiKey);
    await expectOneFail(third, 429, "TooManyRequests", expect.stringContaining("Too many requests"));
    expect(Number(third.headers["retry-after"])).toBeGreaterThan(0);
    const json = await fetch(`${limited.url}/v1/assets/x`, { headers: { "X-API-Key": apiKey } });
    expect(json.status).toBe(429);
    expect(await json.json()).toMatchObject({ code: "TooManyRequests" });
    expect((await request(other.apiKey)).status).toBe(404);
  });
});

test("without a valid key the answer is 401 with the JSON error body, whatever else is wrong", async () => {
  for (const request of [{ body: app }, { body: "{" }, {}]) {
    const stream = await openStream(`${control.url}/v1/assets/${uuid}/edge/apps`, { method: "POST", ...request });
    await stream.ended;
    expect(stream.status).toBe(401);
    expect(stream.headers["content-type"]).toContain("application/json");
    expect(JSON.parse(stream.text)).toEqual({
      code: "Unauthorized",
      message: "The API key is missing, wrong, revoked or has expired.",
    });
  }
});

test("refused requests leave no deployment behind", async () => {
  const response = await fetch(`${control.url}/v1/assets/${uuid}/edge/deployments`, {
    headers: { "X-API-Key": account.apiKey },
  });
  expect(await response.json()).toEqual({ deployments: [], next_cursor: null });
});
