import type { RequestIssue } from "../errors/request-error.ts";
import { parseTemplate } from "../values/substitute.ts";

/*
 * Checked when a revision is made, so that a typing error never reaches a device. Commands and contents of files are left alone:
 * `${…}` there belongs to a shell or to another program in the container, and reaches it unchanged.
 */

/** Paths of fields whose texts belong to programs in the container. */
const OF_PROGRAMS =
  /^(?:command|entrypoint|healthcheck\.command)\[\d+\]$|^files\[\d+\]\.content(?:_base64|_gzip)?$|^environments\[\d+\]\.value$/;

const MISPLACED = "must not contain '${': variables of assets are used in values of `environments` only";

/** An app of a revision. Values that are missing are not looked at. */
interface CheckedApp {
  readonly environments: readonly { readonly value?: string | undefined }[];
}

/** Returns where an app of a revision has variables in the wrong place, or written in a wrong way. */
export function findVariableIssues(app: CheckedApp): readonly RequestIssue[] {
  const values = app.environments.flatMap(({ value }, index): readonly RequestIssue[] => {
    const parsed = value === undefined ? undefined : parseTemplate(value);
    if (!parsed || parsed.ok) return [];
    const path = `environments[${index}].value`;
    return [{ path, reason: `at character ${parsed.position + 1}: ${parsed.reason}` }];
  });
  return [...values, ...findMisplacedVariables(app, "")];
}

/** Looks through texts and names of fields at any depth: those of `labels` and `sysctls` are the client's. */
function findMisplacedVariables(value: unknown, path: string): readonly RequestIssue[] {
  if (typeof value === "string") {
    return value.includes("${") && !OF_PROGRAMS.test(path) ? [{ path, reason: MISPLACED }] : [];
  }
  if (Array.isArray(value)) return value.flatMap((each, index) => findMisplacedVariables(each, `${path}[${index}]`));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => {
    const inner = path === "" ? key : `${path}.${key}`;
    const issues = findMisplacedVariables(each, inner);
    return key.includes("${") ? [{ path: inner, reason: MISPLACED }].concat(issues) : issues;
  });
}
