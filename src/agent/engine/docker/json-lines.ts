import { EngineError } from "../engine-error.ts";
import { parseBoundedJson } from "../../../protocol/values/bounded-json.ts";

const MAX_LINE = 1024 * 1024;

/** Reads newline-separated JSON objects. Throws an `EngineError` if a line is not one. */
export async function* readJsonLines(stream: AsyncIterable<Buffer>): AsyncGenerator<Record<string, unknown>> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    rest += decoder.decode(chunk, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line.trim() !== "") yield parse(line);
    }
    if (rest.length > MAX_LINE) throw new EngineError("unknown", "the container engine sent a line that is too long");
  }
  if (rest.trim() !== "") yield parse(rest);
}

function parse(line: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseBoundedJson(line, "frame");
  } catch (error) {
    throw new EngineError("unknown", "the container engine sent a line that is not JSON", { cause: error });
  }
  if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  throw new EngineError("unknown", "the container engine sent a line that is not a JSON object");
}
