/** The answer of a call, or `undefined` where the engine answers with this HTTP status. */
export async function unlessStatus<T>(status: number, answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (hasStatus(error, status)) return undefined;
    throw error;
  }
}

/** Whether the error is the client's way to tell of this HTTP status. */
export function hasStatus(error: unknown, status: number): boolean {
  return error instanceof Error && "statusCode" in error && error.statusCode === status;
}
