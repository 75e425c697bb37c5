import type { MountEntry } from "./mountinfo.ts";
import type { ResolvedPath } from "./resolved-path.ts";

/** A path apps must not mount regardless of the policy, unless the policy allows exactly that path. */
export interface ProtectedPath {
  readonly path: string;
  /** `written`: only for writable mounts. `restricted`: only if the policy restricts mounts. */
  readonly when: "always" | "written" | "restricted";
}

/** Paths of the device that an app uses. */
export interface AppPaths {
  readonly app: string;
  readonly volumes: readonly ResolvedBind[];
  readonly devices: readonly ResolvedPath[];
}

/** Where a path leads that an app mounts, and whether the app may only read there. */
export interface ResolvedBind {
  readonly resolved: ResolvedPath;
  readonly readonly: boolean;
}

/** Resolved paths and mounts for judging a request. */
export interface PathPolicyInput {
  /** The paths of the device that the app mounts. Volumes that the agent manages are none of the device's paths. */
  readonly volumes: readonly ResolvedBind[];
  /** In the order of `spec.devices`. */
  readonly devices: readonly ResolvedPath[];
  /** Other apps that are installed or being deployed. */
  readonly otherApps: readonly AppPaths[];
  readonly protectedPaths: readonly ProtectedPath[];
  /** Resolved entries of `deny` and protected paths, by their normalized text. */
  readonly resolvedRules: ReadonlyMap<string, ResolvedPath>;
  readonly mounts: readonly MountEntry[];
  /**
   * If the agent runs in a container: the paths it shares with the device, which are the only ones it can examine.
   * `undefined` if it sees the same file system as the engine.
   */
  readonly sharedPaths: readonly string[] | undefined;
}
