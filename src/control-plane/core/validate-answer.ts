import type { DeviceDataUsage } from "../../protocol/link/data-usage.ts";
import type { AppHealth, DeviceHealth, HealthParams } from "../../protocol/link/device-health.ts";
import type { QueryAnswer, QueryKind, QueryParams } from "../../protocol/link/device-query.ts";
import type { DayRange } from "./utc-days.ts";

/** Compares an answer with its query. Returns the part that matches, `undefined` when it is for something else. */
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
    case "stats":
      return isAboutApp(answer as QueryAnswer<"stats">, params as QueryParams<"stats">) ? answer : undefined;
    case "remove_volume": {
      const { name } = params as QueryParams<"remove_volume">;
      return (answer as QueryAnswer<"remove_volume">).name === name ? answer : undefined;
    }
    case "health":
      return isHealthOf(answer as QueryAnswer<"health">, params as QueryParams<"health">) ? answer : undefined;
    case "device":
    case "logs":
    case "report":
    case "volumes":
      return answer;
  }
  return undefined;
}

/** Whether an answer for one app is about no other app, and none is about an app twice. */
function isAboutApp({ apps }: QueryAnswer<"stats">, { app: wanted }: QueryParams<"stats">): boolean {
  const isOther = wanted !== undefined && apps.some(({ app }) => app !== wanted);
  return !isOther && new Set(apps.map(({ app }) => app)).size === apps.length;
}

/** Whether the points are in order, within the range, no more than asked for, and each series has a value for each of them. */
function isHealthOf({ at, series, interval_s: interval, apps: used }: DeviceHealth, params: HealthParams): boolean {
  const isWhole = series.every((one) => [one.min, one.mean, one.max].every(({ length }) => length === at.length));
  const isOnce = new Set(series.map(({ metric }) => metric)).size === series.length;
  return arePointsOf(at, interval, params) && isWhole && isOnce && (used === undefined || areAppsOf(used, params));
}

function areAppsOf({ at, apps, interval_s: interval }: AppHealth, params: HealthParams): boolean {
  const isWhole = apps.every(({ cpu_percent: cpu, memory_bytes: memory, restarts }) =>
    [cpu.mean, cpu.max, memory.mean, memory.max, restarts].every(({ length }) => length === at.length),
  );
  const isOnce = new Set(apps.map(({ app }) => app)).size === apps.length;
  return params.apps === true && arePointsOf(at, interval, params) && isWhole && isOnce;
}

function arePointsOf(at: readonly number[], interval: number, { from, to, points }: HealthParams): boolean {
  const isInRange = at.every((time, index) => time > from - interval && time < to && time > (at[index - 1] ?? -1));
  return at.length <= points && isInRange;
}

function nameOf({ app, spec }: QueryAnswer<"app">): string | undefined {
  return spec === undefined || spec.name === app.name ? app.name : undefined;
}

function filterRequested(
  { deployments }: QueryAnswer<"deployments">,
  { deployment_ids: requested }: QueryParams<"deployments">,
): QueryAnswer<"deployments"> {
  return { deployments: deployments.filter(({ deployment_id: id }) => requested.includes(id)) };
}

/** Leaves out days that were not requested. */
function filterDays({ days, deployments, budget }: DeviceDataUsage, { from, to }: DayRange): DeviceDataUsage {
  const isInRange = ({ day }: { readonly day: string }): boolean => day >= from && day <= to;
  return { days: days.filter(isInRange), deployments: deployments.filter(isInRange), budget };
}
