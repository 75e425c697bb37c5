/** Kinds of components that are put in the places that refer to them. Schemas stay shared: they may contain themselves. */
const RESOLVED = /^#\/components\/(parameters|responses|headers|examples)\/([^/]+)$/;

interface Document {
  readonly paths: object;
  readonly components: object;
}
interface Item {
  readonly parameters?: readonly unknown[];
}

/** Puts each shared parameter, response, header and example of an OpenAPI document in its places. */
export function resolveComponents<T extends Document>(document: T): T {
  const components = document.components as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  const resolve = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolve);
    if (typeof value !== "object" || value === null) return value;
    const [, kind = "", name = ""] = RESOLVED.exec(String((value as { $ref?: unknown }).$ref)) ?? [];
    if (name !== "") return resolve(components[kind]?.[name]);
    return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, resolve(child)]));
  };
  const items = Object.entries(resolve(document.paths) as Readonly<Record<string, Item>>);
  return { ...document, paths: Object.fromEntries(items.map(([path, item]) => [path, withParameters(item)])) };
}

/** Gives each operation of a path the parameters of the path. */
function withParameters({ parameters: shared = [], ...operations }: Item): object {
  const own = Object.entries(operations as Readonly<Record<string, Item>>).map(([method, operation]) => [
    method,
    { ...operation, parameters: [...shared, ...(operation.parameters ?? [])] },
  ]);
  return Object.fromEntries(own) as object;
}
