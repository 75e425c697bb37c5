import { isUtf8 } from "node:buffer";
import { gunzipSync, gzipSync } from "node:zlib";
import type { AppFile } from "../../protocol/apps/app-files.ts";

type Content = Pick<AppFile, "content" | "content_base64" | "content_gzip">;

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

/** Returns the content of a file in a request. */
export function contentOf({ content, content_base64 = "", content_gzip }: Content): Buffer {
  if (content !== undefined) return Buffer.from(content);
  return content_gzip === undefined
    ? Buffer.from(content_base64, "base64")
    : gunzipSync(Buffer.from(content_gzip, "base64"));
}
