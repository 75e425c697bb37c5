import type { Context } from "./context.ts";
import { EXIT, Failure, usageFailure } from "./failure.ts";

/** Refuses a command that would have to ask without a terminal to answer at. Errors: exit code 2. */
export function requireAnswer({ io }: Context, yes: boolean, what: string): void {
  if (yes || io.stdin.isTTY) return;
  throw usageFailure(`There is no terminal to ask on whether to ${what}.`, "Give --yes to do it without asking.");
}

/** Asks a question. Errors: exit code 1 if the answer is no. */
export async function confirm({ io }: Context, question: string): Promise<void> {
  const answer = await io.stdin.ask(`${question} [y/N] `);
  if (/^y(es)?$/i.test(answer.trim())) return;
  throw new Failure("Nothing was changed.", { exitCode: EXIT.failed });
}
