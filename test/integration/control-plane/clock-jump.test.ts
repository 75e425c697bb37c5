import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fail } from "../../../src/control-plane/core/transitions.ts";
import { DELETE_AFTER_MS, FOLLOW_AFTER_MS } from "../../../src/lib/steady-time.ts";
import { type CapturedLog, captureLogText } from "../../support/captured-log.ts";
import { someAudit } from "../../support/control-plane/people.ts";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { receivedDeployment } from "../../support/deployment-record.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { createDeployment, updateDeployment } from "../../support/store-deployment.ts";

const DAY_MS = 24 * 3_600_000;
const TEN_YEARS_MS = 3_650 * DAY_MS;
const KEEP_DAYS = 30;
/** In which a round of retention begins, after a start and later. */
const ROUND_MS = 3_600_000 + 60_000;

let clock: FakeClock;
let log: CapturedLog;
let control: ControlPlane;
let account: TestAccount;
let asset: TestAsset;
let cookie: string;

beforeEach(async () => {
  clock = new FakeClock(Date.UTC(2026, 10, 27));
  log = captureLogText();
  control = await startControlPlane({ clock, logger: log.logger, config: { deployment_retention_days: KEEP_DAYS } });
  account = await control.account();
  asset = await control.asset(account);
  const at = Math.floor(clock.now() / 1000);
  ({ cookie } = await control.session(account, {}, { createdAt: at, lastUsedAt: at }));
  const deployment = receivedDeployment({
    accountId: account.accountId,
    assetUuid: asset.uuid,
    createdAtMs: clock.now(),
  });
  const { lastEvent } = deployment;
  await createDeployment(control.store.deployments, { ...deployment, lastSeq: 0 }, lastEvent!);
  await updateDeployment(control.store.deployments, "dep_1", (current) => fail(current, clock.now(), "Internal"));
  await control.store.audit.addEntry({ ...someAudit("key.created", account.accountId), at });
});
afterEach(() => control[Symbol.asyncDispose]());

const call = async (method: string, path: string, body?: object) => {
  const headers = { "X-API-Key": account.apiKey, ...(body && { "Content-Type": "application/json" }) };
  const response = await fetch(`${control.url}${path}`, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};

/** What is old by a clock that is far ahead. */
const kept = async () => ({
  deployments: (await control.store.deployments.listDeployments(asset.uuid, 10)).deployments.length,
  audit: (await control.store.audit.listEntries(account.accountId, 10)).length > 0,
  events: (await control.store.accountEvents.read(account.accountId, 0, 10)).events.length > 0,
  session: (await fetch(`${control.url}/v1/session`, { headers: { cookie } })).status,
});
const ALL = { deployments: 1, audit: true, events: true, session: 200 };
const jumpSaid = async () => (await call("GET", "/readyz")).body["clock_jump"];
const makeCode = async () =>
  (await call("POST", `/v1/assets/${asset.uuid}/enrolment-codes`, {})).body as { code: string; expires_at: number };
const warnings = () =>
  log
    .text()
    .split("\n")
    .filter((line) => line.includes("the time of day has jumped"));

describe("a clock that is ten years ahead for 75 s", () => {
  test("deletes, expires and dates nothing, and is said", async () => {
    expect(await jumpSaid()).toBeUndefined();
    const before = clock.now();
    clock.jump(TEN_YEARS_MS);
    expect(await jumpSaid()).toMatchObject({
      jumped_by_s: TEN_YEARS_MS / 1000,
      deletions_follow_in_s: DELETE_AFTER_MS / 1000,
    });
    await clock.advance(75_000);
    const code = await makeCode();
    expect(code.expires_at * 1000).toBeLessThan(before + 8 * DAY_MS);
    expect(await kept()).toEqual(ALL);
    clock.jump(-TEN_YEARS_MS);
    expect(await jumpSaid()).toBeUndefined();
    await clock.advance(ROUND_MS);
    expect(await kept()).toEqual(ALL);
    expect(warnings()).toHaveLength(1);
    const [entry] = await control.store.audit.listEntries(account.accountId, 1);
    expect(entry!.at * 1000).toBeLessThan(before + DAY_MS);
    const enrolled = await call("POST", "/v1/enrolments", { code: code.code, nonce: "n".repeat(32) });
    expect(enrolled.status).toBe(201);
  });

  test("in which the service starts deletes nothing either; a code made then is void when the clock is right", async () => {
    clock.jump(TEN_YEARS_MS);
    await control.restart();
    await clock.advance(75_000);
    const { code } = await makeCode();
    expect(await jumpSaid()).toMatchObject({ records_follow_in_s: 0 });
    expect(await kept()).toEqual({ ...ALL, session: 401 });
    clock.jump(-TEN_YEARS_MS);
    await clock.advance(ROUND_MS);
    expect(await kept()).toEqual(ALL);
    expect(await jumpSaid()).toBeUndefined();
    const late = await call("POST", "/v1/enrolments", { code, nonce: "n".repeat(32) });
    expect(late).toMatchObject({ status: 410, body: { code: "EnrolmentCodeExpired" } });
  });
});

test("a time that stays is believed: what is old is deleted after a day", async () => {
  clock.jump(2 * KEEP_DAYS * DAY_MS);
  await clock.advance(FOLLOW_AFTER_MS + ROUND_MS);
  expect(await kept()).toEqual({ ...ALL, session: 401 });
  await clock.advance(DELETE_AFTER_MS);
  expect((await kept()).deployments).toBe(0);
  expect(await jumpSaid()).toBeUndefined();
});

test("a service that was off for months works at once, and deletes what is old after a day", async () => {
  await control.restart();
  clock.jump(2 * KEEP_DAYS * DAY_MS);
  await control.restart();
  const { expires_at: expiresAt } = await makeCode();
  expect(expiresAt * 1000).toBeGreaterThan(clock.now());
  await clock.advance(ROUND_MS);
  expect((await kept()).deployments).toBe(1);
  await clock.advance(DELETE_AFTER_MS);
  expect((await kept()).deployments).toBe(0);
});

test.each([-TEN_YEARS_MS, -2 * DAY_MS])(
  "a clock that goes back by %i ms leaves what expires as it is",
  async (jump) => {
    const before = clock.now();
    clock.jump(jump);
    const { expires_at: expiresAt } = await makeCode();
    expect(expiresAt * 1000).toBeGreaterThan(before);
    expect(await kept()).toEqual(ALL);
  },
);
