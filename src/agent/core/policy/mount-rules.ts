import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import { normalizePath } from "../../../protocol/values/normalize-path.ts";
import type { Policy, PolicyViolation } from "./device-policy.ts";
import { hostLocations, locateFile, type FileLocations, findPrivateMount } from "./mountinfo.ts";
import type { PathPolicyInput, ProtectedPath } from "./path-policy-input.ts";
import { protectedPathViolation, type ResolvedProtectedPath } from "./protected-paths.ts";
import { isPathBelow, isPathWithin, type ResolvedPath, pathWithoutLinks } from "./resolved-path.ts";

/**
 * When a specification is judged: `request`, before a deployment changes anything; `run`, before its container is
 * created or started, and while it runs.
 */
export type PolicyCheckPhase = "request" | "run";

/** Whether there is a path that apps may not mount. An app that may mount every path has full control of the device. */
export function restrictsMounts({ mounts: { allow, deny } }: Policy): boolean {
  return deny.length > 0 || (allow.length > 0 && !allow.some((entry) => isPathWithin("/", entry)));
}

/**
 * Whether `policy.devices` lists device files, so that their paths have to be resolved. Without a list `privileged` decides
 * alone.
 */
export function listsDevices({ devices }: Policy): boolean {
  return devices !== undefined && devices.allow.length + devices.deny.length > 0;
}

/** Returns the first rule for `volumes` that an app violates. */
export function findMountViolation(
  policy: Policy,
  input: PathPolicyInput,
  phase: PolicyCheckPhase,
): PolicyViolation | undefined {
  const isRestricted = restrictsMounts(policy);
  // Without restrictions, protected paths only prevent mistakes: no reason to stop a running app.
  if (!isRestricted && phase === "run") return undefined;
  const found = input.volumes.flatMap(({ resolved, readonly }) => {
    const protectedPaths = input.protectedPaths.filter(
      ({ when }) => when === "always" || (when === "written" ? !readonly : isRestricted),
    );
    return [
      findPrefixViolation(resolved, policy.mounts, protectedPaths, input, { key: "policy.mounts", use: "mounting" }),
      isRestricted ? findUnresolvedViolation(resolved, input, "policy.mounts", "mount") : undefined,
    ];
  });
  return preferResolved([...found, isRestricted ? findNestedMountViolation(input, phase) : undefined]);
}

/** Returns the first violation. Paths that could not be examined come last. */
export function preferResolved(found: readonly (PolicyViolation | undefined)[]): PolicyViolation | undefined {
  const violations = found.filter((violation) => violation !== undefined);
  return violations.find(({ isUnresolved }) => !isUnresolved) ?? violations[0];
}

/**
 * Returns the first rule for `devices` that the specification violates. A device file can grant control of the device.
 */
export function findDeviceViolation(
  spec: AppSpec,
  policy: Policy,
  input: PathPolicyInput,
): PolicyViolation | undefined {
  const { devices: rules, privileged } = policy;
  if ((spec.devices ?? []).length === 0 || (!rules && privileged)) return undefined;
  if (!rules) {
    const message = "This device does not allow apps to use its device files, since it allows no privileged apps.";
    return { rule: "policy.devices", message };
  }
  const isRestricted = listsDevices(policy);
  return preferResolved(
    input.devices.flatMap((resolved) => [
      findPrefixViolation(resolved, rules, [], input, { key: "policy.devices", use: "apps to use" }),
      isRestricted ? findUnresolvedViolation(resolved, input, "policy.devices", "use") : undefined,
      isRestricted ? findReplaceableDevice(resolved, input) : undefined,
    ]),
  );
}

/**
 * Both the path as written and the resolved path must be allowed, so that neither a symbolic link nor a second mount of
 * the same directory circumvents a rule.
 */
function findPrefixViolation(
  { written, real }: ResolvedPath,
  rules: Policy["mounts"],
  protectedPaths: readonly ProtectedPath[],
  { resolvedRules, mounts }: PathPolicyInput,
  { key, use }: { readonly key: string; readonly use: string },
): PolicyViolation | undefined {
  const resolvedOf = (entry: string): ResolvedPath =>
    resolvedRules.get(normalizePath(entry)) ?? pathWithoutLinks(entry);
  const deny = rules.deny.map(resolvedOf);
  const resolvedProtected = protectedPaths.map(({ path, when }) => ({ resolved: resolvedOf(path), when }));
  const violationOf = (path: string, from: string, rule: BrokenRule): PolicyViolation => {
    if (rule.kind === "protected") {
      const { entry, isAlias } = rule;
      return protectedPathViolation({ mounted: `${path}${from}`, path, entry, isAlias, allow: rules.allow });
    }
    const alias =
      rule.kind === "alias"
        ? `: by another mount of the same directory, it is, holds or is part of ${rule.entry.written}`
        : "";
    const name = rule.kind === "allow" ? "allow" : "deny";
    return { rule: `${key}.${name}`, message: `This device does not allow ${use} ${path}${from}${alias}.` };
  };
  for (const path of written === real ? [real] : [written, real]) {
    const rule = findBrokenPathRule(path, rules, deny, resolvedProtected);
    const from = path === written ? "" : `, where ${written} leads`;
    if (rule) return violationOf(path, from, rule);
  }
  // Without the mounts, only paths can be compared.
  const aliased =
    mounts.length > 0 ? findAliasedRule(real, rules, deny, resolvedProtected, hostLocations(mounts)) : undefined;
  return aliased && violationOf(real, written === real ? "" : `, where ${written} leads`, aliased);
}

type BrokenRule =
  | { readonly kind: "allow" | "deny" }
  | { readonly kind: "alias"; readonly entry: ResolvedPath }
  | { readonly kind: "protected"; readonly entry: ResolvedProtectedPath; readonly isAlias: boolean };

/**
 * Entries that forbid apply as written and resolved. Entries that allow apply as written: a link must not widen them.
 */
function findBrokenPathRule(
  path: string,
  { allow, allow_containing_protected: mayContain = false }: Policy["mounts"],
  deny: readonly ResolvedPath[],
  protectedPaths: readonly ResolvedProtectedPath[],
): BrokenRule | undefined {
  const isAllowed = (prefix: string): boolean =>
    allow.some((entry) => isPathWithin(entry, prefix) && isPathWithin(path, entry));
  // A directory that contains a link of such an entry must not be mounted either: the link could be replaced.
  const containsLink = ({ traversed }: ResolvedPath): boolean => traversed.some((link) => isPathBelow(link, path));
  const isGuarded = (prefix: string): boolean =>
    (mayContain ? isPathWithin(path, prefix) : pathsOverlap(path, prefix)) && !isAllowed(prefix);
  const isProtected = ({ resolved: { written, real, traversed } }: ResolvedProtectedPath): boolean =>
    [written, real].some(isGuarded) ||
    (!mayContain && traversed.some((link) => isPathBelow(link, path) && !isAllowed(path)));
  const isDenied = (entry: ResolvedPath): boolean =>
    [entry.written, entry.real].some((prefix) => pathsOverlap(path, prefix)) || containsLink(entry);
  if (deny.some(isDenied)) return { kind: "deny" };
  const entry = protectedPaths.find(isProtected);
  if (entry) return { kind: "protected", entry, isAlias: false };
  return allow.length === 0 || allow.some((prefix) => isPathWithin(path, prefix)) ? undefined : { kind: "allow" };
}

/** Directories that may themselves be mounts of a part of a file system that is mounted elsewhere as a whole. */
const SYSTEM_DIRECTORIES = ["/", "/etc", "/usr", "/var"];

/**
 * Returns the rule with the entry that forbids a resolved path because both are the same directory: it is bind-mounted at a second
 * path, or its file system is mounted twice. Mounts below the path are included.
 */
function findAliasedRule(
  path: string,
  { allow, allow_containing_protected: mayContain = false }: Policy["mounts"],
  deny: readonly ResolvedPath[],
  protectedPaths: readonly ResolvedProtectedPath[],
  locations: FileLocations,
): BrokenRule | undefined {
  const own = locations.locateAllBelow(path);
  const allowed = allow.map((entry) => locations.locate(normalizePath(entry)));
  const containsLink = ({ traversed }: ResolvedPath): boolean =>
    traversed.some((link) => own.some((location) => isPathBelow(locations.locate(link), location)));
  // Denying a file system that also contains /, /etc, /usr or /var, such as /sysroot of ostree, does not deny those paths.
  const isSystem = (location: string, denied: string, { written, real }: ResolvedPath): boolean =>
    location !== denied &&
    SYSTEM_DIRECTORIES.some((directory) => {
      const system = locations.locate(directory);
      const isNamed = isPathWithin(directory, written) || isPathWithin(directory, real);
      return !isNamed && isPathWithin(system, denied) && isPathWithin(location, system);
    });
  const isDenied = (entry: ResolvedPath): boolean =>
    locations.locateAllBelow(entry.real).some((denied) => {
      return own.some((location) => pathsOverlap(location, denied) && !isSystem(location, denied, entry));
    }) || containsLink(entry);
  const isListed = allow.some((entry) => normalizePath(entry) === path);
  // Mounts below a protected directory do not count: engines mount unrelated directories below their data.
  const isProtected = ({ resolved: entry }: ResolvedProtectedPath): boolean => {
    const guard = locations.locate(entry.real);
    const isAllowed = (location: string): boolean =>
      allowed.some((listed) => isPathWithin(listed, guard) && isPathWithin(location, listed));
    const itself = locations.locate(path);
    if (mayContain) return isPathWithin(itself, guard) && !isAllowed(itself);
    return (
      own.some((location) => pathsOverlap(location, guard) && !isAllowed(location)) ||
      (!isListed && containsLink(entry))
    );
  };
  const denied = deny.find(isDenied);
  if (denied) return { kind: "alias", entry: denied };
  const guarded = protectedPaths.find(isProtected);
  return guarded && { kind: "protected", entry: guarded, isAlias: true };
}

/** A path that cannot be examined is refused. */
function findUnresolvedViolation(
  resolved: ResolvedPath,
  { mounts, sharedPaths }: PathPolicyInput,
  rule: string,
  verb: string,
): PolicyViolation | undefined {
  const { written, unresolved } = resolved;
  const refusal = (why: string): PolicyViolation => ({
    rule,
    message: `This device restricts what apps may ${verb}, and cannot tell where ${written} leads: ${why}.`,
    isUnresolved: true,
  });
  if (unresolved)
    return refusal(
      `${unresolved.path} could not be examined (${UNRESOLVED_REASONS[unresolved.reason] ?? unresolved.reason})`,
    );
  const steps = traversedPaths(resolved);
  // The text of a link below /proc is not what the kernel follows.
  const inProc = resolved.traversed.find((step) => isPathBelow(step, "/proc"));
  if (inProc !== undefined) return refusal(`${inProc} leads somewhere else for each process`);
  if (sharedPaths && !steps.every((step) => sharedPaths.some((path) => isPathWithin(step, path)))) {
    return refusal("the agent runs in a container, which has another file system");
  }
  const hidden = sharedPaths
    ? undefined
    : steps.map((step) => findPrivateMount(step, mounts)).find((path) => path !== undefined);
  return hidden === undefined ? undefined : refusal(`the agent's service has a ${hidden} of its own`);
}

export const UNRESOLVED_REASONS: Readonly<Record<string, string>> = {
  EACCES: "no permission to look into its directory",
  EPERM: "no permission to look into its directory",
  ENOTDIR: "a part of the path is no directory",
  ELOOP: "too many symbolic links",
  ETIMEDOUT: "the file system does not answer",
};

/**
 * An app that can write to a directory can replace its entries by symbolic links, which the engine follows at each
 * start. So no path may lead through a directory that an app can write to. Sharing the same directory is allowed.
 */
function findNestedMountViolation(input: PathPolicyInput, phase: PolicyCheckPhase): PolicyViolation | undefined {
  const own = input.volumes;
  const writable = [
    ...own.filter(({ readonly }) => !readonly).map(({ resolved }) => ({ resolved, who: "the app itself" })),
    ...input.otherApps.flatMap(({ app, volumes }) =>
      volumes.filter(({ readonly }) => !readonly).map(({ resolved }) => ({ resolved, who: `the app ${app}` })),
    ),
  ];
  for (const { resolved } of own) {
    const outer = writable.find((mount) => passesThrough(resolved, mount.resolved.real, input));
    if (outer) {
      const message =
        `This device does not allow mounting ${resolved.written}: it leads through ${outer.resolved.real}, where ` +
        `${outer.who} may write and could put something else in its place.`;
      return { rule: "policy.mounts", message };
    }
  }
  // For installed apps only the app with the inner path is in violation, above. A request must not mount around the path
  // of another app either.
  if (phase === "run") return undefined;
  for (const { resolved } of own.filter(({ readonly }) => !readonly)) {
    for (const { app, volumes, devices } of input.otherApps) {
      const inside =
        volumes.find((volume) => passesThrough(volume.resolved, resolved.real, input))?.resolved ??
        devices.find((device) => isReplaceableIn(device, resolved.real, input));
      if (!inside) continue;
      const message =
        `This device does not allow mounting ${resolved.written} for writing: ${inside.written}, which the app ${app} ` +
        `has, leads through it and could be replaced.`;
      return { rule: "policy.mounts", message };
    }
  }
  return undefined;
}

/** Finds a writable mount in which an app could replace the device file by one for another device. */
function findReplaceableDevice(device: ResolvedPath, input: PathPolicyInput): PolicyViolation | undefined {
  const volumes = [...input.volumes, ...input.otherApps.flatMap((other) => other.volumes)];
  const outer = volumes.find(({ resolved, readonly }) => !readonly && isReplaceableIn(device, resolved.real, input));
  if (!outer) return undefined;
  const message = `This device does not allow apps to use ${device.written}: an app may write to ${outer.resolved.real}.`;
  return { rule: "policy.devices", message };
}

/** Returns all directory entries that decide where the path leads. */
function traversedPaths({ real, traversed }: ResolvedPath): readonly string[] {
  return [...traversed, real];
}

function passesThrough(resolved: ResolvedPath, directory: string, { mounts }: PathPolicyInput): boolean {
  const location = locateFile(directory, mounts);
  return traversedPaths(resolved).some(
    (step) => isPathBelow(step, directory) || isPathBelow(locateFile(step, mounts), location),
  );
}

function isReplaceableIn(device: ResolvedPath, directory: string, input: PathPolicyInput): boolean {
  const location = locateFile(directory, input.mounts);
  return (
    passesThrough(device, directory, input) ||
    pathsOverlap(device.real, directory) ||
    pathsOverlap(locateFile(device.real, input.mounts), location)
  );
}

/** Whether one of the paths contains the other. */
function pathsOverlap(path: string, other: string): boolean {
  return isPathWithin(path, other) || isPathWithin(other, path);
}
