import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { IdleClock } from "../../support/idle-clock.ts";

test("time jumps from timer to timer, in their order, and stands still without one", async () => {
  const clock = new IdleClock();
  const began = clock.monotonic();
  const fired: number[] = [];
  clock.timer(3_600_000, () => fired.push(2));
  clock.timer(60_000, () => fired.push(1));
  clock.timer(1_000, () => fired.push(0))[Symbol.dispose]();
  await clock.sleep(7_200_000);
  expect(fired).toEqual([1, 2]);
  expect(clock.monotonic() - began).toBe(7_200_000);
});

test("time stands still while a request is under way", async () => {
  const server = createServer((_request, response) => response.end("x".repeat(1_000_000)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const clock = new IdleClock();
  const began = clock.monotonic();
  using _deadline = clock.timer(1_000, () => expect.fail("the deadline passed"));
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  expect((await response.text()).length).toBe(1_000_000);
  expect(clock.monotonic()).toBe(began);
});
