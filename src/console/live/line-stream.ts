const DATA = "data:";

/** Yields the JSON of each `data:` line of a stream, or of each line of NDJSON. Blank lines keep the connection alive. */
export async function* readMessages(body: ReadableStream<Uint8Array>): AsyncGenerator {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const text = line.startsWith(DATA) ? line.slice(DATA.length) : line.startsWith("{") ? line : "";
        if (text.trim() !== "") yield JSON.parse(text) as unknown;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
