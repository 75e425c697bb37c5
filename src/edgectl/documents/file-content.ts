import { isUtf8 } from "node:buffer";
import { gunzipSync, gzipSync } from "node:zlib";
import type { AppFile } from "../../protocol/apps/app-files.ts";
import { MAX_APP_FILES_BYTES } from "../../protocol/limits.ts";
import { usageFailure } from "../failure.ts";

type Content = Pick<AppFile, "content" | "content_base64" | "content_gzip">;

/** A file of a request. */
type WithContent = Content & Partial<Pick<AppFile, "target">>;

/** Smaller contents are sent as they are: requests are read by people, and older devices do not unpack them. */
const MIN_PACKED_BYTES = 2_048;

/** Share of a content that it may have packed. */
const WORTHWHILE = 0.75;

/** Returns the field of a file that has its content: as text if it is text, packed if that saves a quarter of it. */
export function contentFields(bytes: Buffer): Content {
  const plain = plainContent(bytes);
  if (bytes.length < MIN_PACKED_BYTES) return plain;
  const packed = gzipSync(bytes, { level: 9 }).toString("base64");
  return packed.length <= bytes.length * WORTHWHILE ? { content_gzip: packed } : plain;
}

/** As text where that is what it is, and no longer than base64: most control characters take six bytes in JSON. */
function plainContent(bytes: Buffer): Content {
  const base64 = bytes.toString("base64");
  if (!isUtf8(bytes) || bytes.includes(0)) return { content_base64: base64 };
  const text = bytes.toString();
  return Buffer.byteLength(JSON.stringify(text)) <= base64.length + 64 ? { content: text } : { content_base64: base64 };
}

/** No more is unpacked. The archive of a directory has headers beside its files, which may come one by one instead. */
const MAX_UNPACKED_BYTES = 2 * MAX_APP_FILES_BYTES;

/** Returns the content of a file in a request. Errors: exit code 2 for one that cannot be unpacked, or only to far too much. */
export function contentOf({ target, content, content_base64 = "", content_gzip }: WithContent): Buffer {
  if (content !== undefined) return Buffer.from(content);
  if (content_gzip === undefined) return Buffer.from(content_base64, "base64");
  try {
    return gunzipSync(Buffer.from(content_gzip, "base64"), { maxOutputLength: MAX_UNPACKED_BYTES });
  } catch (error) {
    const what = target === undefined ? "The `content_gzip`" : `The \`content_gzip\` of ${target}`;
    if ((error as NodeJS.ErrnoException).code !== "ERR_BUFFER_TOO_LARGE")
      throw usageFailure(`${what} cannot be unpacked.`);
    const max = `${MAX_APP_FILES_BYTES / 1024 ** 2} MiB`;
    throw usageFailure(`${what} unpacks to far more than the ${max} that the files of an app may have.`);
  }
}
