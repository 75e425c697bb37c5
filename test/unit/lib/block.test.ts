import { PassThrough, Writable } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Block } from "../../../src/lib/block.ts";
import { StreamSender } from "../../../src/lib/stream-sender.ts";
import { untilDrained } from "../../../src/lib/until-drained.ts";
import { decodeStreamMessage } from "../../../src/protocol/link/stream-data.ts";
import { FakeClock } from "../../support/fake-clock.ts";

describe("a block", () => {
  it("gives what was put in, in order, whatever is taken in between", () => {
    const step = fc.oneof(
      fc.record({ put: fc.uint8Array({ minLength: 1, maxLength: 3_000 }) }),
      fc.record({ take: fc.integer({ min: 1, max: 3_000 }) }),
    );
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1 }), fc.array(step), (first, steps) => {
        const block = Block.copyOf(first);
        const [put, taken] = [[first], [] as Uint8Array[]];
        for (const one of steps) {
          if ("take" in one) taken.push(Uint8Array.from(block.take(one.take)));
          else if (block.append(one.put)) put.push(one.put);
        }
        taken.push(block.take());
        expect(Buffer.concat(taken).equals(Buffer.concat(put))).toBe(true);
        expect(block.length).toBe(0);
      }),
    );
  });

  it("does not write into memory that is not its own", () => {
    const memory = Uint8Array.of(1, 2, 3, 4);
    const block = Block.of(memory.subarray(0, 2));
    expect(block.append(Uint8Array.of(9))).toBe(false);
    expect([...memory]).toEqual([1, 2, 3, 4]);
  });
});

it("a sender joins small pieces for which nobody waits, by channel, and keeps their order", () => {
  const sent: Uint8Array[] = [];
  const sink = { bufferedAmount: 1, send: (message: Uint8Array) => void sent.push(message) };
  using sender = new StreamSender(sink, new FakeClock());
  sender.add(1, 65_536);
  for (let i = 0; i < 1_000; i++) sender.enqueue(1, 1, Uint8Array.of(i % 256));
  sender.enqueue(1, 2, Uint8Array.of(7));
  sender.enqueue(1, 1, Uint8Array.of(8));
  sender.enqueue(1, 3, new Uint8Array());
  sink.bufferedAmount = 0;
  sender.flush();
  const messages = sent.map(decodeStreamMessage).map((message) => {
    if (message?.kind !== "data") throw new Error("not data");
    return [message.channel, message.bytes.length];
  });
  expect(messages).toEqual([
    [1, 1_000],
    [2, 1],
    [1, 1],
    [3, 0],
  ]);
});

describe("waiting until a stream is drained", () => {
  it("leaves no listener behind, however often", async () => {
    const stream = new PassThrough({ highWaterMark: 1 });
    const listeners = (): number => stream.listenerCount("close") + stream.listenerCount("drain");
    const before = listeners();
    for (let i = 0; i < 100; i++) {
      stream.write("xx");
      const drained = untilDrained(stream);
      stream.read();
      await drained;
    }
    expect(listeners()).toBe(before);
  });

  it("ends when the stream is closed, also before", async () => {
    const stream = new Writable({ highWaterMark: 1, write: () => undefined });
    stream.on("error", () => undefined);
    stream.write("xx");
    const drained = untilDrained(stream);
    stream.destroy(new Error("broken"));
    await drained;
    await untilDrained(stream);
  });
});
