import { Failure } from "../failure.ts";

interface ReadBefore {
  /** Entity tag of what was read; `undefined`: it is changed whatever it is now. */
  readonly tag: string | undefined;
  /** What that is, in words. */
  readonly what: string;
  /** What to do once another client has changed it. */
  readonly hint: string;
}

/**
 * Carries out a change that a person has decided on by what was read before. Errors: exit code 1 if another client has changed it since:
 * nothing is changed then.
 *
 * @param change sends the request with these headers
 */
export async function ifUnchanged<T>(
  { tag, what, hint }: ReadBefore,
  change: (headers: Readonly<Record<string, string>>) => Promise<T>,
): Promise<T> {
  try {
    return await change(tag === undefined ? {} : { "If-Match": tag });
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "PreconditionFailed") throw error;
    // The details are all of it as it is now.
    const message = `Another person or program has changed ${what} since: nothing was changed.`;
    throw new Failure(message, { exitCode: error.exitCode, code: error.code, hint, cause: error });
  }
}
