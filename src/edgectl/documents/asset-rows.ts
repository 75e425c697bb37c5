import { CsvError, parse } from "csv-parse/sync";
import type { z } from "zod";
import { assetRegistrationRowSchema } from "../../protocol/assets/bulk.ts";
import { listIssues } from "../../protocol/errors/request-error.ts";
import { type Tags, tagsSchema } from "../../protocol/fleets/tags.ts";
import { JSON_LIMITS } from "../../protocol/values/bounded-json.ts";
import { closestName } from "../../protocol/values/closest-name.ts";
import { IN_WORDS } from "../../protocol/values/issue-words.ts";
import { usageFailure } from "../failure.ts";
import { loadDocument } from "./load.ts";
import { type Place, placeOf, toJson, valueOf } from "./node.ts";
import { Problems } from "./problems.ts";

/** An asset to register, and the tags that it gets then. */
export interface NewAsset {
  readonly registration: z.output<typeof assetRegistrationRowSchema>;
  readonly tags: Tags;
}

/** A row as it is written. */
interface WrittenRow {
  readonly value: unknown;
  /** @param path of a field, such as `["supersim", "iccid"]` */
  readonly placeOf: (path: readonly string[]) => Place;
}

/** Columns of a CSV file: the fields of a registration, and the tags. */
const COLUMNS = [
  "serial_number",
  "name",
  "type",
  "tags",
  "supersim.sid",
  "supersim.iccid",
  "supersim.network_group",
  "prosim.imsi",
  "prosim.iccid",
  "prosim.service_profile",
];

/** Rows of one file. */
const MAX_ROWS = 10_000;

/** Longest row of a CSV file, in characters. */
const MAX_ROW_LENGTH = 16 * 1024;

/**
 * Reads assets to register from a CSV file with a header, or from a list in JSON or YAML, which may be `assets` of an object as in the
 * API. Throws a failure with everything that is wrong with the file, by line: exit code 2.
 *
 * @param fileName as the command names it; what ends with `.csv` is CSV
 */
export function readAssetRows(text: string, fileName: string): NewAsset[] {
  if (Buffer.byteLength(text) > JSON_LIMITS.file.maxBytes)
    throw usageFailure(`${fileName} is larger than 1 MiB.`, "Split it into several files.");
  const problems = new Problems(fileName);
  const rows = isCsv(text, fileName) ? csvRows(text, problems) : documentRows(text, problems);
  if (rows.length > MAX_ROWS)
    throw usageFailure(`${fileName} has more than ${MAX_ROWS} assets.`, "Split it into several files.");
  const assets = rows.flatMap((row) => check(row, problems) ?? []);
  problems.throwIfAny();
  if (assets.length === 0) throw usageFailure(`${fileName} has no assets.`);
  return assets;
}

/** On standard input, and under any other name, the header tells: JSON and YAML have a colon where they name a field. */
function isCsv(text: string, fileName: string): boolean {
  if (fileName.toLowerCase().endsWith(".csv")) return true;
  const header = headerOf(text);
  return !header.includes(":") && /\bserial_number\b/.test(header);
}

/** The first line that is not empty. */
function headerOf(text: string): string {
  return /\S.*/.exec(text)?.[0] ?? "";
}

function check({ value, placeOf: place }: WrittenRow, problems: Problems): NewAsset | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    problems.add(place([]), "is no asset.", "Write one such as {serial_number: GW-0001}.");
    return undefined;
  }
  const { tags: written = {}, ...fields } = value as { readonly tags?: unknown };
  const registration = assetRegistrationRowSchema.safeParse(fields, IN_WORDS);
  const tags = tagsSchema.safeParse(written, IN_WORDS);
  const add = (path: string, reason: string): void =>
    problems.add(place(path.split(".")), path === "" ? `${reason}.` : `\`${path}\` ${reason}.`);
  if (!registration.success)
    for (const { path, reason } of listIssues(registration.error, assetRegistrationRowSchema)) add(path, reason);
  if (!tags.success)
    for (const { path, reason } of listIssues(tags.error, tagsSchema))
      add(path === "" ? "tags" : `tags.${path}`, reason);
  return registration.success && tags.success ? { registration: registration.data, tags: tags.data } : undefined;
}

function documentRows(text: string, problems: Problems): WrittenRow[] {
  const document = loadDocument(text, problems);
  if (!document) return [];
  const others = document.kind === "map" ? document.entries.filter(({ key }) => key !== "assets") : [];
  for (const { key, place } of others) problems.add(place, `\`${key}\` is not known here: only \`assets\` is.`);
  const list = valueOf(document, "assets") ?? document;
  if (list.kind === "list")
    return list.items.map((item) => ({ value: toJson(item), placeOf: (path) => placeOf(item, path) }));
  if (others.length === 0) problems.add(list.place, "must be a list of assets.");
  return [];
}

interface CsvRow {
  readonly record: readonly string[];
  /** `lines`: number of the line on which the row ends, from 1. */
  readonly info: { readonly lines: number };
}

function csvRows(text: string, problems: Problems): WrittenRow[] {
  const header = headerOf(text);
  let rows: CsvRow[];
  try {
    rows = parse(text, {
      bom: true,
      info: true,
      trim: true,
      skip_empty_lines: true,
      skip_records_with_empty_values: true,
      relax_column_count: true,
      max_record_size: MAX_ROW_LENGTH,
      // The header, and one row too many.
      to: MAX_ROWS + 2,
      // What spreadsheets write where the comma is the decimal point.
      delimiter: header.includes(";") && !header.includes(",") ? ";" : ",",
    }) as unknown as CsvRow[];
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    problems.add({ line: Number(error["lines"] ?? 1), column: 1 }, `${error.message}.`);
    return [];
  }
  const [first, ...others] = rows;
  if (!first || !checkHeader(first, problems)) return [];
  return others.flatMap((row) => readRow(first.record, row, problems) ?? []);
}

/** Whether the columns are known, `serial_number` among them, each once. */
function checkHeader({ record, info: { lines: line } }: CsvRow, problems: Problems): boolean {
  const before = problems.count;
  if (record.length > COLUMNS.length) {
    problems.add({ line, column: 1 }, `There are ${record.length} columns.`, `Columns are ${COLUMNS.join(", ")}.`);
    return false;
  }
  for (const [index, name] of record.entries()) {
    const place = { line, column: index + 1 };
    if (record.indexOf(name) < index) problems.add(place, `The column ${name} is there twice.`);
    if (COLUMNS.includes(name)) continue;
    const close = closestName(name, COLUMNS);
    problems.add(
      place,
      `"${name.slice(0, 40)}" is no column.`,
      close === undefined ? `Columns are ${COLUMNS.join(", ")}.` : `Did you mean ${close}?`,
    );
  }
  if (!record.includes("serial_number")) problems.add({ line, column: 1 }, "There is no column serial_number.");
  return problems.count === before;
}

/** Reads a row. An empty cell is a field that is not given. */
function readRow(names: readonly string[], { record, info }: CsvRow, problems: Problems): WrittenRow | undefined {
  const line = info.lines;
  if (record.slice(names.length).some((cell) => cell !== "")) {
    problems.add(
      { line, column: names.length + 1 },
      `The row has more cells than the header, which has ${names.length}.`,
    );
    return undefined;
  }
  const value: Record<string, unknown> = {};
  for (const [index, name] of names.entries()) {
    const cell = record[index] ?? "";
    if (cell === "") continue;
    const [field = "", part] = name.split(".");
    if (part !== undefined) value[field] = { ...(value[field] as object | undefined), [part]: cell };
    else if (field === "tags") value[field] = tagsOf(cell, { line, column: index + 1 }, problems);
    else value[field] = cell;
  }
  const columnOf = (path: readonly string[]): number =>
    Math.max(0, names.indexOf(path.join(".")), path[0] === "tags" ? names.indexOf("tags") : 0) + 1;
  return { value, placeOf: (path) => ({ line, column: columnOf(path) }) };
}

/** Reads `role=kiosk region=north`. */
function tagsOf(cell: string, place: Place, problems: Problems): Record<string, string> {
  const tags = new Map<string, string>();
  for (const text of cell.split(/\s+/)) {
    const equals = text.indexOf("=");
    const key = text.slice(0, equals);
    if (equals === -1)
      problems.add(place, `"${text.slice(0, 40)}" is no tag.`, "Write KEY=VALUE, with spaces between tags.");
    else if (tags.has(key)) problems.add(place, `The tag ${key.slice(0, 40)} is given twice.`);
    else tags.set(key, text.slice(equals + 1));
  }
  return Object.fromEntries(tags);
}
