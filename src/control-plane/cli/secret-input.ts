import { readFileSync } from "node:fs";
import { isatty } from "node:tty";
import { errorText } from "../../lib/error-text.ts";
import { readPrivateText } from "../../lib/private-text.ts";
import { isSecretText } from "../config/sim-operators-config.ts";
import { ServiceCommandError } from "./context.ts";

const STDIN = 0;

/**
 * Reads a secret that stands alone in a file that only its owner can access, or in standard input for `-`. Throws `CommandError`,
 * without anything of the secret.
 */
export function readSecretInput(file: string): string {
  const text = readText(file);
  if (isSecretText(text)) return text.trim();
  throw new ServiceCommandError(`${file === "-" ? "standard input" : file} does not contain one line with the secret`);
}

function readText(file: string): string {
  if (file === "-" && isatty(STDIN))
    throw new ServiceCommandError("a terminal would show the secret: pass it through a pipe, or from a file");
  try {
    return file === "-" ? readFileSync(STDIN, "utf8") : readPrivateText(file);
  } catch (error) {
    throw new ServiceCommandError(`cannot read the secret: ${errorText(error)}`);
  }
}
