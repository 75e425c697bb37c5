import { InvalidArgumentError } from "commander";

/** Makes commander gather a repeated option's values, each read by `parse`. */
export function collect<T>(parse: (text: string) => T): (text: string, previous: readonly T[] | undefined) => T[] {
  return (text, previous) => [...(previous ?? []), parse(text)];
}

/** Reads a whole number within bounds, both included. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`);
    return value;
  };
}

/** The argument that names an asset. */
export const ASSET = ["<asset>", "serial number, SIM SID, ICCID or UUID"] as const;

/** The argument that names an app of a device. */
export const APP = ["<app>", "name of the app"] as const;
