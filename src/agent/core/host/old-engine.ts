/** Oldest supported versions. */
const MIN_VERSIONS = { docker: "20.10", podman: "4.3" } as const;

/** Returns what is wrong with an engine of this version, and what to do; `undefined` if it is supported. */
export function oldEngine(
  kind: keyof typeof MIN_VERSIONS,
  version: string,
): { readonly text: string; readonly next: string } | undefined {
  const oldest = MIN_VERSIONS[kind];
  if (!isOlder(version, oldest)) return undefined;
  return {
    text: `The container engine, ${kind} ${version}, is older than ${oldest}, the oldest that the agent works with.`,
    next: `Update it to ${kind} ${oldest} or newer`,
  };
}

function isOlder(version: string, oldest: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  const [oldMajor = 0, oldMinor = 0] = oldest.split(".").map(Number);
  return major < oldMajor || (major === oldMajor && minor < oldMinor);
}
