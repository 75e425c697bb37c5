import { ApiFailure } from "../api/failure.ts";

const DATA = "data:";
/** The service sends a blank line every 15 s. */
const MAX_SILENCE_MS = 45_000;

/**
 * Yields the JSON of each `data:` line of a stream, or of each line of NDJSON. Blank lines keep the connection alive; throws
 * when nothing at all arrives: a phone may lose its link without a word.
 */
export async function* readMessages(body: ReadableStream<Uint8Array>): AsyncGenerator {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await soon(reader.read());
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const text = line.startsWith(DATA) ? line.slice(DATA.length) : line.startsWith("{") ? line : "";
        if (text.trim() !== "") yield JSON.parse(text) as unknown;
      }
    }
  } finally {
    // The stream has ended already.
    await reader.cancel().catch(() => undefined);
  }
}

async function soon<T>(chunk: Promise<T>): Promise<T> {
  const silence = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => silence.reject(new ApiFailure("Unreachable", "The link to the service was lost.", 0)),
    MAX_SILENCE_MS,
  );
  try {
    return await Promise.race([chunk, silence.promise]);
  } finally {
    clearTimeout(timer);
  }
}
