import type { Problems, RemarkDocument } from "../documents/problems.ts";
import { EXIT, SilentExit } from "../failure.ts";
import type { Draft } from "../group/draft.ts";
import type { GroupFile } from "../group-file/read-group.ts";
import type { Printer } from "../printer.ts";
import { findGroupProblems } from "./apply-group.ts";

/** Says everything that is wrong with a file that was read. Throws `SilentExit` if it cannot be applied. */
export function checkCompose(group: GroupFile, printer: Printer, mapPorts: boolean): void {
  findGroupProblems(group, { prune: false, adopt: false, keep: false, mapPorts, execution: {} });
  printer.result(documentOf(group.draft, group.problems), () => render(group.draft, group.problems));
  if (group.problems.count > 0) throw new SilentExit(EXIT.usage);
}

function documentOf({ project, apps }: Draft, problems: Problems): object {
  return {
    ok: problems.count === 0,
    project,
    apps: apps.map(({ name }) => name),
    problems: problems.problemDocuments,
    notes: problems.noteDocuments,
  };
}

/** One remark on a line, as compilers write them. */
function render({ project, apps }: Draft, problems: Problems): string {
  const count = problems.count;
  const verdict =
    count === 0
      ? `The project ${project} can be applied: ${counted(apps.length, "app")}.`
      : `The project ${project} cannot be applied: ${counted(count, "problem")}.`;
  return [...problems.problemDocuments.map(line("error")), ...problems.noteDocuments.map(line("note")), verdict].join(
    "\n",
  );
}

const line = (kind: string) => (remark: RemarkDocument) =>
  `${remark.file}:${remark.line}:${remark.column}: ${kind}: ${remark.message}`;

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
