import { beforeEach, expect, test } from "vitest";
import { tokenLifetimeMs } from "../../../../../src/control-plane/sim-operator/emnify/emnify-operator.ts";
import {
  TokenAuthorization,
  type Token,
} from "../../../../../src/control-plane/sim-operator/http/token-authorization.ts";
import { SimOperatorError } from "../../../../../src/control-plane/sim-operator/sim-operator.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";

const HOUR = 3_600_000;
const { signal } = new AbortController();

let clock: FakeClock;
let renewals: number;
let lifetimeMs: Token["lifetimeMs"];
let failure: SimOperatorError | undefined;
let authorization: TokenAuthorization;
beforeEach(() => {
  clock = new FakeClock();
  renewals = 0;
  lifetimeMs = HOUR;
  failure = undefined;
  authorization = new TokenAuthorization(clock, async () => {
    renewals++;
    await clock.sleep(100);
    if (failure) throw failure;
    return { value: `t${renewals}`, lifetimeMs };
  });
});

async function header(): Promise<string> {
  const asked = authorization.header(signal);
  asked.catch(() => {});
  await clock.advance(100);
  return asked;
}

test("a token is kept until a minute before its end", async () => {
  expect(await header()).toBe("Bearer t1");
  await clock.advance(HOUR - 60_000 - 100);
  expect(await header()).toBe("Bearer t1");
  expect(await header()).toBe("Bearer t2");
});

test("a token without an end is kept until it is rejected; an older one that is rejected late changes nothing", async () => {
  lifetimeMs = undefined;
  expect(await header()).toBe("Bearer t1");
  await clock.advance(1_000 * HOUR);
  expect(await header()).toBe("Bearer t1");
  expect(authorization.reject("Bearer t1")).toBe(true);
  expect(await header()).toBe("Bearer t2");
  authorization.reject("Bearer t1");
  expect(await header()).toBe("Bearer t2");
});

test("one renewal goes on at a time, for all who wait; who gives up does not end it", async () => {
  const gone = new AbortController();
  const asked = [authorization.header(gone.signal), authorization.header(signal), authorization.header(signal)];
  gone.abort(new Error("gone"));
  await expect(asked[0]).rejects.toThrow("gone");
  await clock.advance(100);
  expect(await Promise.all(asked.slice(1))).toEqual(["Bearer t1", "Bearer t1"]);
  expect(renewals).toBe(1);
});

test("refused credentials are tried once a minute, a server that is down each time", async () => {
  failure = new SimOperatorError("wrong", false, { failure: "credentials" });
  for (let attempt = 0; attempt < 5; attempt++) await expect(header()).rejects.toThrow("wrong");
  expect(renewals).toBe(1);
  await clock.advance(60_000);
  failure = new SimOperatorError("down", false, { failure: "unavailable" });
  await expect(header()).rejects.toThrow("down");
  await expect(header()).rejects.toThrow("down");
  expect(renewals).toBe(3);
  failure = undefined;
  expect(await header()).toBe("Bearer t4");
});

test("tokens that are rejected at once are renewed five times in 150 s, however often they are asked for", async () => {
  for (let attempt = 0; attempt < 50; attempt++) authorization.reject(await header().catch(() => ""));
  expect(renewals).toBe(5);
  await expect(header()).rejects.toMatchObject({ failure: "credentials" });
  const beganMs = clock.monotonic();
  while (clock.monotonic() - beganMs < 600_000) authorization.reject(await header().catch(() => ""));
  expect(renewals).toBeLessThanOrEqual(5 + 5 * 4);
  expect(renewals).toBeGreaterThan(5 + 5 * 3);
});

const jwt = (payload: string): string => `x.${Buffer.from(payload).toString("base64url")}.y`;

test.each([
  [jwt('{"exp":1767229200}'), HOUR],
  [jwt('{"exp":1}'), 0],
  [jwt('{"exp":"tomorrow"}'), undefined],
  [jwt("{}"), undefined],
  [jwt("no JSON"), undefined],
  ["opaque", undefined],
  ["..", undefined],
])("the token %s is valid for %s ms", (token, ms) => expect(tokenLifetimeMs(token, Date.UTC(2026, 0, 1))).toBe(ms));
