type Fields = Readonly<Record<string, unknown>>;

/** Keys that describe a value, whether or not it may be `null` too. */
const ANNOTATIONS = ["description", "examples"] as const;

/** Formats that say all that the long expressions say which the generator adds to them. */
const SELF_EXPLANATORY: ReadonlySet<string> = new Set(["ipv4", "ipv6"]);

/** Largest integer of the 32 bits that generators of clients assume without a `format`. */
const MAX_INT32 = 2 ** 31 - 1;

/**
 * Removes from an OpenAPI document what its generators add for machines only: the bounds of integers that JavaScript
 * represents exactly, and that a parameter may be left out, as each may that does not say otherwise. Marks the integers that 32
 * bits may not hold. Moves the description of a value that may be `null` to the field itself, where pages show it.
 */
export function tidySchemas<T>(document: T): T {
  return tidy(document) as T;
}

function tidy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((entry) => tidy(entry));
  if (typeof value !== "object" || value === null) return value;
  const { pattern, ...fields } = liftFromNullable(value as Fields);
  const kept =
    pattern !== undefined && !SELF_EXPLANATORY.has(String(fields["format"])) ? { ...fields, pattern } : fields;
  const entries = Object.entries(kept)
    .filter((entry) => !isSafeIntegerBound(entry))
    .filter(([key, child]) => key !== "required" || child !== false)
    // The keys of a map, which `propertyNames` has: without `properties` they look like fields that were forgotten.
    .filter(([key]) => key !== "required" || !("propertyNames" in kept));
  const tidied = Object.fromEntries(entries.map(([key, child]) => [key, tidy(child)]));
  return isLongInteger(tidied) ? { ...tidied, format: "int64" } : tidied;
}

function isLongInteger({ type, maximum }: Fields): boolean {
  const isInteger = [type].flat().includes("integer");
  return isInteger && !(typeof maximum === "number" && maximum <= MAX_INT32);
}

function isSafeIntegerBound([key, value]: [string, unknown]): boolean {
  return (
    (key === "maximum" && value === Number.MAX_SAFE_INTEGER) || (key === "minimum" && value === Number.MIN_SAFE_INTEGER)
  );
}

function liftFromNullable(schema: Fields): Fields {
  const { anyOf, ...outer } = schema;
  if (!Array.isArray(anyOf) || anyOf.length !== 2 || (anyOf[1] as Fields)["type"] !== "null") return schema;
  const inner = anyOf[0] as Fields;
  // Its other keys hold for values of its type only.
  if (typeof inner["type"] === "string" && !("enum" in inner) && !("const" in inner))
    return { ...inner, ...outer, type: [inner["type"], "null"] };
  const lifted = ANNOTATIONS.filter((key) => inner[key] !== undefined && schema[key] === undefined);
  if (lifted.length === 0) return schema;
  const rest = Object.fromEntries(Object.entries(inner).filter(([key]) => !lifted.some((each) => each === key)));
  const moved = Object.fromEntries(lifted.map((key) => [key, inner[key]]));
  return { ...schema, anyOf: [rest, anyOf[1]], ...moved };
}
