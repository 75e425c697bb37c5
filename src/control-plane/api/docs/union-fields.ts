import { type Fields, isMap, mapValues } from "./shared.ts";

interface Branch extends Fields {
  readonly properties: Fields;
  readonly required?: readonly string[];
}

/** Says once for a union of open objects in an OpenAPI document which fields all of its alternatives have. */
export function shareUnionFields(document: object): object {
  const { components, ...rest } = document as { readonly components?: { readonly schemas?: Fields } };
  return { ...rest, components: { ...components, schemas: mapValues(components?.schemas ?? {}, shareFields) } };
}

function shareFields(schema: unknown): unknown {
  if (!isMap(schema)) return schema;
  const { oneOf: branches, ...rest } = schema;
  if (!Array.isArray(branches) || !branches.every(isOpenObject)) return schema;
  const [first] = branches;
  const shared = Object.entries(first?.properties ?? {}).filter(([name, field]) =>
    branches.every((branch) => branch.required?.includes(name) && isSame(branch.properties[name], field)),
  );
  if (shared.length === 0) return schema;
  const names = shared.map(([name]) => name);
  const isOwn = (name: string): boolean => !names.includes(name);
  const own = branches.map(({ properties, required = [], ...branch }) =>
    Object.assign(branch, {
      properties: Object.fromEntries(Object.entries(properties).filter(([name]) => isOwn(name))),
      required: required.filter(isOwn),
    }),
  );
  const common = { type: "object", properties: Object.fromEntries(shared), required: names };
  return { ...rest, allOf: [common, { oneOf: own }] };
}

function isOpenObject(branch: unknown): branch is Branch {
  return isMap(branch) && isMap(branch["properties"]) && branch["additionalProperties"] === undefined;
}

function isSame(field: unknown, other: unknown): boolean {
  return JSON.stringify(field) === JSON.stringify(other);
}
