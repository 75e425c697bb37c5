import { type LogFormat, NDJSON, PLAIN_TEXT } from "../../core/log-entry.ts";

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
  const preferred = (accept ?? "*/*")
    .split(",")
    .map((part) => parseMediaRange(part))
    .filter(({ type, quality }) => quality > 0 && Object.hasOwn(FORMATS, type))
    .toSorted((one, other) => other.quality - one.quality);
  return FORMATS[preferred[0]?.type ?? "*/*"] ?? NDJSON;
}

function parseMediaRange(part: string): { readonly type: string; readonly quality: number } {
  const [type = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
  const quality = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
  return { type, quality: quality === undefined ? 1 : Number(quality) || 0 };
}
