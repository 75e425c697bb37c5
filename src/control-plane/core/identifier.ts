import { isUuid } from "../../protocol/values/scalars.ts";
import type { SimType } from "../../protocol/assets/sim.ts";
import type { Asset } from "./asset.ts";
import { otherIccids } from "./sims/iccid.ts";

/** A value that addresses an asset, and the field that has it. */
export interface Identifier {
  readonly field: "uuid" | "serial_number" | "supersim.sid" | "supersim.iccid" | "prosim.iccid";
  readonly value: string;
}

/** Returns the form in which an identifier is stored and looked up: UUIDs in lower case, others unchanged. */
export function canonicalIdentifier(text: string): string {
  return isUuid(text) ? text.toLowerCase() : text;
}

/**
 * Returns all identifiers of an asset in canonical form. A value of two fields is returned twice. A SIM has those of its number with
 * and without the Luhn digit: otherwise it could be registered twice, the second time by another account.
 */
export function identifiersOf(asset: Asset): Identifier[] {
  const own: readonly Identifier[] = [
    { field: "uuid", value: asset.uuid },
    { field: "serial_number", value: asset.serialNumber },
  ];
  return [
    ...own.map(({ field, value }) => ({ field, value: canonicalIdentifier(value) })),
    ...simIdentifiersOf(asset, "supersim"),
    ...simIdentifiersOf(asset, "prosim"),
  ];
}

/** Returns the identifiers that an asset has by its SIM of this type. */
export function simIdentifiersOf({ supersim, prosim, serialNumber }: Asset, type: SimType): Identifier[] {
  const iccid = (type === "supersim" ? supersim : prosim)?.iccid;
  if (iccid === undefined) return [];
  const field = `${type}.iccid` as const;
  // The asset may have the other form of the number as its serial number.
  const values = [iccid, ...otherIccids(iccid).filter((other) => other !== serialNumber)];
  const iccids = values.map((value) => ({ field, value: canonicalIdentifier(value) }));
  if (type === "prosim" || !supersim) return iccids;
  return [{ field: "supersim.sid", value: canonicalIdentifier(supersim.sid) }, ...iccids];
}
