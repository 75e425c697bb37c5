import type { AppRemoval, AppReport, DeviceFacts, ReportDelta } from "../../../protocol/apps/app-report.ts";

/** State of a device and its apps. */
export interface Report {
  readonly hash: string;
  readonly apps: ReadonlyMap<string, AppReport>;
  readonly device: DeviceFacts;
  /** Apps that are not there since they were removed, the newest first. */
  readonly removals: readonly AppRemoval[];
}

/** Returns the difference from `base` to `report`; the complete report without a base. */
export function diffReports(base: Report | undefined, report: Report): ReportDelta {
  const changed = [...report.apps.values()].filter((app) => !isSame(base?.apps.get(app.name), app));
  const removed = [...(base?.apps.keys() ?? [])].filter((name) => !report.apps.has(name));
  return {
    base: base?.hash ?? null,
    hash: report.hash,
    apps: changed,
    removed_apps: removed,
    ...(!isSame(base?.device, report.device) && { device: report.device }),
    ...(!isSame(base?.removals ?? [], report.removals) && { removals: [...report.removals] }),
  };
}

/** Compares as JSON: the same code creates both, so the order of their fields is the same. */
function isSame(one: object | undefined, other: object): boolean {
  return one !== undefined && JSON.stringify(one) === JSON.stringify(other);
}

/**
 * Limits the size of a report's apps: removes specifications, the largest first, until the apps fit into `maxBytes`. A
 * specification can still be queried per app.
 */
export function fitToSize(
  apps: readonly AppReport[],
  maxBytes: number,
  sizeOf: (value: unknown) => number,
): AppReport[] {
  const sized = apps.map((app) => ({ app, bytes: sizeOf(app) }));
  let total = sized.reduce((sum, { bytes }) => sum + bytes, 0);
  const without = new Set<string>();
  for (const { app, bytes } of sized.toSorted((a, b) => b.bytes - a.bytes)) {
    if (total <= maxBytes) break;
    without.add(app.name);
    total -= bytes - sizeOf({ ...app, spec: {} });
  }
  return apps.map((app) => (without.has(app.name) ? withoutSpec(app) : app));
}

function withoutSpec(app: AppReport): AppReport {
  return { ...app, spec: {} };
}
