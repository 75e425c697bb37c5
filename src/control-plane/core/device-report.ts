import type { AppReport, DeviceFacts, ReportDelta } from "../../protocol/app-report.ts";
import { maskSpec } from "./mask-spec.ts";

/** A device and its apps as the device told last. */
export interface DeviceReport {
  /** By which the device knows this report. */
  readonly hash: string;
  readonly apps: readonly AppReport[];
  readonly device: DeviceFacts | undefined;
}

/** The report after a change; `undefined` when the change is one of another report than the one that is held. */
export function applyReportDelta(held: DeviceReport | undefined, change: ReportDelta): DeviceReport | undefined {
  if (change.base === null) return merge([], change, undefined);
  return held?.hash === change.base ? merge(held.apps, change, held.device) : undefined;
}

function merge(held: readonly AppReport[], change: ReportDelta, device: DeviceFacts | undefined): DeviceReport {
  const apps = new Map(held.map((app) => [app.name, app]));
  for (const name of change.removed_apps) apps.delete(name);
  for (const app of change.apps) apps.set(app.name, { ...app, spec: maskSpec(app.spec) as AppReport["spec"] });
  const byName = [...apps.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  return { hash: change.hash, apps: byName, device: change.device ?? device };
}
