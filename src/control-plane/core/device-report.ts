import type { AppReport, DeviceFacts, ReportDelta } from "../../protocol/app-report.ts";
import { maskSpec } from "./mask-spec.ts";

/** The last report of a device: its apps and device facts. */
export interface DeviceReport {
  /** Identifies the report; computed by the device. */
  readonly hash: string;
  readonly apps: readonly AppReport[];
  readonly device: DeviceFacts | undefined;
}

/** Returns the report after a delta; `undefined` when the delta is based on another report than the stored one. */
export function applyReportDelta(stored: DeviceReport | undefined, delta: ReportDelta): DeviceReport | undefined {
  if (delta.base === null) return merge([], delta, undefined);
  return stored?.hash === delta.base ? merge(stored.apps, delta, stored.device) : undefined;
}

function merge(stored: readonly AppReport[], delta: ReportDelta, device: DeviceFacts | undefined): DeviceReport {
  const apps = new Map(stored.map((app) => [app.name, app]));
  for (const name of delta.removed_apps) apps.delete(name);
  for (const app of delta.apps) apps.set(app.name, { ...app, spec: maskSpec(app.spec) as AppReport["spec"] });
  const byName = [...apps.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  return { hash: delta.hash, apps: byName, device: delta.device ?? device };
}
