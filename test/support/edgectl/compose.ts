import { posix } from "node:path";
import { contentOf } from "../../../src/edgectl/documents/file-content.ts";
import { readDirectoryArchive } from "../../../src/lib/directory-archive.ts";
import type { AppFile } from "../../../src/protocol/apps/app-files.ts";
import { convertCompose } from "../../../src/edgectl/compose/convert.ts";
import { loadDocument } from "../../../src/edgectl/documents/load.ts";
import type { LocalFiles } from "../../../src/edgectl/documents/local-files.ts";
import { Problems } from "../../../src/edgectl/documents/problems.ts";
import { Failure } from "../../../src/edgectl/failure.ts";
import type { WrittenGroup } from "../../../src/edgectl/group/written-group.ts";

interface ComposeInputs {
  /** Files beside the compose file, by path such as `conf/a.conf`. */
  readonly files?: Readonly<Record<string, string | Buffer>>;
  /** Permissions, where they are not `0o644`. */
  readonly modes?: Readonly<Record<string, number>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly profiles?: readonly string[];
  readonly sharedVolumes?: boolean;
  readonly buildRegistry?: string;
  /** As with `--project`; `gw` by default. */
  readonly project?: string | undefined;
  /** Compose files after the first, as further `-f`. */
  readonly others?: readonly string[];
}

interface Converted {
  readonly written: WrittenGroup | undefined;
  /**
   * The apps as JSON, by their services, with the ports as the file has them. The policy `no` is left out where the text has
   * no `restart`, and so is the network that an app of a service has by default.
   */
  readonly apps: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Without the name of the file, such as `3:5: services.web.build is not supported…`. */
  readonly problems: string[];
  readonly rawNotes: string[];
  /** Without the one about the default of `restart`. */
  readonly notes: string[];
}

/** Returns a request as JSON with the files of its directories in place of their packed contents. */
export function withListedDirectories(request: unknown): unknown {
  return JSON.parse(JSON.stringify(request), (_key, value: unknown) => {
    const isDirectory = typeof value === "object" && value !== null && "directory" in value && "target" in value;
    if (!isDirectory) return value;
    const entries = readDirectoryArchive(contentOf(value as AppFile)).map(
      ({ path, mode, content = new Uint8Array() }) => {
        return [path, `${mode.toString(8)} ${Buffer.from(content).toString("latin1")}`] as const;
      },
    );
    return { target: value.target, directory: Object.fromEntries(entries) };
  });
}

/** Converts a compose file in a directory that exists only in memory. */
export function convert(text: string, inputs: ComposeInputs = {}): Converted {
  const {
    files = {},
    modes = {},
    env = {},
    profiles = [],
    sharedVolumes = false,
    buildRegistry,
    others: more = [],
  } = inputs;
  const project = "project" in inputs ? inputs.project : "gw";
  const problems = new Problems("f");
  const others: Problems[] = [];
  const documents = [text, ...more].map((each, index) =>
    loadDocument(each, problems, index === 0 ? undefined : `f${index + 1}`),
  );
  const loaded = documents.filter((document) => document !== undefined);
  const written =
    loaded.length === documents.length
      ? convertCompose(loaded, {
          project,
          path: undefined,
          profiles,
          sharedVolumes,
          buildRegistry,
          lookup: (name) => env[name],
          local: memoryFiles(files, modes),
          problems,
          problemsOf: (name) => {
            const other = new Problems(name);
            others.push(other);
            return other;
          },
        })
      : undefined;
  for (const other of others) problems.include(other);
  return {
    written,
    apps: Object.fromEntries(
      written?.apps.map((app) => [app.name, appOf(app, text.includes("restart"), written.project)]) ?? [],
    ),
    problems: problemsOf(problems).map((line) => line.replace(/^f:/, "")),
    rawNotes: problems.notes.map((line) => line.replace(/^f:/, "")),
    notes: problems.notes.filter((note) => !NOT_RESTARTED.test(note)).map((line) => line.replace(/^f:/, "")),
  };
}

/** Converts one service `web` with these lines. @param rest lines after the service, such as other sections */
export function convertWeb(lines: string, rest = "", inputs: ComposeInputs = {}): Converted {
  const indented = lines
    .split("\n")
    .map((line) => `    ${line}`)
    .join("\n");
  return convert(`services:\n  web:\n    image: web:1\n${indented}\n${rest}`, inputs);
}

/** A list of variables as the API has it. */
export function variables(values: Readonly<Record<string, string>>): object[] {
  return Object.entries(values).map(([key, value]) => ({ key, value }));
}

/** The note about services without `restart`. */
const NOT_RESTARTED = /have no `restart`/;

function appOf(
  { fields, ports, dependsOn }: WrittenGroup["apps"][number],
  hasRestart: boolean,
  project: string,
): Record<string, unknown> {
  const { restart_policy: restart, networks, ...others } = fields;
  return {
    ...others,
    ...(networks !== undefined && JSON.stringify(networks) !== JSON.stringify([`${project}_default`]) && { networks }),
    ...(restart !== undefined && (hasRestart || restart !== "no") && { restart_policy: restart }),
    ...(ports.length > 0 && {
      ports: ports.map(({ hostPort, targetPort, protocol, hostAddress }) => {
        return `${hostAddress === undefined ? "" : `${hostAddress}:`}${hostPort ?? ""}:${targetPort}/${protocol}`;
      }),
    }),
    ...(dependsOn.length > 0 && {
      depends_on: Object.fromEntries(dependsOn.map(({ app, condition }) => [app, condition])),
    }),
  };
}

/** Returns the lines of the problems. */
export function problemsOf(problems: Problems): string[] {
  try {
    problems.throwIfAny();
    return [];
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return error.details?.["problems"] as string[];
  }
}

function memoryFiles(
  files: Readonly<Record<string, string | Buffer>>,
  modes: Readonly<Record<string, number>>,
): LocalFiles {
  const contentOf = (name: string): Buffer => Buffer.from(files[pathOf(name)] ?? "");
  return {
    fromHere: (path) => posix.relative("/home/project", path),
    kindOf(name) {
      if (files[pathOf(name)] !== undefined) return "file";
      return Object.keys(files).some((path) => isIn(pathOf(name), path)) ? "directory" : "missing";
    },
    isInside: (name) => !pathOf(name).startsWith("..") && !name.startsWith("/"),
    sizeOf: (name) => contentOf(name).length,
    modeOf: (name) => modes[pathOf(name)] ?? 0o644,
    ownerOf: () => "1000:1001",
    read: contentOf,
    readChunks: (name, bytes) => [contentOf(name).subarray(0, bytes)],
    uploads: new Map(),
    list(name) {
      const directory = pathOf(name);
      const inside = Object.keys(files).filter((path) => isIn(directory, path));
      const names = inside.map((path) => posix.relative(directory, path).split("/")[0] ?? "");
      return [...new Set(names)].toSorted().map((entry) => posix.join(directory, entry));
    },
  };
}

function pathOf(name: string): string {
  return posix.normalize(name).replace(/\/$/, "");
}

function isIn(directory: string, path: string): boolean {
  return directory === "." || path.startsWith(`${directory}/`);
}
