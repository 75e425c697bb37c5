import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import { namedVolumesOf } from "../../../protocol/apps/volume-fields.ts";
import type { AppRecord, DeploymentRecord } from "../records.ts";
import type { Refusal } from "./check.ts";

/** An app's use of a volume that the agent manages. */
export interface VolumeUse {
  readonly app: string;
  readonly volume: string;
  readonly readonly: boolean;
  /** Others that say so too may write to it. */
  readonly shared: boolean;
}

/** What decides whether an app may have its volumes. */
export interface VolumeState {
  /** Other apps that are installed, being deployed, or may be restored. */
  readonly uses: readonly VolumeUse[];
  /** Volumes of the request whose name on the engine belongs to a volume that the agent did not make. */
  readonly foreign: readonly { readonly volume: string; readonly engineName: string }[];
  /** Volumes of the request that the agent does not make. */
  readonly external: readonly FoundExternal[];
}

/** What the engine has under the name of a volume that the agent does not make. */
export interface FoundExternal {
  readonly name: string;
  readonly exists: boolean;
  /** State directory of the agent whose it is, this one or another; absent for none. */
  readonly ofAgent?: string;
  /** Whether the agent manages a volume that apps give this name. */
  readonly isManaged: boolean;
}

/** Refuses what would give two apps a volume for writing, or an app another one's volume. */
export function findVolumeConflict(spec: AppSpec, { uses, foreign, external }: VolumeState): Refusal | undefined {
  const fault = findExternalFault(external);
  if (fault) return fault;
  for (const { name: volume, readonly, shared = false } of namedVolumesOf(spec)) {
    const taken = foreign.find((other) => other.volume === volume);
    if (taken) {
      const { engineName } = taken;
      const message = `The engine has a volume named ${engineName} that edge-agent did not make.`;
      return { code: "ErrorNameExists", message, details: { volume, engine_volume: engineName } };
    }
    if (readonly) continue;
    const other = uses.find((use) => use.volume === volume && !use.readonly && !(shared && use.shared));
    if (other) {
      const message = `The app ${other.app} writes to the volume ${volume}: only one app may. Others may have it \`readonly\`, or all of them \`shared\`.`;
      return { code: "VolumeInUse", message, details: { volume, app: other.app } };
    }
  }
  return undefined;
}

/** Refuses a volume that is not there, which an engine would make, and one of an agent, which has rules of its own. */
export function findExternalFault(volumes: readonly FoundExternal[]): Refusal | undefined {
  const faulty = volumes.find(({ exists, ofAgent }) => !exists || ofAgent !== undefined);
  if (!faulty) return undefined;
  const { name: volume, exists, isManaged } = faulty;
  const details = { engine_volume: volume };
  if (exists) {
    const message = `The engine's volume ${volume} belongs to an edge-agent: apps have it by the \`name\` that they give it.`;
    return { code: "PolicyDenied", message, details };
  }
  const instead = isManaged
    ? `The agent manages one that apps call ${volume}: give it as \`name\` in place of \`external\`.`
    : `The agent does not make it. On the device: docker volume create ${volume}, or podman. Or give \`name\` in place of \`external\` for one that the agent makes.`;
  return { code: "InvalidRequest", message: `The engine has no volume named ${volume}. ${instead}`, details };
}

interface Known {
  readonly apps: readonly AppRecord[];
  readonly deployments: readonly DeploymentRecord[];
}

/** Of which deployments the volumes count. */
interface Asking {
  /** The app that asks, whose own use does not count; `undefined` for none. */
  readonly app?: string;
  /** Deployments accepted later do not count. */
  readonly order?: number;
  /** The group that asks: what its apps had before counts no longer, since they give it up before it is taken over. */
  readonly group?: string | undefined;
}

/** Returns the uses of volumes by apps that run, may be started, or may be restored. */
export function volumeUses(
  { apps, deployments }: Known,
  { app, order = Infinity, group: own }: Asking = {},
): VolumeUse[] {
  const isOwn = (group: DeploymentRecord["group"]): boolean => own !== undefined && group?.id === own;
  const pending = deployments.filter(({ outcome, options }) => outcome === "pending" && !options.dry_run);
  const specs = [
    ...apps.map(({ spec }) => spec),
    ...pending
      .filter(({ action, group, ...record }) => record.order < order && !(action === "remove" && isOwn(group)))
      .flatMap(({ spec }) => spec ?? []),
    // A change may be rolled back until its final event is acknowledged.
    ...deployments.flatMap(({ previous, outcome, group }) => {
      const mayGoBack = outcome !== "failed" && !isOwn(group);
      return previous && mayGoBack ? [previous.spec] : [];
    }),
  ];
  const uses = specs
    .filter(({ name }) => name !== app)
    .flatMap((spec) =>
      namedVolumesOf(spec).map(({ name: volume, readonly, shared = false }): VolumeUse => {
        return { app: spec.name, volume, readonly, shared };
      }),
    );
  return [
    ...new Map(uses.map((use) => [JSON.stringify([use.app, use.volume, use.readonly, use.shared]), use])).values(),
  ];
}
