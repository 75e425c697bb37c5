import type { AssetWithState } from "../store/assets.ts";
import type { NewestHealth } from "../store/health.ts";
import { HEALTH_REPORT_ROW_S } from "../../protocol/link/health-rows.ts";
import { REPORTED_HEALTH_METRICS, type ReportedHealthMetric } from "../../protocol/link/device-health.ts";

/** An asset, and what its device has measured that is to be sent. */
export interface MeasuredAsset extends AssetWithState {
  readonly health: NewestHealth | undefined;
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue: string };
}

interface Metric {
  readonly name: string;
  readonly unit: string;
  readonly gauge: { readonly dataPoints: readonly object[] };
}

interface Instrument {
  readonly name: string;
  readonly unit: string;
  /** Divides the value: OpenTelemetry has shares from 0 to 1. */
  readonly per: number;
  readonly attributes?: Readonly<Record<string, string>>;
}

/** By the semantic conventions of OpenTelemetry, and with the prefix `edge.` where these have no name. */
const INSTRUMENTS: Readonly<Record<ReportedHealthMetric, Instrument>> = {
  cpu_percent: { name: "system.cpu.utilization", unit: "1", per: 100 },
  memory_percent: {
    name: "system.memory.utilization",
    unit: "1",
    per: 100,
    attributes: { "system.memory.state": "used" },
  },
  swap_percent: {
    name: "system.paging.utilization",
    unit: "1",
    per: 100,
    attributes: { "system.paging.state": "used" },
  },
  disk_percent: {
    name: "system.filesystem.utilization",
    unit: "1",
    per: 100,
    attributes: { "system.filesystem.state": "used" },
  },
  inodes_percent: { name: "edge.filesystem.inodes.utilization", unit: "1", per: 100 },
  temperature_celsius: { name: "hw.temperature", unit: "Cel", per: 1, attributes: { "hw.id": "hottest" } },
  throttled_percent: { name: "edge.cpu.throttled", unit: "1", per: 100 },
  signal_percent: { name: "edge.modem.signal", unit: "1", per: 100 },
  roaming_percent: { name: "edge.modem.roaming", unit: "1", per: 100 },
  mobile_generation: { name: "edge.modem.generation", unit: "1", per: 1 },
};

/**
 * Returns the body of a request of OTLP in JSON: each device is a resource.
 *
 * @param now Unix seconds, when the assets were looked at
 */
export function exportRequest(assets: readonly MeasuredAsset[], version: string, now: number): string {
  return JSON.stringify({
    resourceMetrics: assets.map((each) => ({
      resource: { attributes: resourceOf(each) },
      scopeMetrics: [{ scope: { name: "edge-control", version }, metrics: metricsOf(each, now) }],
    })),
  });
}

function resourceOf({ asset, state }: MeasuredAsset): readonly Attribute[] {
  return attributes({
    "service.name": "edge-agent",
    "service.instance.id": asset.uuid,
    ...(state.agentVersion !== undefined && { "service.version": state.agentVersion }),
    "host.id": asset.serialNumber,
    "host.name": asset.name,
    "host.type": asset.type,
  });
}

function metricsOf({ state, health }: MeasuredAsset, now: number): readonly Metric[] {
  const connected = gauge("edge.device.connected", "1", { asInt: state.isConnected ? "1" : "0" }, now);
  const lastSeen =
    state.lastSeenAt === undefined
      ? []
      : [gauge("edge.device.last_seen", "s", { asInt: String(state.lastSeenAt) }, now)];
  const measured = REPORTED_HEALTH_METRICS.flatMap((metric) => {
    const value = health?.means[metric];
    if (health === undefined || value === undefined) return [];
    const { name, unit, per, attributes: more } = INSTRUMENTS[metric];
    return [gauge(name, unit, { asDouble: value / per }, health.at + HEALTH_REPORT_ROW_S, more)];
  });
  return [connected, ...lastSeen, ...measured];
}

/** 64-bit numbers are strings in OTLP's JSON. */
function gauge(
  name: string,
  unit: string,
  value: { readonly asInt: string } | { readonly asDouble: number },
  at: number,
  more?: Readonly<Record<string, string>>,
): Metric {
  const point = { timeUnixNano: `${at}000000000`, ...value, ...(more && { attributes: attributes(more) }) };
  return { name, unit, gauge: { dataPoints: [point] } };
}

function attributes(values: Readonly<Record<string, string>>): readonly Attribute[] {
  return Object.entries(values).map(([key, value]) => ({ key, value: { stringValue: value.toWellFormed() } }));
}
