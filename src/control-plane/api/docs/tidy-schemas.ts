type Fields = Readonly<Record<string, unknown>>;

/** Keys that describe a value, whether or not it may be `null` too. */
const ANNOTATIONS = ["description", "examples"] as const;

/**
 * Removes from an OpenAPI document what zod's generator adds for machines only: the bounds of integers that JavaScript
 * represents exactly. Moves the description of a value that may be `null` to the field itself, where pages show it.
 */
export function tidySchemas<T>(document: T): T {
  return tidy(document) as T;
}

function tidy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((entry) => tidy(entry));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(liftFromNullable(value as Fields)).filter((entry) => !isSafeIntegerBound(entry));
  return Object.fromEntries(entries.map(([key, child]) => [key, tidy(child)]));
}

function isSafeIntegerBound([key, value]: [string, unknown]): boolean {
  return (
    (key === "maximum" && value === Number.MAX_SAFE_INTEGER) || (key === "minimum" && value === Number.MIN_SAFE_INTEGER)
  );
}

function liftFromNullable(schema: Fields): Fields {
  const { anyOf } = schema;
  if (!Array.isArray(anyOf) || anyOf.length !== 2 || (anyOf[1] as Fields)["type"] !== "null") return schema;
  const inner = anyOf[0] as Fields;
  const lifted = ANNOTATIONS.filter((key) => inner[key] !== undefined && schema[key] === undefined);
  if (lifted.length === 0) return schema;
  const rest = Object.fromEntries(Object.entries(inner).filter(([key]) => !lifted.some((each) => each === key)));
  const moved = Object.fromEntries(lifted.map((key) => [key, inner[key]]));
  return { ...schema, anyOf: [rest, anyOf[1]], ...moved };
}
