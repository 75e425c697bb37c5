import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ERRORS } from "../../../src/protocol/errors/errors.ts";
import { Conformance, type OpenApiDocument } from "../../support/openapi/conformance.ts";
import { readDocument } from "../../support/openapi/read-document.ts";
import { type ControlPlane, startControlPlane } from "../../support/control-plane.ts";

interface Response {
  readonly description: string;
  readonly headers?: object;
  readonly content?: Readonly<Record<string, { readonly examples?: object }>>;
}
interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly deprecated?: boolean;
  readonly "x-permission"?: string;
  readonly security?: readonly unknown[];
  readonly responses: Readonly<Record<string, Response>>;
}

let control: ControlPlane;
let document: OpenApiDocument & {
  readonly openapi: string;
  readonly security: unknown;
  readonly components: { readonly securitySchemes: unknown };
};
beforeAll(async () => {
  control = await startControlPlane();
  document = (await readDocument(control.url)) as typeof document;
});
afterAll(() => control[Symbol.asyncDispose]());

const operations = (): [string, Operation][] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation as Operation,
    ]),
  );

test("is OpenAPI 3.1, open to everybody, with keys and sessions as security schemes", () => {
  expect(document.openapi).toMatch(/^3\.1\./);
  expect(document.components.securitySchemes).toEqual({
    apiKey: { type: "apiKey", in: "header", name: "X-API-Key", description: expect.any(String) },
    bearer: { type: "http", scheme: "bearer", description: expect.any(String) },
    session: { type: "apiKey", in: "cookie", name: "__Host-edge_session", description: expect.any(String) },
  });
  expect(document.security).toEqual([{ apiKey: [] }, { bearer: [] }, { session: [] }]);
});

test("has every endpoint of the specification and the decisions", () => {
  expect(
    operations()
      .map(([name]) => name)
      .toSorted(),
  ).toEqual([
    "DELETE /v1/api-keys/{key_id}",
    "DELETE /v1/assets/{asset_id}",
    "DELETE /v1/assets/{asset_id}/edge/apps/{name}",
    "DELETE /v1/assets/{asset_id}/edge/deployments/{deployment_id}",
    "DELETE /v1/assets/{asset_id}/edge/volumes/{name}",
    "DELETE /v1/assets/{asset_id}/hold",
    "DELETE /v1/assets/{asset_id}/sims/{sim_type}/allowance",
    "DELETE /v1/assets/{asset_id}/tags",
    "DELETE /v1/assets/{asset_id}/variables",
    "DELETE /v1/fleets/{fleet}",
    "DELETE /v1/session",
    "DELETE /v1/silences/{silence_id}",
    "DELETE /v1/users/{user_id}",
    "GET /assets/{asset_id}/sim/usages",
    "GET /healthz",
    "GET /readyz",
    "GET /v1/agent-releases",
    "GET /v1/agent-settings",
    "GET /v1/alert-deliveries",
    "GET /v1/alert-settings",
    "GET /v1/alerts",
    "GET /v1/api-keys",
    "GET /v1/api-keys/{key_id}",
    "GET /v1/assets",
    "GET /v1/assets/{asset_id}",
    "GET /v1/assets/{asset_id}/connectivity",
    "GET /v1/assets/{asset_id}/edge/apps",
    "GET /v1/assets/{asset_id}/edge/apps/{name}",
    "GET /v1/assets/{asset_id}/edge/apps/{name}/logs",
    "GET /v1/assets/{asset_id}/edge/data-usage",
    "GET /v1/assets/{asset_id}/edge/deployments",
    "GET /v1/assets/{asset_id}/edge/deployments/{deployment_id}",
    "GET /v1/assets/{asset_id}/edge/deployments/{deployment_id}/events",
    "GET /v1/assets/{asset_id}/edge/device",
    "GET /v1/assets/{asset_id}/edge/stats",
    "GET /v1/assets/{asset_id}/edge/volumes",
    "GET /v1/assets/{asset_id}/health",
    "GET /v1/assets/{asset_id}/hold",
    "GET /v1/assets/{asset_id}/sim/usages",
    "GET /v1/assets/{asset_id}/sims",
    "GET /v1/assets/{asset_id}/sims/{sim_type}/allowance",
    "GET /v1/assets/{asset_id}/sims/{sim_type}/usages",
    "GET /v1/assets/{asset_id}/tags",
    "GET /v1/assets/{asset_id}/uptime",
    "GET /v1/assets/{asset_id}/variables",
    "GET /v1/audit",
    "GET /v1/data-plan-settings",
    "GET /v1/deployments",
    "GET /v1/device-logins/{user_code}",
    "GET /v1/enrolment-settings",
    "GET /v1/events",
    "GET /v1/fleets",
    "GET /v1/fleets/{fleet}",
    "GET /v1/fleets/{fleet}/members",
    "GET /v1/fleets/{fleet}/revisions",
    "GET /v1/fleets/{fleet}/revisions/{number}",
    "GET /v1/fleets/{fleet}/revisions/{number}/diff/{other}",
    "GET /v1/fleets/{fleet}/rollouts",
    "GET /v1/fleets/{fleet}/rollouts/{rollout_id}",
    "GET /v1/fleets/{fleet}/rollouts/{rollout_id}/events",
    "GET /v1/fleets/{fleet}/rollouts/{rollout_id}/targets",
    "GET /v1/metrics/devices",
    "GET /v1/network-groups",
    "GET /v1/oidc/callback",
    "GET /v1/oidc/start",
    "GET /v1/overview",
    "GET /v1/session",
    "GET /v1/sign-in",
    "GET /v1/sign-in-settings",
    "GET /v1/silences",
    "GET /v1/sims",
    "GET /v1/uploads",
    "GET /v1/uptime",
    "GET /v1/usages",
    "GET /v1/users",
    "GET /v1/users/{user_id}",
    "PATCH /assets/{asset_id}/sim",
    "PATCH /v1/agent-settings",
    "PATCH /v1/api-keys/{key_id}",
    "PATCH /v1/assets/{asset_id}",
    "PATCH /v1/assets/{asset_id}/edge/apps/{name}",
    "PATCH /v1/assets/{asset_id}/sim",
    "PATCH /v1/assets/{asset_id}/tags",
    "PATCH /v1/assets/{asset_id}/variables",
    "PATCH /v1/data-plan-settings",
    "PATCH /v1/enrolment-settings",
    "PATCH /v1/fleets/{fleet}",
    "PATCH /v1/users/{user_id}",
    "POST /v1/alert-channels/{name}/test",
    "POST /v1/alert-groups/{group_id}/acknowledge",
    "POST /v1/alerts/{alert_id}/acknowledge",
    "POST /v1/api-keys",
    "POST /v1/assets",
    "POST /v1/assets/{asset_id}/accept",
    "POST /v1/assets/{asset_id}/edge/agent",
    "POST /v1/assets/{asset_id}/edge/apply",
    "POST /v1/assets/{asset_id}/edge/apps",
    "POST /v1/assets/{asset_id}/edge/apps/{name}/restart",
    "POST /v1/assets/{asset_id}/edge/apps/{name}/start",
    "POST /v1/assets/{asset_id}/edge/apps/{name}/stop",
    "POST /v1/assets/{asset_id}/enrolment-codes",
    "POST /v1/assets/{asset_id}/sims/{sim_type}/refresh",
    "POST /v1/bulk/assets",
    "POST /v1/bulk/tags",
    "POST /v1/device-logins",
    "POST /v1/device-logins/token",
    "POST /v1/device-logins/{user_code}",
    "POST /v1/enrolments",
    "POST /v1/fleets",
    "POST /v1/fleets/{fleet}/reapply",
    "POST /v1/fleets/{fleet}/revisions",
    "POST /v1/fleets/{fleet}/rollouts",
    "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/advance",
    "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/approve",
    "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/cancel",
    "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/pause",
    "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/resume",
    "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/retry",
    "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/rollback",
    "POST /v1/invitations",
    "POST /v1/session",
    "POST /v1/setup",
    "POST /v1/silences",
    "POST /v1/users",
    "POST /v1/users/{user_id}/reset",
    "PUT /v1/alert-settings",
    "PUT /v1/assets/{asset_id}/hold",
    "PUT /v1/assets/{asset_id}/sims/{sim_type}/allowance",
    "PUT /v1/assets/{asset_id}/tags",
    "PUT /v1/assets/{asset_id}/variables",
    "PUT /v1/session/password",
    "PUT /v1/uploads/{sha256}/pieces/{number}",
  ]);
});

test("every operation has an id, a summary, a tag, and an own refusal beside the general ones", () => {
  const names = new Set<string>();
  for (const [name, operation] of operations()) {
    expect(operation.summary, name).toBeTruthy();
    expect(operation.tags, name).toHaveLength(1);
    names.add(operation.operationId ?? "");
    if (operation.tags?.[0] === "Health" || operation["x-permission"] === "public")
      expect(operation.security, name).toEqual([]);
    // Linters miss one, even beside `default`.
    expect(Object.keys(operation.responses), name).toEqual(expect.arrayContaining([expect.stringMatching(/^4/)]));
    expect(operation.deprecated ?? false, name).toBe(operation.tags?.[0] === "Legacy");
    for (const response of Object.values(operation.responses)) {
      expect(response.description, name).not.toBe("Default Response");
    }
  }
  expect(names.size).toBe(operations().length);
});

test("names every error code an endpoint of this service can answer", () => {
  const text = JSON.stringify(document);
  for (const code of Object.keys(ERRORS)) expect(text, code).toContain(`"${code}"`);
});

test("the response `default` has each code of any operation, with its status and headers", () => {
  const codes = {
    BadRequest: [400, 408, 417, 431],
    InvalidJson: [400],
    Unauthorized: [401],
    Forbidden: [403],
    CrossSiteRequest: [403],
    NotFound: [404],
    MethodNotAllowed: [405],
    IdempotencyInProgress: [409],
    IdempotencyResponseLost: [409],
    PayloadTooLarge: [413],
    UnsupportedMediaType: [415],
    InvalidRequest: [422],
    IdempotencyKeyReused: [422],
    TooManyRequests: [429],
    Internal: [500],
    ServiceUnavailable: [503],
  } as const;
  const headers = ["Allow", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After"];
  const streams = new Set<string>();
  for (const [name, { responses }] of operations()) {
    const { description = "", content = {}, headers: named = {} } = (responses["default"] ?? {}) as Partial<Response>;
    expect(Object.keys(named).toSorted(), name).toEqual([...headers, "WWW-Authenticate", "X-Request-Id"]);
    const isCommand = "text/event-stream" in content;
    // A repeated command joins the deployment of the first one.
    const own = Object.entries(codes).filter(([code]) => !isCommand || !/^Idempotency(?:In|Resp)/.test(code));
    expect(Object.keys(content["application/json"]?.examples ?? {}).toSorted(), name).toEqual(
      own.map(([code]) => code).toSorted(),
    );
    if (isCommand) expect(description).toContain("`Error`");
    for (const [code, statuses] of isCommand ? [] : own) {
      expect(description, name).toContain(`\`${code}\``);
      for (const status of statuses) expect(description, code).toContain(String(status));
    }
    if (isCommand) streams.add(name);
  }
  // Commands to devices, whose refusals are events.
  expect(streams.size).toBe(8);
  expect([...streams]).toContain("POST /v1/assets/{asset_id}/edge/apps");
});

test("documents the stream, the rate limit and the legacy headers", () => {
  const deploy = document.paths["/v1/assets/{asset_id}/edge/apps"]?.["post"] as Operation;
  expect(deploy.responses["200"]).toMatchObject({
    headers: { "Deployment-Id": expect.anything() },
    content: { "text/event-stream": { schema: { $ref: "#/components/schemas/DeploymentEvent" } } },
  });
  expect(deploy.responses["404"]).toMatchObject({ content: { "text/event-stream": expect.anything() } });
  const details = document.paths["/v1/assets/{asset_id}"]?.["get"] as Operation;
  expect(Object.keys(details.responses["200"]?.headers ?? {})).toEqual(["Deprecation", "Sunset", "Link"]);
  // The other responses have it, too: see the description of the document.
  expect(Object.keys(details.responses["304"]?.headers ?? {})).toEqual(["ETag"]);
  const quota = document.paths["/v1/assets"]?.["post"] as Operation;
  expect(Object.keys(quota.responses["429"]?.headers ?? {})).toContain("Retry-After");
});

test("every schema is used, and every example of one fits it", () => {
  const text = JSON.stringify(document);
  const names = Object.keys(document.components.schemas);
  const used = new Set([...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name));
  expect(new Set(names)).toEqual(used);
  const conformance = new Conformance(document);
  let count = 0;
  const visit = (pointer: string, value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const { examples } = value as { examples?: unknown };
    if (Array.isArray(examples)) {
      for (const example of examples) {
        count++;
        expect(conformance.fits(pointer, example), `${pointer}: ${JSON.stringify(example)}`).toBe(true);
      }
    }
    for (const [key, child] of Object.entries(value)) {
      if (key !== "examples") visit(`${pointer}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`, child);
    }
  };
  for (const [name, schema] of Object.entries(document.components.schemas))
    visit(`/components/schemas/${name}`, schema);
  expect(count).toBeGreaterThan(20);
});

type Fields = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Fields => typeof value === "object" && value !== null;

/** Calls `visit` for every object of the document, with its path. */
function walk(value: unknown, visit: (path: string, object: Fields) => void, path: string = "#"): void {
  if (!isObject(value)) return;
  visit(path, value);
  for (const [key, child] of Object.entries(value)) if (!/^examples?$/.test(key)) walk(child, visit, `${path}/${key}`);
}

/** Whether a field says what it is, itself or by the only schema that it refers to. */
function isDescribed(field: Fields): boolean {
  if (field["description"]) return true;
  const { $ref, anyOf } = field as { $ref?: string; anyOf?: readonly Fields[] };
  if ($ref) return isDescribed(document.components.schemas[$ref.replace("#/components/schemas/", "")] as Fields);
  const [only, ...others] = (anyOf ?? []).filter(({ type }) => type !== "null");
  return only !== undefined && others.length === 0 && isDescribed(only);
}

test("every field of a body and every parameter has a description", () => {
  const bare: string[] = [];
  let count = 0;
  walk(document, (path, { properties, parameters }) => {
    const fields = isObject(properties) ? Object.entries(properties) : [];
    const named = Array.isArray(parameters) ? parameters.map((each: Fields) => [String(each["name"]), each]) : [];
    for (const [name, field] of [...fields, ...named] as [string, Fields][]) {
      count++;
      if (!isDescribed(field)) bare.push(`${path}/${name}`);
    }
  });
  expect(bare).toEqual([]);
  expect(count).toBeGreaterThan(300);
});

test("numbers are bounded by what they mean, not by what JavaScript can count", () => {
  const text = JSON.stringify(document);
  expect(text).not.toContain(String(Number.MAX_SAFE_INTEGER));
  const ports = Object.entries(document.components.schemas).filter(([name]) => name.startsWith("HostPort"));
  expect(ports).not.toHaveLength(0);
  for (const [name, schema] of ports) expect(schema, name).toMatchObject({ minimum: 30_000, maximum: 32_767 });
});

test("every stream has an example of its messages, and a sample for curl that shows it as it comes", () => {
  let streams = 0;
  for (const [name, operation] of operations()) {
    let isStream = false;
    for (const [status, response] of Object.entries(operation.responses)) {
      const { content = {} } = response;
      for (const [type, { examples = {} }] of Object.entries(content)) {
        if (type !== "text/event-stream" && type !== "application/x-ndjson") continue;
        // That of a refusal is in `default`.
        if (!/^4|^5/.test(status)) expect(Object.keys(examples), `${name} ${status}`).not.toEqual([]);
        if (status === "200") isStream = true;
      }
    }
    const samples = (operation as { "x-codeSamples"?: readonly { source: string }[] })["x-codeSamples"];
    expect(
      samples?.map(({ source }) => source.startsWith("curl -N ")),
      name,
    ).toEqual(isStream ? [true] : undefined);
    if (isStream) streams++;
  }
  expect(streams).toBe(14);
});

describe("the reference page", () => {
  test("is served without a key and loads nothing from another host", async () => {
    const page = await fetch(`${control.url}/docs/`);
    expect(page.status).toBe(200);
    const html = await page.text();
    expect(html).toContain("/openapi.json");
    // Whatever is in the page and its script: the browser is told to fetch from this server alone.
    const policy = page.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/https?:|\*/);
    const sources = [...html.matchAll(/(?:src|href)\s*=\s*"([^"]+)"/g)].map(([, source]) => source ?? "");
    expect(sources).toHaveLength(1);
    const script = new URL(sources[0] ?? "", `${control.url}/docs/`);
    expect(script.origin).toBe(control.url);
    const loaded = await fetch(script);
    expect(loaded.status).toBe(200);
    expect(loaded.headers.get("content-type")).toContain("javascript");
    expect((await loaded.text()).length).toBeGreaterThan(1_000_000);
    expect(html).not.toMatch(/https?:\/\//);
  });

  test("is found without the last slash, too", async () => {
    expect((await fetch(`${control.url}/docs`)).url).toBe(`${control.url}/docs/`);
  });
});
