import type { DeviceDataUsage } from "../../protocol/data-usage.ts";
import type { QueryAnswer, QueryKind, QueryParams } from "../../protocol/device-query.ts";
import type { DayRange } from "./utc-days.ts";

/** Compares an answer with what was asked. Returns what may be believed of it, `undefined` where it answers something else. */
export function validateAnswer<K extends QueryKind>(
  what: K,
  params: QueryParams<K>,
  answer: QueryAnswer<K>,
): QueryAnswer<K> | undefined {
  switch (what) {
    case "app":
      return nameOf(answer as QueryAnswer<"app">) === (params as QueryParams<"app">).app ? answer : undefined;
    case "data_usage":
      return filterDays(answer as QueryAnswer<"data_usage">, params as DayRange) as QueryAnswer<K>;
    case "deployments":
      return filterRequested(
        answer as QueryAnswer<"deployments">,
        params as QueryParams<"deployments">,
      ) as QueryAnswer<K>;
    case "device":
    case "logs":
    case "report":
      return answer;
  }
  return undefined;
}

function nameOf({ app, spec }: QueryAnswer<"app">): string | undefined {
  return spec === undefined || spec.name === app.name ? app.name : undefined;
}

function filterRequested(
  { deployments }: QueryAnswer<"deployments">,
  { deployment_ids: asked }: QueryParams<"deployments">,
): QueryAnswer<"deployments"> {
  return { deployments: deployments.filter(({ deployment_id: id }) => asked.includes(id)) };
}

/** Only what was counted on the days that were asked for. */
function filterDays({ days, deployments, budget }: DeviceDataUsage, { from, to }: DayRange): DeviceDataUsage {
  const isAsked = ({ day }: { readonly day: string }): boolean => day >= from && day <= to;
  return { days: days.filter(isAsked), deployments: deployments.filter(isAsked), budget };
}
