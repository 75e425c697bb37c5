import { Readable } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type BodyEnd, type BodyOptions, receiveBody } from "../../../../src/agent/download/receive-body.ts";
import { Throttle } from "../../../../src/agent/download/throttle.ts";
import { systemClock } from "../../../../src/lib/clock.ts";

interface Received {
  readonly end: BodyEnd;
  readonly content: Buffer;
  /** Bytes that were reported, in all. */
  readonly reported: number;
  /** Bytes of the body that were reported when each write began, and bytes written with that write. */
  readonly atWrites: readonly { readonly reported: number; readonly written: number }[];
}

async function receive(stream: Readable, options: Pick<BodyOptions, "skip" | "wanted">): Promise<Received> {
  const pieces: Buffer[] = [];
  const atWrites: { reported: number; written: number }[] = [];
  let reported = 0;
  let written = 0;
  const end = await receiveBody(stream, {
    ...optionsFor(options),
    write: async (bytes) => {
      written += bytes.length;
      atWrites.push({ reported, written });
      pieces.push(Buffer.from(bytes));
      await Promise.resolve();
    },
    onReceived: (bytes) => void (reported += bytes),
  });
  return { end, content: Buffer.concat(pieces), reported, atWrites };
}

function optionsFor({ skip, wanted }: Pick<BodyOptions, "skip" | "wanted">): BodyOptions {
  return {
    clock: systemClock,
    skip,
    wanted,
    stallMs: 10_000,
    throttle: new Throttle(systemClock, () => undefined),
    write: async () => {},
    onReceived: () => {},
    signal: AbortSignal.timeout(240_000),
  };
}

/** Chunks of the sizes, with bytes that differ at nearby places. */
function chunksOf(sizes: readonly number[]): Buffer[] {
  const all = Buffer.alloc(sizes.reduce((sum, size) => sum + size, 0)).map((_, at) => at % 251);
  let offset = 0;
  return sizes.map((size) => Buffer.from(all.subarray(offset, (offset += size))));
}

const sizes = fc.array(fc.oneof(fc.integer({ min: 1, max: 20_000 }), fc.integer({ min: 200_000, max: 300_000 })), {
  minLength: 1,
  maxLength: 12,
});

test("what is wanted is written in order, and no byte is written before it is reported as received", async () => {
  await fc.assert(
    fc.asyncProperty(sizes, fc.double({ min: 0, max: 1, noNaN: true }), async (sizes, part) => {
      const chunks = chunksOf(sizes);
      const body = Buffer.concat(chunks);
      const skip = Math.floor(body.length * part * 0.9);
      const wanted = body.length - skip;
      const { end, content, reported, atWrites } = await receive(Readable.from(chunks), { skip, wanted });
      expect(end).toEqual({ kind: "complete" });
      expect(content.equals(body.subarray(skip))).toBe(true);
      expect(reported).toBe(body.length);
      for (const at of atWrites) expect(at.reported).toBeGreaterThanOrEqual(skip + at.written);
    }),
    { numRuns: 60 },
  );
});

test("all that came before a cut is written and reported", async () => {
  await fc.assert(
    fc.asyncProperty(sizes, async (sizes) => {
      const chunks = chunksOf(sizes);
      const body = Buffer.concat(chunks);
      const cut = new Error("cut");
      async function* broken(): AsyncGenerator<Buffer> {
        yield* chunks;
        await Promise.resolve();
        throw cut;
      }
      const { end, content, reported } = await receive(Readable.from(broken()), { skip: 0, wanted: body.length + 1 });
      expect(end).toEqual({ kind: "cut", error: cut });
      expect(reported).toBe(content.length);
      expect(content.equals(body.subarray(0, content.length))).toBe(true);
    }),
    { numRuns: 30 },
  );
});

test.each(["write", "onReceived"] as const)(
  "an error of %s ends it, and nothing is written after it",
  async (failing) => {
    const calls: string[] = [];
    const call = (name: string): void => {
      calls.push(name);
      if (name === failing) throw new Error("no more");
    };
    const stream = Readable.from(chunksOf([100_000, 100_000, 100_000]));
    const received = receiveBody(stream, {
      ...optionsFor({ skip: 0, wanted: 300_000 }),
      write: async () => call("write"),
      onReceived: () => call("onReceived"),
    });
    await expect(received).rejects.toThrow("no more");
    expect(stream.destroyed).toBe(true);
    expect(calls.filter((name) => name === "write").length).toBe(1);
  },
);

test("a body that ends early is short", async () => {
  const { end, content } = await receive(Readable.from(chunksOf([1_000])), { skip: 0, wanted: 1_001 });
  expect(end).toEqual({ kind: "short" });
  expect(content.length).toBe(1_000);
});
