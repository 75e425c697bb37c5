import { pageInBytes, pageInstead } from "./foreign-answer.ts";
import type { RegistryResponse } from "./http.ts";
import type { RegistryErrors } from "./problem.ts";
import { readBody, type ReadOptions } from "./read-body.ts";

/** Maximum size of a manifest or configuration. */
export const MAX_DOCUMENT_BYTES = 4 * 1024 * 1024;

/** Reads the document of a response with status 200. Refuses a page of something in between, before the rest is paid for. */
export async function readDocument(
  response: RegistryResponse,
  options: Omit<ReadOptions, "checkBeginning" | "maxBytes"> & {
    readonly errors: RegistryErrors;
    readonly maxBytes?: number;
  },
  signal: AbortSignal,
): Promise<Uint8Array> {
  const { errors, maxBytes = MAX_DOCUMENT_BYTES, ...rest } = options;
  const { host } = response.url;
  const page = pageInstead(response);
  if (page) throw errors.problem(page);
  let isForeign = false;
  const checkBeginning = (bytes: Uint8Array): void => {
    const found = pageInBytes(bytes, host);
    if (!found) return;
    isForeign = true;
    throw errors.problem(found);
  };
  let bytes: Uint8Array;
  try {
    bytes = await readBody(response.body, { ...rest, maxBytes, checkBeginning });
  } catch (error) {
    signal.throwIfAborted();
    throw isForeign ? error : errors.transfer(error, host);
  }
  if (bytes.length === 0) checkBeginning(bytes);
  return bytes;
}
