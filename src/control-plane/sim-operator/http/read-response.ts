import { malformed } from "./operator-errors.ts";

/** Largest response that is read. A page of 1,000 records has about 1 MiB. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Reads a body as JSON; `undefined` if it is empty. Throws `SimOperatorError` for anything else, such as a page of a proxy. */
export async function readJson(response: Response): Promise<unknown> {
  const text = await readText(response);
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw malformed(`it answered ${describeType(response)} instead of JSON`, { cause });
  }
}

async function readText(response: Response): Promise<string> {
  if (!response.body) return "";
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    // Leaving the loop ends the transfer.
    if (length > MAX_BYTES) throw malformed(`its answer has more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function describeType({ headers }: Response): string {
  return headers.get("content-type")?.split(";")[0] ?? "something";
}
