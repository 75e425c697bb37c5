import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { jsonErrorPosition } from "../../lib/parse-json.ts";
import { looksLikeYaml } from "../../lib/looks-like-yaml.ts";
import { EXIT, CommandError } from "./exit-code.ts";
import { JsonLimitError, parseBoundedJson } from "../../protocol/values/bounded-json.ts";

/** Reads JSON from a file, or from standard input for `-`. Throws a `CommandError` that does not quote the content. */
export async function readJson(path: string): Promise<unknown> {
  let content: string;
  try {
    content = path === "-" ? await text(process.stdin) : readFileSync(path, "utf8");
  } catch (error) {
    throw new CommandError(EXIT.usage, `${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? "unknown"}`);
  }
  try {
    return parseBoundedJson(content, "request");
  } catch (error) {
    if (error instanceof JsonLimitError) throw new CommandError(EXIT.usage, `${path} ${error.message}.`);
    if (looksLikeYaml(content, path)) throw new CommandError(EXIT.usage, `${path} is YAML; this takes JSON.`);
    // The parser's message quotes the text around the error, which may contain a secret.
    const place = jsonErrorPosition(error);
    throw new CommandError(EXIT.usage, `${path} is not valid JSON${place === undefined ? "" : ` (${place})`}`);
  }
}
