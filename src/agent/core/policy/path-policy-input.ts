import type { MountEntry } from "../host/mountinfo.ts";
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
  readonly volumes: readonly { readonly resolved: ResolvedPath; readonly readonly: boolean }[];
  readonly devices: readonly ResolvedPath[];
}

/** Resolved paths and mounts for judging a request. */
export interface PathPolicyInput {
  /** In the order of `spec.volumes`. */
  readonly volumes: readonly ResolvedPath[];
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
