import { basename, dirname, resolve } from "node:path";
import type { Value } from "../documents/value.ts";

const PROJECT_NAME = /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$/;

/** In place of a name that cannot be used, so that this is one problem and not one of each app. */
const UNNAMED = "unnamed";

interface ProjectOptions {
  /** Given on the command line. */
  readonly project: string | undefined;
  /** Path of the file; `undefined` for standard input. */
  readonly path: string | undefined;
}

/** Returns the name of the project: given, the file's own, or that of its directory. */
export function projectName(inFile: string | undefined, root: Value, { project, path }: ProjectOptions): string {
  const name = project ?? inFile ?? (path === undefined ? "" : directoryName(path));
  if (!PROJECT_NAME.test(name)) {
    root.refuse("The project has no name that can be used.", "Give `name` in the file, or --project NAME.");
    return UNNAMED;
  }
  return name;
}

/** The name that compose gives a project by default. */
function directoryName(path: string): string {
  return basename(dirname(resolve(path)))
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]/g, "")
    .replace(/^[_-]+/, "");
}
