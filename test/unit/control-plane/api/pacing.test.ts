import type { FastifyRequest } from "fastify";
import { expect, test } from "vitest";
import {
  BYTES_PER_EXTRA_REQUEST,
  MAX_BURST_BODY_MS,
  MAX_BURST_REQUESTS,
  MAX_BURST_UNKNOWN,
  MAX_REQUESTS_PER_SECOND,
  MAX_UNKNOWN_PER_SECOND,
  Pacing,
} from "../../../../src/control-plane/api/pacing.ts";
import type { Principal } from "../../../../src/control-plane/accounts/principal.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const MIB = 1024 * 1024;
/** Largest body that the requests may have. */
const MAX_BODY = 20 * BYTES_PER_EXTRA_REQUEST;

/** Time passes while work is done, too. */
class BusyClock extends FakeClock {
  passed = 0;

  override monotonic(): number {
    return super.monotonic() + this.passed;
  }
}

class Requests {
  readonly clock = new BusyClock();
  readonly #pacing = new Pacing({ perMinute: 600, clock: this.clock });
  lookUps = 0;
  /** Accounts that got their turn, and refusals, in order. */
  readonly turns: string[] = [];

  /** A key is that of the account of its first letter; one that begins with `?` is of none. */
  send(key: string | undefined, ip = "192.0.2.1", bytes = 0): void {
    const headers = { "content-length": String(bytes) };
    const request = { ip, headers, routeOptions: { bodyLimit: MAX_BODY } } as unknown as FastifyRequest;
    const principal = { accountId: key?.[0] } as Principal;
    void this.#pacing
      .authenticate(request, key, async () => {
        this.lookUps++;
        return key === undefined || key.startsWith("?") ? undefined : principal;
      })
      .then(
        (found) => this.turns.push(found?.accountId ?? "none"),
        () => this.turns.push("refused"),
      );
  }

  body(accountId: string, ms: number): void {
    const request = { ip: "192.0.2.1", principal: { accountId } } as unknown as FastifyRequest;
    void this.#pacing
      .readBody(request, MIB, () => (this.clock.passed += ms))
      .then(
        () => this.turns.push(accountId),
        () => this.turns.push("refused"),
      );
  }

  count(what: string): number {
    return this.turns.filter((turn) => turn === what).length;
  }
}

test("many requests of an account at once are spread, and those of others do not wait for them", async () => {
  const requests = new Requests();
  const { clock } = requests;
  for (let count = 0; count < 200; count++) requests.send(`a-${count % 3}`);
  requests.send("b");
  await clock.advance(0);
  expect(requests.count("b")).toBe(1);
  expect(requests.count("a")).toBe(MAX_BURST_REQUESTS);
  // What waits costs the database nothing.
  expect(requests.lookUps).toBe(MAX_BURST_REQUESTS + 1);
  await clock.advance(1_000);
  expect(requests.count("a")).toBe(MAX_BURST_REQUESTS + MAX_REQUESTS_PER_SECOND);
  await clock.advance(3_000);
  expect(requests.count("a")).toBe(200);
});

test("what would wait too long is refused at once", async () => {
  const requests = new Requests();
  requests.send("a");
  await requests.clock.advance(0);
  for (let count = 0; count < 1_000; count++) requests.send("a");
  await requests.clock.advance(0);
  expect(requests.count("refused")).toBeGreaterThan(600);
  await requests.clock.advance(6_000);
  expect(requests.count("a") + requests.count("refused")).toBe(1_001);
});

test("requests without a valid credential are spread by their address, and a valid one is not held up by them", async () => {
  const requests = new Requests();
  requests.send("a");
  await requests.clock.advance(0);
  for (let count = 0; count < 100; count++) requests.send(count % 2 === 0 ? undefined : `?${count}`);
  requests.send(undefined, "198.51.100.7");
  requests.send("a");
  await requests.clock.advance(0);
  expect(requests.count("none")).toBe(MAX_BURST_UNKNOWN + 1);
  expect(requests.count("a")).toBe(2);
  await requests.clock.advance(1_000);
  expect(requests.count("none")).toBe(MAX_BURST_UNKNOWN + 1 + MAX_UNKNOWN_PER_SECOND);
});

test("a request with a large body counts as several", async () => {
  const requests = new Requests();
  for (let count = 0; count < 4; count++) {
    requests.send("a", "192.0.2.1", (MAX_BURST_REQUESTS / 2 - 1) * BYTES_PER_EXTRA_REQUEST);
    await requests.clock.advance(0);
  }
  expect(requests.count("a")).toBe(2);
});

test("a body counts as far as the request may have one, however large its headers say that it is", async () => {
  const requests = new Requests();
  requests.send("a-viewer", "192.0.2.1", Number.MAX_SAFE_INTEGER);
  requests.send("?", "192.0.2.2", Number.MAX_SAFE_INTEGER);
  await requests.clock.advance(0);
  for (let count = 0; count < 9; count++) requests.send("a-operator");
  for (let count = 0; count < 39; count++) requests.send(undefined, "192.0.2.2");
  await requests.clock.advance(0);
  expect(requests.count("a")).toBe(10);
  expect(requests.count("none")).toBe(40);
});

test("dear bodies of an account are read one after the other, within its share of the processor", async () => {
  const requests = new Requests();
  const { clock } = requests;
  for (let count = 0; count < 30; count++) requests.body("a", MAX_BURST_BODY_MS + 10);
  requests.body("b", 1);
  await clock.advance(0);
  expect(requests.count("b")).toBe(1);
  expect(requests.count("a")).toBe(1);
  expect(requests.count("refused")).toBeGreaterThan(10);
  await clock.advance(20_000);
  expect(requests.count("a")).toBeLessThanOrEqual(4);
});
