import { readFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createSecret, hashSecret } from "../../../src/control-plane/accounts/secrets.ts";
import { someAudit, someSession } from "../../support/control-plane/people.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { MAX_IDEMPOTENT_REQUEST_MS } from "../../../src/control-plane/store/idempotency.ts";
import { waitFor } from "../../support/wait-for.ts";
import type { KeyStore } from "../../../src/control-plane/store/accounts.ts";
import { StoreUnavailableError } from "../../../src/control-plane/store/unavailable.ts";

/* Requests that are repeated with their `Idempotency-Key`. `strict-requests.test.ts` walks over all operations. */

let control: ControlPlane;
let account: TestAccount;
/** Keeps responses from being recorded: as if the process had ended before. */
let loseResponses = false;
/** Number of times that the database does not respond when a response is recorded. */
let outages = 0;

/** The database is lost before or after it has stored a key. */
let isLost: "before" | "after" | undefined;

const createKey: KeyStore["createKey"] = async (...call) => {
  const lost = isLost;
  isLost = undefined;
  if (lost === "before") throw new StoreUnavailableError("lost");
  const result = await control.store.keys.createKey(...call);
  if (lost === "after") throw new StoreUnavailableError("lost");
  return result;
};

beforeAll(async () => {
  control = await startControlPlane({
    decorateStore: (store) => ({
      ...store,
      keys: new Proxy(store.keys, {
        get(keys, name) {
          if (name === "createKey") return createKey;
          const value: unknown = Reflect.get(keys, name);
          return typeof value === "function" ? value.bind(keys) : value;
        },
      }),
      idempotency: {
        claim: (...call) => store.idempotency.claim(...call),
        endAbandoned: () => store.idempotency.endAbandoned(),
        release: (...call) => store.idempotency.release(...call),
        removeOld: (...call) => store.idempotency.removeOld(...call),
        complete: async (...call) => {
          if (loseResponses) throw new Error("the process has ended");
          if (outages-- > 0) throw new StoreUnavailableError("the database is away");
          await store.idempotency.complete(...call);
        },
      },
    }),
  });
});
// Disposing also checks that every answer fits the document.
afterAll(() => control[Symbol.asyncDispose]());

beforeEach(async () => {
  account = await control.account();
  loseResponses = false;
  outages = 0;
});

interface Sent {
  readonly method?: string;
  readonly body?: unknown;
  readonly credentials?: Readonly<Record<string, string>>;
}

async function send(path: string, key: string, { method = "POST", body, credentials }: Sent = {}) {
  const response = await fetch(`${control.url}${path}`, {
    method,
    headers: {
      ...(credentials ?? { "X-API-Key": account.apiKey }),
      "Idempotency-Key": key,
      ...(body !== undefined && { "Content-Type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const { status, headers } = response;
  const text = await response.text();
  return {
    status,
    isReplayed: headers.get("idempotent-replayed") === "true",
    location: headers.get("location"),
    etag: headers.get("etag"),
    retryAfter: headers.get("retry-after"),
    body: (text === "" ? undefined : JSON.parse(text)) as {
      readonly code?: string;
      readonly message?: string;
      readonly api_key?: string;
    },
  };
}

const sendIn = (credentials: Record<string, string>) =>
  send("/v1/api-keys", "session", { body: someBody, credentials });

const keysNamed = async (name: string): Promise<number> =>
  (await control.store.keys.listKeys(account.accountId)).filter((key) => key.name === name).length;

const someBody = { name: "ci" };

const refusal = (what: string) => ({
  status: 422,
  body: { code: "IdempotencyKeyReused", message: `This Idempotency-Key was used ${what}.` },
});

const signedIn = (cookie: string) => ({ Cookie: cookie, "Sec-Fetch-Site": "same-origin" });

test("a repetition gets the response of the first request, with its secret, and makes nothing", async () => {
  const first = await send("/v1/api-keys", "once", { body: someBody });
  expect(first).toMatchObject({ status: 201, isReplayed: false, body: { api_key: expect.stringMatching(/^ek_/) } });
  const again = await send("/v1/api-keys", "once", { body: someBody });
  expect(again).toEqual({ ...first, isReplayed: true });
  expect(await keysNamed("ci")).toBe(1);
});

test("the response keeps its path and its entity tag", async () => {
  const body = { name: "Pump", serial_number: "GW-42", type: "gateway" };
  const first = await send("/v1/assets", "asset", { body });
  expect(first).toMatchObject({
    status: 201,
    location: expect.stringContaining("/v1/assets/"),
    etag: expect.any(String),
  });
  expect(await send("/v1/assets", "asset", { body })).toEqual({ ...first, isReplayed: true });
});

test("neither secrets of responses nor the key of a request are in the database", async () => {
  const key = "an-idempotency-key-that-nobody-else-has";
  const { body } = await send("/v1/api-keys", key, { body: someBody });
  const variables = { TOKEN: { value: "value-of-a-request", secret: true } };
  const { uuid } = await control.asset(account);
  expect((await send(`/v1/assets/${uuid}/variables`, "put", { method: "PUT", body: variables })).status).toBe(200);
  const files = await Promise.all(
    ["", "-wal"].map(async (suffix) => (await readFile(control.databasePath + suffix)).toString("latin1")),
  );
  const stored = files.join("");
  expect(stored).toContain("POST /v1/api-keys");
  for (const secret of [body.api_key!, key, "value-of-a-request"]) expect(stored).not.toContain(secret);
});

describe("a key that was used is refused, and the first request named,", () => {
  beforeEach(async () => {
    expect((await send("/v1/api-keys", "used", { body: someBody })).status).toBe(201);
  });

  test("with another body", async () => {
    const other = await send("/v1/api-keys", "used", { body: { name: "other" } });
    expect(other).toMatchObject(refusal("with another query or body, or in another session"));
    expect(await keysNamed("other")).toBe(0);
  });

  test("with another path or method", async () => {
    const { uuid } = await control.asset(account);
    const refused = refusal("for POST /v1/api-keys");
    expect(await send(`/v1/assets/${uuid}/accept`, "used")).toMatchObject(refused);
    expect(await send(`/v1/assets/${uuid}`, "used", { method: "DELETE" })).toMatchObject(refused);
  });

  test("by another API key, or a person: nobody else gets the response", async () => {
    const other = await control.key(account, []);
    const { cookie } = await control.session(account);
    for (const credentials of [{ "X-API-Key": other.apiKey }, { Cookie: cookie, "Sec-Fetch-Site": "same-origin" }])
      expect(await send("/v1/api-keys", "used", { body: someBody, credentials })).toMatchObject(
        refusal("by another API key or person"),
      );
  });

  test("in another session of the same person", async () => {
    const { user, cookie } = await control.session(account);
    expect(await sendIn(signedIn(cookie))).toMatchObject({ status: 201, isReplayed: false });
    expect(await sendIn(signedIn(cookie))).toMatchObject({ status: 201, isReplayed: true });
    const now = Math.floor(Date.now() / 1000);
    const secret = createSecret("es_");
    const audit = someAudit("session.opened", account.accountId);
    const opened = {
      session: someSession(user, { createdAt: now, lastUsedAt: now }),
      hash: hashSecret(secret),
      user,
      replaces: undefined,
      audit,
    };
    expect(await control.store.userSessions.openSession(opened)).toBe(true);
    const refused = refusal("with another query or body, or in another session");
    expect(await sendIn(signedIn(`edge_session=${secret}`))).toMatchObject(refused);
  });

  test("but not in another account", async () => {
    account = await control.account();
    expect(await send("/v1/api-keys", "used", { body: someBody })).toMatchObject({ status: 201, isReplayed: false });
  });
});

test("of repetitions at once one is carried out", async () => {
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => send("/v1/api-keys", "race", { body: { name: "race" } })),
  );
  for (const { status, isReplayed, body, retryAfter } of answers) {
    if (status === 201) continue;
    expect([status, isReplayed, body.code, retryAfter]).toEqual([
      409,
      false,
      "IdempotencyInProgress",
      expect.any(String),
    ]);
  }
  expect(answers.filter(({ status, isReplayed }) => status === 201 && !isReplayed)).toHaveLength(1);
  expect(await keysNamed("race")).toBe(1);
});

test("a refused request may be repeated with its key", async () => {
  const body = { name: "Pump", serial_number: "GW-taken", type: "gateway" };
  const { uuid } = await control.asset(account, { serialNumber: "GW-taken" });
  expect(await send("/v1/assets", "again", { body })).toMatchObject({ status: 409, body: { code: "IdentifierTaken" } });
  await control.store.assets.removeAsset(uuid);
  expect(await send("/v1/assets", "again", { body })).toMatchObject({ status: 201, isReplayed: false });
});

test("a request that is not valid does not take its key", async () => {
  expect((await send("/v1/api-keys", "typo", { body: { nam: "ci" } })).status).toBe(422);
  expect((await send("/v1/api-keys", "typo", { body: someBody })).status).toBe(201);
});

test("a change whose response was lost with the process is not made twice", async () => {
  loseResponses = true;
  expect((await send("/v1/api-keys", "lost", { body: { name: "lost" } })).status).toBe(201);
  letTimePass(60_000);
  const waiting = await send("/v1/api-keys", "lost", { body: { name: "lost" } });
  expect(waiting.body.code).toBe("IdempotencyInProgress");
  const [, age, left] =
    /began ([0-9]+) s ago and has not ended; .* known in ([0-9]+) s/.exec(waiting.body.message ?? "") ?? [];
  expect(Number(age)).toBeGreaterThanOrEqual(60);
  expect([120, 121]).toContain(Number(age) + Number(left));
  expect(waiting.retryAfter).toBe(String(Math.min(Number(age), Number(left))));
  letTimePass();
  expect(await send("/v1/api-keys", "lost", { body: { name: "lost" } })).toMatchObject({
    status: 409,
    body: { code: "IdempotencyResponseLost" },
  });
  expect(await keysNamed("lost")).toBe(1);
});

test("a request whose outcome the database did not confirm is carried out once", async () => {
  isLost = "before";
  expect((await send("/v1/api-keys", "before", { body: { name: "before" } })).status).toBe(503);
  expect((await send("/v1/api-keys", "before", { body: { name: "before" } })).status).toBe(201);
  isLost = "after";
  expect((await send("/v1/api-keys", "after", { body: { name: "after" } })).status).toBe(503);
  expect((await send("/v1/api-keys", "after", { body: { name: "after" } })).body.code).toBe("IdempotencyInProgress");
  letTimePass();
  expect((await send("/v1/api-keys", "after", { body: { name: "after" } })).body.code).toBe("IdempotencyResponseLost");
  expect([await keysNamed("before"), await keysNamed("after")]).toEqual([1, 1]);
});

test("a response that could not be recorded is recorded when the database responds again", async () => {
  outages = 2;
  expect((await send("/v1/api-keys", "outage", { body: { name: "outage" } })).status).toBe(201);
  expect((await send("/v1/api-keys", "outage", { body: { name: "outage" } })).body.code).toBe("IdempotencyInProgress");
  const repeat = async () => (await send("/v1/api-keys", "outage", { body: { name: "outage" } })).isReplayed;
  await waitFor("the response", repeat);
  expect(await keysNamed("outage")).toBe(1);
});

/** As if the requests had begun long ago. */
function letTimePass(ms = MAX_IDEMPOTENT_REQUEST_MS): void {
  using database = new DatabaseSync(control.databasePath, { timeout: 5_000 });
  database.exec(`UPDATE idempotent_requests SET started_at_ms = started_at_ms - ${ms}`);
}

test("a repetition of a conditional change does not fail for what the first one has changed", async () => {
  const { uuid } = await control.asset(account);
  const path = `/v1/assets/${uuid}/tags`;
  const etag = (await fetch(`${control.url}${path}`, { headers: { "X-API-Key": account.apiKey } })).headers.get(
    "etag",
  )!;
  const change = {
    method: "PUT",
    body: { role: "kiosk" },
    credentials: { "X-API-Key": account.apiKey, "If-Match": etag },
  };
  const first = await send(path, "conditional", change);
  expect(first.status).toBe(200);
  expect(await send(path, "conditional", change)).toEqual({ ...first, isReplayed: true });
  expect((await send(path, "another", change)).status).toBe(412);
});
