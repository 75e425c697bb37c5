import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { silenceTimer } from "../../../../../src/control-plane/devices/hub/silence-timer.ts";
import { systemClock } from "../../../../../src/lib/clock.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";

const TIMEOUT_MS = 1_200;

/** Has the process stand still. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test("what arrived while the process stood still counts", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  try {
    await once(server, "listening");
    const accepted = once(server, "connection");
    const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
    const [socket] = (await accepted) as [ReturnType<typeof connect>];
    const outcome = new Promise<string>((resolve) => {
      const timer = silenceTimer(systemClock, TIMEOUT_MS, () => resolve("silence"));
      socket.once("data", () => {
        timer[Symbol.dispose]();
        resolve("received");
      });
    });
    // It is with the kernel before the time is over, and read when it is.
    client.write("pong");
    standStill(TIMEOUT_MS * 2);
    expect(await outcome).toBe("received");
    client.destroy();
  } finally {
    server.close();
  }
});

test("silence is reported once, when the time is over", async () => {
  const clock = new FakeClock();
  let reports = 0;
  using _timer = silenceTimer(clock, 10_000, () => reports++);
  await clock.advance(9_999);
  expect(reports).toBe(0);
  await clock.advance(1);
  await clock.advance(60_000);
  expect(reports).toBe(1);
});

test.each([5_000, 9_500])("nothing is reported if something arrives after %d ms", async (ms) => {
  const clock = new FakeClock();
  let reports = 0;
  const timer = silenceTimer(clock, 10_000, () => reports++);
  await clock.advance(ms);
  timer[Symbol.dispose]();
  await clock.advance(60_000);
  expect(reports).toBe(0);
  expect(clock.pending).toBe(0);
});
