import { resolve } from "node:path";
import { usageFailure } from "../failure.ts";
import { type Io, readTextOrStdin } from "../io.ts";
import type { NamedText } from "./read-group.ts";

export type NamedTexts = readonly [NamedText, ...NamedText[]];

/** Reads the files named with `-f`, of which one may be standard input. Errors: exit code 2. */
export async function readNamedTexts(names: readonly string[], io: Io): Promise<NamedTexts> {
  if (names.filter((name) => name === "-").length > 1) throw usageFailure("Standard input can be read once only.");
  const [first, ...others] = await Promise.all(names.map((name) => readNamedText(name, io)));
  if (!first) throw new TypeError("the command requires a file");
  return [first, ...others];
}

async function readNamedText(name: string, io: Io): Promise<NamedText> {
  const isStdin = name === "-";
  return {
    text: await readTextOrStdin(name, io),
    fileName: isStdin ? "Standard input" : name,
    path: isStdin ? undefined : resolve(name),
  };
}
