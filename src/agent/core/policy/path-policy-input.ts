import type { MountEntry } from "../host/mountinfo.ts";
import type { ResolvedPath } from "./resolved-path.ts";

/** A path apps are kept from, whatever the policy says, unless its owner allows exactly that path. */
export interface ProtectedPath {
  readonly path: string;
  /** `written`: only from writing there. `restricted`: only where the policy restricts what apps may mount. */
  readonly when: "always" | "written" | "restricted";
}

/** What an app has of the device's file system. */
export interface AppPaths {
  readonly app: string;
  readonly volumes: readonly { readonly trace: ResolvedPath; readonly readonly: boolean }[];
  readonly devices: readonly ResolvedPath[];
}

/** What was found out about the paths of a request. */
export interface PathPolicyInput {
  /** In the order of `spec.volumes`. */
  readonly volumes: readonly ResolvedPath[];
  /** In the order of `spec.devices`. */
  readonly devices: readonly ResolvedPath[];
  /** Apps that are installed or being deployed, without the app itself. */
  readonly otherApps: readonly AppPaths[];
  readonly protectedPaths: readonly ProtectedPath[];
  /** Where entries of `deny` and guarded paths lead, by how they are written (normalized). */
  readonly resolvedRules: ReadonlyMap<string, ResolvedPath>;
  readonly mounts: readonly MountEntry[];
  /**
   * Where the agent runs in a container of the engine: paths it shares with the device, the only ones it can examine.
   * `undefined` where it sees what the engine sees.
   */
  readonly sharedPaths: readonly string[] | undefined;
}
