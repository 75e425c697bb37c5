import type { AppReport, DeviceFacts, ReportDelta } from "../../../protocol/app-report.ts";

/** A device and its apps at one moment. */
export interface Report {
  readonly hash: string;
  readonly apps: ReadonlyMap<string, AppReport>;
  readonly device: DeviceFacts;
}

/** What is to be told so that whoever holds `base` holds `report`; complete without one. */
export function diffReports(base: Report | undefined, report: Report): ReportDelta {
  const changed = [...report.apps.values()].filter((app) => !isSame(base?.apps.get(app.name), app));
  const removed = [...(base?.apps.keys() ?? [])].filter((name) => !report.apps.has(name));
  return {
    base: base?.hash ?? null,
    hash: report.hash,
    apps: changed,
    removed_apps: removed,
    ...(!isSame(base?.device, report.device) && { device: report.device }),
  };
}

/** Both are made by the same code, so the order of their fields is the same. */
function isSame(one: object | undefined, other: object): boolean {
  return one !== undefined && JSON.stringify(one) === JSON.stringify(other);
}

/**
 * The apps of a report, as many bytes as may be: beyond that, the largest go without their specification, which can
 * still be asked for one by one.
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
