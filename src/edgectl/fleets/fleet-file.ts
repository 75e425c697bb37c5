import { dirname } from "node:path";
import type { z } from "zod";
import { fleetCreationSchema } from "../../protocol/fleet.ts";
import { IN_WORDS } from "../../protocol/issue-words.ts";
import { revisionRequestSchema } from "../../protocol/revision.ts";
import { formatSelector, parseSelector } from "../../protocol/selector.ts";
import { loadDocument } from "../documents/load.ts";
import { localFiles } from "../documents/local-files.ts";
import { type DocumentNode, toJson } from "../documents/node.ts";
import { Problems } from "../documents/problems.ts";
import { Value } from "../documents/value.ts";
import { refuseUnknown } from "../compose/unknown.ts";
import { readEdgeFile } from "../group-file/edge-file.ts";
import { requirePorts } from "../group/map-ports.ts";
import { buildGroupRequest } from "../group/request.ts";
import type { Io } from "../io.ts";
import { addIssues } from "./file-issues.ts";
import { fillSecrets } from "./fill-secrets.ts";

const KNOWN = ["fleet", "selector", "strategy", "on_drift", "apps", "absent", "comment"];
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
  readonly comment: string | undefined;
  /** What does not prevent the file from being applied. */
  readonly notes: readonly string[];
}

export interface FleetFileOptions {
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
  if (!fields.has("apps") && !fields.has("absent")) root.refuse("The file has neither `apps` nor `absent`.");
  const local = localFiles(path === undefined ? process.cwd() : dirname(path));
  const draft = readEdgeFile(appsOf(document), { project: "fleet", path, local, problems });
  const request = buildGroupRequest(draft, requirePorts(draft, problems), NO_FLAGS, {});
  const apps = fillSecrets(request["apps"] as readonly RevisionApp[], env, draft, problems);
  const absent = fields.get("absent")?.textOrTexts() ?? [];
  const comment = fields.get("comment")?.text();
  const selector = fields.get("selector")?.text();
  const strategy = fields.get("strategy");
  const onDrift = fields.get("on_drift")?.text();
  const fleet = {
    name,
    selector,
    apps: [...apps.map(({ app }) => app.name), ...absent],
    ...(onDrift !== undefined && { on_drift: onDrift }),
    ...(strategy && !strategy.isNull && { strategy: toJson(strategy.node) }),
  };
  const revision = {
    apps: [...apps, ...absent.map((each) => ({ name: each, absent: true }))],
    ...(comment !== undefined && { comment }),
  };
  const parsed = fleetCreationSchema.safeParse(fleet, IN_WORDS);
  addIssues({ document, draft, problems }, parsed, fleetCreationSchema);
  addIssues({ document, draft, problems }, revisionRequestSchema.safeParse(revision, IN_WORDS), revisionRequestSchema);
  problems.throwIfAny();
  if (!parsed.success) throw new Error("a file without problems was not accepted");
  return { fleet: canonical(parsed.data), apps, absent, comment, notes: problems.notes };
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
