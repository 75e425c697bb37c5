import type { z } from "zod";
import { listIssues } from "../../protocol/errors/request-error.ts";
import { type DocumentNode, placeOf, toJson, valueOf } from "../documents/node.ts";
import { Problems } from "../documents/problems.ts";
import type { WrittenGroup } from "../group/written-group.ts";
import { MASK } from "../../lib/redact.ts";
import type { UploadSource } from "../documents/large-content.ts";
import { moveContents } from "../documents/move-contents.ts";
import type { Io } from "../io.ts";
import { dirname } from "node:path";
import { fleetCreationSchema } from "../../protocol/fleets/fleet.ts";
import { IN_WORDS } from "../../protocol/values/issue-words.ts";
import { revisionRequestSchema } from "../../protocol/fleets/revision.ts";
import { formatSelector, parseSelector } from "../../protocol/fleets/selector.ts";
import { loadDocument } from "../documents/load.ts";
import { localFiles } from "../documents/local-files.ts";
import { Value } from "../documents/value.ts";
import { refuseUnknown } from "../compose/unknown.ts";
import { readEdgeFile } from "../group-file/edge-file.ts";
import { requirePorts } from "../group/map-ports.ts";
import { buildGroupRequest } from "../group/request.ts";

/** The file whose fields were checked. */
interface CheckedFile {
  readonly document: DocumentNode;
  readonly written: WrittenGroup;
  readonly problems: Problems;
}

/** Fields of the request that the file calls otherwise. */
const NAMES: Readonly<Record<string, string>> = { name: "fleet" };

/** Adds a problem, by line, for everything that the schema refuses. */
function addIssues(file: CheckedFile, parsed: z.ZodSafeParseResult<unknown>, schema: z.ZodType): void {
  if (parsed.success) return;
  for (const { path, reason } of listIssues(parsed.error, schema)) addIssue(file, path, reason);
}

/** @param path in the request, such as `apps[1].app.ports[0].host_port` or `strategy.waves[0].limit` */
function addIssue({ document, written, problems }: CheckedFile, path: string, reason: string): void {
  const parts = [...path.matchAll(/[^.[\]]+/g)].map(([part]) => (/^\d+$/.test(part) ? Number(part) : part));
  const [first = "", index, kind, ...rest] = parts;
  if (first === "apps" && typeof index === "number") {
    const app = written.apps[index];
    if (!app) {
      const absent = valueOf(document, "absent");
      const place = absent ? placeOf(absent, [index - written.apps.length]) : document.place;
      problems.add(place, `\`absent\`: ${reason}.`);
      return;
    }
    if (kind !== "app" || rest.length === 0) {
      problems.add(app.place, `${app.path}: ${reason}.`);
      return;
    }
    const port = rest[0] === "ports" && typeof rest[1] === "number" ? app.ports[rest[1]] : undefined;
    const field = path.replace(/^apps\[\d+\]\.app\./, "");
    problems.add(port?.place ?? app.placeOf(rest), `${app.path}: \`${field}\` ${reason}.`);
    return;
  }
  const inFile = [NAMES[first] ?? first, ...parts.slice(1)];
  const name = path === "" ? "" : `\`${path.replace(/^name$/, "fleet")}\` `;
  problems.add(placeOf(document, inFile), `${name}${reason}.`);
}

interface Entry {
  readonly key?: unknown;
  readonly value?: unknown;
  readonly secret?: unknown;
}

/**
 * Gives each declared secret without a value that of the shell's variable of its name: a revision has the whole app. Adds a
 * problem for one that the shell does not have.
 */
function fillSecrets(
  apps: readonly RevisionApp[],
  env: Io["env"],
  written: WrittenGroup,
  problems: Problems,
): readonly RevisionApp[] {
  return apps.map((entry, index) => {
    const { environments } = entry.app;
    if (!Array.isArray(environments)) return entry;
    const filled = environments.map((each: unknown, position): unknown => {
      if (typeof each !== "object" || each === null) return each;
      const { key, value, secret }: Entry = each;
      if (typeof key !== "string") return each;
      const app = written.apps[index];
      const refuse = (problem: string, advice: string): void => {
        if (app) problems.add(app.placeOf(["environments", position]), `${app.path}: ${key} ${problem}`, advice);
      };
      if (value === MASK)
        refuse(`has the value "${MASK}", which stands for one that is not shown.`, "Write the value.");
      if (secret !== true || value !== undefined) return each;
      const given = env[key];
      if (given !== undefined) return Object.assign({ value: given }, each);
      refuse(
        "is a secret without a value.",
        `Set ${key} in this shell, or write \${NAME} for a variable of each asset.`,
      );
      // The schema has nothing to add.
      return Object.assign({ value: "" }, each);
    });
    return { ...entry, app: { ...entry.app, environments: filled } };
  });
}

const KNOWN = ["fleet", "selector", "strategy", "on_drift", "apps", "absent", "agent", "comment"];
const EXAMPLE = "It begins such as: fleet: kiosks";
const NO_FLAGS = { prune: false, adopt: false, keep: false };

type FleetCreation = z.output<typeof fleetCreationSchema>;

/** An app of a revision as it is sent. */
export interface RevisionApp {
  readonly app: Readonly<Record<string, unknown>> & { readonly name: string; readonly image?: unknown };
  readonly depends_on: readonly unknown[];
}

/** What a file says about a fleet. */
export interface FleetFile {
  /** With the selector in its canonical form, and all fields of the strategy. */
  readonly fleet: FleetCreation;
  readonly apps: readonly RevisionApp[];
  /** Names of the apps that are removed from devices. */
  readonly absent: readonly string[];
  /** The version that the agent must have at least. */
  readonly agentVersion: string | undefined;
  readonly comment: string | undefined;
  /** What its apps name and was packed here, by hash. */
  readonly uploads: ReadonlyMap<string, UploadSource>;
  /** What does not prevent the file from being applied. */
  readonly notes: readonly string[];
}

interface FleetFileOptions {
  /** As messages call it. */
  readonly fileName: string;
  /** `undefined` for standard input. */
  readonly path: string | undefined;
  readonly env: Io["env"];
}

/**
 * Reads the file of a fleet, whose `apps` are written as in a file of several apps. A secret without a value gets that of the
 * shell's variable of its name. Errors: exit code 2 with all problems by line; no message repeats a value.
 */
export function readFleetFile(text: string, { fileName, path, env }: FleetFileOptions): FleetFile {
  const problems = new Problems(fileName);
  const document = loadDocument(text, problems);
  problems.throwIfAny();
  if (!document) throw new Error("a document without problems was not read");
  const root = new Value(document, problems);
  if (document.kind !== "map") {
    root.refuse(root.isNull ? "The file is empty." : "The file is not a map of keys and values.", EXAMPLE);
    problems.throwIfAny();
  }
  const fields = root.fields();
  refuseUnknown(fields, KNOWN);
  const name = fields.get("fleet")?.text();
  if (!fields.has("fleet")) root.refuse("The file has no `fleet`, the name of the fleet.");
  const local = localFiles(path === undefined ? process.cwd() : dirname(path));
  const written = readEdgeFile(appsOf(document), { project: "fleet", path, local, problems });
  const request = buildGroupRequest(written, requirePorts(written, problems), NO_FLAGS, {});
  const apps = fillSecrets(request["apps"] as readonly RevisionApp[], env, written, problems);
  const absent = fields.get("absent")?.textOrTexts() ?? [];
  const comment = fields.get("comment")?.text();
  const selector = fields.get("selector")?.text();
  const strategy = fields.get("strategy");
  const onDrift = fields.get("on_drift")?.text();
  const agent = fields.get("agent");
  const fleet = {
    name,
    selector,
    apps: [...apps.map(({ app }) => app.name), ...absent],
    ...(onDrift !== undefined && { on_drift: onDrift }),
    ...(strategy && !strategy.isNull && { strategy: toJson(strategy.node) }),
  };
  const revision = {
    apps: [...apps, ...absent.map((each) => ({ name: each, absent: true }))],
    ...(agent && !agent.isNull && { agent: toJson(agent.node) }),
    ...(comment !== undefined && { comment }),
  };
  const parsed = fleetCreationSchema.safeParse(fleet, IN_WORDS);
  addIssues({ document, written, problems }, parsed, fleetCreationSchema);
  const checked = revisionRequestSchema.safeParse(moveContents(revision).body, IN_WORDS);
  addIssues({ document, written, problems }, checked, revisionRequestSchema);
  problems.throwIfAny();
  if (!parsed.success || !checked.success) throw new Error("a file without problems was not accepted");
  return {
    fleet: canonical(parsed.data),
    apps,
    absent,
    agentVersion: checked.data.agent?.version,
    comment,
    uploads: local.uploads,
    notes: problems.notes,
  };
}

/** The part of the file that a file of several apps has, too. */
function appsOf(document: DocumentNode): DocumentNode {
  if (document.kind !== "map") return document;
  const apps = document.entries.filter(({ key, value }) => key === "apps" && !isNothing(value));
  return { ...document, entries: apps };
}

/** `apps:` with nothing in it, beside `absent`. */
function isNothing(value: DocumentNode): boolean {
  return (value.kind === "scalar" && value.value === null) || (value.kind === "map" && value.entries.length === 0);
}

function canonical(fleet: FleetCreation): FleetCreation {
  const parsed = parseSelector(fleet.selector);
  return parsed.ok ? { ...fleet, selector: formatSelector(parsed.terms) } : fleet;
}
