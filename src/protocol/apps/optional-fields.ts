import type { z } from "zod";

type Schemas = Readonly<Record<string, z.ZodType>>;

/** Fields that are absent unless they are given. */
export function optional<T extends Schemas>(schemas: T): { [K in keyof T]: z.ZodExactOptional<T[K]> } {
  return mapSchemas(schemas, (schema) => schema.exactOptional()) as { [K in keyof T]: z.ZodExactOptional<T[K]> };
}

/** The same fields in an update, where `null` removes a field. */
export function clearable<T extends Schemas>(schemas: T): { [K in keyof T]: z.ZodExactOptional<z.ZodNullable<T[K]>> } {
  return mapSchemas(schemas, (schema) => schema.nullable().exactOptional()) as {
    [K in keyof T]: z.ZodExactOptional<z.ZodNullable<T[K]>>;
  };
}

function mapSchemas(schemas: Schemas, convert: (schema: z.ZodType) => z.ZodType): Schemas {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, convert(schema)]));
}
