import { EdgeError } from "../../protocol/errors/errors.ts";
import { formatPath, invalidRequest } from "../../protocol/errors/request-error.ts";
import { JsonLimitError, parseBoundedJson } from "../../protocol/values/bounded-json.ts";
import { findWrongName, type WrongName } from "../../protocol/values/field-names.ts";

/** A longer path in a message is cut: names may have 4 KiB, at 64 levels. */
const MAX_PATH_LENGTH = 256;

const REASONS: Readonly<Record<WrongName["reason"], string>> = {
  repeated: "is given more than once",
  reserved: "is not allowed as the name of a field",
};

/**
 * Parses the body of a request. What would be ignored otherwise is refused: of fields with one name all but the last, and bytes
 * that are not UTF-8. Errors: `PayloadTooLarge`, `InvalidJson`, and `InvalidRequest` for the name of a field.
 */
export function parseBody(bytes: Uint8Array): unknown {
  const body = parse(bytes);
  const wrong = findWrongName(body.text);
  if (!wrong) return body.value;
  const path = formatPath(wrong.path);
  const shown = path.length > MAX_PATH_LENGTH ? `…${path.slice(-MAX_PATH_LENGTH)}` : path;
  throw invalidRequest([{ path: shown, reason: REASONS[wrong.reason] }]);
}

function parse(bytes: Uint8Array): { readonly text: string; readonly value: unknown } {
  try {
    const value = parseBoundedJson(bytes, "request");
    return { value, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch (error) {
    if (error instanceof JsonLimitError) throw new EdgeError("PayloadTooLarge", `The request ${error.message}.`);
    throw new EdgeError("InvalidJson", `The request body is not valid JSON${whereOf(error)}.`, undefined, {
      cause: error,
    });
  }
}

/** What the parser says of the place. The rest of its message may quote the body, in which there may be secrets. */
function whereOf(error: unknown): string {
  if (!(error instanceof SyntaxError)) return "";
  const [, line, column] = /\(line (\d+) column (\d+)\)$/.exec(error.message) ?? [];
  if (line !== undefined) return `: line ${line}, column ${column}`;
  return error.message === "Unexpected end of JSON input" ? ": it ends too early" : "";
}
