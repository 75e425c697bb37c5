import type { z } from "zod";
import type { AppliedApp, AppDependency } from "../apps/apply.ts";
import { CONTENT_FIELDS } from "../apps/app-files.ts";
import { applyProblems } from "../apps/apply-rules.ts";
import type { RequestIssue } from "../errors/request-error.ts";
import { findVariableIssues } from "./revision-variables.ts";

/*
 * The rules of a revision besides those of each of its fields.
 */

type Entry =
  | { readonly app: AppliedApp; readonly depends_on: readonly AppDependency[] }
  | { readonly name: string; readonly absent: true };

/** A group as a whole: as an apply request, and complete, since a new member has nothing that an omitted value could be. */
export function checkRevisionEntries(entries: readonly Entry[], context: z.RefinementCtx): void {
  const present = entries.flatMap((entry, index) => ("app" in entry ? [{ ...entry, index }] : []));
  for (const { path, message } of applyProblems(present, [])) {
    const [, position, ...rest] = path;
    const index = present[Number(position)]?.index ?? 0;
    context.addIssue({ code: "custom", path: [index, ...rest], message });
  }
  const names = new Set(present.map(({ app }) => app.name));
  for (const [index, entry] of entries.entries()) {
    if ("app" in entry) continue;
    const message = `the name ${entry.name} appears twice`;
    if (names.has(entry.name)) context.addIssue({ code: "custom", path: [index, "name"], message });
    names.add(entry.name);
  }
  for (const { app, index } of present) {
    for (const { path, reason } of [...findOmissions(app), ...findVariableIssues(app)]) {
      context.addIssue({ code: "custom", path: [index, "app", path], message: reason });
    }
  }
}

const OMITTED = "is missing: a revision has the whole app, since a new member has nothing to keep";

function findOmissions({ environments, files = [] }: AppliedApp): readonly RequestIssue[] {
  const values = environments.flatMap(({ value }, index) =>
    value === undefined ? [{ path: `environments[${index}].value`, reason: OMITTED }] : [],
  );
  const contents = files.flatMap((file, index) =>
    [...CONTENT_FIELDS, "upload"].some((field) => field in file)
      ? []
      : [{ path: `files[${index}].content`, reason: OMITTED }],
  );
  return [...values, ...contents];
}
