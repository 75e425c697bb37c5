import type { AttentionReason } from "../../../protocol/assets/attention.ts";
import { REASONS } from "../../parts/reason.tsx";

/** What the list of assets is restricted to. It is kept in the page's address. */
export interface AssetFilters {
  /** Part of the name or the serial number. */
  readonly q: string;
  readonly status: "" | "active" | "inactive";
  readonly connected: "" | "true" | "false";
  /** `any`, or one reason. */
  readonly attention: "" | "any" | AttentionReason;
  readonly type: string;
  readonly agentVersion: string;
  /** Conditions on tags and type, such as `role=kiosk,region!=south`. */
  readonly selector: string;
}

export const NO_FILTERS: AssetFilters = {
  q: "",
  status: "",
  connected: "",
  attention: "",
  type: "",
  agentVersion: "",
  selector: "",
};

/** Parameters of the page's address, which are those of the API. */
const PARAMETERS: Readonly<Record<keyof AssetFilters, string>> = {
  q: "q",
  status: "status",
  connected: "connected",
  attention: "attention",
  type: "type",
  agentVersion: "agent_version",
  selector: "selector",
};

const STATUSES = ["active", "inactive"] as const;
const BOOLEANS = ["true", "false"] as const;
const ATTENTION = ["any", ...(Object.keys(REASONS) as AttentionReason[])] as const;
/** Longest text the API accepts. */
export const MAX_SEARCH_LENGTH = 128;
/** Longest type and version. */
export const MAX_VALUE_LENGTH = 64;
/** Longest selector. */
export const MAX_SELECTOR_LENGTH = 1024;

/** Reads the filters of an address. Values that the page does not know are left out. */
export function readFilters(parameters: URLSearchParams): AssetFilters {
  const text = (name: keyof AssetFilters, max: number) => (parameters.get(PARAMETERS[name]) ?? "").slice(0, max);
  return {
    q: text("q", MAX_SEARCH_LENGTH),
    status: oneOf(STATUSES, parameters.get(PARAMETERS.status)),
    connected: oneOf(BOOLEANS, parameters.get(PARAMETERS.connected)),
    attention: oneOf(ATTENTION, parameters.get(PARAMETERS.attention)),
    type: text("type", MAX_VALUE_LENGTH),
    agentVersion: text("agentVersion", MAX_VALUE_LENGTH),
    selector: text("selector", MAX_SELECTOR_LENGTH),
  };
}

/** Returns the parameters of the filters that are set: for the page's address and for the API alike. */
export function toParameters(filters: AssetFilters): Readonly<Record<string, string>> {
  const entries = Object.entries(PARAMETERS) as [keyof AssetFilters, string][];
  return Object.fromEntries(entries.flatMap(([name, key]) => (filters[name] === "" ? [] : [[key, filters[name]]])));
}

export function hasFilters(filters: AssetFilters): boolean {
  return Object.keys(toParameters(filters)).length > 0;
}

/** Returns how many filters are set besides the search. */
export function countFilters(filters: AssetFilters): number {
  return Object.keys(toParameters({ ...filters, q: "" })).length;
}

function oneOf<T extends string>(values: readonly T[], value: string | null): T | "" {
  return values.find((each) => each === value) ?? "";
}
