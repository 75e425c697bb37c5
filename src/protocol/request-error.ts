import type { z } from "zod";
import { EdgeError } from "./errors.ts";

/** One problem of a request. */
export interface RequestIssue {
  /** Path of the field, such as `ports[0].host_port`; empty for the whole body. */
  readonly path: string;
  readonly reason: string;
}

const MAX_ISSUES = 20;

/** Converts the schema errors of a deploy request: `ErrorNoName`, `ErrorNoImage` or `InvalidRequest`. */
export function toDeployRequestError(input: unknown, error: z.ZodError): EdgeError {
  if (isAbsent(input, "name")) return new EdgeError("ErrorNoName");
  if (isAbsent(input, "image")) return new EdgeError("ErrorNoImage");
  return toInvalidRequest(error);
}

/** `InvalidRequest` with one issue per problem. The values are never included, since they may be secrets. */
export function toInvalidRequest(error: z.ZodError): EdgeError {
  return invalidRequest(listIssues(error));
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

/** Flattens a zod error into issues, with one for each unknown field. */
export function listIssues(error: z.ZodError): RequestIssue[] {
  return error.issues.flatMap((issue): RequestIssue[] => {
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => ({ path: formatPath([...issue.path, key]), reason: "unknown field" }));
    }
    return [{ path: formatPath(issue.path), reason: issue.message }];
  });
}

function formatPath(path: readonly PropertyKey[]): string {
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
