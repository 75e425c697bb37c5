import { request as httpRequest } from "node:http";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { accountTargets, type FillPath } from "../../support/openapi/account-targets.ts";
import type { OpenApiDocument } from "../../support/openapi/conformance.ts";
import { readDocument } from "../../support/openapi/read-document.ts";
import { requestFields } from "../../support/openapi/request-fields.ts";
import { type SampleRequest, sampleRequests } from "../../support/openapi/sample-requests.ts";

/* What a request contains is carried out or refused, on every operation of the document. */

/** Its parameters are those of OpenID Connect and its extensions: it must accept any. */
const OPEN_QUERY = "GET /v1/oidc/callback";

/** What needs no principal is used up by its code, or changes no account. */
const NOT_IDEMPOTENT = [
  "POST /v1/device-logins",
  "POST /v1/device-logins/token",
  "POST /v1/enrolments",
  "POST /v1/invitations",
  "POST /v1/session",
  "POST /v1/setup",
];

const CONDITIONAL = [
  "DELETE /v1/api-keys/{key_id}",
  "DELETE /v1/assets/{asset_id}",
  "DELETE /v1/assets/{asset_id}/tags",
  "DELETE /v1/assets/{asset_id}/variables",
  "DELETE /v1/fleets/{fleet}",
  "DELETE /v1/users/{user_id}",
  "PATCH /v1/api-keys/{key_id}",
  "PATCH /v1/assets/{asset_id}",
  "PATCH /v1/assets/{asset_id}/tags",
  "PATCH /v1/assets/{asset_id}/variables",
  "PATCH /v1/data-plan-settings",
  "PATCH /v1/enrolment-settings",
  "PATCH /v1/fleets/{fleet}",
  "PATCH /v1/users/{user_id}",
  "PUT /v1/assets/{asset_id}/tags",
  "PUT /v1/assets/{asset_id}/variables",
];

let control: ControlPlane;
let account: TestAccount;
let cookie: string;
let fill: FillPath;
let document: OpenApiDocument;
let operations: readonly Operation[];

interface Operation extends SampleRequest {
  readonly name: string;
  /** Names of its query parameters. */
  readonly query: readonly string[];
}

beforeAll(async () => {
  control = await startControlPlane({
    // The service does nothing by itself, such as to note that it is alive.
    clock: new FakeClock(Date.now()),
    config: { legacy_removal_at: "2999-01-01T00:00:00Z", enrolment_rate_limit_per_minute: 100_000 },
  });
  account = await control.account();
  ({ cookie } = await control.session(account));
  fill = await accountTargets(control, account);
  document = await readDocument(control.url);
  const fields = requestFields(document);
  operations = sampleRequests(document).map((sample) => {
    const name = `${sample.method} ${sample.path}`;
    const query = (fields.get(name) ?? []).filter((field) => field.startsWith("?")).map((field) => field.slice(1));
    return Object.assign(sample, { name, query });
  });
  // Records when the credentials were used.
  await send(operationOf("GET /v1/session"), "", {});
});
// Disposing also checks that every answer fits the document.
afterAll(() => control[Symbol.asyncDispose]());

function operationOf(name: string): Operation {
  const found = operations.find((operation) => operation.name === name);
  if (!found) throw new Error(`the document has no operation ${name}`);
  return found;
}

interface Described {
  readonly "x-permission"?: string;
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
}

function describedBy({ paths }: OpenApiDocument, { method, path }: Pick<SampleRequest, "method" | "path">): Described {
  return paths[path]?.[method.toLowerCase()] ?? {};
}

/** Those of the account's key, or of a session where the operation needs one. */
function credentialsFor({ method, path }: SampleRequest): Record<string, string> {
  return describedBy(document, { method, path })["x-permission"] === "session"
    ? { Cookie: cookie, "Sec-Fetch-Site": "same-origin" }
    : { "X-API-Key": account.apiKey };
}

async function send(operation: Operation, query: string, headers: Readonly<Record<string, string>>) {
  const { body } = operation;
  return sendBody(operation, body === undefined ? undefined : JSON.stringify(body), query, headers);
}

async function sendBody(operation: Operation, body?: string, query = "", headers = {}) {
  const { method, path } = operation;
  const abort = new AbortController();
  const response = await fetch(`${control.url}${fill(path)}${query}`, {
    method,
    headers: {
      ...credentialsFor(operation),
      ...(body !== undefined && { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body }),
    signal: abort.signal,
  });
  // What is carried out may be a stream that does not end.
  const text = response.status < 400 ? "" : await response.text();
  abort.abort();
  return { status: response.status, text };
}

/** All that the service has stored, without what tells of the requests themselves and of the running service. */
function everything(): string {
  using database = new DatabaseSync(control.databasePath, { readOnly: true });
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
  const names = tables
    .map(({ name }) => name as string)
    .filter((name) => !/^(?:alert_groups|alert_rounds|device_habits|instances|leases|service_state)/.test(name));
  const rows = names.map((name) => [name, database.prepare(`SELECT * FROM "${name}"`).all()]);
  return JSON.stringify(rows, (key, value: unknown) => (key === "last_used_at" ? undefined : value));
}

describe("a query parameter that an operation does not declare", () => {
  test.each(["unknown_parameter=1", "dry_run=true"])("?%s is refused by name and changes nothing", async (query) => {
    const [parameter = ""] = query.split("=");
    const before = everything();
    const refusing = operations.filter(
      ({ name, query: declared }) => name !== OPEN_QUERY && !declared.includes(parameter),
    );
    expect(refusing.length).toBeGreaterThan(80);
    for (const operation of refusing) {
      const { status, text } = await send(operation, `?${query}`, {});
      expect([operation.name, status]).toEqual([operation.name, 422]);
      const taken = operation.query.length === 0 ? "none" : operation.query.map((each) => `\`${each}\``).join(", ");
      expect(text).toContain(`${parameter}: unknown query parameter; this operation takes ${taken}`);
      expect(text).toContain('"code":"InvalidRequest"');
    }
    expect(everything()).toBe(before);
  });

  test("is refused by HEAD as by GET", async () => {
    const { "X-API-Key": key = "" } = credentialsFor(operationOf("GET /v1/assets"));
    for (const path of ["/v1/assets", fill("/v1/assets/{asset_id}"), "/healthz"]) {
      const response = await fetch(`${control.url}${path}?foo=1`, { method: "HEAD", headers: { "X-API-Key": key } });
      expect([path, response.status]).toEqual([path, 422]);
    }
  });

  test("is accepted where another party adds its own", async () => {
    // No identity provider is configured.
    expect((await send(operationOf(OPEN_QUERY), "?iss=https://login.example.com", {})).status).toBe(404);
  });
});

interface Refusal {
  readonly details: { readonly current: object };
}

/** The operations that have the header as a parameter in the document. */
function declaring(header: string): readonly Operation[] {
  return operations.filter((operation) => {
    const { parameters = [] } = describedBy(document, operation);
    return parameters.some(({ in: place, name }) => place === "header" && name === header);
  });
}

const namesOf = (found: readonly Operation[]) => found.map(({ name }) => name).toSorted();

/** Reads the resource that an operation changes. */
async function read({ path }: Operation): Promise<{ readonly etag: string | null; readonly body: object }> {
  const response = await fetch(`${control.url}${fill(path)}`, { headers: credentialsFor(operationOf(`GET ${path}`)) });
  return { etag: response.headers.get("etag"), body: (await response.json()) as object };
}

const isWrite = ({ method }: Operation): boolean => method !== "GET";

describe("a header that would change what a request does", () => {
  test.each(["If-Match", "If-None-Match", "If-Unmodified-Since", "Idempotency-Key"])(
    "%s is refused by name where it is not carried out, and changes nothing",
    async (header) => {
      const before = everything();
      const carriedOut = declaring(header);
      const refusing = operations.filter((each) => isWrite(each) && !carriedOut.includes(each));
      expect(refusing.length).toBeGreaterThan(0);
      for (const operation of refusing) {
        const { status, text } = await send(operation, "", { [header]: '"1"' });
        expect([operation.name, status]).toEqual([operation.name, 422]);
        expect(text).toContain(`${header}: this operation`);
      }
      expect(everything()).toBe(before);
    },
  );

  test("is a parameter in the document where it is carried out", () => {
    expect(namesOf(declaring("If-Match"))).toEqual(CONDITIONAL);
    const idempotent = new Set(declaring("Idempotency-Key"));
    expect(namesOf(operations.filter((each) => isWrite(each) && !idempotent.has(each)))).toEqual(NOT_IDEMPOTENT);
  });

  test("If-Match with a tag that is not the present one changes nothing, and the response has what is there now", async () => {
    const before = everything();
    for (const operation of declaring("If-Match")) {
      const { status, text } = await send(operation, "", { "If-Match": '"c3RhbGU.c3RhbGU"' });
      expect([operation.name, status]).toEqual([operation.name, 412]);
      const { etag, body } = await read(operation);
      expect(etag).toMatch(/^"[^"]+"$/);
      // Of an asset, when it was last seen may differ.
      expect(Object.keys((JSON.parse(text) as Refusal).details.current)).toEqual(Object.keys(body));
    }
    expect(everything()).toBe(before);
  });

  test.each(["If-None-Match", "If-Modified-Since", "Idempotency-Key"])("%s does no harm to a read", async (header) => {
    expect((await send(operationOf("GET /v1/assets"), "", { [header]: '"1"' })).status).toBe(200);
  });

  test("Prefer may be ignored", async () => {
    const { status } = await send(operationOf("PATCH /v1/assets/{asset_id}/tags"), "", { Prefer: "respond-async" });
    expect(status).toBe(200);
  });
});

const hasNoBody = (operation: Operation): boolean => isWrite(operation) && operation.body === undefined;

test.each([
  ["application/json", '{"dry_run":true}', 422],
  ["text/plain", "dry_run", 415],
])("a body where the operation has none is refused and changes nothing: %s %s", async (type, body, expected) => {
  const before = everything();
  for (const operation of operations.filter(hasNoBody)) {
    const response = await fetch(`${control.url}${fill(operation.path)}`, {
      method: operation.method,
      headers: { ...credentialsFor(operation), "Content-Type": type },
      body,
    });
    await response.text();
    expect([operation.name, response.status]).toEqual([operation.name, expected]);
  }
  expect(everything()).toBe(before);
});

test.each([
  [{ "Content-Encoding": "gzip" }, "must not be compressed"],
  [{ "Content-Type": "application/json; charset=iso-8859-1" }, "must be UTF-8"],
])("a body that is not plain UTF-8 is refused, and changes nothing: %o", async (headers, reason) => {
  const before = madeByClients();
  const encoded = operations.filter(({ body }) => body !== undefined);
  expect(encoded.length).toBeGreaterThan(20);
  for (const operation of encoded) {
    const { status, text } = await send(operation, "", headers);
    expect([operation.name, status]).toEqual([operation.name, 415]);
    expect(text).toContain(reason);
  }
  expect(madeByClients()).toEqual(before);
  const tags = operationOf("PATCH /v1/assets/{asset_id}/tags");
  for (const plain of [{ "Content-Encoding": "identity" }, { "Content-Type": 'application/json; charset="UTF-8"' }])
    expect((await send(tags, "", plain as Record<string, string>)).status).toBe(200);
});

test.each([
  ['{"dry_run":false,"dry_run":true}', "dry_run: is given more than once"],
  ['{"tags":{"__proto__":{"dry_run":true}}}', "tags.__proto__: is not allowed as the name of a field"],
  ['{"tags":{"constructor":"x"}}', "tags.constructor: is not allowed as the name of a field"],
])("a name that parsers leave out or obey is refused, and changes nothing: %s", async (body, reason) => {
  const before = everything();
  for (const operation of operations.filter((each) => each.body !== undefined)) {
    const { status, text } = await sendBody(operation, body);
    expect([operation.name, status, text]).toEqual([operation.name, 422, expect.stringContaining(reason)]);
  }
  expect(everything()).toBe(before);
});

test("a query parameter that is given more than once is refused, and the message says so", async () => {
  for (const query of ["limit=1&limit=2", "sort=created_at&sort=updated_at"]) {
    const { status, text } = await send(operationOf("GET /v1/assets"), `?${query}`, {});
    const [name] = query.split("=");
    expect([status, text]).toEqual([422, expect.stringContaining(`${name}: is given more than once`)]);
  }
});

const TYPES = [
  "application/json",
  "application/json; charset=utf-8",
  "text/plain",
  "application/x-www-form-urlencoded",
];

/** Sends a request without a body, as clients and proxies announce one: by nothing, by a length of 0, or in no chunks. */
async function sendEmpty(operation: Operation, headers: Readonly<Record<string, string>>): Promise<number> {
  const { method, path } = operation;
  const sent = Promise.withResolvers<number>();
  const request = httpRequest(`${control.url}${fill(path)}`, {
    method,
    agent: false,
    headers: { ...credentialsFor(operation), ...headers },
  });
  request.on("error", sent.reject);
  request.on("response", (response) => {
    sent.resolve(response.statusCode ?? 0);
    response.on("error", () => {});
    request.destroy();
  });
  request.end();
  return sent.promise;
}

describe("an empty body", () => {
  test.each(TYPES)("of the type %s is none, for every operation without one", async (type) => {
    const empty = operations
      .filter(hasNoBody)
      // Until they are removed, there is something to be asked about.
      .toSorted((a, b) => Number(a.method === "DELETE") - Number(b.method === "DELETE"));
    expect(empty.length).toBeGreaterThan(20);
    for (const operation of empty) {
      for (const framing of [{}, { "Content-Length": "0" }, { "Transfer-Encoding": "chunked" }]) {
        const status = await sendEmpty(operation, { "Content-Type": type, ...framing });
        expect([operation.name, framing, [400, 415, 422].includes(status)]).toEqual([operation.name, framing, false]);
      }
    }
  });
});

/** Deployments and rollouts remember the requests that made them: `order.test.ts`, `fleets.test.ts`. */
const REMEMBERED_OTHERWISE = /\/edge\/(?:agent|apps|apply)|\/rollouts$/;
/** They end the session of those that need one. */
const ENDS_SESSION = new Set(["DELETE /v1/session", "PUT /v1/session/password"]);

describe("an Idempotency-Key", () => {
  beforeAll(async () => {
    // The tests before have removed what there was.
    account = await control.account();
    ({ cookie } = await control.session(account));
    fill = await accountTargets(control, account);
  });

  test("makes every operation that declares it safe to repeat, and is refused with another request", async () => {
    const walked = declaring("Idempotency-Key")
      .filter(({ name, path }) => !REMEMBERED_OTHERWISE.test(path) && !ENDS_SESSION.has(name))
      // Until they are removed, there is something to be changed.
      .toSorted((a, b) => Number(a.method === "DELETE") - Number(b.method === "DELETE"));
    expect(walked.length).toBeGreaterThan(35);
    const carriedOut: string[] = [];
    for (const [index, operation] of walked.entries()) {
      const key = `walk-${index}`;
      const first = await sendWithKey(operation, key);
      if (first.status >= 300) continue;
      carriedOut.push(operation.name);
      const before = madeByClients();
      const again = await sendWithKey(operation, key);
      expect([operation.name, again]).toEqual([operation.name, { ...first, isReplayed: true }]);
      expect([operation.name, madeByClients()]).toEqual([operation.name, before]);
      const { status, text } = await sendWithKey(operation, key, "?");
      expect([operation.name, status]).toEqual([operation.name, 422]);
      expect(text).toContain('"code":"IdempotencyKeyReused"');
    }
    expect(carriedOut.length).toBeGreaterThan(25);
    expect(carriedOut).toEqual(expect.arrayContaining(["POST /v1/assets", "POST /v1/api-keys", "POST /v1/users"]));
  });
});

/** What the requests of clients have changed: each change has its entry. Fleets go on by themselves meanwhile. */
function madeByClients(): readonly unknown[] {
  using database = new DatabaseSync(control.databasePath, { readOnly: true });
  const changes =
    "SELECT action, subject_id FROM audit WHERE actor_kind IN ('key', 'user') AND outcome = 'ok' ORDER BY id";
  return database.prepare(changes).all();
}

/** @param query `?` makes it another request, with the same meaning */
async function sendWithKey(operation: Operation, key: string, query = "") {
  const { method, path, body } = operation;
  const response = await fetch(`${control.url}${fill(path)}${query}`, {
    method,
    headers: {
      ...credentialsFor(operation),
      "Idempotency-Key": key,
      ...(body !== undefined && { "Content-Type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const { status, headers } = response;
  const [text, isReplayed] = [await response.text(), headers.has("idempotent-replayed")];
  return { status, text, isReplayed, location: headers.get("location"), etag: headers.get("etag") };
}
