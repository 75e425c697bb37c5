import { z } from "zod";
import { REPORTED_HEALTH_METRICS, type ReportedHealthMetric } from "../../../protocol/link/device-health.ts";
import { APP_REPORT_ROW_S, type AppFigures } from "../../../protocol/link/app-health.ts";
import { HEALTH_REPORT_ROW_S } from "../../../protocol/link/health-rows.ts";
import { invalidRequest } from "../../../protocol/errors/request-error.ts";
import { selectorSchema, type SelectorTerm } from "../../../protocol/fleets/selector.ts";
import { termsOfSelector } from "../../core/selector-terms.ts";
import type { AssetCursor } from "../../core/cursor.ts";
import type { AssetWithState } from "../../store/assets.ts";
import type { NewestHealth } from "../../store/health.ts";
import { stateTime } from "../asset-resource.ts";
import { accountOf } from "../auth.ts";
import type { Api, ApiBase } from "../context.ts";
import { errors, messages } from "../docs/responses.ts";

/** Assets of one response: about 7 MB of text, and 6 MB more if each has 16 apps. */
export const MAX_METRIC_ASSETS = 10_000;
const PAGE = 500;
const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

const querySchema = z.strictObject({
  selector: selectorSchema
    .optional()
    .meta({ description: "The assets that it matches; all of them if it is left out." }),
});

/** A metric of Prometheus for each of a device's. */
const GAUGES: Readonly<
  Record<ReportedHealthMetric, { readonly name: string; readonly help: string; readonly per: number }>
> = {
  cpu_percent: { name: "cpu_usage_ratio", help: "Use of all processors.", per: 100 },
  memory_percent: { name: "memory_usage_ratio", help: "Memory that programs cannot have any more, of all.", per: 100 },
  swap_percent: { name: "swap_usage_ratio", help: "Use of the swap.", per: 100 },
  disk_percent: { name: "disk_usage_ratio", help: "Use of the file system with the agent's state.", per: 100 },
  inodes_percent: { name: "inodes_usage_ratio", help: "Use of its inodes.", per: 100 },
  temperature_celsius: { name: "temperature_celsius", help: "Highest temperature of the machine's sensors.", per: 1 },
  signal_percent: { name: "modem_signal_ratio", help: "The modem's signal, as ModemManager estimates it.", per: 100 },
  roaming_percent: { name: "modem_roaming_ratio", help: "Whether the modem roams.", per: 100 },
  mobile_generation: { name: "modem_generation", help: "Generation of the mobile network: 4 is LTE.", per: 1 },
  throttled_percent: { name: "throttled_ratio", help: "How often the processor was throttled.", per: 100 },
};

/** Metrics of apps. */
const APP_GAUGES: readonly {
  readonly name: string;
  readonly help: string;
  readonly valueOf: (figures: AppFigures) => number | undefined;
}[] = [
  {
    name: "cpu_usage_ratio",
    help: "Processor that the app used on average: 1 is one processor.",
    valueOf: ({ cpu_percent: cpu }) => cpu && Number((cpu[0] / 100).toPrecision(3)),
  },
  {
    name: "memory_usage_bytes",
    help: "Memory that the app used on average.",
    valueOf: ({ memory_bytes: memory }) => memory?.[0],
  },
  {
    name: "memory_peak_bytes",
    help: "Most memory that the app used.",
    valueOf: ({ memory_bytes: memory }) => memory?.[1],
  },
  { name: "restarts", help: "How often the app was started again.", valueOf: ({ restarts }) => restarts },
];

/** One asset with what is known of it. */
interface Found extends AssetWithState {
  /** The labels of its samples, with their braces. */
  readonly labels: string;
  readonly health: NewestHealth | undefined;
}

/** `GET /v1/metrics/devices`: how devices are, for Prometheus. */
export function getDeviceMetrics(api: Api, context: ApiBase): void {
  api.get(
    "/v1/metrics/devices",
    {
      schema: {
        operationId: "getDeviceMetrics",
        summary: "Metrics of Devices",
        description:
          "How the devices of the account are, in the text format of Prometheus: whether they are connected, the means of the newest " +
          `15 minutes that each has sent, and what their apps used in the newest hour. At most ${MAX_METRIC_ASSETS.toLocaleString("en")} assets; a selector makes them fewer.`,
        tags: ["History"],
        querystring: querySchema,
        response: {
          200: {
            description: "The metrics, each with a sample for each asset.",
            content: { "text/plain": messages(z.string(), ['edge_device_connected{asset="GW-1"} 1\n']) },
          },
          ...errors(),
        },
      },
    },
    async (request, reply) => {
      const { selector } = request.query;
      const terms = selector === undefined ? [] : termsOfSelector(selector);
      const found = await findAll(context, accountOf(request), terms);
      return reply.type(CONTENT_TYPE).send(await render(found, stateTime(context).now));
    },
  );
}

async function findAll(context: ApiBase, accountId: string, selector: readonly SelectorTerm[]): Promise<Found[]> {
  const { store } = context;
  const filter = { status: undefined, type: undefined, text: undefined, selector };
  const found: Found[] = [];
  for (let after: AssetCursor | undefined; ;) {
    const { assets, next } = await store.assets.listAssets(accountId, filter, PAGE, after, stateTime(context));
    const health = await store.health.listNewest(assets.map(({ asset }) => asset.uuid));
    for (const each of assets) {
      const { uuid, serialNumber } = each.asset;
      found.push({ ...each, labels: labelsOf({ asset: serialNumber }), health: health.get(uuid) });
    }
    if (found.length > MAX_METRIC_ASSETS)
      throw invalidRequest([{ path: "selector", reason: `must match at most ${MAX_METRIC_ASSETS} assets` }]);
    if (!next) return found;
    after = next;
  }
}

async function render(found: readonly Found[], now: number): Promise<string> {
  const parts: string[] = [];
  const addLines = async (name: string, help: string, linesOf: (each: Found) => readonly string[]) => {
    parts.push(`# HELP ${name} ${help}\n# TYPE ${name} gauge\n`);
    for (let from = 0; from < found.length; from += PAGE) {
      for (const each of found.slice(from, from + PAGE)) parts.push(...linesOf(each));
      // Ten thousand assets are a hundred thousand lines.
      await new Promise(setImmediate);
    }
  };
  const add = (name: string, help: string, sampleOf: (each: Found) => number | undefined, labelsFor = labels) =>
    addLines(`edge_device_${name}`, help, (each) => {
      const value = sampleOf(each);
      return value === undefined ? [] : [`edge_device_${name}${labelsFor(each)} ${value}\n`];
    });
  await add("info", "Names of the asset.", () => 1, infoLabels);
  await add("connected", "Whether the device is connected.", ({ state }) => (state.isConnected ? 1 : 0));
  const lastSeen = "When the device was last known to be connected; now while it is.";
  await add("last_seen_timestamp_seconds", lastSeen, ({ state }) => (state.isConnected ? now : state.lastSeenAt));
  const measured = "End of the 15 minutes whose means follow.";
  await add("health_timestamp_seconds", measured, ({ health }) => health && health.at + HEALTH_REPORT_ROW_S);
  for (const metric of REPORTED_HEALTH_METRICS) {
    const { name, help, per } = GAUGES[metric];
    await add(name, help, ({ health }) => {
      const value = health?.means[metric];
      return value === undefined ? undefined : value / per;
    });
  }
  await add(
    "apps_timestamp_seconds",
    "End of the hour of the figures of its apps.",
    ({ health }) => health?.apps && health.apps.at + APP_REPORT_ROW_S,
  );
  for (const { name, help, valueOf } of APP_GAUGES)
    await addLines(`edge_app_${name}`, `${help} In the newest hour.`, ({ asset, health }) =>
      [...(health?.apps?.apps ?? [])].flatMap(([app, figures]) => {
        const value = valueOf(figures);
        if (value === undefined) return [];
        return [`edge_app_${name}${labelsOf({ asset: asset.serialNumber, app })} ${value}\n`];
      }),
    );
  return parts.join("");
}

const labels = (each: Found): string => each.labels;

function infoLabels({ asset: { serialNumber, uuid, name, type } }: Found): string {
  return labelsOf({ asset: serialNumber, asset_id: uuid, name, type });
}

function labelsOf(values: Readonly<Record<string, string>>): string {
  return `{${Object.entries(values)
    .map(([name, value]) => `${name}="${escapeValue(value)}"`)
    .join(",")}}`;
}

/** As the text format has it. */
function escapeValue(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
