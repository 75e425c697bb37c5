import type { PolicyViolation } from "./device-policy.ts";
import type { ProtectedPath } from "./path-policy-input.ts";
import { isPathWithin, type ResolvedPath } from "./resolved-path.ts";

/** A protected path and where it leads. */
export interface ResolvedProtectedPath extends Pick<ProtectedPath, "when"> {
  readonly resolved: ResolvedPath;
}

/** A path that an app wants to mount and that is, holds or is part of a protected one. */
export interface ProtectedMount {
  /** The path, with where it comes from if a link leads there. */
  readonly mounted: string;
  readonly path: string;
  readonly entry: ResolvedProtectedPath;
  /** Whether only the mount table shows it: another mount of the same directory. */
  readonly isAlias: boolean;
  /** `policy.mounts.allow`. */
  readonly allow: readonly string[];
}

/** The violation by a mount of a protected path. Names the key that could allow it: no entry of `deny` is in its way. */
export function protectedPathViolation(mount: ProtectedMount): PolicyViolation {
  const { mounted, entry } = mount;
  const forWriting = entry.when === "written" ? " for writing" : "";
  return {
    rule: "policy.mounts.allow",
    message: `This device does not allow mounting ${mounted}${forWriting}: ${why(mount)} ${advice(mount)}`,
  };
}

function why({ path, entry: { resolved, when }, isAlias }: ProtectedMount): string {
  const danger = when === "written" ? "decides whom the agent trusts" : "gives control of the device or of the agent";
  const { written } = resolved;
  if (isAlias) {
    return `by another mount of the same directory, it is, holds or is part of ${written}, which is protected: it ${danger}.`;
  }
  if (!isInside(path, resolved)) return `it contains ${written}, which is protected: it ${danger}.`;
  return path === written ? `it is protected, since it ${danger}.` : `${written} is protected, since it ${danger}.`;
}

function advice({ path, entry: { resolved, when }, isAlias, allow }: ProtectedMount): string {
  if (when === "written") return "It may be mounted with `readonly`.";
  if (isAlias) return "`policy.mounts.allow` of the device's configuration can allow exactly that path.";
  if (!isInside(path, resolved)) {
    return (
      "Mount only what the app needs of it, or let the device's owner set `policy.mounts.allow_containing_protected`, which " +
      "gives such an app control of the device."
    );
  }
  // One entry makes the list the only paths that may be mounted.
  const others = allow.length === 0 ? ', beside "/" for all other paths' : "";
  return `To allow it, list exactly this path in \`policy.mounts.allow\` of the device's configuration${others}.`;
}

function isInside(path: string, { written, real }: ResolvedPath): boolean {
  return isPathWithin(path, written) || isPathWithin(path, real);
}
