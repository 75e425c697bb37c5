import type { z } from "zod";

type Issue = z.core.$ZodRawIssue;

/** What a value should be, by the name that zod gives its type. */
const TYPES: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "an integer",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  map: "an object",
  null: "null",
};

/** What is counted, by the name that zod gives the kind of value. */
const UNITS: Readonly<Record<string, string>> = {
  string: "characters",
  array: "entries",
  set: "entries",
  map: "entries",
  object: "fields",
  file: "bytes",
};

/** What a text should be, by the name that zod gives its format. */
const FORMATS: Readonly<Record<string, string>> = {
  email: "e-mail address",
  url: "URL",
  uuid: "UUID",
  ipv4: "IPv4 address",
  ipv6: "IPv6 address",
  datetime: "time by RFC 3339",
  date: "date such as 2026-11-30",
  base64: "Base64 text",
};

/**
 * Options of `safeParse` with which a schema explains what is wrong for people, as the schemas' own messages do, instead of by
 * zod's `Too big: expected number to be <=200`.
 */
export const IN_WORDS: { readonly error: z.core.$ZodErrorMap } = { error: explain };

function explain(issue: Issue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? "is required" : `must be ${TYPES[issue["expected"]] ?? "of another type"}`;
    case "too_big":
      return bounded(issue, issue["maximum"], "at most", "less than");
    case "too_small":
      return bounded(issue, issue["minimum"], "at least", "more than");
    case "invalid_value":
      return oneOf(issue["values"]);
    case "invalid_format":
      return explainFormat(String(issue["format"]));
    case "not_multiple_of":
      return `must be a multiple of ${String(issue["divisor"])}`;
    case "invalid_union":
      return issue.input === undefined ? "is required" : "has none of the allowed forms";
    case "custom":
    case "invalid_element":
    case "invalid_key":
    case "unrecognized_keys":
      // The schema says it, or those who list the issues.
      return undefined;
  }
}

function explainFormat(format: string): string {
  const name = FORMATS[format];
  return name === undefined ? "does not have the allowed form" : `is not a valid ${name}`;
}

function bounded(
  { origin, inclusive }: Issue & { origin?: unknown; inclusive?: unknown },
  bound: unknown,
  upTo: string,
  beyond: string,
): string {
  const limit = `${inclusive === false ? beyond : upTo} ${String(bound)}`;
  const unit = UNITS[String(origin)];
  if (unit === undefined) return `must be ${limit}`;
  if (upTo === "at least" && Number(bound) === 1) return "must not be empty";
  return `must have ${limit} ${Number(bound) === 1 ? singular(unit) : unit}`;
}

function singular(unit: string): string {
  return unit === "entries" ? "entry" : unit.slice(0, -1);
}

function oneOf(values: readonly unknown[]): string {
  const texts = values.map((value) => JSON.stringify(value));
  return texts.length === 1 ? `must be ${texts[0]}` : `must be one of ${texts.join(", ")}`;
}
