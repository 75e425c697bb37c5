/** Test projects that run the built executables. */
const PROJECTS_WITH_EXECUTABLES: ReadonlySet<string> = new Set(["e2e", "adversary", "examples", "device", "chaos"]);

/** Whether a vitest command line may select tests that run the executables in dist/. */
export function needsExecutables(args: readonly string[]): boolean {
  const projects = selectedProjects(args);
  if (projects.length > 0) return projects.some((project) => PROJECTS_WITH_EXECUTABLES.has(project));
  const folders = args.flatMap((arg) => /^test\/(\w+)/.exec(arg)?.[1] ?? []);
  return folders.length === 0 || folders.some((folder) => PROJECTS_WITH_EXECUTABLES.has(folder));
}

function selectedProjects(args: readonly string[]): string[] {
  return args.flatMap((arg, index) => {
    if (arg.startsWith("--project=")) return [arg.slice("--project=".length)];
    return arg === "--project" ? (args[index + 1] ?? []) : [];
  });
}
