import fc from "fast-check";
import { expect, test } from "vitest";
import { logLines } from "../../../../src/agent/engine/docker/logs.ts";
import type { LogLine } from "../../../../src/agent/engine/engine.ts";

const TIME = "2026-11-20T10:00:00.123456789Z";

function frame(source: number, content: string | Uint8Array, time: string = TIME): Uint8Array {
  const bytes = Buffer.concat([Buffer.from(`${time} `), Buffer.from(content)]);
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

async function read(bytes: Uint8Array, raw: boolean, sizes: readonly number[] = [7]): Promise<LogLine[]> {
  const lines: LogLine[] = [];
  for await (const batch of logLines(inPieces(bytes, sizes), raw)) lines.push(...batch);
  return lines;
}

const texts = async (bytes: Uint8Array, raw = false): Promise<string[]> =>
  (await read(bytes, raw)).map(({ text }) => text);

const line = fc.string({ unit: "grapheme", maxLength: 40 }).filter((text) => !/[\r\n]/.test(text));
const stream = fc.constantFrom("stdout", "stderr");

test("lines are read unchanged, however the stream is split", async () => {
  const written = fc.array(fc.record({ stream, text: line }), { maxLength: 20 });
  const sizes = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(written, sizes, async (written, sizes) => {
      const rest = { time: TIME, truncated: false };
      const framed = written.map(({ stream, text }) => frame(stream === "stderr" ? 2 : 1, `${text}\n`));
      expect(await read(Buffer.concat(framed), false, sizes)).toEqual(written.map((one) => ({ ...one, ...rest })));
      const raw = Buffer.from(written.map(({ text }) => `${TIME} ${text}\n`).join(""));
      const onTerminal = written.map(({ text }) => ({ stream: "stdout", text, ...rest }));
      expect(await read(raw, true, sizes)).toEqual(onTerminal);
    }),
  );
});

test("a long line that an engine writes in parts is one line, of the time of its first part", async () => {
  const parts = ["one ", "long ", "line\n"].map((part, second) => frame(1, part, `2026-11-20T10:00:0${second}Z`));
  const [first = Buffer.alloc(0), ...others] = parts;
  const bytes = Buffer.concat([first, frame(2, "error\n"), ...others, frame(2, "unfinished")]);
  expect(await read(bytes, false)).toEqual([
    { stream: "stderr", time: TIME, text: "error", truncated: false },
    { stream: "stdout", time: "2026-11-20T10:00:00Z", text: "one long line", truncated: false },
    { stream: "stderr", time: TIME, text: "unfinished", truncated: false },
  ]);
});

test("a character may be cut between two parts of a line", async () => {
  const [euro, half] = [Buffer.from("€"), 1];
  const bytes = Buffer.concat([
    frame(1, euro.subarray(0, half)),
    frame(1, Buffer.concat([euro.subarray(half), Buffer.from("\n")])),
  ]);
  expect(await texts(bytes)).toEqual(["€"]);
});

test("timestamps are in UTC, whatever the time zone of the machine", async () => {
  const [line] = await read(frame(1, "x\n", "2026-11-20T12:00:00.5+02:00"), false);
  expect(line?.time).toBe("2026-11-20T10:00:00.5Z");
});

test("long lines are cut and marked, carriage returns dropped, and invalid bytes replaced", async () => {
  const bytes = Buffer.concat([
    frame(1, `${"x".repeat(100_000)}\n`),
    frame(1, `${"y".repeat(8_192)}\r\n`),
    frame(1, Uint8Array.of(0x61, 0xff, 0x62, 0x0a)),
  ]);
  const lines = await read(bytes, false, [4096]);
  expect(lines.map(({ text, truncated }) => [text, truncated])).toEqual([
    ["x".repeat(8_192), true],
    ["y".repeat(8_192), false],
    ["a\u{fffd}b", false],
  ]);
});

test("output of a terminal that looks like frames or JSON is unchanged", async () => {
  const bytes = Buffer.from(`${TIME} {"a":1}\n${TIME} \u0001\u0000\u0000\u0000 text\n`);
  expect(await texts(bytes, true)).toEqual(['{"a":1}', "\u0001\u0000\u0000\u0000 text"]);
});

test("a line without a timestamp is kept whole", async () => {
  expect(await texts(Buffer.from(`no time here\n\n${"z".repeat(60)} x\n${TIME}\n`), true)).toEqual([
    "no time here",
    "",
    `${"z".repeat(60)} x`,
    TIME,
  ]);
});
