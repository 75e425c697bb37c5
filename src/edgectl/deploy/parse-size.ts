import { InvalidArgumentError } from "commander";

const FACTORS: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1000,
  MB: 1000 ** 2,
  GB: 1000 ** 3,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
};

/** Reads a number of bytes: `500000`, `50MB` (decimal) or `256MiB` (binary). */
export function parseSize(text: string): number {
  const match = /^(\d{1,15}(?:\.\d{1,6})?) ?([A-Za-z]{0,3})$/.exec(text.trim());
  const factor = FACTORS[match?.[2] || "B"];
  const bytes = Math.round(Number(match?.[1]) * (factor ?? Number.NaN));
  if (!Number.isSafeInteger(bytes)) {
    throw new InvalidArgumentError("Write a size such as 50MB (50,000,000 bytes) or 256MiB (268,435,456 bytes).");
  }
  return bytes;
}
