import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import { normalizePath } from "../../../protocol/values/normalize-path.ts";
import { canonicalSpec } from "../app/container.ts";

type Field = keyof AppSpec;

/** What names an entry of a list, for people. Entries of other lists are compared as a whole. */
const ENTRY_NAMES: Readonly<Partial<Record<string, (entry: never) => string>>> = {
  environments: ({ key }: { key: string }) => key,
  ports: ({ host_port, protocol }: { host_port: number; protocol?: string }) => `${host_port}/${protocol ?? "tcp"}`,
  volumes: ({ target }: { target: string }) => normalizePath(target),
  devices: ({ local, target }: { local: string; target?: string }) => normalizePath(target ?? local),
  files: ({ target }: { target: string }) => normalizePath(target),
};

/**
 * Returns which fields of an app differ, such as `image`, `environments.LOG_LEVEL` or `volumes./data`; never values. Empty
 * exactly if both specifications are equivalent.
 */
export function diffSpec(before: AppSpec, after: AppSpec): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])] as Field[];
  return names
    .filter((name) => differs(before, name, before[name], after[name]))
    .flatMap((name) => paths(name, before, after));
}

/** Whether the field is what makes the specification another one. */
function differs(base: AppSpec, name: Field, from: unknown, to: unknown): boolean {
  return canonicalSpec(withField(base, name, from)) !== canonicalSpec(withField(base, name, to));
}

function withField(base: AppSpec, name: Field, value: unknown): AppSpec {
  const { [name]: _replaced, ...rest } = base;
  return (value === undefined ? rest : { ...rest, [name]: value }) as AppSpec;
}

function paths(name: Field, before: AppSpec, after: AppSpec): string[] {
  const nameOf = ENTRY_NAMES[name] as ((entry: unknown) => string) | undefined;
  const [from = [], to = []] = [before[name], after[name]];
  if (!nameOf || !Array.isArray(from) || !Array.isArray(to)) return [name];
  const [old, now] = [byName(from, nameOf), byName(to, nameOf)];
  const keys = [...new Set([...old.keys(), ...now.keys()])];
  const changed = keys.filter((key) => differs(before, name, old.get(key) ?? [], now.get(key) ?? []));
  // Equal entries in another order.
  return changed.length > 0 ? changed.map((key) => `${name}.${key}`) : [name];
}

/** Two entries may have the same name, such as a port that is published to two ports of the container. */
function byName(entries: readonly unknown[], nameOf: (entry: unknown) => string): Map<string, unknown[]> {
  const found = new Map<string, unknown[]>();
  for (const entry of entries) found.set(nameOf(entry), [...(found.get(nameOf(entry)) ?? []), entry]);
  return found;
}
