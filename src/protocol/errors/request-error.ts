import type { z } from "zod";
import { closestName } from "../values/closest-name.ts";
import { EdgeError } from "./errors.ts";
import { knownFields } from "../values/known-fields.ts";

/** One problem of a request. */
export interface RequestIssue {
  /** Path of the field, such as `ports[0].host_port`; empty for the whole body. */
  readonly path: string;
  readonly reason: string;
}

const MAX_ISSUES = 20;

/** Unknown fields of one object, and objects, for which a known one is looked for. */
const MAX_SUGGESTIONS = 20;

/** Converts the schema errors of a deploy request: `ErrorNoName`, `ErrorNoImage` or `InvalidRequest`. */
export function toDeployRequestError(input: unknown, error: z.ZodError, schema: z.ZodType): EdgeError {
  if (isAbsent(input, "name")) return new EdgeError("ErrorNoName");
  if (isAbsent(input, "image")) return new EdgeError("ErrorNoImage");
  return toInvalidRequest(error, schema);
}

/** `InvalidRequest` with one issue per problem. The values are never included, since they may be secrets. */
export function toInvalidRequest(error: z.ZodError, schema: z.ZodType): EdgeError {
  return invalidRequest(listIssues(error, schema));
}

/** `InvalidRequest` for the given issues; the message contains the first. */
export function invalidRequest(issues: readonly RequestIssue[]): EdgeError {
  const first = issues[0];
  const where = first?.path ? `${first.path}: ` : "";
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : "";
  return new EdgeError("InvalidRequest", `The request is not valid: ${where}${first?.reason ?? "unknown"}${more}`, {
    issues: issues.slice(0, MAX_ISSUES),
  });
}

/**
 * Flattens a zod error into issues, with one for each unknown field.
 *
 * @param schema the schema that the input does not match; an unknown field gets the closest one it has at that place
 */
export function listIssues(error: z.ZodError, schema: z.ZodType): RequestIssue[] {
  return error.issues.flatMap((issue, index) => flatten(issue, [], index < MAX_SUGGESTIONS ? schema : undefined));
}

/** As `listIssues`, for a query. The reason for an unknown parameter names those that exist. */
export function listQueryIssues(error: z.ZodError, schema: z.ZodType): RequestIssue[] {
  return error.issues.flatMap((issue) => {
    if (issue.code !== "unrecognized_keys") return flatten(issue, [], schema);
    const known = knownFields(schema, []).map((name) => `\`${name}\``);
    const taken = known.length === 0 ? "none" : known.join(", ");
    return issue.keys.map((key) => ({ path: key, reason: `unknown query parameter; this operation takes ${taken}` }));
  });
}

function flatten(
  issue: z.core.$ZodIssue,
  outer: readonly PropertyKey[],
  schema: z.ZodType | undefined,
): RequestIssue[] {
  const path = [...outer, ...issue.path];
  if (issue.code === "unrecognized_keys") {
    const known = schema ? knownFields(schema, path) : [];
    return issue.keys.map((key, index) => {
      const closest = index < MAX_SUGGESTIONS ? closestName(key, known) : undefined;
      const reason = closest === undefined ? "unknown field" : `unknown field; did you mean \`${closest}\`?`;
      return { path: formatPath([...path, key]), reason };
    });
  }
  // Of a map's key: what is wrong with it is inside.
  if (issue.code === "invalid_key") {
    return issue.issues.map(({ message }) => ({ path: formatPath(path), reason: message }));
  }
  if (issue.code === "invalid_union") {
    // The alternative with the fewest problems is the one that was meant.
    const alternatives = issue.errors.map((issues) => issues.flatMap((inner) => flatten(inner, path, schema)));
    const [meant] = alternatives.toSorted((a, b) => a.length - b.length);
    if (meant && meant.length > 0) return meant;
  }
  return [{ path: formatPath(path), reason: issue.message }];
}

/** Formats the path of a field, such as `ports[0].host_port`. */
export function formatPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    return text === "" ? String(part) : `${text}.${String(part)}`;
  }, "");
}

function isAbsent(input: unknown, field: string): boolean {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return false;
  const value = (input as Record<string, unknown>)[field];
  return value === undefined || value === null || value === "";
}
