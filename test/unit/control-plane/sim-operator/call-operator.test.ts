import { expect, test } from "vitest";
import { callOperator } from "../../../../src/control-plane/sim-operator/call-operator.ts";
import { SimOperatorError } from "../../../../src/control-plane/sim-operator/sim-operator.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const never = new AbortController().signal;

/** A call that waits until it is aborted. */
const hang = (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));

test("a call that may pass is made up to three times, with a pause before each", async () => {
  const clock = new FakeClock();
  let calls = 0;
  const result = callOperator(clock, never, async () => {
    calls++;
    throw new SimOperatorError("busy", true);
  });
  const failure = expect(result).rejects.toThrow("busy");
  await clock.advance(0);
  expect(calls).toBe(1);
  await clock.advance(4_000);
  expect(calls).toBe(3);
  await failure;
});

test("a call that cannot pass is made once", async () => {
  let calls = 0;
  const call = async () => {
    calls++;
    throw new SimOperatorError("no such SIM", false);
  };
  await expect(callOperator(new FakeClock(), never, call)).rejects.toThrow("no such SIM");
  expect(calls).toBe(1);
});

test("a call that does not answer is given ten seconds, once", async () => {
  const clock = new FakeClock();
  let calls = 0;
  const result = callOperator(clock, never, (signal) => {
    calls++;
    return hang(signal);
  });
  const failure = expect(result).rejects.toMatchObject({ name: "SimOperatorError", failure: "unavailable" });
  await clock.advance(9_999);
  expect(clock.pending).toBe(1);
  await clock.advance(1);
  await failure;
  expect(calls).toBe(1);
  expect(clock.pending).toBe(0);
});

test("the attempts have ten seconds together, or as long as the caller says", async () => {
  for (const timeoutMs of [undefined, 25_000]) {
    const clock = new FakeClock();
    const beganMs = clock.monotonic();
    const call = async (signal: AbortSignal) => {
      await clock.sleep(7_000, signal);
      throw new SimOperatorError("busy", true);
    };
    const failure = expect(callOperator(clock, never, call, timeoutMs)).rejects.toBeInstanceOf(SimOperatorError);
    await clock.advance((timeoutMs ?? 10_000) - 1);
    await clock.advance(1);
    await failure;
    expect(clock.monotonic() - beganMs).toBe(timeoutMs ?? 10_000);
  }
});

test("when the server stops, nothing is tried again", async () => {
  const controller = new AbortController();
  const result = callOperator(new FakeClock(), controller.signal, hang);
  controller.abort(new Error("stopping"));
  await expect(result).rejects.toThrow("stopping");
});

test("what is thrown is always an operator's error, with the cause", async () => {
  const bug = new TypeError("undefined is not a function");
  const failure = await callOperator(new FakeClock(), never, async () => {
    throw bug;
  }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(SimOperatorError);
  expect(failure).toMatchObject({ retryable: false, cause: bug });
});
