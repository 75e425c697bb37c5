/** Removes repeated and trailing slashes and `.` segments from an absolute path. */
export function normalizePath(path: string): string {
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  return `/${segments.join("/")}`;
}
