import { EXIT, Failure, type FailureOptions } from "../failure.ts";
import { MIN_SECRET_LENGTH } from "../../protocol/apps/secret-texts.ts";
import type { Place } from "./node.ts";

/** Problems that are listed. More are counted. */
const MAX_LISTED = 100;

interface Remark {
  readonly fileName: string;
  readonly place: Place;
  readonly text: string;
}

/** A remark for programs, such as an editor. */
export interface RemarkDocument {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** The failure of a file with problems. */
export class ProblemsFailure extends Failure {
  readonly problems: Problems;

  constructor(problems: Problems, message: string, options: FailureOptions) {
    super(message, options);
    this.problems = problems;
  }
}

/** Collects what is wrong with a file, so that everything is reported at once and by line. */
export class Problems {
  /** As messages call it. */
  readonly fileName: string;
  readonly #problems = new Map<string, Remark>();
  readonly #notes = new Map<string, Remark>();
  readonly #hidden = new Map<string, string>();

  constructor(fileName: string) {
    this.fileName = fileName;
  }

  get count(): number {
    return this.#problems.size;
  }

  /** @param advice what to use instead */
  add(place: Place, problem: string, advice?: string): void {
    const text = advice === undefined ? problem : `${problem} ${advice}`;
    this.#keep(this.#problems, place, text);
  }

  /** Adds what was found in a file that this one names. */
  include(other: Problems): void {
    for (const [line, remark] of other.#problems) this.#problems.set(line, remark);
    for (const [line, remark] of other.#notes) this.#notes.set(line, remark);
  }

  /** Keeps a text out of everything that is reported, whenever it was added. @param shown in its place */
  hide(text: string, shown: string): void {
    if (text.length >= MIN_SECRET_LENGTH) this.#hidden.set(text, shown);
  }

  /** Adds something that does not prevent the file from being applied. */
  note(place: Place, text: string): void {
    this.#keep(this.#notes, place, text);
  }

  /** The notes in the order of the file, such as `compose.yaml:1:1: …`. */
  get notes(): string[] {
    return this.#inOrder(this.#notes);
  }

  /** The problems in the order of the file, for programs. */
  get problemDocuments(): RemarkDocument[] {
    return this.#shown(this.#problems).map(documentOf);
  }

  /** The notes, for programs. */
  get noteDocuments(): RemarkDocument[] {
    return this.#shown(this.#notes).map(documentOf);
  }

  /** Throws a failure with all problems. Exit code 2. */
  throwIfAny(): void {
    if (this.count === 0) return;
    const lines = this.#inOrder(this.#problems);
    const more = lines.length - MAX_LISTED;
    const problems = more > 0 ? [...lines.slice(0, MAX_LISTED), `… and ${more} more`] : lines;
    const counted = this.count === 1 ? "1 problem" : `${this.count} problems`;
    throw new ProblemsFailure(this, `${this.fileName} cannot be used: ${counted}. Nothing was sent.`, {
      exitCode: EXIT.usage,
      details: { problems },
    });
  }

  #keep(remarks: Map<string, Remark>, place: Place, text: string): void {
    const remark = { fileName: place.file ?? this.fileName, place, text };
    remarks.set(lineOf(remark), remark);
  }

  /** By file, this one first, then by line. */
  #sorted(remarks: ReadonlyMap<string, Remark>): Remark[] {
    const rank = ({ fileName }: Remark): string => (fileName === this.fileName ? "" : fileName);
    return [...remarks.values()].toSorted((one, other) => {
      if (rank(one) !== rank(other)) return rank(one) < rank(other) ? -1 : 1;
      return one.place.line - other.place.line || one.place.column - other.place.column;
    });
  }

  #inOrder(remarks: ReadonlyMap<string, Remark>): string[] {
    return this.#shown(remarks).map(lineOf);
  }

  /** In order, without what is hidden. Of two hidden texts, one may be a part of the other. */
  #shown(remarks: ReadonlyMap<string, Remark>): Remark[] {
    const hidden = [...this.#hidden].toSorted(([one], [other]) => other.length - one.length);
    const withoutHidden = (text: string): string =>
      hidden.reduce((shortened, [secret, shown]) => shortened.replaceAll(secret, () => shown), text);
    return this.#sorted(remarks).map(({ fileName, place, text }) => ({ fileName, place, text: withoutHidden(text) }));
  }
}

function documentOf({ fileName, place: { line, column }, text }: Remark): RemarkDocument {
  return { file: fileName, line, column, message: text };
}

function lineOf({ fileName, place, text }: Remark): string {
  return `${fileName}:${place.line}:${place.column}: ${text}`;
}
