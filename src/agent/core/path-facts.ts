import type { MountEntry } from "./mountinfo.ts";
import type { PathTrace } from "./path-trace.ts";

/** A path apps are kept from, whatever the policy says, unless its owner allows exactly that path. */
export interface GuardedPath {
  readonly path: string;
  /** `written`: only from writing there. `restricted`: only where the policy restricts what apps may mount. */
  readonly when: "always" | "written" | "restricted";
}

/** What an app has of the device's file system. */
export interface AppPaths {
  readonly app: string;
  readonly volumes: readonly { readonly trace: PathTrace; readonly readonly: boolean }[];
  readonly devices: readonly PathTrace[];
}

/** What was found out about the paths of a request. */
export interface PathFacts {
  /** In the order of `spec.volumes`. */
  readonly volumes: readonly PathTrace[];
  /** In the order of `spec.devices`. */
  readonly devices: readonly PathTrace[];
  /** Apps that are installed or being deployed, without the app itself. */
  readonly others: readonly AppPaths[];
  readonly guarded: readonly GuardedPath[];
  /** Where entries of `deny` and guarded paths lead, by how they are written (normalized). */
  readonly leadsTo: ReadonlyMap<string, PathTrace>;
  readonly mounts: readonly MountEntry[];
  /**
   * Where the agent runs in a container of the engine: paths it shares with the device, the only ones it can examine.
   * `undefined` where it sees what the engine sees.
   */
  readonly shared: readonly string[] | undefined;
}
