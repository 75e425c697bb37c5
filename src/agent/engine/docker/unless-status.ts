/** Returns the response of a call, or `undefined` if it fails with this HTTP status. */
export async function unlessStatus<T>(status: number, response: Promise<T>): Promise<T | undefined> {
  try {
    return await response;
  } catch (error) {
    if (hasStatus(error, status)) return undefined;
    throw error;
  }
}

/** Whether the client's error has this HTTP status. */
export function hasStatus(error: unknown, status: number): boolean {
  return error instanceof Error && "statusCode" in error && error.statusCode === status;
}
