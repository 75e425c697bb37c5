import type { RegistryResponse } from "./http.ts";
import type { ForeignAnswer } from "./problem.ts";

/** No registry sends these: portals and proxies do. */
const PAGE_TYPES: ReadonlySet<string> = new Set(["text/html", "application/xhtml+xml"]);
/** Network Authentication Required (RFC 6585), by which a portal says what it is. */
const LOGIN_REQUIRED = 511;
/** Enough of a text for its first word. */
const BEGINNING_BYTES = 256;

/**
 * Returns a problem if the response is not the registry's but a page of something in between, by its status and type; `undefined`
 * otherwise. Destroys its body then.
 */
export function pageInstead(response: RegistryResponse): ForeignAnswer | undefined {
  const { status, headers } = response;
  const type = headers["content-type"]?.split(";")[0]?.trim().toLowerCase() ?? "";
  if (status === LOGIN_REQUIRED) return foreign(response, "the network wants a login (HTTP 511)");
  // The status of a proxy's error page says what the page means.
  if (PAGE_TYPES.has(type) && status < 400) return foreign(response, pageText(`HTTP ${status}, ${type}`));
  return status === 204 ? foreign(response, "the network answers without a content (HTTP 204)") : undefined;
}

/**
 * Returns a problem if the body cannot be the rest of the blob from `offset` on, before anything of it is read: a page, or another
 * length than the blob's; `undefined` otherwise. Destroys it then.
 */
export function otherThanBlob(
  response: RegistryResponse,
  { size }: { readonly size: number },
  offset: number,
): ForeignAnswer | undefined {
  const { status, headers } = response;
  const length = contentLength(response);
  const { start, end, total } = contentRange(response);
  const page = pageInstead(response);
  if (page) return page;
  if (status === 200 && length !== undefined && length !== size)
    return foreign(response, `${length} bytes came instead of the ${size} of the layer`);
  if (status === 206 && start === offset) {
    if ((total !== undefined && total !== size) || end >= size)
      return foreign(response, `a part of ${total ?? "*"} bytes came instead of the layer's ${size}`);
    const announced = end - offset + 1;
    // Fewer bytes of the right part can still be used.
    if (length !== undefined && length > announced)
      return foreign(response, `${length} bytes came instead of ${announced}`);
  }
  const encoding = headers["content-encoding"] ?? "identity";
  // Some storage servers name the compression of the layer itself: the length is right then.
  if (encoding !== "identity" && length === undefined)
    return foreign(response, `it was changed on its way (${encoding})`);
  return undefined;
}

/** Returns a problem if a document, or the first bytes of a blob, are those of a page; `undefined` otherwise. */
export function pageInBytes(bytes: Uint8Array, host: string): ForeignAnswer | undefined {
  const receivedBytes = bytes.length;
  if (receivedBytes === 0) return { kind: "foreign_answer", host, reason: "the answer is empty", receivedBytes };
  const text = Buffer.from(bytes.subarray(0, BEGINNING_BYTES)).toString("utf8");
  const isPage = /^\uFEFF?\s*<(?:!doctype|html|head|body|script|meta|\?xml)\b/i.test(text);
  return isPage ? { kind: "foreign_answer", host, reason: pageText("HTML"), receivedBytes } : undefined;
}

/** Returns the first byte of a 206 by its `Content-Range`, 0 of a 200; `undefined` for others. */
export function firstByte(response: RegistryResponse): number | undefined {
  if (response.status === 200) return 0;
  const [, start] = /^bytes (\d+)-/.exec(response.headers["content-range"] ?? "") ?? [];
  return response.status === 206 && start !== undefined ? Number(start) : undefined;
}

function pageText(what: string): string {
  return `the network answers with a page of its own (${what}); does it want a login?`;
}

/** Counts the bytes of the body that have arrived: they have cost data. */
function foreign({ body, url }: RegistryResponse, reason: string): ForeignAnswer {
  const receivedBytes = body.readableLength;
  body.destroy();
  return { kind: "foreign_answer", host: url.host, reason, receivedBytes };
}

function contentLength({ headers }: RegistryResponse): number | undefined {
  const length = Number(headers["content-length"] ?? Number.NaN);
  return Number.isSafeInteger(length) ? length : undefined;
}

function contentRange({ headers }: RegistryResponse) {
  const [, start, end, total] = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(headers["content-range"] ?? "") ?? [];
  return {
    start: start === undefined ? undefined : Number(start),
    end: Number(end),
    total: total === undefined || total === "*" ? undefined : Number(total),
  };
}
