/** An absolute path without doubled or trailing slashes and without `.` segments. */
export function normalizePath(path: string): string {
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  return `/${segments.join("/")}`;
}
