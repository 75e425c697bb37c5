/** A requirement that the set-up cannot install. The message is one line with the problem and its solution. */
export class SetupError extends Error {}

/** Prints a step of the set-up to standard error. */
export function logSetup(text: string): void {
  console.error(`set-up: ${text}`);
}
