import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";

const HEADER_SAFE = /^[\x21-\x7e]{1,512}$/;

/**
 * An API key without the white space around it. Errors: exit code 3 where no key can look like this; the text is not
 * repeated, since it may be a key all the same. Checked here because `fetch` would name the value in its error.
 */
export function parseApiKey(text: string): string {
  const key = text.trim();
  if (key === "") throw new Failure("The API key is empty.", { exitCode: EXIT.unauthorized, hint: HINT });
  if (!HEADER_SAFE.test(key)) {
    throw new Failure("The API key holds characters no key has.", { exitCode: EXIT.unauthorized, hint: HINT });
  }
  return key;
}

const HINT = "Copy the key again: one line beginning with ek_.";
