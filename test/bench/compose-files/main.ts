import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { RemarkDocument } from "../../../src/edgectl/documents/problems.ts";
import { Failure } from "../../../src/edgectl/failure.ts";
import { readGroupFile } from "../../../src/edgectl/group-file/read-group.ts";
import { findGroupProblems } from "../../../src/edgectl/runs/apply-group.ts";
import { extract, fetchRepository, type PublicFile, readList } from "./public-files.ts";

/*
 * How many public compose files can be applied as people wrote them: each file of files.txt (repository, commit, path) is
 * checked as `edgectl compose check --map-ports` does, with the example of `.env` that comes with it; then those of held-out.txt
 * and of the lists with a number, each of which was collected once the refusals of those before had been read, and before its own
 * were. Prints a table for each of what is refused, by key. Repositories are cloned from GitHub unless --repositories has them.
 *
 * The files of held-out-3.txt and held-out-4.txt were chosen by rules, without a look into them:
 * - held-out-3.txt: for each of the words iot-stack, iot-gateway, edge-gateway, lorawan, homelab, homeserver, kiosk, signage,
 *   docker-monitoring and home-automation, the first 14 repositories that an index of public repositories lists by number of files
 *   for names with that word, and the next 14 for iot-stack, homelab, homeserver and docker-monitoring. Of each, up to two files that
 *   compose finds by itself (docker-compose.yml, compose.yaml and the like), those with the lowest SHA-256 of their path;
 * - held-out-4.txt: for each of the directories node-red, influxdb, grafana, pihole, chirpstack, home-assistant, wireguard, prometheus,
 *   jellyfin, portainer, traefik and telegraf, the file docker-compose.yml in it, of the last five repositories out of up to 100 that
 *   the index lists by name for that path.
 * Of both, those that could be had, that have the file today, and that no list before has.
 *
 *   node_modules/.bin/node test/bench/compose-files/main.ts [--repositories DIRECTORY] [--list FILE] [--shared-volumes]
 *     [--build-registry PREFIX] [--filled-in] [--verbose]
 *
 * Many files leave passwords, users and paths to who runs them, and docker-compose refuses them too without. With --filled-in,
 * they get what they ask for: a value for each variable that is not set, and the files of variables and secrets that they name.
 */

const LISTS = ["files.txt", "held-out.txt", "held-out-2.txt", "held-out-3.txt", "held-out-4.txt"].map((name) =>
  join(import.meta.dirname, name),
);

interface Verdict {
  readonly file: PublicFile;
  readonly problems: readonly RemarkDocument[];
}

const { values } = parseArgs({
  options: {
    repositories: { type: "string" },
    list: { type: "string", multiple: true, default: LISTS },
    "shared-volumes": { type: "boolean", default: false },
    "build-registry": { type: "string" },
    "filled-in": { type: "boolean", default: false },
    verbose: { type: "boolean", default: false },
  },
});

/** Stand-ins by what variables are called; a number, which may be a user, otherwise. */
const STAND_INS: readonly (readonly [RegExp, string])[] = [
  [/[UG]ID$/, "1000"],
  [/SOCK/, "/run/stand-in.sock"],
  [/DNS/, "192.0.2.53"],
  [/DIGEST$/, `sha256:${"0".repeat(64)}`],
  [/(^|_)IP(V4)?$|ADDR|HOST$/, "192.0.2.1"],
  [/PORT/, "8080"],
];

/** @param at where the variable is used: what is mounted begins with a path */
function standInFor(name: string, at: string, root: string): string {
  if (/ROOT/.test(name)) return root;
  const isPath = /PATH|DIR|CFG|CONF/.test(name) || /\.volumes\b/.test(at);
  return STAND_INS.find(([pattern]) => pattern.test(name))?.[1] ?? (isPath ? join(root, "stand-in") : "1000");
}

/** What the problems say that is left to who runs the file, made up. Returns the variables. */
async function fillIn(
  problems: readonly RemarkDocument[],
  { root, path }: { readonly root: string; readonly path: string },
): Promise<Record<string, string>> {
  const variables: Record<string, string> = {};
  for (const { message } of problems) {
    const [, at = "", variable] = /^(.*?)(?:uses|needs) the variable (\w+)/.exec(message) ?? [];
    if (variable !== undefined) variables[variable] = standInFor(variable, at, root);
    if (message.startsWith("All services are in profiles")) variables["COMPOSE_PROFILES"] = "*";
    const [, kind, file] = /^(.+) names (\S+), which is not a file here/.exec(message) ?? [];
    if (file === undefined || !/env_file|^secrets\./.test(kind ?? "")) continue;
    const name = resolve(dirname(path), file);
    if (!name.startsWith(root)) continue;
    await mkdir(dirname(name), { recursive: true });
    await writeFile(name, /env_file/.test(kind ?? "") ? "" : "stand-in");
  }
  return variables;
}

/** Checks the file as it is, or again with what it asks for. */
async function checkFile(path: string, root: string): Promise<readonly RemarkDocument[]> {
  const text = await readFile(path, "utf8");
  let problems = check(text, path, {});
  const env: Record<string, string> = {};
  // One that is filled in may lead to the next.
  for (let round = 0; values["filled-in"] && problems.length > 0 && round < 3; round++) {
    Object.assign(env, await fillIn(problems, { root, path }));
    problems = check(text, path, env);
  }
  return problems;
}

function check(text: string, path: string, env: Readonly<Record<string, string>>): readonly RemarkDocument[] {
  try {
    const fileName = basename(path);
    const options = {
      project: "public",
      envFiles: [],
      env: { HOME: "/home/nobody-at-all", PWD: dirname(path), ...env },
      sharedVolumes: values["shared-volumes"],
      buildRegistry: values["build-registry"],
    };
    const group = readGroupFile([{ text, fileName, path }], options);
    if (!group) return [{ file: fileName, line: 1, column: 1, message: "is no compose file" }];
    findGroupProblems(group, { prune: false, adopt: false, keep: false, mapPorts: true, execution: {} });
    return group.problems.problemDocuments;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return [{ file: path, line: 1, column: 1, message: error.message }];
  }
}

/** Such as `services.*.security_opt`; the field for what the schema refuses. */
function keyOf({ message }: RemarkDocument): string {
  if (message.includes("uses the variable") || message.includes("needs the variable")) return "(unset variable)";
  const [, section = "", key] =
    /^(services|networks|volumes|configs|secrets)\.[^\s.[]+(?:\.([\w-]+))?/.exec(message) ?? [];
  const [, field] = /^services\.[^\s]+: `(\w+)/.exec(message) ?? [];
  if (section === "") return message.split(" ").slice(0, 4).join(" ");
  return `${section}.*${key === undefined ? "" : `.${key}`}${field === undefined ? "" : `: ${field}`}`;
}

async function tryList(list: string, cache: string): Promise<void> {
  const verdicts: Verdict[] = [];
  const missing: PublicFile[] = [];
  for (const file of await readList(list)) {
    const into = join(cache, "work", "tree");
    try {
      const path = await extract(
        file,
        await fetchRepository(file, join(cache, "repositories"), values.repositories),
        into,
      );
      verdicts.push({ file, problems: await checkFile(path, into) });
    } catch (error) {
      missing.push(file);
      if (values.verbose) console.error(`${file.repository} ${file.path}: ${String(error)}`);
    }
    await rm(join(cache, "work"), { recursive: true, force: true });
  }
  const accepted = verdicts.filter(({ problems }) => problems.length === 0);
  console.log(
    `${basename(list)}: ${accepted.length} of ${verdicts.length} files can be applied as written; ${missing.length} could not be had.`,
  );
  printKeys(verdicts);
  if (!values.verbose) return;
  for (const { file, problems } of verdicts.filter(({ problems }) => problems.length > 0)) {
    console.log(`\n${file.repository} ${file.path}`);
    for (const { line, message } of problems) console.log(`  ${line}: ${message}`);
  }
}

function printKeys(verdicts: readonly Verdict[]): void {
  const byKey = new Map<string, number>();
  const alone = new Map<string, number>();
  for (const { problems } of verdicts) {
    const keys = new Set(problems.map(keyOf));
    for (const key of keys) byKey.set(key, (byKey.get(key) ?? 0) + 1);
    const [only] = keys;
    if (keys.size === 1 && only !== undefined) alone.set(only, (alone.get(only) ?? 0) + 1);
  }
  console.log("\n| files | of these, nothing else is refused | key |\n| --- | --- | --- |");
  for (const [key, count] of [...byKey].toSorted(([, one], [, other]) => other - one))
    console.log(`| ${count} | ${alone.get(key) ?? 0} | ${key} |`);
}

const cache = await mkdtemp(join(tmpdir(), "compose-files-"));
try {
  for (const list of values.list) await tryList(list, cache);
} finally {
  await rm(cache, { recursive: true, force: true });
}
