import type { Readable } from "node:stream";
import { pipeline } from "node:stream";
import { CsvError, parse } from "csv-parse";
import { z } from "zod";
import { integerString, MAX_UNIX_SECONDS } from "../../protocol/values/scalars.ts";
import { IN_WORDS } from "../../protocol/values/issue-words.ts";
import { listIssues } from "../../protocol/errors/request-error.ts";
import { iccidSchema, networkGroupSchema } from "../../protocol/assets/sim.ts";
import { MAX_RECORD_BYTES, type UsageRecord } from "../store/usage.ts";

/** The columns of a usage file, in order. */
export const COLUMNS = ["iccid", "network_group_or_service_profile", "start_time", "end_time", "bytes"] as const;

const MAX_LINE_LENGTH = 1024;
const NEWLINE = 0x0a;

const lineSchema = z
  .object({
    iccid: iccidSchema,
    // Service profiles have the same syntax as network groups.
    network_group_or_service_profile: networkGroupSchema,
    start_time: integerString(0, MAX_UNIX_SECONDS),
    end_time: integerString(0, MAX_UNIX_SECONDS),
    bytes: integerString(0, MAX_RECORD_BYTES),
  })
  .refine((line) => line.start_time < line.end_time, { path: ["start_time"], message: "must be before end_time" });

/** How far a period that is under way may reach beyond now, in seconds: a month, the longest that operators count by. */
const MAX_UNDER_WAY_S = 31 * 24 * 3600;

/** What a line says, with the number of the line on which it ends, from 1. */
export type ReadLine =
  | { readonly line: number; readonly record: UsageRecord }
  | { readonly line: number; readonly problem: string };

/** Lines are not valid. They are numbered from 1. */
export class BadLineError extends Error {
  /** The first of them. */
  readonly line: number;

  constructor(line: number, reason: string, others: readonly string[] = []) {
    super([`line ${line}: ${reason}`, ...others].join("\n"));
    this.name = "BadLineError";
    this.line = line;
  }
}

/**
 * Reads usage records from CSV (RFC 4180, UTF-8, a header line), one at a time. Throws `BadLineError` for a line after which
 * nothing can be read, such as an unclosed quote, and the source's errors.
 *
 * @param now Unix seconds
 */
export async function* readRecords(source: Readable, now: number): AsyncGenerator<ReadLine> {
  const parser = parse({
    bom: true,
    info: true,
    trim: true,
    skip_empty_lines: true,
    relax_column_count: true,
    max_record_size: MAX_LINE_LENGTH,
  });
  // `pipeline` forwards errors of the source to the parser, and so to the loop below.
  pipeline(source, shortLines, parser, () => {});
  let isHeader = true;
  try {
    for await (const row of parser) {
      const { record: cells, info } = row as { record: string[]; info: { lines: number } };
      if (isHeader) checkHeader(cells, info.lines);
      else yield { line: info.lines, ...readLine(cells, now) };
      isHeader = false;
    }
  } catch (error) {
    if (error instanceof CsvError) throw new BadLineError(Number(error["lines"] ?? 1), error.message);
    throw error;
  }
  if (isHeader) throw new BadLineError(1, `the header is missing; expected ${COLUMNS.join(",")}`);
}

/** Passes lines on up to the longest. The parser's own bound counts no empty cells, of which a line may have millions. */
async function* shortLines(source: AsyncIterable<Buffer | string>): AsyncGenerator<Buffer> {
  let line = 1;
  let length = 0;
  for await (const chunk of source) {
    const bytes = Buffer.from(chunk);
    for (let start = 0; start < bytes.length;) {
      const newline = bytes.indexOf(NEWLINE, start);
      const end = newline === -1 ? bytes.length : newline;
      length += end - start;
      if (length > MAX_LINE_LENGTH) throw new BadLineError(line, `longer than ${MAX_LINE_LENGTH} bytes`);
      start = end + 1;
      if (newline === -1) break;
      line++;
      length = 0;
    }
    yield bytes;
  }
}

function checkHeader(cells: readonly string[], line: number): void {
  if (cells.join(",") !== COLUMNS.join(",")) {
    throw new BadLineError(line, `the header must be ${COLUMNS.join(",")}`);
  }
}

function readLine(cells: readonly string[], now: number) {
  // The parser counts cells against the header only where it may go on: this one has to name all lines.
  if (cells.length !== COLUMNS.length) return { problem: `${cells.length} values in place of ${COLUMNS.length}` };
  const result = lineSchema.safeParse(
    Object.fromEntries(COLUMNS.map((column, index) => [column, cells[index]])),
    IN_WORDS,
  );
  if (!result.success) {
    const reasons = listIssues(result.error, lineSchema).map(({ path, reason }) => `${path}: ${reason}`);
    return { problem: reasons.join("; ") };
  }
  const { iccid, network_group_or_service_profile: bucket, start_time, end_time, bytes } = result.data;
  if (start_time > now) return { problem: "start_time: must not be in the future" };
  if (end_time > now + MAX_UNDER_WAY_S) return { problem: "end_time: must not be more than a month in the future" };
  return { record: { iccid, bucket, startTime: start_time, endTime: end_time, bytes } };
}
