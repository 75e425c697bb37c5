import { request as httpRequest } from "node:http";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ControlPlane, startControlPlane } from "../../support/control-plane.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import {
  AccountWalk,
  CHANGED_BY_READS,
  CHANGES_OF_CLIENTS,
  isWrite,
  OF_THE_SERVICE,
  type Operation,
  type Stored,
} from "../../support/openapi/account-walk.ts";

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
  "DELETE /v1/assets/{asset_id}/hold",
  "DELETE /v1/assets/{asset_id}/sims/{sim_type}/allowance",
  "DELETE /v1/assets/{asset_id}/tags",
  "DELETE /v1/assets/{asset_id}/variables",
  "DELETE /v1/fleets/{fleet}",
  "DELETE /v1/users/{user_id}",
  "PATCH /v1/agent-settings",
  "PATCH /v1/api-keys/{key_id}",
  "PATCH /v1/assets/{asset_id}",
  "PATCH /v1/assets/{asset_id}/tags",
  "PATCH /v1/assets/{asset_id}/variables",
  "PATCH /v1/data-plan-settings",
  "PATCH /v1/enrolment-settings",
  "PATCH /v1/fleets/{fleet}",
  "PATCH /v1/users/{user_id}",
  "PUT /v1/alert-settings",
  "PUT /v1/assets/{asset_id}/hold",
  "PUT /v1/assets/{asset_id}/sims/{sim_type}/allowance",
  "PUT /v1/assets/{asset_id}/tags",
  "PUT /v1/assets/{asset_id}/variables",
];

/** Changes that are not conditional, each for a reason. */
const UNCONDITIONAL = {
  "a device decides what becomes of it, and refuses two changes at a time": [
    "DELETE /v1/assets/{asset_id}/edge/apps/{name}",
    "DELETE /v1/assets/{asset_id}/edge/volumes/{name}",
    "PATCH /v1/assets/{asset_id}/edge/apps/{name}",
  ],
  "it ends once": ["DELETE /v1/assets/{asset_id}/edge/deployments/{deployment_id}", "DELETE /v1/silences/{silence_id}"],
  "what is there stays as it is": ["PUT /v1/uploads/{sha256}/pieces/{number}"],
  "nobody else has it": ["DELETE /v1/session", "PUT /v1/session/password"],
  "as the legacy API has it": ["PATCH /assets/{asset_id}/sim", "PATCH /v1/assets/{asset_id}/sim"],
};

let control: ControlPlane;
let walk: AccountWalk;
let operations: readonly Operation[];

beforeAll(async () => {
  control = await startControlPlane({
    // The service does nothing by itself, such as to note that it is alive.
    clock: new FakeClock(Date.now()),
    config: { legacy_removal_at: "2999-01-01T00:00:00Z", enrolment_rate_limit_per_minute: 100_000 },
  });
  walk = await AccountWalk.start(control);
  ({ operations } = walk);
});
// Disposing also checks that every answer fits the document.
afterAll(() => control[Symbol.asyncDispose]());

function everything(): string {
  using database = new DatabaseSync(control.databasePath, { readOnly: true });
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
  const names = tables.map(({ name }) => name as string).filter((name) => !OF_THE_SERVICE.test(name));
  const rows = names.map((name) => [name, database.prepare(`SELECT * FROM "${name}"`).all()]);
  return JSON.stringify(rows, (key, value: unknown) => (CHANGED_BY_READS.includes(key) ? undefined : value));
}

function madeByClients(): unknown {
  using database = new DatabaseSync(control.databasePath, { readOnly: true });
  return database.prepare(CHANGES_OF_CLIENTS).all();
}

const STORED: Stored = { everything, madeByClients };

describe("a query parameter that an operation does not declare", () => {
  test.each(["unknown_parameter=1", "dry_run=true"])("?%s is refused by name and changes nothing", async (query) => {
    const [parameter = ""] = query.split("=");
    const before = everything();
    const refusing = operations.filter(
      ({ name, query: declared }) => name !== OPEN_QUERY && !declared.includes(parameter),
    );
    expect(refusing.length).toBeGreaterThan(80);
    for (const operation of refusing) {
      const { status, text } = await walk.send(operation, `?${query}`, {});
      expect([operation.name, status]).toEqual([operation.name, 422]);
      const taken = operation.query.length === 0 ? "none" : operation.query.map((each) => `\`${each}\``).join(", ");
      expect(text).toContain(`${parameter}: unknown query parameter; this operation takes ${taken}`);
      expect(text).toContain('"code":"InvalidRequest"');
    }
    expect(everything()).toBe(before);
  });

  test("is refused by HEAD as by GET", async () => {
    const { "X-API-Key": key = "" } = walk.credentialsFor(walk.operation("GET /v1/assets"));
    for (const path of ["/v1/assets", walk.fill("/v1/assets/{asset_id}"), "/healthz"]) {
      const response = await fetch(`${control.url}${path}?foo=1`, { method: "HEAD", headers: { "X-API-Key": key } });
      expect([path, response.status]).toEqual([path, 422]);
    }
  });

  test("is accepted where another party adds its own", async () => {
    // No identity provider is configured.
    expect((await walk.send(walk.operation(OPEN_QUERY), "?iss=https://login.example.com", {})).status).toBe(404);
  });
});

const namesOf = (found: readonly Operation[]) => found.map(({ name }) => name).toSorted();

describe("a header that would change what a request does", () => {
  test.each(["If-Match", "If-None-Match", "If-Unmodified-Since", "Idempotency-Key"])(
    "%s is refused by name where it is not carried out, and changes nothing",
    async (header) => {
      const before = everything();
      const carriedOut = walk.declaring(header);
      const conditional = walk.declaring("If-Match");
      const refusing = operations.filter((each) => isWrite(each) && !carriedOut.includes(each));
      expect(refusing.length).toBeGreaterThan(0);
      for (const operation of refusing) {
        const { status, text } = await walk.send(operation, "", { [header]: '"1"' });
        expect([operation.name, status]).toEqual([operation.name, 422]);
        expect(text).toContain(`${header}: this operation`);
        // The condition that it does take is named.
        expect(text.includes("is not conditional"), operation.name).toBe(
          header.startsWith("If-") && !conditional.includes(operation),
        );
      }
      expect(everything()).toBe(before);
    },
  );

  test("is a parameter in the document where it is carried out", () => {
    expect(namesOf(walk.declaring("If-Match"))).toEqual(CONDITIONAL);
    const idempotent = new Set(walk.declaring("Idempotency-Key"));
    expect(namesOf(operations.filter((each) => isWrite(each) && !idempotent.has(each)))).toEqual(NOT_IDEMPOTENT);
  });

  test("every change of what a client reads is conditional, or has a reason not to be", () => {
    const changes = operations.filter(({ method }) => ["DELETE", "PATCH", "PUT"].includes(method));
    expect(namesOf(changes)).toEqual([...CONDITIONAL, ...Object.values(UNCONDITIONAL).flat()].toSorted());
  });

  test("If-Match with a tag that is not the present one changes nothing, and the response has what is there now", () =>
    walk.expectConditions(STORED));

  test.each(["If-None-Match", "If-Modified-Since", "Idempotency-Key"])("%s does no harm to a read", async (header) => {
    expect((await walk.send(walk.operation("GET /v1/assets"), "", { [header]: '"1"' })).status).toBe(200);
  });

  test("Prefer may be ignored", async () => {
    const { status } = await walk.send(walk.operation("PATCH /v1/assets/{asset_id}/tags"), "", {
      Prefer: "respond-async",
    });
    expect(status).toBe(200);
  });
});

/** Tables with the record of a dry run: that of a command is a deployment, with its events, that of a rollout a plan. */
const OF_DRY_RUNS = new Set([
  "account_events",
  "accounts",
  "audit",
  "deployments",
  "deployment_events",
  "rollout_plans",
  "sqlite_sequence",
]);

function withoutDryRuns(): Readonly<Record<string, unknown>> {
  const tables = JSON.parse(everything()) as readonly (readonly [table: string, rows: unknown])[];
  return Object.fromEntries(tables.filter(([table]) => !OF_DRY_RUNS.has(table)));
}

test("a dry run changes nothing but its own record, on every operation that has one", async () => {
  const before = withoutDryRuns();
  const dry = operations.filter(({ query }) => query.includes("dry_run"));
  const refused: string[] = [];
  for (const operation of dry) {
    const { status } = await walk.send(operation, "?dry_run=true");
    if (status >= 300) refused.push(`${operation.name} ${status}`);
    expect([operation.name, withoutDryRuns()]).toEqual([operation.name, before]);
  }
  expect(dry.length).toBeGreaterThan(10);
  // The state of the rollout does not allow a command, or the sample is of a revision that the fleet does not have.
  expect(refused.filter((each) => !/\/rollouts\/\S+ 409$|\/(?:reapply|rollouts) 404$/.test(each))).toEqual([]);
  expect(refused.length).toBeLessThan(dry.length / 2);
});

const hasNoBody = (operation: Operation): boolean => isWrite(operation) && operation.body === undefined;

test.each([
  ["application/json", '{"dry_run":true}', 422],
  ["text/plain", "dry_run", 415],
])("a body where the operation has none is refused and changes nothing: %s %s", async (type, body, expected) => {
  const before = everything();
  for (const operation of operations.filter(hasNoBody)) {
    const response = await fetch(`${control.url}${walk.fill(operation.path)}`, {
      method: operation.method,
      headers: { ...walk.credentialsFor(operation), "Content-Type": type },
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
    const { status, text } = await walk.send(operation, "", headers);
    expect([operation.name, status]).toEqual([operation.name, 415]);
    expect(text).toContain(reason);
  }
  expect(madeByClients()).toEqual(before);
  const tags = walk.operation("PATCH /v1/assets/{asset_id}/tags");
  for (const plain of [{ "Content-Encoding": "identity" }, { "Content-Type": 'application/json; charset="UTF-8"' }])
    expect((await walk.send(tags, "", plain as Record<string, string>)).status).toBe(200);
});

test.each([
  ['{"dry_run":false,"dry_run":true}', "dry_run: is given more than once"],
  ['{"tags":{"__proto__":{"dry_run":true}}}', "tags.__proto__: is not allowed as the name of a field"],
  ['{"tags":{"constructor":"x"}}', "tags.constructor: is not allowed as the name of a field"],
])("a name that parsers leave out or obey is refused, and changes nothing: %s", async (body, reason) => {
  const before = everything();
  for (const operation of operations.filter((each) => each.body !== undefined)) {
    const { status, text } = await walk.sendBody(operation, body);
    expect([operation.name, status, text]).toEqual([operation.name, 422, expect.stringContaining(reason)]);
  }
  expect(everything()).toBe(before);
});

test("a query parameter that is given more than once is refused, and the message says so", async () => {
  for (const query of ["limit=1&limit=2", "sort=created_at&sort=updated_at"]) {
    const { status, text } = await walk.send(walk.operation("GET /v1/assets"), `?${query}`, {});
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

const FRAMINGS = [{}, { "Content-Length": "0" }, { "Transfer-Encoding": "chunked" }] as const;

/** Sends a request without a body, as clients and proxies announce one: by nothing, by a length of 0, or in no chunks. */
async function sendEmpty(operation: Operation, headers: Readonly<Record<string, string>>): Promise<number> {
  const { method, path } = operation;
  const sent = Promise.withResolvers<number>();
  const request = httpRequest(`${control.url}${walk.fill(path)}`, {
    method,
    agent: false,
    headers: { ...walk.credentialsFor(operation), ...headers },
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
  test.each(TYPES)("of the type %s is refused by every operation that needs one, and changes nothing", async (type) => {
    const before = madeByClients();
    const needing = operations.filter((each) => walk.needsBody(each));
    expect(needing.length).toBeGreaterThan(30);
    // A type that is not JSON may be what is refused.
    const refusals = type.startsWith("application/json") ? [400, 422] : [400, 415, 422];
    for (const operation of needing) {
      for (const framing of FRAMINGS) {
        const status = await sendEmpty(operation, { "Content-Type": type, ...framing });
        expect([operation.name, framing, status]).toEqual([operation.name, framing, expect.toBeOneOf(refusals)]);
      }
    }
    expect(madeByClients()).toEqual(before);
  });

  test.each(TYPES)("of the type %s is none for every read", async (type) => {
    for (const operation of operations.filter((each) => !isWrite(each))) {
      const status = await sendEmpty(operation, { "Content-Type": type, "Content-Length": "0" });
      expect([operation.name, [400, 415, 422].includes(status)]).toEqual([operation.name, false]);
    }
  });

  test.each(TYPES)("of the type %s is none, for every operation without one", async (type) => {
    const empty = operations
      .filter(hasNoBody)
      // Until they are removed, there is something to be asked about.
      .toSorted((a, b) => Number(a.method === "DELETE") - Number(b.method === "DELETE"));
    expect(empty.length).toBeGreaterThan(20);
    for (const operation of empty) {
      for (const framing of FRAMINGS) {
        const status = await sendEmpty(operation, { "Content-Type": type, ...framing });
        expect([operation.name, framing, [400, 415, 422].includes(status)]).toEqual([operation.name, framing, false]);
      }
    }
  });
});

describe("an Idempotency-Key", () => {
  test("makes every operation that declares it safe to repeat, and is refused with another request", async () => {
    // The tests before have removed what there was.
    await (await AccountWalk.start(control)).expectRepetitions(STORED);
  });
});
