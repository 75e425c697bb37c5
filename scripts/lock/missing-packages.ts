/** The fields used here of an entry of `packages` in a lock file. */
export interface LockEntry {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly devOptional?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** A package-lock.json of version 3. Keys of `packages` are paths, `""` the project itself. */
export interface PackageLock {
  readonly packages: Readonly<Record<string, LockEntry>>;
}

/** A dependency without an entry. */
export interface MissingPackage {
  readonly name: string;
  readonly range: string;
  /** Path of the package that requires it. */
  readonly requiredBy: string;
}

const EXACT_VERSION = /^\d+\.\d+\.\d+(?:[-+].*)?$/;

/**
 * Returns the packages that `npm ci` misses: it requires an entry for each dependency of an entry, also for other
 * platforms. An installation omits packages that the registry lacks, or keeps an older version. Only exact versions are
 * compared, as platform packages use them; npm itself checks other ranges.
 */
export function findMissingPackages({ packages }: PackageLock): MissingPackage[] {
  return Object.entries(packages).flatMap(([requiredBy, entry]) => {
    const named = { ...entry.dependencies, ...entry.devDependencies, ...entry.optionalDependencies };
    return Object.entries(named).flatMap(([name, range]) => {
      const version = packages[findEntryPath(packages, requiredBy, name)]?.version;
      const isThere = version !== undefined && (!EXACT_VERSION.test(range) || version === range);
      return isThere ? [] : [{ name, range, requiredBy }];
    });
  });
}

/**
 * Returns the path of the entry that a package's dependency resolves to: the nearest one up the tree, or the shared
 * path if there is none. Entries without a version are ignored: npm writes them for packages that the registry lacks.
 */
export function findEntryPath(packages: PackageLock["packages"], by: string, name: string): string {
  for (let from = by; ; from = parentOf(from)) {
    const path = nestedPath(from, name);
    if (from === "" || packages[path]?.version !== undefined) return path;
  }
}

/** Returns the path of a package installed below another one, or at the top for the project (`""`). */
export function nestedPath(by: string, name: string): string {
  return by === "" ? `node_modules/${name}` : `${by}/node_modules/${name}`;
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/node_modules/")));
}
