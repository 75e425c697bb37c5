import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseStreamedEvent } from "../../../src/edgectl/api/deployments.ts";
import { eventData, LineSplitter, StreamFormatError } from "../../../src/edgectl/api/event-stream.ts";

const encoder = new TextEncoder();

function readAll(chunks: readonly Uint8Array[]): string[] {
  const splitter = new LineSplitter();
  const lines = chunks.flatMap((chunk) => splitter.push(chunk));
  return [...lines, splitter.end()].map(eventData).filter((data) => data !== undefined);
}

describe("the reader of the deploy stream", () => {
  const text = 'data: {"message":"größer ⚙ 🚀"}\n\n\ndata:{"a":1}\r\n\r\n: comment\nevent: x\ndata: {"b":2}\n';
  const expected = ['{"message":"größer ⚙ 🚀"}', '{"a":1}', '{"b":2}'];

  test("reads the same for a split at any byte", () => {
    const bytes = encoder.encode(text);
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(readAll([bytes.subarray(0, cut), bytes.subarray(cut)]), `cut at ${cut}`).toEqual(expected);
    }
  });

  test("reads the same byte by byte", () => {
    expect(readAll([...encoder.encode(text)].map((byte) => Uint8Array.of(byte)))).toEqual(expected);
  });

  test("returns the same events for any chunks", () => {
    const chunked = fc.tuple(fc.array(fc.json(), { maxLength: 8 }), fc.array(fc.nat(400), { maxLength: 6 }));
    fc.assert(
      fc.property(chunked, ([events, cuts]) => {
        const bytes = encoder.encode(events.map((event) => `data: ${event}\n\n`).join(""));
        const edges = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
        const chunks = edges.slice(1).map((end, index) => bytes.subarray(edges[index], end));
        expect(readAll(chunks)).toEqual(events.map((event) => event.trim()));
      }),
    );
  });

  test("a line that is too long is refused", () => {
    const splitter = new LineSplitter();
    const chunk = encoder.encode("x".repeat(600_000));
    splitter.push(chunk);
    expect(() => splitter.push(chunk)).toThrow(StreamFormatError);
  });
});

describe("an event from the stream", () => {
  test("keeps unknown fields, and drops known fields of the wrong type", () => {
    const json = '{"status":"Running","message":"m","step":"later","bytes":"odd","new":1}';
    expect(parseStreamedEvent(json)).toMatchObject({ status: "Running", message: "m", step: "later", new: 1 });
    expect(parseStreamedEvent(json).bytes).toBeUndefined();
  });

  test.each(["", "nonsense", "[]", '{"status":"Done","message":"m"}', '{"status":"Fail"}'])("refuses %j", (json) => {
    expect(() => parseStreamedEvent(json)).toThrow(StreamFormatError);
  });
});
