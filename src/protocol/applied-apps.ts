/** Returns the specifications of the apps in an apply request, as far as it has any. */
export function appliedApps(request: unknown): unknown[] {
  return entriesOf(request).flatMap((entry) => (isObject(entry) && "app" in entry ? [entry["app"]] : []));
}

/** Returns the names of the apps that an apply request removes, as far as it has any. */
export function removedApps(request: unknown): unknown[] {
  const names = isObject(request) ? request["remove"] : undefined;
  return Array.isArray(names) ? names : [];
}

/** Returns the apply request with each app's specification changed. */
export function mapAppliedApps(request: unknown, change: (spec: unknown) => unknown): unknown {
  if (!isObject(request) || !Array.isArray(request["apps"])) return request;
  return { ...request, apps: entriesOf(request).map((entry) => changeEntry(entry, change)) };
}

function changeEntry(entry: unknown, change: (spec: unknown) => unknown): unknown {
  return isObject(entry) && "app" in entry ? { ...entry, app: change(entry["app"]) } : entry;
}

function entriesOf(request: unknown): readonly unknown[] {
  const apps = isObject(request) ? request["apps"] : undefined;
  return Array.isArray(apps) ? apps : [];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
