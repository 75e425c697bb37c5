import { BodyTooLongError, readResponse } from "../../lib/registry/read-body.ts";
import { wrongContent } from "./failures.ts";

/** Reads a body to its end. Errors: exit code 1 if it has more than `maxBytes`. */
export async function readAtMost(response: Response, maxBytes: number, host: string): Promise<Buffer> {
  try {
    return await readResponse(response, maxBytes);
  } catch (error) {
    if (!(error instanceof BodyTooLongError)) throw error;
    throw wrongContent(host, `more than the ${maxBytes} bytes that are accepted`);
  }
}
