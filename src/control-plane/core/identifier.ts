import { isUuid } from "../../protocol/scalars.ts";
import type { Asset } from "./asset.ts";

/** A value that addresses an asset, and the field that has it. */
export interface Identifier {
  readonly field: "uuid" | "serial_number" | "supersim.sid" | "supersim.iccid" | "prosim.iccid";
  readonly value: string;
}

/** Returns the form in which an identifier is stored and looked up: UUIDs in lower case, others unchanged. */
export function canonicalIdentifier(text: string): string {
  return isUuid(text) ? text.toLowerCase() : text;
}

/** Returns all identifiers of an asset in canonical form. A value of two fields is returned twice. */
export function identifiersOf(asset: Asset): Identifier[] {
  const { supersim, prosim } = asset;
  const found: (Identifier | undefined)[] = [
    { field: "uuid", value: asset.uuid },
    { field: "serial_number", value: asset.serialNumber },
    supersim && { field: "supersim.sid", value: supersim.sid },
    supersim && { field: "supersim.iccid", value: supersim.iccid },
    prosim && { field: "prosim.iccid", value: prosim.iccid },
  ];
  return found
    .filter((identifier) => identifier !== undefined)
    .map(({ field, value }) => ({ field, value: canonicalIdentifier(value) }));
}
