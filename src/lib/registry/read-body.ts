import type { Readable } from "node:stream";
import type { Clock } from "../clock.ts";

/** The body is longer than the limit. */
export class BodyTooLongError extends Error {
  override readonly name = "BodyTooLongError";
  readonly maxBytes: number;

  constructor(maxBytes: number) {
    super(`more than ${maxBytes} bytes came`);
    this.maxBytes = maxBytes;
  }
}

export interface ReadOptions {
  readonly maxBytes: number;
  /** Maximum time without data, in milliseconds. There is no limit for the whole body. */
  readonly stallMs: number;
  readonly clock: Clock;
  /** Called with the first bytes; throws if the rest is not worth its price. */
  readonly checkBeginning?: (bytes: Uint8Array) => void;
}

/** Reads a body to its end. Rejects with `BodyTooLongError`, a `TimeoutError`, or the connection's error. */
export async function readBody(body: Readable, options: ReadOptions): Promise<Uint8Array> {
  const { clock, maxBytes, stallMs } = options;
  const chunks: Buffer[] = [];
  let length = 0;
  const expire = (): void => void body.destroy(new DOMException(`nothing came for ${stallMs} ms`, "TimeoutError"));
  let timer = clock.timer(stallMs, expire);
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      timer[Symbol.dispose]();
      timer = clock.timer(stallMs, expire);
      if (length === 0) options.checkBeginning?.(chunk);
      chunks.push(chunk);
      length += chunk.length;
      if (length > maxBytes) throw new BodyTooLongError(maxBytes);
    }
    return Buffer.concat(chunks);
  } finally {
    timer[Symbol.dispose]();
    body.destroy();
  }
}

/** Reads the body of a response of `fetch`. Rejects with `BodyTooLongError` for more than `maxBytes`, or the connection's error. */
export function readResponse({ body }: Response, maxBytes: number): Promise<Buffer> {
  return readAll((body ?? []) as AsyncIterable<Uint8Array>, maxBytes);
}

/** Reads chunks to their end. Rejects with `BodyTooLongError` for more than `maxBytes`, or the connection's error. */
export async function readAll(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    // Leaving the loop ends the transfer.
    if (length > maxBytes) throw new BodyTooLongError(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
