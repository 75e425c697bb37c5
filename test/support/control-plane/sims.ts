import type { ProSim, SuperSim } from "../../../src/control-plane/core/asset.ts";

let count = 0;

/** A Super SIM with unique identifiers. */
export function someSuperSim(fields: Partial<SuperSim> = {}): SuperSim {
  const number = String(++count).padStart(9, "0");
  return { sid: `HS${number}`, iccid: `8988307001${number}`, networkGroup: "default_1gb", status: "active", ...fields };
}

/** A PRO SIM with unique identifiers. */
export function someProSim(fields: Partial<ProSim> = {}): ProSim {
  const number = String(++count).padStart(9, "0");
  return { imsi: `26201${number}`, iccid: `8988307002${number}`, serviceProfile: "gold", status: "active", ...fields };
}
