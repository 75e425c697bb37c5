/** Something is missing that the set-up cannot bring. The message is one line that says what and what to do. */
export class SetupError extends Error {}

/** Tells the person at the terminal what the set-up does, on standard error. */
export function logSetup(text: string): void {
  console.error(`set-up: ${text}`);
}
