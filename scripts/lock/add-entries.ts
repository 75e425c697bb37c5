import { type PackageLock, type LockEntry, type MissingPackage, nestedPath } from "./missing-packages.ts";

type Entries = Readonly<Record<string, LockEntry>>;

/**
 * Returns the lock file with entries added for missing packages. Existing entries do not change. New entries have no
 * `resolved` URL, since each machine configures its own registry.
 *
 * @param missing one version of each name
 * @param found entries by name, as npm resolved them
 */
export function addEntries<L extends PackageLock>(lock: L, missing: readonly MissingPackage[], found: Entries): L {
  const packages: Record<string, LockEntry> = { ...lock.packages };
  for (const { name, range, requiredBy } of missing) {
    const entry = found[name];
    if (!entry) continue;
    const shared = nestedPath("", name);
    // If another version has the shared path, the entry is nested below the requiring package.
    const isTaken = (packages[shared]?.version ?? entry.version) !== entry.version;
    packages[isTaken ? nestedPath(requiredBy, name) : shared] = sortFields({
      ...entry,
      ...flagsOf(lock, requiredBy, name, range),
    });
  }
  const sorted = Object.entries(packages).toSorted(([a], [b]) => a.localeCompare(b, "en"));
  return { ...lock, packages: Object.fromEntries(sorted) };
}

/** The flags of a package follow from those of the package that requires it. */
function flagsOf(lock: PackageLock, by: string, name: string, range: string): Partial<LockEntry> {
  const parent = lock.packages[by];
  const isOptional = parent?.optional === true || parent?.optionalDependencies?.[name] === range;
  return {
    dev: parent?.dev === true || (by === "" && parent?.devDependencies?.[name] === range),
    devOptional: parent?.devOptional === true,
    optional: isOptional,
  };
}

const FIRST_FIELDS = ["version", "integrity"];

/**
 * Sorts fields as npm does: version and integrity, then scalars and arrays, then objects, by name. Drops false flags.
 */
function sortFields({ resolved: _address, ...entry }: LockEntry): LockEntry {
  const fields = Object.entries(entry).filter(([, value]) => value !== false && value !== undefined);
  return Object.fromEntries(
    fields.toSorted(([a, x], [b, y]) => rank(a, x) - rank(b, y) || a.localeCompare(b, "en")),
  ) as LockEntry;
}

function rank(key: string, value: unknown): number {
  if (FIRST_FIELDS.includes(key)) return FIRST_FIELDS.indexOf(key);
  return typeof value === "object" && !Array.isArray(value) ? 3 : 2;
}
