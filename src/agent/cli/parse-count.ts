import { InvalidArgumentError } from "commander";

/** Reads how many of something are wanted. */
export function parseCount(text: string): number {
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It has to be a whole number from 0 to 99999.");
}
