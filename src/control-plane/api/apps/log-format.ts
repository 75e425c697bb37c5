import { type LogFormat, NDJSON, PLAIN_TEXT } from "../../core/log-entry.ts";
import { parseMediaRanges } from "../media-ranges.ts";

const FORMATS: Readonly<Record<string, LogFormat>> = {
  "application/x-ndjson": NDJSON,
  "application/json": NDJSON,
  "application/*": NDJSON,
  "*/*": NDJSON,
  "text/plain": PLAIN_TEXT,
  "text/*": PLAIN_TEXT,
};

/** The log format preferred by the header `Accept`; NDJSON by default. */
export function negotiateLogFormat(accept: string | undefined): LogFormat {
  const preferred = parseMediaRanges(accept).find(({ type }) => Object.hasOwn(FORMATS, type));
  return FORMATS[preferred?.type ?? "*/*"] ?? NDJSON;
}
