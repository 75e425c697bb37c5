import { expect, test } from "vitest";
import { ApiClient } from "../../../../src/edgectl/api/client.ts";
import type { Sim } from "../../../../src/edgectl/api/sims.ts";
import { settleChange, type WantedState } from "../../../../src/edgectl/sims/settle.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { someSim } from "../../../support/edgectl/sim-samples.ts";

/** Time passes in steps: no answer comes after a timeout that is longer. */
const STEP_MS = 1_000;

const PENDING = someSim({ pending: { status: "inactive", since: 1 } });
const DONE = someSim({ status: "inactive" });

interface Answers {
  /** The SIMs after so many seconds, or an HTTP status. */
  readonly at: (seconds: number) => readonly Sim[] | number;
  readonly wanted?: WantedState;
  readonly timeoutS?: number;
  readonly interruptAfterS?: number;
}

async function settle({ at, wanted = { status: "inactive" }, timeoutS = 300, interruptAfterS }: Answers) {
  const clock = new FakeClock();
  const start = clock.monotonic();
  const seconds = () => (clock.monotonic() - start) / 1000;
  const interruption = new AbortController();
  if (interruptAfterS !== undefined)
    clock.timer(interruptAfterS * 1000, () => interruption.abort(new Error("interrupted")));
  const calls: { readonly method: string; readonly at: number }[] = [];
  const fetch: typeof globalThis.fetch = async (_url, { method = "GET" } = {}) => {
    calls.push({ method, at: Math.round(seconds()) });
    const answer = at(seconds());
    if (typeof answer === "number") {
      const body = { code: "ServiceUnavailable", message: "The service is busy." };
      return Response.json(body, { status: answer });
    }
    return Response.json(method === "POST" ? answer[0] : { sims: answer });
  };
  const signal = interruption.signal;
  const said: string[] = [];
  const ended = new AbortController();
  const outcome = settleChange({
    client: new ApiClient({ baseUrl: "http://service", apiKey: undefined, fetch, clock, signal }),
    asset: "GW-1",
    wanted,
    timeoutMs: timeoutS * 1000,
    clock,
    signal,
    onUnanswered: (why) => said.push(why),
  })
    .catch((error: unknown) => error)
    .finally(() => ended.abort());
  while (!ended.signal.aborted) {
    await clock.advance(0);
    await clock.advance(Math.min(clock.untilNext ?? 0, STEP_MS));
  }
  return { outcome: await outcome, calls, said, seconds: Math.round(seconds()) };
}

test("ends when nothing is pending any more", async () => {
  const { outcome, calls, seconds } = await settle({ at: (now) => [now < 20 ? PENDING : DONE] });
  expect(outcome).toEqual([DONE]);
  expect(seconds).toBeLessThanOrEqual(30);
  expect(calls.length).toBeLessThan(10);
});

test("waits for both SIMs", async () => {
  const pro = someSim({ type: "prosim", network_group: undefined });
  const waits = { ...pro, pending: { status: "inactive", since: 1 } };
  const { seconds } = await settle({ at: (now) => [DONE, now < 5 ? waits : { ...pro, status: "inactive" }] });
  expect(seconds).toBeGreaterThanOrEqual(5);
});

test("has the service ask the operator once a minute, for it asks ever less often by itself", async () => {
  const { calls } = await settle({ at: () => [PENDING], timeoutS: 200 });
  const asked = calls.filter(({ method }) => method === "POST").map(({ at }) => at);
  expect(asked).toHaveLength(3);
  expect(asked[0]).toBeGreaterThanOrEqual(60);
});

test("fails after the timeout, and says that the service goes on", async () => {
  const { outcome, seconds } = await settle({ at: () => [PENDING], timeoutS: 90 });
  expect(seconds).toBe(90);
  expect(outcome).toMatchObject({
    exitCode: 1,
    message: "The operator has not confirmed the change within 1 min 30 s.",
    hint: expect.stringContaining("edgectl sims show GW-1") as string,
  });
});

test("goes on over a service that is busy, and says so once", async () => {
  const { outcome, said } = await settle({ at: (now) => (now < 20 ? 503 : [DONE]) });
  expect(outcome).toEqual([DONE]);
  expect(said).toEqual(["The service is busy."]);
});

test("a refusal ends it at once", async () => {
  const { outcome, seconds } = await settle({ at: () => 403 });
  expect([seconds, (outcome as { exitCode: number }).exitCode]).toEqual([0, 3]);
});

test.each([
  ["is confirmed", someSim(), "Super SIM: the operator has confirmed active, default_1gb."],
  [
    "is asked for meanwhile",
    someSim({ status: "inactive", pending: { status: "active", since: 2 } }),
    "Super SIM: another change has taken its place: inactive -> active.",
  ],
  [
    "is not to be had: the SIM is lost",
    { ...PENDING, lost: true },
    "Super SIM: the operator does not know it any more.",
  ],
])("fails where another state %s", async (_what, sim, message) => {
  const { outcome } = await settle({ at: (now) => [now < 2 ? PENDING : sim] });
  expect(outcome).toMatchObject({ exitCode: 1, message });
});

test("what was queued by other means is waited for, as it does not say where it leads", async () => {
  const { outcome } = await settle({ at: (now) => [now < 2 ? someSim({ pending: { since: 1 } }) : DONE] });
  expect(outcome).toEqual([DONE]);
});

test("the network group is that of the Super SIM alone", async () => {
  const pro = someSim({ type: "prosim", network_group: undefined });
  const wanted = { networkGroup: "default_10gb" };
  const moved = someSim({ network_group: "default_10gb" });
  expect((await settle({ wanted, at: () => [moved, pro] })).outcome).toEqual([moved, pro]);
  const { outcome } = await settle({ wanted, at: () => [someSim(), pro] });
  expect(outcome).toMatchObject({ message: "Super SIM: the operator has confirmed active, default_1gb." });
});

test("Ctrl-C ends it", async () => {
  const { outcome, seconds } = await settle({ at: () => [PENDING], interruptAfterS: 7 });
  expect((outcome as Error).message).toBe("interrupted");
  expect(seconds).toBe(7);
});
