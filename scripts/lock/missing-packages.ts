/** An entry of `packages` in a lock file, as far as it matters here. */
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

/** A package that another one names, and that has no entry. */
export interface MissingPackage {
  readonly name: string;
  readonly range: string;
  /** Path of the one that names it. */
  readonly requiredBy: string;
}

const EXACT_VERSION = /^\d+\.\d+\.\d+(?:[-+].*)?$/;

/**
 * What `npm ci` misses: it wants an entry for each package that an entry names, also for one of another platform. An
 * installation leaves out, or leaves at an older version, what the registry does not have. Packages of platforms are
 * named by an exact version; whether another fits its range npm itself has to say.
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
 * Path of the entry that a package gets when it asks for another: the nearest one above it. Where there is none, the path
 * it would have. One without a version is what npm writes for a package that the registry does not have.
 */
export function findEntryPath(packages: PackageLock["packages"], by: string, name: string): string {
  for (let from = by; ; from = parentOf(from)) {
    const path = nestedPath(from, name);
    if (from === "" || packages[path]?.version !== undefined) return path;
  }
}

/** Path of a package that is installed for another one alone, or for all where that is the project. */
export function nestedPath(by: string, name: string): string {
  return by === "" ? `node_modules/${name}` : `${by}/node_modules/${name}`;
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/node_modules/")));
}
