import { isUuid } from "../../protocol/scalars.ts";
import type { Asset } from "./asset.ts";

/** A value an asset can be addressed by, and the field it stands in. */
export interface Identifier {
  readonly field: "uuid" | "serial_number" | "supersim.sid" | "supersim.iccid" | "prosim.iccid";
  readonly value: string;
}

/** The form an identifier is stored and looked up in: UUIDs in lower case, everything else to the letter. */
export function canonicalIdentifier(text: string): string {
  return isUuid(text) ? text.toLowerCase() : text;
}

/** Everything an asset can be addressed by, in canonical form; a value that stands in two fields comes twice. */
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
