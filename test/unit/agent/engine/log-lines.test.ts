import fc from "fast-check";
import { expect, test } from "vitest";
import { readLogLines } from "../../../../src/agent/engine/docker/log-lines.ts";

function frame(source: number, content: string | Uint8Array): Uint8Array {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const header = new Uint8Array(8);
  header[0] = source;
  new DataView(header.buffer).setUint32(4, bytes.length);
  return Buffer.concat([header, bytes]);
}

async function* inPieces(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (let i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

const line = fc.string({ unit: "grapheme", maxLength: 40 }).filter((text) => !/[\r\n]/.test(text));

test("lines come out as they went in, however the stream is cut", async () => {
  const written = fc.array(fc.tuple(fc.constantFrom(1, 2), line), { maxLength: 20 });
  const sizes = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(written, sizes, async (written, sizes) => {
      const bytes = Buffer.concat(written.map(([source, text]) => frame(source, `${text}\n`)));
      expect(await readLogLines(inPieces(bytes, sizes), false, 1000)).toEqual(written.map(([, text]) => text));
      const raw = Buffer.from(written.map(([, text]) => `${text}\n`).join(""));
      expect(await readLogLines(inPieces(raw, sizes), true, 1000)).toEqual(written.map(([, text]) => text));
    }),
  );
});

test("a line may span frames while the other output writes between them", async () => {
  const bytes = Buffer.concat([frame(1, "one "), frame(2, "error\n"), frame(1, "line\n"), frame(2, "unfinished")]);
  expect(await readLogLines(inPieces(bytes, [7]), false, 10)).toEqual(["error", "one line", "unfinished"]);
});

test("only the last lines are kept", async () => {
  const bytes = frame(1, "a\nb\n\nc\n");
  expect(await readLogLines(inPieces(bytes, [100]), false, 2)).toEqual(["", "c"]);
});

test("long lines are cut, carriage returns dropped, and bytes that are no text replaced", async () => {
  const bytes = Buffer.concat([
    frame(1, `${"x".repeat(100_000)}\n`),
    frame(1, "windows\r\n"),
    frame(1, Uint8Array.of(0x61, 0xff, 0x62, 0x0a)),
  ]);
  expect(await readLogLines(inPieces(bytes, [4096]), false, 10)).toEqual(["x".repeat(500), "windows", "a\u{fffd}b"]);
});

test("output of a terminal that looks like frames or JSON stays what it is", async () => {
  const bytes = Buffer.from('{"a":1}\n\u0001\u0000\u0000\u0000 text\n');
  expect(await readLogLines(inPieces(bytes, [3]), true, 10)).toEqual(['{"a":1}', "\u0001\u0000\u0000\u0000 text"]);
});
