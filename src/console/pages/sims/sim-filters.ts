import { SIM_TYPES, type SimType } from "./sim-words.ts";

/** What the list of SIMs is restricted to, by the names of the API. It is kept in the page's address. */
export interface SimFilters {
  readonly type?: SimType;
  /** `data`: those whose allowance is used up, or will be before the month ends. */
  readonly attention?: "data";
}

/** Reads the filters of an address. Values that the page does not know are left out. */
export function readSimFilters(parameters: URLSearchParams): SimFilters {
  const type = SIM_TYPES.find((each) => each === parameters.get("type"));
  return { ...(type && { type }), ...(parameters.get("attention") === "data" && { attention: "data" }) };
}
