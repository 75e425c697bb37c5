interface Issue {
  readonly path: string;
  readonly reason: string;
}

/** Formats the details of an error as short lines: the problems of fields first, then other facts as `name: value`. */
export function formatDetails(details: Readonly<Record<string, unknown>> | undefined): string[] {
  const { issues, ...others } = details ?? {};
  const problems = Array.isArray(issues) ? issues.filter(isIssue) : [];
  return [
    ...problems.map(({ path, reason }) => (path === "" ? reason : `${path}: ${reason}`)),
    ...Object.entries(others).map(
      ([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`,
    ),
  ];
}

function isIssue(value: unknown): value is Issue {
  return typeof value === "object" && value !== null && "path" in value && "reason" in value;
}
