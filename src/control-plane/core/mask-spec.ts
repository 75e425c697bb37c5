const MASK = "***";

/** Returns the specification with the values of `environments` masked, since they may be secrets. */
export function maskSpec(spec: unknown): unknown {
  if (typeof spec !== "object" || spec === null || !("environments" in spec)) return spec;
  const { environments } = spec;
  if (!Array.isArray(environments)) return spec;
  return { ...spec, environments: environments.map((entry: unknown) => maskValue(entry)) };
}

function maskValue(entry: unknown): unknown {
  return typeof entry === "object" && entry !== null && "value" in entry ? { ...entry, value: MASK } : entry;
}
