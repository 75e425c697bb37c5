import type { EdgeError } from "../../protocol/errors/errors.ts";
import { invalidRequest } from "../../protocol/errors/request-error.ts";

const BASE64URL = { alphabet: "base64url", omitPadding: true } as const;

/** Returns an opaque cursor that holds an ASCII text. */
export function encodeCursor(text: string): string {
  return Uint8Array.from(text, (character) => character.charCodeAt(0)).toBase64(BASE64URL);
}

/** Returns the text in a cursor. Throws `InvalidRequest` for anything that is not base64url. */
export function decodeCursor(cursor: string): string {
  try {
    return String.fromCharCode(...Uint8Array.fromBase64(cursor, BASE64URL));
  } catch {
    throw invalidCursor();
  }
}

export function invalidCursor(): EdgeError {
  return invalidRequest([{ path: "cursor", reason: "is not a cursor of this list; start again without one" }]);
}
