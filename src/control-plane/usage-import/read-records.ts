import type { Readable } from "node:stream";
import { pipeline } from "node:stream";
import { CsvError, parse } from "csv-parse";
import { z } from "zod";
import { integerString, MAX_UNIX_SECONDS } from "../../protocol/scalars.ts";
import { listIssues } from "../../protocol/request-error.ts";
import { iccidSchema, networkGroupSchema } from "../../protocol/sim.ts";
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

/** A record and the line on which it ends, from 1. */
export interface NumberedRecord {
  readonly line: number;
  readonly record: UsageRecord;
}

/** A line is not valid. Lines are numbered from 1. */
export class BadLineError extends Error {
  readonly line: number;

  constructor(line: number, reason: string) {
    super(`line ${line}: ${reason}`);
    this.name = "BadLineError";
    this.line = line;
  }
}

/**
 * Reads usage records from CSV (RFC 4180, UTF-8, a header line), one at a time. Throws `BadLineError` for the first
 * invalid line, and the source's errors.
 */
export async function* readRecords(source: Readable): AsyncGenerator<NumberedRecord> {
  const parser = parse({ bom: true, info: true, trim: true, skip_empty_lines: true, max_record_size: MAX_LINE_LENGTH });
  // `pipeline` forwards errors of the source to the parser, and so to the loop below.
  pipeline(source, shortLines, parser, () => {});
  let isHeader = true;
  try {
    for await (const row of parser) {
      const { record: cells, info } = row as { record: string[]; info: { lines: number } };
      if (isHeader) checkHeader(cells, info.lines);
      else yield { line: info.lines, record: toRecord(cells, info.lines) };
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

function toRecord(cells: readonly string[], line: number): UsageRecord {
  const result = lineSchema.safeParse(Object.fromEntries(COLUMNS.map((column, index) => [column, cells[index]])));
  if (!result.success) {
    const reasons = listIssues(result.error, lineSchema).map(({ path, reason }) => `${path}: ${reason}`);
    throw new BadLineError(line, reasons.join("; "));
  }
  const { iccid, network_group_or_service_profile: bucket, start_time, end_time, bytes } = result.data;
  return { iccid, bucket, startTime: start_time, endTime: end_time, bytes };
}
