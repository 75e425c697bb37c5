/** Kinds of components that are put in the places that refer to them. Schemas stay shared: they may contain themselves. */
const RESOLVED = /^#\/components\/(parameters|responses|headers|examples)\/([^/]+)$/;

interface Document {
  readonly paths: unknown;
  readonly components: object;
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
  return { ...document, paths: resolve(document.paths) };
}
