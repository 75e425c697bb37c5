import { mapAppliedApps } from "../../protocol/applied-apps.ts";

const MASK = "***";

/** Returns the specification, or the group, with the values of `environments` masked, since they may be secrets. */
export function maskSpec(spec: unknown): unknown {
  return mapAppliedApps(maskApp(spec), maskApp);
}

function maskApp(spec: unknown): unknown {
  return typeof spec === "object" && spec !== null ? maskValues(spec, () => true) : spec;
}

/** Returns the specification with the values masked that are declared secret, whatever the device did. */
export function maskDeclaredSecrets<T extends object>(spec: T): T {
  return maskValues(spec, (entry) => "secret" in entry && entry.secret === true);
}

function maskValues<T extends object>(spec: T, isMasked: (entry: object) => boolean): T {
  if (!("environments" in spec) || !Array.isArray(spec.environments)) return spec;
  const environments = spec.environments.map((entry: unknown) => {
    const mustMask = typeof entry === "object" && entry !== null && "value" in entry && isMasked(entry);
    return mustMask ? { ...entry, value: MASK } : entry;
  });
  return { ...spec, environments };
}
