import { beforeAll, expect, test } from "vitest";
import { MAX_REQUEST_BYTES } from "../../src/protocol/limits.ts";
import type { EventStream, StreamRequest } from "../support/event-stream.ts";
import { sharedSystem } from "../support/system/test-system.ts";

// No request in this file reaches a device's engine.
const system = sharedSystem(() => ({ engine: { socketPath: "/nonexistent/engine.sock" } }));

const app = { name: "web", image: "web:1" };

interface Row {
  readonly what: string;
  readonly body: unknown;
  readonly options?: Omit<StreamRequest, "body"> & { readonly asset?: string };
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly issue?: string;
}

const NOT_JSON = "The request body is not valid JSON";

const rows: readonly Row[] = [
  { what: "not JSON", body: "{", status: 400, code: "InvalidJson", message: `${NOT_JSON}: line 1, column 2.` },
  { what: "no body", body: "", status: 400, code: "InvalidJson", message: `${NOT_JSON}: it ends too early.` },
  {
    what: "an unknown asset",
    body: app,
    options: { asset: "GW-UNKNOWN" },
    status: 404,
    code: "AssetNotFound",
    message: "Asset not found",
  },
  {
    what: "too large a body",
    body: JSON.stringify({ ...app, name: "x".repeat(MAX_REQUEST_BYTES) }),
    status: 413,
    code: "PayloadTooLarge",
    message: "The request body is too large.",
  },
  {
    what: "a body of another type",
    body: "name=web",
    options: { headers: { "Content-Type": "application/x-www-form-urlencoded" } },
    status: 415,
    code: "UnsupportedMediaType",
    message: "The request body must be JSON (Content-Type: application/json).",
  },
  ...[{ image: "web:1" }, { name: "", image: "web:1" }].map((body) => ({
    what: "no name",
    body,
    status: 422,
    code: "ErrorNoName",
    message: "The app has no name: the field `name` is missing or empty.",
  })),
  ...[{ name: "web" }, { name: "web", image: "" }].map((body) => ({
    what: "no image",
    body,
    status: 422,
    code: "ErrorNoImage",
    message: "The app has no image: the field `image` is missing or empty.",
  })),
  ...(
    [
      ["colour", { ...app, colour: "red" }],
      ["name", { ...app, name: "no spaces" }],
      ["ports[0].target_port", { ...app, ports: [{ host_port: 30_000, target_port: 65_536 }] }],
      ["environments[1].key", { ...app, environments: ["A", "A"].map((key) => ({ key, value: "" })) }],
      ["volumes[0].local", { ...app, volumes: [{ local: "/data/../etc", target: "/data" }] }],
    ] as const
  ).map(([issue, body]) => ({
    what: `a wrong ${issue}`,
    body,
    status: 422,
    code: "InvalidRequest",
    message: expect.stringContaining("The request is not valid: ") as string,
    issue,
  })),
];

test.each(rows)("$what: $status $code in one event", async ({ body, options, status, code, message, issue }) => {
  const stream = await system().open(body, options);
  expect(await refusal(stream)).toMatchObject({
    status,
    event: {
      status: "Fail",
      code,
      message,
      seq: 1,
      ...(issue !== undefined && { details: { issues: [{ path: issue }] } }),
    },
  });
});

let foreign: { readonly uuid: string; readonly serialNumber: string };
beforeAll(async () => {
  const { control, prefix } = system();
  const { accountId } = await control.createAccount(`${prefix}other`);
  foreign = await control.addAsset(accountId, `${prefix}foreign`);
});

test("an asset of another account: 404 AssetNotFound, like a missing one", async () => {
  for (const asset of [foreign.uuid, foreign.serialNumber]) {
    const { status, event } = await refusal(await system().open(app, { asset }));
    expect({ status, event }).toMatchObject({
      status: 404,
      event: { code: "AssetNotFound", message: "Asset not found" },
    });
  }
});

test("a missing, wrong or revoked key: 401 with the JSON error body", async () => {
  const { control, account } = system();
  const key = await control.administer("key", "create", "--account", account.accountId, "--name", "short-lived");
  const revoked = key["api_key"] ?? "";
  expect((await system().open({}, { apiKey: revoked })).status).toBe(422);
  await control.administer("key", "revoke", key["key_id"] ?? "");
  for (const apiKey of ["", "ek_wrong", revoked]) {
    const stream = await system().open(app, { apiKey });
    await stream.ended;
    expect(stream.status).toBe(401);
    expect(stream.headers["content-type"]).toContain("application/json");
    expect(JSON.parse(stream.text)).toEqual({
      code: "Unauthorized",
      message: "The API key is missing, wrong, revoked or has expired.",
    });
  }
});

test("refused requests are not recorded", async () => {
  const url = `${system().control.url}/v1/assets/${system().asset.uuid}/edge/deployments`;
  const response = await fetch(url, { headers: { "X-API-Key": system().account.apiKey } });
  expect(await response.json()).toEqual({ deployments: [], next_cursor: null });
});

async function refusal(stream: EventStream) {
  await stream.ended;
  expect(stream.headers["content-type"]).toBe("text/event-stream");
  expect(stream.headers["deployment-id"]).toBeUndefined();
  expect(stream.events).toHaveLength(1);
  return { status: stream.status, event: stream.events[0], headers: stream.headers };
}

test("too many requests: 429 with Retry-After", async () => {
  const { control, asset, account } = system();
  // Restarts the service with another limit: this must be the last test of the file.
  await control.stop();
  control.useFlags("--rate-limit-per-minute", "2");
  await control.start();
  expect((await system().open({})).status).toBe(422);
  expect((await system().open({})).status).toBe(422);
  const { status, event, headers } = await refusal(await system().open(app));
  expect({ status, event }).toMatchObject({ status: 429, event: { status: "Fail", code: "TooManyRequests" } });
  expect(Number(headers["retry-after"])).toBeGreaterThan(0);
  const json = await fetch(`${control.url}/v1/assets/${asset.uuid}`, { headers: { "X-API-Key": account.apiKey } });
  expect(json.status).toBe(429);
  expect(await json.json()).toMatchObject({ code: "TooManyRequests" });
});
