import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir, readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const EXAMPLES = [".env.example", "env.example", ".env.sample", "example.env", ".env.template", "sample.env"];

/** A compose file of a public repository. */
export interface PublicFile {
  readonly repository: string;
  readonly commit: string;
  readonly path: string;
}

export async function readList(path: string): Promise<PublicFile[]> {
  const lines = (await readFile(path, "utf8")).split("\n").filter((line) => line !== "");
  return lines.map((line) => {
    const [repository = "", commit = "", ...words] = line.split(" ");
    return { repository, commit, path: words.join(" ") };
  });
}

/** Returns a git directory that has the commit. */
export async function fetchRepository(
  { repository, commit }: PublicFile,
  cache: string,
  repositories: string | undefined,
): Promise<string> {
  const given = repositories === undefined ? undefined : join(repositories, repository);
  if (given !== undefined && existsSync(given)) return given;
  const directory = join(cache, repository);
  if (!existsSync(directory)) {
    await mkdir(dirname(directory), { recursive: true });
    await run("git", ["init", "--quiet", "--bare", directory]);
  }
  await run("git", ["-C", directory, "fetch", "--quiet", "--depth=1", `https://github.com/${repository}`, commit]);
  return directory;
}

/**
 * Writes the repository's files, or only the file's directory where a snapshot of the repository lacks some of them. Returns
 * the path of the file.
 */
export async function extract(file: PublicFile, repository: string, into: string): Promise<string> {
  await mkdir(into, { recursive: true });
  const parent = dirname(file.path);
  const archive = join(into, "..", "archive.tar");
  const write = (...paths: readonly string[]): Promise<unknown> =>
    run("git", ["-C", repository, "archive", "-o", archive, file.commit, ...paths]);
  try {
    await write();
  } catch (error) {
    if (parent === ".") throw error;
    await write(parent);
  }
  await run("tar", ["-xf", archive, "-C", into]);
  const path = join(into, file.path);
  await useExample(dirname(path));
  return path;
}

/** As the instructions of such files say: the example of variables is copied. */
async function useExample(directory: string): Promise<void> {
  const names = await readdir(directory);
  const example = EXAMPLES.find((name) => names.includes(name));
  if (example !== undefined && !names.includes(".env"))
    await copyFile(join(directory, example), join(directory, ".env"));
}
