import { wrongContent } from "./failures.ts";

/** Reads a body to its end. Errors: exit code 1 if it has more than `maxBytes`. */
export async function readAtMost(response: Response, maxBytes: number, host: string): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > maxBytes) throw wrongContent(host, `more than the ${maxBytes} bytes that are accepted`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
