import { InvalidArgumentError } from "commander";

/** Parses an option that is a count. */
export function parseCount(text: string): number {
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number from 0 to 99999.");
}
