import { createHash } from "node:crypto";
import { type Descriptor, digestOf } from "../../lib/registry/documents.ts";
import { firstByte, otherThanBlob } from "../../lib/registry/foreign-answer.ts";
import { discard, type FollowedResponse } from "../../lib/registry/http.ts";
import { registryErrors, wrongContent } from "./failures.ts";
import type { RegistrySession } from "./session.ts";

type BlobName = Pick<Descriptor, "digest" | "size">;

const MAX_BLOB_BYTES = 16 * 1024 * 1024;

/**
 * Reads a blob as a stream. Ends with an error, exit code 1, if it has not its size and digest, and 5 if the connection breaks:
 * what was made of it before must not be used then.
 */
export async function* readBlob(session: RegistrySession, { digest, size }: BlobName): AsyncGenerator<Uint8Array> {
  const { host } = session.address;
  const response = await openBlob(session, { digest, size }, {});
  const hash = createHash("sha256");
  let received = 0;
  for await (const chunk of session.read(response)) {
    received += chunk.length;
    if (received > size) break;
    hash.update(chunk);
    yield chunk;
  }
  if (received !== size) throw wrongContent(host, `another number of bytes for ${digest} than the manifest says`);
  if (`sha256:${hash.digest("hex")}` !== digest) throw wrongContent(host, `content that is not ${digest}`);
}

/** Reads a configuration or an index into memory. Errors: exit code 1 if it has not its digest. */
export async function readDocumentBlob(session: RegistrySession, { digest, size }: BlobName): Promise<Uint8Array> {
  const { host } = session.address;
  if (size > MAX_BLOB_BYTES) throw wrongContent(host, `a document of ${size} bytes`);
  const response = await session.send(`blobs/${digest}`);
  if (response.status !== 200) throw await session.refusal(`the request for ${digest}`, response);
  const bytes = await session.readDocument(response, size);
  if (digestOf(bytes) !== digest) throw wrongContent(host, `content that is not ${digest}`);
  return bytes;
}

/** Reads a range of a blob; if the registry ignores ranges, reads on to the range. Errors: exit code 1. */
export async function readBlobRange(
  session: RegistrySession,
  blob: BlobName,
  { offset, length }: { readonly offset: number; readonly length: number },
): Promise<Buffer> {
  const { host } = session.address;
  const { digest } = blob;
  const end = offset + length;
  const response = await openBlob(session, blob, { offset, headers: { Range: `bytes=${offset}-${end - 1}` } });
  const chunks: Uint8Array[] = [];
  let at = response.status === 206 ? offset : 0;
  for await (const chunk of session.read(response)) {
    chunks.push(chunk.subarray(Math.max(0, offset - at), Math.max(0, end - at)));
    at += chunk.length;
    if (at >= end) break;
  }
  const bytes = Buffer.concat(chunks);
  if (bytes.length !== length) throw wrongContent(host, `too few bytes of ${digest}`);
  return bytes;
}

/** Requests a blob. Refuses a page of something in between, another blob, and another range than requested. */
async function openBlob(
  session: RegistrySession,
  blob: BlobName,
  { offset = 0, headers = {} }: { readonly offset?: number; readonly headers?: Readonly<Record<string, string>> },
): Promise<FollowedResponse> {
  const response = await session.send(`blobs/${blob.digest}`, { headers });
  const other = otherThanBlob(response, blob, offset);
  if (other) throw registryErrors.problem(other);
  const first = firstByte(response);
  if (first === 0 && response.status === 200) return response;
  if (response.status !== 206) throw await session.refusal(`the request for ${blob.digest}`, response);
  if (first === offset && headers["Range"] !== undefined) return response;
  response.body.destroy();
  throw wrongContent(session.address.host, `another range of ${blob.digest} than requested`);
}

export async function hasBlob(session: RegistrySession, digest: string): Promise<boolean> {
  const response = await session.send(`blobs/${digest}`, { method: "HEAD" });
  if (response.status === 200) return true;
  if (response.status === 404) return false;
  throw await session.refusal(`the question for ${digest}`, response);
}

/** Uploads a blob unless the repository has it. Errors: exit codes 1, 3 and 5. */
export async function pushBlob(session: RegistrySession, digest: string, body: Blob): Promise<void> {
  if (await hasBlob(session, digest)) return;
  const { host } = session.address;
  const started = await session.send("blobs/uploads/", { method: "POST" });
  if (started.status !== 202) throw await session.refusal("an upload", started);
  discard(started);
  const base = await session.url("blobs/uploads/");
  const upload = URL.parse(started.headers.location ?? "", base);
  if (!upload || !/^https?:$/.test(upload.protocol)) throw wrongContent(host, "no address for an upload");
  if (base.protocol === "https:" && upload.protocol === "http:") {
    throw wrongContent(host, "an address without TLS for an upload");
  }
  upload.searchParams.set("digest", digest);
  const headers = { "Content-Type": "application/octet-stream" };
  const ended = await session.send(upload, { method: "PUT", headers, body });
  if (ended.status !== 201) throw await session.refusal("an upload", ended);
  discard(ended);
}
