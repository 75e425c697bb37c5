import type { z } from "zod";

/** Names of the fields that an object at this place of the input may have, by its schema. Empty where there is no object. */
export function knownFields(schema: z.core.$ZodType, path: readonly PropertyKey[]): readonly string[] {
  const found = path.reduce<readonly z.core.$ZodType[]>(
    (schemas, part) => schemas.flatMap((outer) => unwrap(outer).flatMap((inner) => step(inner, part))),
    [schema],
  );
  const fields = found.flatMap(unwrap).flatMap((inner) => Object.entries(shapeOf(inner) ?? {}));
  return [...new Set(fields.filter(([, field]) => !isForbidden(field)).map(([name]) => name))];
}

/** Whether the schema lists the field only to refuse it with a reason. */
function isForbidden(field: z.core.$ZodType): boolean {
  return unwrap(field).every((inner) => (inner as z.core.$ZodTypes)._zod.def.type === "never");
}

/** Returns the schemas of what is written in the input: without defaults, `null`, transformations and alternatives. */
function unwrap(schema: z.core.$ZodType): readonly z.core.$ZodType[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === "pipe") return unwrap(def.in);
  if (def.type === "union") return def.options.flatMap(unwrap);
  return "innerType" in def ? unwrap(def.innerType) : [schema];
}

function step(schema: z.core.$ZodType, part: PropertyKey): readonly z.core.$ZodType[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === "array") return [def.element];
  if (def.type === "record") return [def.valueType];
  const shape = shapeOf(schema);
  return shape && typeof part === "string" && Object.hasOwn(shape, part) ? [shape[part] as z.core.$ZodType] : [];
}

function shapeOf(schema: z.core.$ZodType): Readonly<Record<string, z.core.$ZodType>> | undefined {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  return def.type === "object" ? def.shape : undefined;
}
