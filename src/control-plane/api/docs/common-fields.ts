import type { Fields } from "./shared.ts";

interface Schema extends Fields {
  readonly properties?: Fields;
  readonly required?: readonly string[];
}
type Schemas = Readonly<Record<string, Schema>>;

/** Schemas of responses in an OpenAPI document that have many fields in common, by a name for what they have. */
const COMMON: Readonly<Record<string, readonly string[]>> = {
  BulkResult: ["BulkRegistrationResult", "BulkTagsResult"],
  DeviceContact: ["AppList", "Device", "DataUsage"],
  SimUsageEntry: ["SuperSimUsageEntry", "ProSimUsageEntry"],
  SimReference: ["KnownUsage", "UnknownUsage"],
  UptimeFigures: ["Uptime", "ListedUptime"],
};

/** Adds a schema for the fields that such schemas have in common: the next step refers to it from them. */
export function nameCommonFields(document: object): object {
  const { components, ...rest } = document as { readonly components?: { readonly schemas?: Schemas } };
  const { schemas = {} } = components ?? {};
  const common = Object.entries(COMMON).map(([name, those]) => [
    name,
    commonOf(those.map((each) => schemas[each] ?? {})),
  ]);
  return { ...rest, components: { ...components, schemas: { ...schemas, ...Object.fromEntries(common) } } };
}

function commonOf(schemas: readonly Schema[]): Schema {
  const [{ properties = {}, required = [] } = {}] = schemas;
  const isCommon = ([name, field]: [string, unknown]): boolean =>
    schemas.every(
      (each) =>
        JSON.stringify(each.properties?.[name]) === JSON.stringify(field) &&
        (each.required?.includes(name) ?? false) === required.includes(name),
    );
  const fields = Object.fromEntries(Object.entries(properties).filter(isCommon));
  const names = required.filter((name) => name in fields);
  return { type: "object", properties: fields, ...(names.length > 0 && { required: names }) };
}
