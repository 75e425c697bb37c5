import type { z } from "zod";
import { listIssues } from "../../protocol/request-error.ts";
import { type DocumentNode, placeOf, valueOf } from "../documents/node.ts";
import type { Problems } from "../documents/problems.ts";
import type { Draft } from "../group/draft.ts";

/** The file whose fields were checked. */
interface CheckedFile {
  readonly document: DocumentNode;
  readonly draft: Draft;
  readonly problems: Problems;
}

/** Fields of the request that the file calls otherwise. */
const NAMES: Readonly<Record<string, string>> = { name: "fleet" };

/** Adds a problem, by line, for everything that the schema refuses. */
export function addIssues(file: CheckedFile, parsed: z.ZodSafeParseResult<unknown>, schema: z.ZodType): void {
  if (parsed.success) return;
  for (const { path, reason } of listIssues(parsed.error, schema)) addIssue(file, path, reason);
}

/** @param path in the request, such as `apps[1].app.ports[0].host_port` or `strategy.waves[0].limit` */
function addIssue({ document, draft, problems }: CheckedFile, path: string, reason: string): void {
  const parts = [...path.matchAll(/[^.[\]]+/g)].map(([part]) => (/^\d+$/.test(part) ? Number(part) : part));
  const [first = "", index, kind, ...rest] = parts;
  if (first === "apps" && typeof index === "number") {
    const app = draft.apps[index];
    if (!app) {
      const absent = valueOf(document, "absent");
      const place = absent ? placeOf(absent, [index - draft.apps.length]) : document.place;
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
