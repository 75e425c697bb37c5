import { type ApplyRequestInput, applyRequestSchema, MAX_APPLY_BYTES } from "../../protocol/apps/apply.ts";
import { IN_WORDS } from "../../protocol/values/issue-words.ts";
import { moveContents } from "../documents/move-contents.ts";
import { listIssues } from "../../protocol/errors/request-error.ts";
import type { Place } from "../documents/node.ts";
import type { Problems } from "../documents/problems.ts";
import type { WrittenGroup, WrittenApp } from "./written-group.ts";
import type { MappedPort } from "./map-ports.ts";

/** What the command line says about the group. */
export interface GroupFlags {
  readonly prune: boolean;
  readonly adopt: boolean;
  readonly keep: boolean;
}

export type GroupRequest = Readonly<Record<string, unknown>>;

/** Characters of an app's name. */
const MAX_NAME_LENGTH = 63;

const START: Place = { line: 1, column: 1 };

/** Builds the request's body. */
export function buildGroupRequest(
  written: WrittenGroup,
  ports: readonly MappedPort[],
  { prune, adopt, keep }: GroupFlags,
  execution: Readonly<Record<string, unknown>>,
): GroupRequest {
  return {
    project: written.project,
    apps: written.apps.map((app) => ({ app: appOf(app, ports), depends_on: dependenciesOf(app) })),
    ...(prune && { prune }),
    ...(adopt && { adopt }),
    ...(keep && { on_failure: "keep" }),
    ...written.options,
    ...execution,
  };
}

/** Adds a problem, by line, for everything that the schema refuses. */
export function checkGroupRequest(whole: GroupRequest, written: WrittenGroup, problems: Problems): void {
  const request = moveContents(whole).body;
  // A service that was refused may lack its image, and a file its apps, which is no problem of its own.
  const isComplete = problems.count === 0;
  const isKnown = (path: string): boolean => {
    const [, index] = /^apps\[(\d+)\]\.app\.image$/.exec(path) ?? [];
    return path === "apps" || (index !== undefined && written.apps[Number(index)]?.fields["image"] === undefined);
  };
  const parsed = applyRequestSchema.safeParse(request, IN_WORDS);
  if (!parsed.success) {
    for (const { path, reason } of listIssues(parsed.error, applyRequestSchema)) {
      if (isComplete || !isKnown(path)) addIssue(written, path, reason, problems);
    }
  }
  if (Buffer.byteLength(JSON.stringify(request)) > MAX_APPLY_BYTES) {
    problems.add(
      START,
      `The apps, with their secrets and small files, are larger than ${MAX_APPLY_BYTES / 1024} KiB together.`,
    );
  }
}

function appOf(app: WrittenApp, mapped: readonly MappedPort[]): object {
  const ports = mapped.filter(({ port }) => app.ports.includes(port)).map(portOf);
  return { name: app.name, ...app.fields, ...(ports.length > 0 && { ports }) };
}

function portOf({ port: { targetPort, protocol, hostAddress }, hostPort }: MappedPort): object {
  return {
    host_port: hostPort,
    target_port: targetPort,
    ...(protocol === "udp" && { protocol }),
    ...(hostAddress !== undefined && { host_address: hostAddress }),
  };
}

function dependenciesOf({ dependsOn }: WrittenApp): ApplyRequestInput["apps"][number]["depends_on"] {
  return dependsOn.map(({ app, condition }) => ({ app, condition }));
}

/** Finds the line of an issue. Its path is that of the request, such as `apps[1].app.ports[0].host_port`. */
function addIssue(written: WrittenGroup, path: string, reason: string, problems: Problems): void {
  const parts = [...path.matchAll(/[^.[\]]+/g)].map(([part]) => (/^\d+$/.test(part) ? Number(part) : part));
  const [list, index, kind, ...rest] = parts;
  const app = list === "apps" && typeof index === "number" ? written.apps[index] : undefined;
  if (!app) {
    problems.add(START, path === "" ? reason : `\`${path}\` ${reason}`);
    return;
  }
  if (kind === "depends_on") {
    const place = app.dependsOn[Number(rest[0] ?? 0)]?.place ?? app.place;
    problems.add(place, `${app.path}: ${reason}.`);
    return;
  }
  const field = path.replace(/^apps\[\d+\]\.app\.?/, "");
  if (field === "name" && app.isService) {
    const name = `${app.path}: its app would be called ${app.name}`;
    if (app.name.length <= MAX_NAME_LENGTH) problems.add(app.place, `${name}: ${reason}.`, "Rename the service.");
    else {
      const length = `with ${app.name.length} characters: a name ${reason}.`;
      problems.add(app.place, `${name}, ${length}`, "Choose a shorter name of the project (`name`, or --project).");
    }
    return;
  }
  const port = rest[0] === "ports" && typeof rest[1] === "number" ? app.ports[rest[1]] : undefined;
  problems.add(port?.place ?? app.placeOf(rest), `${app.path}: \`${field}\` ${reason}.`);
}
