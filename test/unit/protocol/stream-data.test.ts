import fc from "fast-check";
import { expect, it } from "vitest";
import {
  decodeStreamMessage,
  encodeArrival,
  encodeStreamData,
  MAX_STREAM_CHUNK_BYTES,
} from "../../../src/protocol/link/stream-data.ts";

const streamId = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const bytes = fc.uint8Array({ minLength: 1, maxLength: 300 });

it("data is decoded as it was encoded", () => {
  fc.assert(
    fc.property(streamId, fc.constantFrom(0, 1, 2), bytes, (id, channel, content) => {
      const decoded = decodeStreamMessage(encodeStreamData(id, channel, content));
      expect(decoded).toEqual({ kind: "data", streamId: id, channel, mustConfirm: false, bytes: content });
    }),
  );
  expect(decodeStreamMessage(encodeStreamData(7, 3, new Uint8Array()))).toEqual({
    kind: "data",
    streamId: 7,
    channel: 3,
    mustConfirm: false,
    bytes: new Uint8Array(),
  });
});

it("the sum of arrived bytes is counted modulo 2^32", () => {
  expect(decodeStreamMessage(encodeArrival(2 ** 32 + 5))).toEqual({ kind: "arrived", total: 5 });
});

it("decodes a message that is a part of a larger buffer", () => {
  const buffer = Buffer.concat([Buffer.from("before"), encodeStreamData(9, 1, Buffer.from("text"))]);
  expect(decodeStreamMessage(buffer.subarray(6))).toMatchObject({ streamId: 9, channel: 1 });
});

it("whatever arrives is decoded or refused, and what is decoded is within the bounds", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), fc.constantFrom(0, 1, 2, 3, 4), (noise, type) => {
      const decoded = decodeStreamMessage(Uint8Array.of(type, ...noise));
      if (decoded?.kind === "data") expect(decoded.bytes.length === 0).toBe(decoded.channel === 3);
    }),
    { numRuns: 2_000 },
  );
  expect(decodeStreamMessage(new Uint8Array())).toBeUndefined();
  expect(decodeStreamMessage(encodeStreamData(1, 0, new Uint8Array(MAX_STREAM_CHUNK_BYTES + 1)))).toBeUndefined();
  expect(decodeStreamMessage(encodeStreamData(1, 0, new Uint8Array()))).toBeUndefined();
  expect(decodeStreamMessage(encodeStreamData(1, 3, new Uint8Array(1)))).toBeUndefined();
  expect(decodeStreamMessage(Uint8Array.of(1, 4, 0, 0, 0, 1, 1))).toBeUndefined();
  expect(decodeStreamMessage(Uint8Array.of(2, 0, 0, 0))).toBeUndefined();
});
