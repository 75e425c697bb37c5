import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { issueCode } from "../../../src/control-plane/assets/enrolment-codes.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { CLOSE_CODES } from "../../../src/protocol/link/frames.ts";
import { type ControlPlane, startControlPlane, type TestAsset } from "../../support/control-plane.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeDevice } from "../../support/fake-device.ts";

const HOUR_S = 3600;
const nonce = (): string => randomBytes(24).toString("base64url");

interface Answer {
  readonly code?: string;
  readonly device_token?: string;
  readonly asset?: object;
}

describe("POST /v1/enrolments", () => {
  let plane: ControlPlane;
  let given: TestAsset;
  beforeEach(async () => {
    plane = await startControlPlane();
    given = await plane.asset(await plane.account());
  });
  afterEach(() => plane[Symbol.asyncDispose]());

  const makeCode = async (clock = systemClock, mayReplace = true) =>
    (await issueCode({ ...plane, clock }, given.uuid, { validS: HOUR_S, mayReplace })).code;
  const post = (body: unknown) =>
    fetch(`${plane.url}/v1/enrolments`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
  const exchange = async (code: string, by: string): Promise<[number, Answer]> => {
    const response = await post({ code, nonce: by });
    return [response.status, (await response.json()) as Answer];
  };

  it("gives a token, and the old one is void when the device connects with it", async () => {
    await using old = await FakeDevice.connect(plane.agentUrl, given.deviceToken);
    const [status, answer] = await exchange(await makeCode(), nonce());
    expect(status).toBe(201);
    expect(answer.asset).toEqual({ uuid: given.uuid, serial_number: given.asset.serialNumber, name: given.asset.name });
    await using still = await FakeDevice.connect(plane.agentUrl, given.deviceToken);
    await using _now = await FakeDevice.connect(plane.agentUrl, answer.device_token ?? "");
    expect([await old.closed, await still.closed]).toEqual([CLOSE_CODES.replaced, CLOSE_CODES.unauthorized]);
    await expect(FakeDevice.connect(plane.agentUrl, given.deviceToken)).rejects.toThrow(/401/);
  });

  it("accepts the code again from the same device only", async () => {
    const code = await makeCode();
    const mine = nonce();
    const [, first] = await exchange(code, mine);
    const [, lower] = await exchange(code.toLowerCase(), mine);
    expect(lower.device_token).toMatch(/^ed_/);
    expect(lower.device_token).not.toBe(first.device_token);
    expect(await exchange(code, nonce())).toMatchObject([409, { code: "EnrolmentCodeUsed" }]);
    // Of two answers the first never arrived: its token is of no use.
    await expect(FakeDevice.connect(plane.agentUrl, first.device_token ?? "")).rejects.toThrow(/401/);
    await using _device = await FakeDevice.connect(plane.agentUrl, lower.device_token ?? "");
  });

  it("of two devices that use a code at the same time one is enrolled", async () => {
    const code = await makeCode();
    const answers = await Promise.all([exchange(code, nonce()), exchange(code, nonce()), exchange(code, nonce())]);
    expect(answers.map(([status]) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409]);
  });

  it("takes a newer code only, and none of what was never one", async () => {
    const older = await makeCode();
    const newer = await makeCode();
    expect(await exchange(older, nonce())).toMatchObject([404, { code: "EnrolmentCodeUnknown" }]);
    expect(await exchange("not a code", nonce())).toMatchObject([404, { code: "EnrolmentCodeUnknown" }]);
    expect((await exchange(newer, nonce()))[0]).toBe(201);
    expect((await post({ code: newer, nonce: "short" })).status).toBe(422);
  });

  it("says that a code has expired", async () => {
    const clock = new FakeClock();
    expect(await exchange(await makeCode(clock), nonce())).toMatchObject([410, { code: "EnrolmentCodeExpired" }]);
  });

  it("keeps no code in the clear, and forgets those of an asset that is removed", async () => {
    const code = await makeCode();
    const { DatabaseSync } = await import("node:sqlite");
    using database = new DatabaseSync(plane.databasePath, { readOnly: true });
    const rows = database.prepare("SELECT hex(hash) AS hash FROM enrolment_codes").all();
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain(Buffer.from(code).toString("hex").toUpperCase());
    await plane.store.assets.removeAsset(given.uuid);
    expect(await exchange(code, nonce())).toMatchObject([404, { code: "EnrolmentCodeUnknown" }]);
  });
});

it("limits attempts to guess codes", async () => {
  await using plane = await startControlPlane({ config: { enrolment_rate_limit_per_minute: 5 } });
  const body = JSON.stringify({ code: "AAAAA-AAAAA", nonce: nonce() });
  const attempt = () =>
    fetch(`${plane.url}/v1/enrolments`, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  const statuses: number[] = [];
  for (let count = 0; count < 7; count++) statuses.push((await attempt()).status);
  expect(statuses).toEqual([404, 404, 404, 404, 404, 429, 429]);
  expect(Number((await attempt()).headers.get("retry-after"))).toBeGreaterThan(0);
});
