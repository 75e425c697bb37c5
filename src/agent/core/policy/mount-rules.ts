import type { AppSpec } from "../../../protocol/app-spec.ts";
import { normalizePath } from "../../../protocol/normalize-path.ts";
import type { Policy, PolicyViolation } from "./device-policy.ts";
import { hostLocations, locateFile, type FileLocations, findPrivateMount } from "../host/mountinfo.ts";
import type { AppPaths, PathPolicyInput } from "./path-policy-input.ts";
import { isPathBelow, isPathWithin, type ResolvedPath, pathWithoutLinks } from "./resolved-path.ts";

/**
 * When a request is judged: `request`, before anything is done for it; `run`, before a container of it is created or
 * started, and while it runs.
 */
export type PolicyCheckPhase = "request" | "run";

/** Whether the policy keeps any path from apps. An app that may mount everything may do everything. */
export function restrictsMounts({ mounts: { allow, deny } }: Policy): boolean {
  return deny.length > 0 || (allow.length > 0 && !allow.some((entry) => isPathWithin("/", entry)));
}

/** Whether the policy keeps device files from apps. */
export function restrictsDevices({ devices }: Policy): boolean {
  return devices !== undefined && devices.allow.length + devices.deny.length > 0;
}

/** The first rule for `volumes` that the request breaks. */
export function findMountViolation(
  spec: AppSpec,
  policy: Policy,
  facts: PathPolicyInput,
  occasion: PolicyCheckPhase,
): PolicyViolation | undefined {
  const isRestricted = restrictsMounts(policy);
  // Where everything may be mounted, guarded paths prevent mistakes; an app that runs already is not taken down for one.
  if (!isRestricted && occasion === "run") return undefined;
  const found = spec.volumes.flatMap(({ readonly }, index) => {
    const trace = facts.volumes[index];
    if (!trace) return [];
    const guarded = facts.protectedPaths
      .filter(({ when }) => when === "always" || (when === "written" ? !readonly : isRestricted))
      .map(({ path }) => path);
    return [
      findPrefixViolation(trace, policy.mounts, guarded, facts, { key: "policy.mounts", verb: "mounting" }),
      isRestricted ? findUnresolvedViolation(trace, facts, "policy.mounts", "mount") : undefined,
    ];
  });
  return preferResolved([...found, isRestricted ? findNestedMountViolation(spec, facts, occasion) : undefined]);
}

/** What is known to be wrong goes before what is not known. */
export function preferResolved(found: readonly (PolicyViolation | undefined)[]): PolicyViolation | undefined {
  const violations = found.filter((violation) => violation !== undefined);
  return violations.find(({ isUnresolved }) => !isUnresolved) ?? violations[0];
}

/** The first rule for `devices` that the request breaks. A device file may be worth as much as the whole machine. */
export function findDeviceViolation(
  spec: AppSpec,
  policy: Policy,
  facts: PathPolicyInput,
): PolicyViolation | undefined {
  const { devices: rules, privileged } = policy;
  if ((spec.devices ?? []).length === 0 || (!rules && privileged)) return undefined;
  if (!rules) {
    const message = "This device does not allow apps to use its device files, since it allows no privileged apps.";
    return { rule: "policy.devices", message };
  }
  const isRestricted = restrictsDevices(policy);
  return preferResolved(
    facts.devices.flatMap((trace) => [
      findPrefixViolation(trace, rules, [], facts, { key: "policy.devices", verb: "apps to use" }),
      isRestricted ? findUnresolvedViolation(trace, facts, "policy.devices", "use") : undefined,
      isRestricted ? findReplaceableDevice(trace, spec, facts) : undefined,
    ]),
  );
}

/**
 * Both the path as written and where it really leads must be allowed: neither a symbolic link nor a second mount of the
 * same directory gets round that.
 */
function findPrefixViolation(
  { written, real }: ResolvedPath,
  rules: Policy["mounts"],
  guarded: readonly string[],
  { resolvedRules, mounts }: PathPolicyInput,
  { key, verb }: { readonly key: string; readonly verb: string },
): PolicyViolation | undefined {
  const traceOf = (entry: string): ResolvedPath => resolvedRules.get(normalizePath(entry)) ?? pathWithoutLinks(entry);
  const deny = rules.deny.map(traceOf);
  const guards = guarded.map(traceOf);
  for (const path of written === real ? [real] : [written, real]) {
    const rule = findBrokenPathRule(path, rules.allow, deny, guards);
    const from = path === written ? "" : `, where ${written} leads`;
    if (rule) return { rule: `${key}.${rule}`, message: `This device does not allow ${verb} ${path}${from}.` };
  }
  // Where the mounts are not known, only the text of paths can be compared.
  const entry = mounts.length > 0 ? findAliasedRule(real, rules.allow, deny, guards, hostLocations(mounts)) : undefined;
  if (entry === undefined) return undefined;
  const from = written === real ? "" : `, where ${written} leads`;
  const message =
    `This device does not allow ${verb} ${real}${from}: by another mount of the same directory, it is, holds or is ` +
    `part of ${entry}.`;
  return { rule: `${key}.deny`, message };
}

/**
 * Entries that forbid count as they are written and for where they lead. Those that allow count as they are written: no
 * link may widen what is allowed.
 */
function findBrokenPathRule(
  path: string,
  allow: readonly string[],
  deny: readonly ResolvedPath[],
  guarded: readonly ResolvedPath[],
): "allow" | "deny" | undefined {
  const isAllowed = (prefix: string): boolean =>
    allow.some((entry) => isPathWithin(entry, prefix) && isPathWithin(path, entry));
  // Nor may anybody write where a link on the way of such an entry is: it would lead elsewhere.
  const holdsTurn = ({ traversed }: ResolvedPath): boolean => traversed.some((turn) => isPathBelow(turn, path));
  const isGuarded = ({ written, real, traversed }: ResolvedPath): boolean =>
    [written, real].some((prefix) => pathsOverlap(path, prefix) && !isAllowed(prefix)) ||
    traversed.some((turn) => isPathBelow(turn, path) && !isAllowed(path));
  const isDenied = (entry: ResolvedPath): boolean =>
    [entry.written, entry.real].some((prefix) => pathsOverlap(path, prefix)) || holdsTurn(entry);
  if (deny.some(isDenied) || guarded.some(isGuarded)) return "deny";
  return allow.length === 0 || allow.some((prefix) => isPathWithin(path, prefix)) ? undefined : "allow";
}

/** Directories that may themselves be mounts of a part of a file system that is mounted whole elsewhere. */
const SYSTEM_DIRECTORIES = ["/", "/etc", "/usr", "/var"];

/**
 * The entry that forbids a path without links, since the file system has the same directory at both: it is bound to a
 * second path, or its file system is mounted twice. What is mounted below the path comes with it.
 */
function findAliasedRule(
  path: string,
  allow: readonly string[],
  deny: readonly ResolvedPath[],
  guarded: readonly ResolvedPath[],
  places: FileLocations,
): string | undefined {
  const own = places.locateAllBelow(path);
  const allowed = allow.map((entry) => places.locate(normalizePath(entry)));
  const holdsTurn = ({ traversed }: ResolvedPath): boolean =>
    traversed.some((turn) => own.some((place) => isPathBelow(places.locate(turn), place)));
  // A file system that holds the system itself, such as /sysroot of ostree, is denied by that name and not by all others.
  const isSystem = (place: string, denied: string, { written, real }: ResolvedPath): boolean =>
    place !== denied &&
    SYSTEM_DIRECTORIES.some((directory) => {
      const system = places.locate(directory);
      const isNamed = isPathWithin(directory, written) || isPathWithin(directory, real);
      return !isNamed && isPathWithin(system, denied) && isPathWithin(place, system);
    });
  const isDenied = (entry: ResolvedPath): boolean =>
    places.locateAllBelow(entry.real).some((denied) => {
      return own.some((place) => pathsOverlap(place, denied) && !isSystem(place, denied, entry));
    }) || holdsTurn(entry);
  const isListed = allow.some((entry) => normalizePath(entry) === path);
  // Of a guarded directory only its own files count: engines mount directories of others below their data.
  const isGuarded = (entry: ResolvedPath): boolean => {
    const guard = places.locate(entry.real);
    const isAllowed = (place: string): boolean =>
      allowed.some((listed) => isPathWithin(listed, guard) && isPathWithin(place, listed));
    return own.some((place) => pathsOverlap(place, guard) && !isAllowed(place)) || (!isListed && holdsTurn(entry));
  };
  return (deny.find(isDenied) ?? guarded.find(isGuarded))?.written;
}

/** What cannot be seen cannot be judged, and is refused. */
function findUnresolvedViolation(
  trace: ResolvedPath,
  { mounts, sharedPaths }: PathPolicyInput,
  rule: string,
  verb: string,
): PolicyViolation | undefined {
  const { written, unresolved } = trace;
  const refusal = (why: string): PolicyViolation => ({
    rule,
    message: `This device restricts what apps may ${verb}, and cannot tell where ${written} leads: ${why}.`,
    isUnresolved: true,
  });
  if (unresolved)
    return refusal(
      `${unresolved.path} could not be examined (${UNRESOLVED_REASONS[unresolved.reason] ?? unresolved.reason})`,
    );
  const steps = traversedPaths(trace);
  // What a link below it says is not what the kernel follows.
  const inProc = trace.traversed.find((step) => isPathBelow(step, "/proc"));
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
 * Who can write to a directory can put a symbolic link in the place of anything in it, and the engine follows it at each
 * start. So no path may lead through a directory that an app can write to. The very same directory may be shared.
 */
function findNestedMountViolation(
  spec: AppSpec,
  facts: PathPolicyInput,
  occasion: PolicyCheckPhase,
): PolicyViolation | undefined {
  const own = toAppVolumes(spec, facts);
  const writable = [
    ...own.filter(({ readonly }) => !readonly).map(({ trace }) => ({ trace, who: "the app itself" })),
    ...facts.otherApps.flatMap(({ app, volumes }) =>
      volumes.filter(({ readonly }) => !readonly).map(({ trace }) => ({ trace, who: `the app ${app}` })),
    ),
  ];
  for (const { trace } of own) {
    const around = writable.find((outer) => passesThrough(trace, outer.trace.real, facts));
    if (around) {
      const message =
        `This device does not allow mounting ${trace.written}: it leads through ${around.trace.real}, where ` +
        `${around.who} may write and could put something else in its place.`;
      return { rule: "policy.mounts", message };
    }
  }
  // Of two that are installed, the one inside is not started. What is new may not come around one that is there.
  if (occasion === "run") return undefined;
  for (const { trace } of own.filter(({ readonly }) => !readonly)) {
    for (const { app, volumes, devices } of facts.otherApps) {
      const inside =
        volumes.find((volume) => passesThrough(volume.trace, trace.real, facts))?.trace ??
        devices.find((device) => isReplaceableIn(device, trace.real, facts));
      if (!inside) continue;
      const message =
        `This device does not allow mounting ${trace.written} for writing: ${inside.written}, which the app ${app} ` +
        `has, leads through it and could be replaced.`;
      return { rule: "policy.mounts", message };
    }
  }
  return undefined;
}

/** A device file may be made in any directory an app can write to, and stands for whatever device it says. */
function findReplaceableDevice(
  device: ResolvedPath,
  spec: AppSpec,
  facts: PathPolicyInput,
): PolicyViolation | undefined {
  const volumes = [...toAppVolumes(spec, facts), ...facts.otherApps.flatMap((other) => other.volumes)];
  const around = volumes.find(({ trace, readonly }) => !readonly && isReplaceableIn(device, trace.real, facts));
  if (!around) return undefined;
  const message = `This device does not allow apps to use ${device.written}: an app may write to ${around.trace.real}.`;
  return { rule: "policy.devices", message };
}

function toAppVolumes(spec: AppSpec, { volumes }: PathPolicyInput): AppPaths["volumes"] {
  return volumes.map((trace, index) => ({ trace, readonly: spec.volumes[index]?.readonly ?? false }));
}

/** Every entry of a directory that decides where the path leads. */
function traversedPaths({ real, traversed }: ResolvedPath): readonly string[] {
  return [...traversed, real];
}

function passesThrough(trace: ResolvedPath, directory: string, { mounts }: PathPolicyInput): boolean {
  const place = locateFile(directory, mounts);
  return traversedPaths(trace).some(
    (step) => isPathBelow(step, directory) || isPathBelow(locateFile(step, mounts), place),
  );
}

function isReplaceableIn(device: ResolvedPath, directory: string, facts: PathPolicyInput): boolean {
  const place = locateFile(directory, facts.mounts);
  return (
    passesThrough(device, directory, facts) ||
    pathsOverlap(device.real, directory) ||
    pathsOverlap(locateFile(device.real, facts.mounts), place)
  );
}

/** Whether one of the paths holds the other. */
function pathsOverlap(path: string, other: string): boolean {
  return isPathWithin(path, other) || isPathWithin(other, path);
}
