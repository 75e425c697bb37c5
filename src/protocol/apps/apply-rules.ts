import { type NamedOnNetworks, networkOwner, sharedName } from "./app-network.ts";
import { mayEnd } from "./shown-state.ts";
import type { VolumeEntry } from "./volume-fields.ts";

/*
 * The rules of a group of apps that concern more than one of them.
 */

interface RuledApp {
  readonly app: NamedOnNetworks & {
    readonly host_network: boolean;
    readonly restart_policy?: string;
    readonly ports: readonly { readonly host_port: number; readonly protocol?: "tcp" | "udp" }[];
    readonly volumes: readonly VolumeEntry[];
  };
  readonly depends_on: readonly { readonly app: string; readonly condition?: string }[];
}

export interface RuledApply {
  readonly apps: readonly RuledApp[];
  /** Names of the apps that the group removes. */
  readonly remove?: readonly string[];
}

export interface ApplyProblem {
  /** From the request, such as `["apps", 1, "depends_on", 0, "app"]`. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/**
 * Returns what is wrong between the apps of a group: names, ports, volumes and dependencies.
 *
 * @param remove names of the apps that the group removes
 */
export function applyProblems(entries: RuledApply["apps"], remove?: RuledApply["remove"]): ApplyProblem[] {
  return [
    ...(entries.length === 0 && remove === undefined ? [{ path: ["apps"], message: "must not be empty" }] : []),
    ...wrongRemovals(entries, remove ?? []),
    ...repeatedNames(entries),
    ...repeatedAliases(entries),
    ...contradictingNetworks(entries),
    ...repeatedPorts(entries),
    ...sharedVolumes(entries),
    ...wrongDependencies(entries),
    ...sharedNetworks(entries, remove ?? []),
  ];
}

/** An app that has the network of another one begins after it, and cannot lose it. */
function sharedNetworks(entries: readonly RuledApp[], removed: readonly string[]): ApplyProblem[] {
  return entries.flatMap(({ app, depends_on: dependencies }, index) => {
    const owner = networkOwner(app);
    if (owner === undefined) return [];
    const path = ["apps", index, "app", "network"];
    if (removed.includes(owner)) return [{ path, message: `is that of the app ${owner}, which is removed` }];
    const other = entries.find((entry) => entry.app.name === owner);
    if (!other) return [];
    if (networkOwner(other.app) !== undefined)
      return [{ path, message: `is that of the app ${owner}, which has that of another one itself` }];
    if (dependencies.some((dependency) => dependency.app === owner)) return [];
    return [{ path, message: `is that of the app ${owner}, which is missing in depends_on` }];
  });
}

function wrongRemovals(entries: readonly RuledApp[], remove: readonly string[]): ApplyProblem[] {
  return remove.flatMap((name, index) => {
    const path = ["remove", index];
    if (entries.some(({ app }) => app.name === name)) return [{ path, message: `${name} is in apps too` }];
    return remove.indexOf(name) === index ? [] : [{ path, message: `the name ${name} appears twice` }];
  });
}

function repeatedNames(entries: readonly RuledApp[]): ApplyProblem[] {
  // Names of apps are host names among them, for which case does not count.
  const seen = new Map<string, string>();
  return entries.flatMap(({ app: { name } }, index) => {
    const earlier = seen.get(name.toLowerCase());
    seen.set(name.toLowerCase(), name);
    if (earlier === undefined) return [];
    const message =
      earlier === name ? `the name ${name} appears twice` : `the names ${earlier} and ${name} differ only in case`;
    return [{ path: ["apps", index, "app", "name"], message }];
  });
}

/** Of two apps that answer to one name, clients would find either. */
function repeatedAliases(entries: readonly RuledApp[]): ApplyProblem[] {
  return entries.flatMap(({ app }, index) => {
    if ((app.aliases ?? []).length === 0) return [];
    return entries.flatMap(({ app: other }, position) => {
      // Of two with one alias, the later one is to blame.
      const isLater = position < index || (other.aliases ?? []).length === 0;
      const name = position === index || !isLater ? undefined : sharedName(app, other);
      if (name === undefined) return [];
      const message = `the name ${name} is also one of the app ${other.name} on the same network`;
      return [{ path: ["apps", index, "app", "aliases"], message }];
    });
  });
}

const NETWORK_KINDS = ["internal", "external"] as const;

/** Apps that do not agree on whether a network is internal, or external, would not meet there. */
function contradictingNetworks(entries: readonly RuledApp[]): ApplyProblem[] {
  const first = new Map<string, { readonly app: string; readonly isOfKind: boolean }>();
  return entries.flatMap(({ app }, index) =>
    (app.networks ?? []).flatMap((network) =>
      NETWORK_KINDS.flatMap((kind) => {
        const isOfKind = app[`${kind}_networks`]?.includes(network) ?? false;
        const key = `${kind} ${network}`;
        const other = first.get(key) ?? { app: app.name, isOfKind };
        first.set(key, other);
        if (other.isOfKind === isOfKind) return [];
        const message = `the network ${network} is ${isOfKind ? "" : "not "}${kind} here, unlike in the app ${other.app}`;
        return [{ path: ["apps", index, "app", `${kind}_networks`], message }];
      }),
    ),
  );
}

/** A port that one app names twice is refused by the checks of that app. */
function repeatedPorts(entries: readonly RuledApp[]): ApplyProblem[] {
  const holders = new Map<string, string>();
  return entries.flatMap(({ app }, index) => {
    if (app.host_network) return [];
    return app.ports.flatMap(({ host_port: port, protocol = "tcp" }, position) => {
      const key = `${port}/${protocol}`;
      const holder = holders.get(key);
      if (holder === undefined || holder === app.name) {
        holders.set(key, app.name);
        return [];
      }
      const path = ["apps", index, "app", "ports", position, "host_port"];
      return [{ path, message: `the port ${key} is also one of the app ${holder}` }];
    });
  });
}

/** Only one app may write to a volume by name unless all share it: no engine keeps two from overwriting each other's files. */
function sharedVolumes(entries: readonly RuledApp[]): ApplyProblem[] {
  const writers = new Map<string, string>();
  const unshared = new Set(
    entries.flatMap(({ app }) =>
      app.volumes.flatMap((volume) => ("name" in volume && !volume.readonly && !volume.shared ? [volume.name] : [])),
    ),
  );
  return entries.flatMap(({ app }, index) =>
    app.volumes.flatMap((volume, position) => {
      if (!("name" in volume) || volume.readonly || !unshared.has(volume.name)) return [];
      const writer = writers.get(volume.name) ?? app.name;
      writers.set(volume.name, writer);
      if (writer === app.name) return [];
      const path = ["apps", index, "app", "volumes", position, "name"];
      const message = `the app ${writer} writes to the volume ${volume.name} too, which only one app may unless all say \`shared\`: share it (edgectl: --shared-volumes) if the apps are made for it, or mount it read-only in one that only reads it`;
      return [{ path, message }];
    }),
  );
}

function wrongDependencies(entries: readonly RuledApp[]): ApplyProblem[] {
  const names = new Set(entries.map(({ app }) => app.name));
  const problems = entries.flatMap(({ app: { name }, depends_on: dependencies }, index) =>
    dependencies.flatMap((dependency, position) => {
      const path = ["apps", index, "depends_on", position, "app"];
      if (!names.has(dependency.app)) return [{ path, message: `${dependency.app} is no app of the request` }];
      if (dependencies.findIndex(({ app }) => app === dependency.app) !== position) {
        return [{ path, message: `${name} depends on ${dependency.app} twice` }];
      }
      const other = entries.find((entry) => entry.app.name === dependency.app);
      if (dependency.condition === "completed" && !mayEnd(other?.app.restart_policy)) {
        const message = `${dependency.app} does not complete: its restart_policy must be no or on-failure`;
        return [{ path: ["apps", index, "depends_on", position, "condition"], message }];
      }
      return [];
    }),
  );
  if (problems.length > 0) return problems;
  const circle = findCircle(new Map(entries.map((entry) => [entry.app.name, entry.depends_on.map(({ app }) => app)])));
  if (!circle) return [];
  const index = entries.findIndex(({ app }) => app.name === circle[0]);
  const message = `the apps depend on each other in a circle: ${[...circle, circle[0]].join(" -> ")}`;
  return [{ path: ["apps", index, "depends_on"], message }];
}

/** Returns the apps of one circle, in the order in which each depends on the next; `undefined` if there is none. */
export function findCircle(dependencies: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const finished = new Set<string>();
  const path: string[] = [];
  const visit = (app: string): string[] | undefined => {
    if (finished.has(app)) return undefined;
    const at = path.indexOf(app);
    if (at !== -1) return path.slice(at);
    path.push(app);
    for (const next of dependencies.get(app) ?? []) {
      const circle = visit(next);
      if (circle) return circle;
    }
    path.pop();
    finished.add(app);
    return undefined;
  };
  for (const app of dependencies.keys()) {
    const circle = visit(app);
    if (circle) return circle;
  }
  return undefined;
}
