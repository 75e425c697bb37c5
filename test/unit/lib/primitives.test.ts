import fc from "fast-check";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fullJitter } from "../../../src/lib/backoff.ts";
import { deadline } from "../../../src/lib/clock.ts";
import { tryLock } from "../../../src/lib/instance-lock.ts";
import { maskSecrets, maskTokens } from "../../../src/lib/redact.ts";
import { memoize } from "../../../src/lib/memoize.ts";
import { Semaphore } from "../../../src/lib/semaphore.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { ConcurrencyLimiter } from "../../../src/lib/concurrency-limiter.ts";

describe("full jitter", () => {
  it("stays between 0 and the bound, which doubles up to the limit", () => {
    fc.assert(
      fc.property(fc.nat(200), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (attempt, random) => {
        const delay = fullJitter(attempt, { baseMs: 1_000, maxMs: 300_000 }, random);
        expect(delay).toBeGreaterThanOrEqual(0);
        expect(delay).toBeLessThan(Math.min(300_000, 1_000 * 2 ** Math.min(attempt, 30)));
      }),
    );
  });
});

describe("semaphore", () => {
  it("grants up to its limit, then in order, and forgets aborted waiters", async () => {
    const semaphore = new Semaphore(1);
    const first = await semaphore.acquire();
    expect(semaphore.isFull).toBe(true);
    const impatient = new AbortController();
    const order: string[] = [];
    const second = semaphore.acquire(impatient.signal).catch(() => order.push("gave up"));
    const third = (async () => {
      using _turn = await semaphore.acquire();
      order.push("third");
    })();
    impatient.abort(new Error("no time"));
    await second;
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    await third;
    expect(order).toEqual(["gave up", "third"]);
    expect(semaphore.isFull).toBe(false);
  });

  it("forceAcquire exceeds the limit, and others wait until it is below the limit again", async () => {
    const semaphore = new Semaphore(1);
    const first = await semaphore.acquire();
    const second = semaphore.forceAcquire();
    let entered = false;
    const third = semaphore.acquire().then((turn) => ((entered = true), turn));
    first[Symbol.dispose]();
    await Promise.resolve();
    expect(entered).toBe(false);
    second[Symbol.dispose]();
    (await third)[Symbol.dispose]();
    expect(semaphore.isFull).toBe(false);
  });
});

describe("redaction", () => {
  it("finds keys and tokens by their form", () => {
    const key = `ek_${"Ab-_9".repeat(9)}`;
    expect(maskTokens(`{"msg":"GET ?key=${key}&x=ed_${"z".repeat(43)}"}`)).toBe('{"msg":"GET ?key=ek_***&x=ed_***"}');
    expect(maskTokens("ek_short is none")).toBe("ek_short is none");
  });

  it("leaves nothing of a secret, whatever surrounds or contains it", () => {
    const secret = fc.string({ minLength: 4, maxLength: 20 });
    fc.assert(
      fc.property(fc.array(secret, { minLength: 1, maxLength: 4 }), fc.string(), (secrets, filler) => {
        const letters = secrets.filter((value) => !/^\**$/.test(value) && !"***".includes(value));
        const text = letters.map((value) => `${filler}${value}`).join("");
        const masked = maskSecrets(text, letters);
        for (const value of letters) {
          if (!filler.includes("*") && !value.includes("*")) expect(masked.includes(value)).toBe(false);
        }
      }),
    );
  });

  it("finds a secret in JSON, where it is escaped", () => {
    const secret = 'quo"te\nand\\more';
    expect(maskSecrets(JSON.stringify({ value: secret }), [secret])).toBe('{"value":"***"}');
  });
});

describe("deadline", () => {
  it("aborts after its time, with its parent, and not after disposal", async () => {
    const clock = new FakeClock();
    const parent = new AbortController();
    const timed = deadline(clock, 1_000);
    const child = deadline(clock, 5_000, parent.signal);
    const released = deadline(clock, 1_000);
    released[Symbol.dispose]();
    await clock.advance(1_000);
    expect(timed.signal.reason).toMatchObject({ name: "TimeoutError" });
    expect(released.signal.aborted).toBe(false);
    expect(child.signal.aborted).toBe(false);
    parent.abort(new Error("stop"));
    expect(child.signal.reason).toEqual(new Error("stop"));
    expect(deadline(clock, 1, parent.signal).signal.aborted).toBe(true);
  });
});

describe("memoize", () => {
  it("computes again after a while, and does not cache errors", async () => {
    const clock = new FakeClock();
    let asked = 0;
    const ask = memoize(clock, 1_000, async () => {
      if (++asked === 1) throw new Error("not now");
      return asked;
    });
    const signal = new AbortController().signal;
    await expect(ask(signal)).rejects.toThrow("not now");
    expect([await ask(signal), await ask(signal)]).toEqual([2, 2]);
    await clock.advance(1_000);
    expect(await ask(signal)).toBe(3);
  });
});

describe("instance lock", () => {
  it("is held by one process at a time, and released when it ends", async () => {
    await using directory = await tempDir();
    const path = join(directory.path, "lock");
    const module = new URL("../../../src/lib/instance-lock.ts", import.meta.url).href;
    const script = `import { tryLock } from ${JSON.stringify(module)}; process.stdout.write(String(tryLock(${JSON.stringify(path)}) !== undefined)); process.kill(process.pid, "SIGKILL");`;
    const other = () =>
      spawnSync(process.execPath, ["--input-type=module-typescript", "--eval", script], { encoding: "utf8" }).stdout;
    const lock = tryLock(path);
    expect(lock).toBeDefined();
    expect(other()).toBe("false");
    lock?.[Symbol.dispose]();
    expect(other()).toBe("true");
    expect(other()).toBe("true");
  });
});

it("each key has as many leases as the limit, and a lease is returned once", () => {
  const slots = new ConcurrencyLimiter(2, "enough");
  const first = slots.acquire("a");
  slots.acquire("a");
  slots.acquire("b");
  expect(() => slots.acquire("a")).toThrow("enough");
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  slots.acquire("a");
  expect(() => slots.acquire("a")).toThrow(expect.objectContaining({ code: "TooManyRequests", details: { limit: 2 } }));
});
