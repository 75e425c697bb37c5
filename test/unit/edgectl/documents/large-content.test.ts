import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, it } from "vitest";
import { packContent } from "../../../../src/edgectl/documents/large-content.ts";
import { noise, sha256Of } from "../../../support/uploads/upload.ts";

const MIB = 1024 * 1024;

const bytesOf = (chunks: Iterable<Uint8Array>): Buffer => Buffer.concat([...chunks]);

it("a content is packed with its hashes and sizes, however its chunks are cut, and the same at each reading", () => {
  const property = fc.property(fc.array(fc.integer({ min: 0, max: 3 * MIB }), { maxLength: 5 }), (lengths) => {
    const chunks = lengths.map((length) => Buffer.alloc(length, length % 251));
    const content = Buffer.concat(chunks);
    const { sha256, upload, source } = packContent(() => chunks)!;
    const packed = bytesOf(source.read());
    expect(gunzipSync(packed).equals(content)).toBe(true);
    expect(sha256).toBe(sha256Of(content));
    expect(upload).toEqual({ sha256: sha256Of(packed), bytes: packed.length, size: content.length });
    expect(bytesOf(source.read()).equals(packed)).toBe(true);
    expect(packContent(() => [content])!.upload).toEqual(upload);
  });
  fc.assert(property, { numRuns: 10 });
});

it("a content that is changed before it is sent is given up before its first byte that differs", () => {
  const before = noise(9 * MIB);
  for (const [after, sent] of [
    [Buffer.concat([before.subarray(0, 5 * MIB), Buffer.of(1), before.subarray(5 * MIB + 1)]), 1],
    [before.subarray(0, 8 * MIB), 2],
    [Buffer.concat([before, Buffer.of(1)]), 2],
    [Buffer.alloc(0), 0],
  ] as const) {
    let content = before;
    const { source } = packContent(() => [content])!;
    const wanted = [...source.read()].slice(0, sent);
    content = after;
    const parts: Uint8Array[] = [];
    expect(() => {
      for (const part of source.read()) parts.push(part);
    }).toThrow("were changed while they were sent");
    expect(bytesOf(parts).equals(bytesOf(wanted))).toBe(true);
  }
});

it("a content that packs to more than an upload may have is not read to its end", () => {
  const read: number[] = [];
  const chunks = function* () {
    for (let number = 0; number < 5; number++) {
      read.push(number);
      yield noise(4 * MIB, `${number}`);
    }
  };
  expect(packContent(chunks, 9 * MIB)).toBeUndefined();
  expect(read).toEqual([0, 1, 2]);
  const { upload } = packContent(() => [noise(MIB)])!;
  expect(packContent(() => [noise(MIB)], upload.bytes)?.upload).toEqual(upload);
  expect(packContent(() => [noise(MIB)], upload.bytes - 1)).toBeUndefined();
});
