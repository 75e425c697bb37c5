import { useMemo } from "react";
import { useSearchParams } from "react-router";

const TEXT_FILTERS = ["actor", "action", "asset", "outcome"] as const;
const TIME_FILTERS = ["since", "until"] as const;
export type FilterName = (typeof TEXT_FILTERS)[number] | (typeof TIME_FILTERS)[number];

interface Filters {
  /** As in the page's address: times are local, `2026-11-22T17:10`. */
  readonly shown: Readonly<Partial<Record<FilterName, string>>>;
  /** As the API takes them: times are Unix seconds. */
  readonly query: Readonly<Partial<Record<FilterName, string>>>;
  readonly isFiltered: boolean;
  readonly set: (change: Readonly<Partial<Record<FilterName, string>>>) => void;
  readonly clear: () => void;
}

/** The filters of the audit log, which are in the page's address. */
export function useFilters(): Filters {
  const [parameters, setParameters] = useSearchParams();
  return useMemo(() => {
    const names = [...TEXT_FILTERS, ...TIME_FILTERS].filter((name) => (parameters.get(name) ?? "") !== "");
    const shown = Object.fromEntries(names.map((name) => [name, parameters.get(name) ?? ""]));
    const query = Object.fromEntries(names.map((name) => [name, toQuery(name, shown[name] ?? "")] as const));
    return {
      shown,
      query,
      isFiltered: names.length > 0,
      set: (change) => {
        const all = Object.entries({ ...shown, ...change }).filter(([, value]) => value !== "");
        setParameters(all, { replace: true });
      },
      clear: () => setParameters({}, { replace: true }),
    };
  }, [parameters, setParameters]);
}

function toQuery(name: FilterName, value: string): string | undefined {
  if (name !== "since" && name !== "until") return value;
  const ms = new Date(value).getTime();
  return Number.isNaN(ms) ? undefined : String(Math.floor(ms / 1000));
}
