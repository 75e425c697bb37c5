import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Fields } from "./fields.ts";
import { DESCRIPTION } from "./paths.ts";

const MAX_DESCRIPTION_BYTES = 4096;

/** Reads the version of a folder with a program, and the oldest that it can be replaced by. @throws {ReleaseError} */
export function readDescription(folder: string): { readonly version: string; readonly floor: string } {
  const path = join(folder, DESCRIPTION);
  const fields = Fields.parse(path, readFileSync(path).subarray(0, MAX_DESCRIPTION_BYTES));
  return { version: fields.version("version"), floor: fields.version("floor") };
}
