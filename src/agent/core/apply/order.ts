import { findCircle } from "../../../protocol/apps/apply-rules.ts";
import type { AppDependency } from "../../../protocol/apps/apply.ts";
import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import { type NamedVolume, namedVolumesOf } from "../../../protocol/apps/volume-fields.ts";
import { hostPortsOf, includesPort } from "../host/host-port.ts";

/** A change of one app of a group. */
export interface OrderedChange {
  readonly app: string;
  /** As installed; `undefined` for a new app. */
  readonly before: AppSpec | undefined;
  readonly after: AppSpec;
  readonly dependsOn: readonly AppDependency[];
}

/**
 * Adds the dependencies that follow from the device: an app that takes over a host port or a volume of another one of the
 * group is changed after that one has given it up.
 */
export function withHandovers<T extends OrderedChange>(changes: readonly T[]): T[] {
  return changes.map((change) => {
    const holders = changes.filter(
      ({ app, before }) => app !== change.app && before && takesOver(change.after, before),
    );
    const others = change.dependsOn.filter(({ app }) => !holders.some((holder) => holder.app === app));
    const handovers = holders.map(({ app }) => ({ app, condition: "healthy" as const }));
    return { ...change, dependsOn: [...others, ...handovers] };
  });
}

function takesOver(after: AppSpec, before: AppSpec): boolean {
  const held = hostPortsOf(before);
  if (hostPortsOf(after).some((port) => includesPort(held, port))) return true;
  const written = writtenVolumes(before);
  // What both share, neither gives up.
  return writtenVolumes(after).some((volume) =>
    written.some((other) => other.name === volume.name && !(other.shared && volume.shared)),
  );
}

function writtenVolumes(spec: AppSpec): NamedVolume[] {
  return namedVolumesOf(spec).filter(({ readonly }) => !readonly);
}

/**
 * Returns the changes so that each comes after those it depends on, otherwise in the given order; or the apps of a circle.
 */
export function inOrder<T extends Pick<OrderedChange, "app" | "dependsOn">>(
  changes: readonly T[],
): { readonly ok: true; readonly changes: T[] } | { readonly ok: false; readonly circle: readonly string[] } {
  const circle = findCircle(new Map(changes.map(({ app, dependsOn }) => [app, dependsOn.map((other) => other.app)])));
  if (circle) return { ok: false, circle };
  const rest = [...changes];
  const ordered: T[] = [];
  while (rest.length > 0) {
    const next = rest.findIndex(
      ({ dependsOn }) => !dependsOn.some(({ app }) => rest.some((other) => other.app === app)),
    );
    ordered.push(...rest.splice(next, 1));
  }
  return { ok: true, changes: ordered };
}
