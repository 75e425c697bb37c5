import type { AppRemoval, AppReport, DeviceFacts, ReportDelta } from "../../protocol/apps/app-report.ts";
import { maskSpec } from "./mask-spec.ts";

/** The last report of a device: its apps and device facts. */
export interface DeviceReport {
  /** Identifies the report; computed by the device. */
  readonly hash: string;
  readonly apps: readonly AppReport[];
  readonly device: DeviceFacts | undefined;
  /** Apps that are not there since they were removed. */
  readonly removals?: readonly AppRemoval[] | undefined;
}

/** Returns the report after a delta; `undefined` when the delta is based on another report than the stored one. */
export function applyReportDelta(stored: DeviceReport | undefined, delta: ReportDelta): DeviceReport | undefined {
  if (delta.base === null) return merge(NONE, delta);
  return stored?.hash === delta.base ? merge(stored, delta) : undefined;
}

const NONE = { apps: [], device: undefined } as const;

function merge(stored: Omit<DeviceReport, "hash">, delta: ReportDelta): DeviceReport {
  const apps = new Map(stored.apps.map((app) => [app.name, app]));
  for (const name of delta.removed_apps) apps.delete(name);
  for (const app of delta.apps) apps.set(app.name, { ...app, spec: maskSpec(app.spec) });
  const byName = [...apps.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const { device = stored.device, removals = stored.removals } = delta;
  return { hash: delta.hash, apps: byName, device, removals };
}
