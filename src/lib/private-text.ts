import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";

const GROUP_OTHERS = 0o077;

/** A file with secrets can be read or written by users other than its owner. The message says what to do. */
export class ExposedFileError extends Error {
  override readonly name = "ExposedFileError";
}

/** Reads a file that only its owner may access. Throws `ExposedFileError` if others can, and what the system says of it. */
export function readPrivateText(path: string): string {
  const file = openSync(path, "r");
  try {
    if ((fstatSync(file).mode & GROUP_OTHERS) !== 0)
      throw new ExposedFileError(`other users can access ${path}: run chmod 600 ${path}`);
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}
