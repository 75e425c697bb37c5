import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fetchRanges } from "../../../../src/agent/download/fetch-ranges.ts";
import { PartsUnusable } from "../../../../src/agent/download/download-error.ts";
import { RangePart } from "../../../../src/agent/download/range-part.ts";
import { Throttle } from "../../../../src/agent/download/throttle.ts";
import { RegistryError } from "../../../../src/agent/registry/registry-error.ts";
import type { OpenBlob } from "../../../../src/agent/registry/registry.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import type { Span } from "../../../../src/lib/layer-parts/ranges.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const BLOB = { digest: `sha256:${"a".repeat(64)}`, size: 3_000 };
const SPANS = [
  { offset: 100, length: 700 },
  { offset: 1_500, length: 900 },
];
const WANTED = 1_600;
const content = randomBytes(BLOB.size);

let directory: Awaited<ReturnType<typeof tempDir>>;
beforeEach(async () => {
  directory = await tempDir();
});
afterEach(() => directory[Symbol.asyncDispose]());

/** The bytes, cut after `bytes`. */
function answer({ offset, length }: Span, bytes = Infinity): OpenBlob {
  async function* body(): AsyncGenerator<Buffer> {
    yield content.subarray(offset, offset + Math.min(length, bytes));
    if (bytes < length) throw Object.assign(new Error("reset"), { code: "ECONNRESET" });
  }
  return { stream: Readable.from(body(), { objectMode: false }), status: 206, offset, host: "registry.example.com" };
}

interface Fetched {
  readonly requests: readonly Span[];
  readonly received: number;
}

async function fetch(
  path: string,
  open: (span: Span, number: number) => Promise<OpenBlob>,
  onReceived: (bytes: number) => void = () => {},
  patienceMs = 240_000,
): Promise<Fetched> {
  const requests: Span[] = [];
  let received = 0;
  await using part = await RangePart.open(BLOB, directory.path, join(directory.path, path));
  await fetchRanges(part, SPANS, {
    clock: systemClock,
    random: () => 0,
    bounds: { patienceMs, baseMs: 1, maxMs: 2 },
    stallMs: 240_000,
    throttle: new Throttle(systemClock, () => undefined),
    open: (span) => {
      requests.push(span);
      return open(span, requests.length);
    },
    onReceived: (bytes) => {
      received += bytes;
      onReceived(bytes);
    },
    onAppended: () => {},
    onInterruption: () => {},
    signal: AbortSignal.timeout(240_000),
  });
  for (const span of SPANS) {
    const { offset, length } = span;
    expect(await buffer(part.read(span))).toEqual(content.subarray(offset, offset + length));
  }
  return { requests, received };
}

const whole = async (): Promise<OpenBlob> => ({
  stream: Readable.from([content]),
  status: 200,
  offset: 0,
  host: "registry.example.com",
});
const other = async (): Promise<OpenBlob> => Promise.reject(new RegistryError("wrong_content", "another range"));
const refused = (kind: "registry_unreachable" | "image_not_found") => async (): Promise<OpenBlob> =>
  Promise.reject(new RegistryError(kind, "refused"));

describe("ranges are fetched", () => {
  test("one request for each, and none for what is there", async () => {
    expect(await fetch("a", async (span) => answer(span))).toEqual({ requests: SPANS, received: WANTED });
    expect(await fetch("a", async (span) => answer(span))).toEqual({ requests: [], received: 0 });
  });

  test("over a connection that is cut at any byte, none of them paid for twice", async () => {
    for (const cut of [1, 2, 63, 64, 65, 350, 699, 700, 701, 899]) {
      const { received } = await fetch(`cut-${cut}`, async (span) => answer(span, cut));
      expect(received).toBe(WANTED);
    }
  });

  test("on, after a stop at any write", async () => {
    for (let stop = 1; stop <= 6; stop++) {
      const path = `stop-${stop}`;
      let [first, pieces] = [0, 0];
      const stopped = fetch(
        path,
        async (span) => answer(span, 300),
        (bytes) => {
          first += bytes;
          if (++pieces === stop) throw new Error("killed");
        },
      );
      await stopped.catch(() => {});
      const { received } = await fetch(path, async (span) => answer(span));
      // The killed one may have received one piece that it had not written.
      expect(first + received).toBeLessThanOrEqual(WANTED + 300);
    }
  });

  test("not from a registry that sends the whole blob, another range, or several", async () => {
    await expect(fetch("whole", whole)).rejects.toBeInstanceOf(PartsUnusable);
    await expect(fetch("other", other)).rejects.toBeInstanceOf(PartsUnusable);
  });

  test("more than was asked for is not kept", async () => {
    const { received } = await fetch("more", async (span) => ({ ...answer({ ...span, length: span.length + 50 }) }));
    expect(received).toBeLessThanOrEqual(WANTED + 100);
  });

  test("gives up where nothing comes, and where the registry refuses", async () => {
    const silent = fetch("silent", refused("registry_unreachable"), () => {}, 100);
    await expect(silent).rejects.toMatchObject({ kind: "no_progress" });
    await expect(fetch("gone", refused("image_not_found"))).rejects.toMatchObject({ kind: "image_not_found" });
  });
});
