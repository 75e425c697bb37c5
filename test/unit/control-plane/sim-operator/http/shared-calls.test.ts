import { beforeEach, expect, test } from "vitest";
import { SharedCalls } from "../../../../../src/control-plane/sim-operator/http/shared-calls.ts";

let shared: SharedCalls<number>;
let started: { readonly signal: AbortSignal; readonly resolve: (value: number) => void; reject(error: Error): void }[];
beforeEach(() => {
  shared = new SharedCalls();
  started = [];
});

const { signal: never } = new AbortController();
const start = (signal: AbortSignal): Promise<number> => {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  started.push({ signal, resolve, reject });
  return promise;
};
const run = (key: string, signal = never): Promise<number> => shared.run(key, signal, start);

test("equal calls at the same time are one, others are not", async () => {
  const calls = [run("a"), run("a"), run("b")];
  expect(started).toHaveLength(2);
  started[0]?.resolve(1);
  started[1]?.resolve(2);
  expect(await Promise.all(calls)).toEqual([1, 1, 2]);
  const later = run("a");
  expect(started).toHaveLength(3);
  started[2]?.resolve(3);
  expect(await later).toBe(3);
});

test("one that fails fails for all who wait, and the next one is made anew", async () => {
  const calls = [run("a"), run("a")];
  started[0]?.reject(new Error("down"));
  for (const call of calls) await expect(call).rejects.toThrow("down");
  const later = run("a");
  started[1]?.resolve(1);
  expect(await later).toBe(1);
});

test("who gives up gets the reason at once; the call goes on for the others", async () => {
  const first = new AbortController();
  const [given, other] = [run("a", first.signal), run("a")];
  first.abort(new Error("gone"));
  await expect(given).rejects.toThrow("gone");
  expect(started[0]?.signal.aborted).toBe(false);
  started[0]?.resolve(1);
  expect(await other).toBe(1);
});

test("when all have given up, the call is aborted, and nobody joins it", async () => {
  const controller = new AbortController();
  const calls = [run("a", controller.signal), run("a", controller.signal)];
  controller.abort(new Error("gone"));
  for (const call of calls) await expect(call).rejects.toThrow("gone");
  expect(started[0]?.signal.aborted).toBe(true);
  const later = run("a");
  expect(started).toHaveLength(2);
  // Its rejection meanwhile is nobody's.
  started[0]?.reject(new Error("aborted"));
  started[1]?.resolve(2);
  expect(await later).toBe(2);
});

test("who comes after `separate` does not get the result of before", async () => {
  const before = run("a");
  shared.separate();
  const after = run("a");
  started[1]?.resolve(2);
  expect(await after).toBe(2);
  started[0]?.resolve(1);
  expect(await before).toBe(1);
});
