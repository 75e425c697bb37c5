import { type Problems, ProblemsFailure, type RemarkDocument } from "../documents/problems.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { EXIT, SilentExit } from "../failure.ts";
import { noteForDevices } from "../group/device-notes.ts";
import type { WrittenGroup } from "../group/written-group.ts";
import type { GroupFile } from "../group-file/read-group.ts";
import type { Printer } from "../printer.ts";
import { findGroupProblems } from "./apply-group.ts";

/** Says everything that is wrong with a file. Throws `SilentExit` if it cannot be applied. */
export function checkCompose(read: () => GroupFile, printer: Printer, mapPorts: boolean): void {
  const { written, problems } = findProblems(read, mapPorts);
  printer.result(documentOf(written, problems), () => render(written, problems));
  if (problems.count > 0) throw new SilentExit(EXIT.usage);
}

interface Checked {
  /** `undefined` for a file that is no YAML, or more of it than is accepted. */
  readonly written: WrittenGroup | undefined;
  readonly problems: Problems;
}

function findProblems(read: () => GroupFile, mapPorts: boolean): Checked {
  try {
    const group = read();
    findGroupProblems(group, { prune: false, adopt: false, keep: false, mapPorts, execution: {} });
    if (group.problems.count === 0) noteForDevices(group.written, group.problems);
    return group;
  } catch (error) {
    if (error instanceof ProblemsFailure) return { written: undefined, problems: error.problems };
    throw error;
  }
}

function documentOf(written: WrittenGroup | undefined, problems: Problems): object {
  return {
    ok: problems.count === 0,
    project: written?.project ?? null,
    apps: written?.apps.map(({ name }) => name) ?? [],
    problems: problems.problemDocuments,
    notes: problems.noteDocuments,
  };
}

/** One remark on a line, as compilers write them. Names in the file may have line breaks. */
function render(written: WrittenGroup | undefined, problems: Problems): string {
  const count = problems.count;
  const name = written ? `The project ${written.project}` : problems.fileName;
  const verdict =
    count === 0
      ? `${name} can be applied: ${counted(written?.apps.length ?? 0, "app")}.`
      : `${name} cannot be applied: ${counted(count, "problem")}.`;
  return [...problems.problemDocuments.map(line("error")), ...problems.noteDocuments.map(line("note")), verdict].join(
    "\n",
  );
}

const line = (kind: string) => (remark: RemarkDocument) =>
  sanitizeLine(`${remark.file}:${remark.line}:${remark.column}: ${kind}: ${remark.message}`);

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
