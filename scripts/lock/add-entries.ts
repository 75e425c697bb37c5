import { type PackageLock, type LockEntry, type MissingPackage, nestedPath } from "./missing-packages.ts";

type Entries = Readonly<Record<string, LockEntry>>;

/**
 * A lock file with entries for missing packages. Nothing that is there changes. No entry says where it was downloaded
 * from, since that is for each machine's own configuration to say.
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
    // Where another version has the place that all share, it goes below the one that asks.
    const isTaken = (packages[shared]?.version ?? entry.version) !== entry.version;
    packages[isTaken ? nestedPath(requiredBy, name) : shared] = sortFields({
      ...entry,
      ...flagsOf(lock, requiredBy, name, range),
    });
  }
  const sorted = Object.entries(packages).toSorted(([a], [b]) => a.localeCompare(b, "en"));
  return { ...lock, packages: Object.fromEntries(sorted) };
}

/** What the one that asks is only for development, or optional, its own are too. */
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

/** As npm writes it: version and integrity, then what is short, then objects, each by name; no flag that is false. */
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
