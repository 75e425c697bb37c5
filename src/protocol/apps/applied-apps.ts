/** Returns the specifications of the apps in an apply request, as far as it has any. */
export function appliedApps(request: unknown): unknown[] {
  return entriesOf(request).flatMap((entry) => (isObject(entry) && "app" in entry ? [entry["app"]] : []));
}

function entriesOf(request: unknown): readonly unknown[] {
  const apps = isObject(request) ? request["apps"] : undefined;
  return Array.isArray(apps) ? apps : [];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
