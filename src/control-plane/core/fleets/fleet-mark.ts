import type { AppReport } from "../../../protocol/app-report.ts";

/** What a device says of the fleet that an app is from. */
export interface FleetMark {
  readonly name: string;
  readonly revision: number;
  /** Whether it was changed since, on the device or by a deployment that is not the fleet's. */
  readonly isChanged: boolean;
}

/** Returns what a report says of the app's fleet; `undefined` if it says nothing, as devices before protocol version 4. */
export function fleetMark({ fleet }: AppReport): FleetMark | undefined {
  return fleet && { name: fleet.name, revision: fleet.revision, isChanged: fleet.is_changed };
}

/**
 * Returns the highest revision that the device says it has apps of, if the fleet has no such revision: the service was restored
 * from an old backup. Otherwise `undefined`.
 */
export function unknownRevision(
  fleet: { readonly name: string; readonly lastRevision: number },
  apps: readonly AppReport[],
): number | undefined {
  const reported = apps.flatMap((app) => {
    const mark = fleetMark(app);
    return mark?.name === fleet.name ? [mark.revision] : [];
  });
  const highest = Math.max(0, ...reported);
  return highest > fleet.lastRevision ? highest : undefined;
}
