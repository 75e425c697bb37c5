import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import type { FastifyReply, FastifyRequest } from "fastify";
import { ConcurrencyLimiter } from "../../../lib/concurrency-limiter.ts";
import { RELEASE_TYPES } from "../../../lib/release/read-release.ts";
import { EdgeError, type ErrorCode } from "../../../protocol/errors/errors.ts";
import type { DeviceRate } from "../../devices/device-gate.ts";
import { byteRange, type ByteRange } from "../../releases/byte-range.ts";
import { RELEASE_REPOSITORY } from "../../releases/served-releases.ts";
import type { ReleasePart } from "../../store/agent-releases.ts";
import { UPLOAD_REPOSITORY } from "../../uploads/uploads.ts";
import type { Api, ApiBase, ApiContext } from "../context.ts";
import { errorStatus, setErrorHeaders, toPublicError } from "../errors.ts";
import { STALL_TIMEOUT_MS } from "../stream-limiter.ts";

/** Requests of one device, for uploads too: an update by parts asks for many ranges. */
export const RELEASE_REQUESTS: DeviceRate = { burst: 200, perSecond: 20, bound: "release_requests_per_device" };
/** Transfers of one device at once, and of all of this instance: each takes up to two pieces of memory. */
export const MAX_TRANSFERS_PER_DEVICE = 4;
export const MAX_TRANSFERS = 500;

const BASE = `/v2/${RELEASE_REPOSITORY}`;
const UPLOADS = `/v2/${UPLOAD_REPOSITORY}`;
const SHA256 = /^sha256:([0-9a-f]{64})$/;
/** Not in the OpenAPI document: OCI's distribution specification describes them. */
const schema = { hide: true };
const method: ("GET" | "HEAD")[] = ["GET", "HEAD"];

/** Headers that describe a part. */
const OF_PART = ["Content-Length", "Content-Range", "Accept-Ranges", "Docker-Content-Digest", "ETag"];

declare module "fastify" {
  interface FastifyRequest {
    /** The asset whose device asks for a release or an upload. */
    deviceOf: { readonly uuid: string; readonly accountId: string };
  }
}

/**
 * Serves the releases of the agent, and contents of apps' files, and nothing else, by the protocol of OCI registries: manifests by
 * version and digest, blobs with ranges, and what refers to a manifest. To devices with their token, as `Authorization: Bearer`: neither
 * keys of accounts nor sessions of browsers get in. A device gets the contents that its own unfinished deployments name.
 */
export function serveReleases(api: Api, context: ApiContext<"releases" | "uploads">): void {
  const { served: releases } = context.releases;
  const { uploads } = context;
  const transfers = new Transfers(context);
  admitDevices(api, context);
  api.route({ method, url: "/v2/", schema, handler: async (request) => (request.method === "HEAD" ? "" : {}) });
  api.route<{ Params: { reference: string } }>({
    method,
    url: `${BASE}/manifests/:reference`,
    schema,
    handler: async (request, reply) => {
      const manifest = await releases.findManifest(request.params.reference);
      if (!manifest) throw new EdgeError("NotFound", "There is no release with this version or digest.");
      describe(reply, manifest, manifest.mediaType, manifest.bytes);
      if (request.method === "HEAD") return reply.send();
      return reply.send(await buffer(releases.read(manifest, wholeOf(manifest))));
    },
  });
  api.route<{ Params: { digest: string } }>({
    method,
    url: `${BASE}/blobs/:digest`,
    schema,
    handler: async (request, reply) => {
      const blob = await releases.findBlob(request.params.digest);
      if (!blob) throw new EdgeError("NotFound", "No release has a part with this digest.");
      return sendBlob(transfers, request, reply, { ...blob, read: (range) => releases.read(blob, range) });
    },
  });
  api.route<{ Params: { digest: string } }>({
    method,
    url: `${UPLOADS}/blobs/:digest`,
    schema,
    handler: async (request, reply) => {
      const { digest } = request.params;
      const { uuid, accountId } = request.deviceOf;
      const sha256 = SHA256.exec(digest)?.[1];
      const upload = sha256 === undefined ? undefined : await uploads.findForDevice({ accountId, sha256 }, uuid);
      if (!upload) throw new EdgeError("NotFound", "No deployment that the device is carrying out names this upload.");
      const { bytes } = upload;
      return sendBlob(transfers, request, reply, { digest, bytes, read: (range) => uploads.read(upload, range) });
    },
  });
  api.route<{ Params: { digest: string }; Querystring: Readonly<Record<string, unknown>> }>({
    method,
    url: `${BASE}/referrers/:digest`,
    schema,
    handler: async (request, reply) => {
      const { artifactType } = request.query;
      const wanted = typeof artifactType === "string" ? artifactType : undefined;
      const list = Buffer.from(JSON.stringify(await releases.referrersOf(request.params.digest, wanted)));
      if (wanted !== undefined) void reply.header("OCI-Filters-Applied", "artifactType");
      void reply.type(RELEASE_TYPES.index).header("Content-Length", list.length);
      return reply.send(request.method === "HEAD" ? undefined : list);
    },
  });
}

interface SentBlob extends Pick<ReleasePart, "digest" | "bytes"> {
  readonly read: (range: ByteRange) => AsyncIterable<Uint8Array>;
}

function sendBlob(transfers: Transfers, request: FastifyRequest, reply: FastifyReply, blob: SentBlob): FastifyReply {
  const condition = request.headers["if-range"];
  const isFresh = condition === undefined || condition === tagOf(blob);
  const range = isFresh ? byteRange(request.headers.range, blob.bytes) : undefined;
  if (range === "unsatisfiable") return refuseRange(request, reply, blob);
  const sent = range ?? wholeOf(blob);
  describe(reply, blob, "application/octet-stream", sent.last - sent.first + 1);
  void reply.header("Accept-Ranges", "bytes");
  if (range) void reply.code(206).header("Content-Range", `bytes ${range.first}-${range.last}/${blob.bytes}`);
  if (request.method === "HEAD") return reply.send();
  return reply.send(transfers.begin(request, reply, blob.read(sent)));
}

/** Admits devices only, and responds with errors as registries do. */
function admitDevices(api: Api, { logger, releases: { gate } }: ApiContext<"releases">): void {
  api.decorateRequest("deviceOf");
  api.addHook("onRequest", async (request, reply) => {
    void reply.header("Docker-Distribution-API-Version", "registry/2.0");
    const admitted = await gate.admit(request.raw);
    if ("refusal" in admitted) throw new EdgeError(admitted.refusal.code, admitted.refusal.message);
    request.deviceOf = admitted.device.asset;
  });
  api.setErrorHandler((error, request, reply) => {
    const shown = toPublicError(error, request, logger);
    setErrorHeaders(shown, reply);
    // The body was announced already, if its first byte could not be read.
    for (const name of OF_PART) void reply.removeHeader(name);
    void reply
      .code(errorStatus(shown.code))
      .type("application/json")
      .send(errorBody(request, codeOf(shown.code, request), shown.message));
  });
}

/** Bounds how many transfers there are, and ends those that are not read. */
class Transfers {
  readonly #context: Pick<ApiBase, "clock" | "logger" | "observer">;
  readonly #byDevice: ConcurrencyLimiter;
  #count = 0;

  constructor(context: Pick<ApiBase, "clock" | "logger" | "observer">) {
    this.#context = context;
    this.#byDevice = new ConcurrencyLimiter(
      MAX_TRANSFERS_PER_DEVICE,
      "The device fetches enough of releases at once.",
      undefined,
      () => context.observer?.bounded("release_transfers_per_device"),
    );
  }

  /** Returns the body of the response. Errors: `TooManyRequests`, `ServiceUnavailable`. */
  begin(request: FastifyRequest, reply: FastifyReply, bytes: AsyncIterable<Uint8Array>): Readable {
    if (this.#count >= MAX_TRANSFERS) {
      this.#context.observer?.bounded("release_transfers");
      throw new EdgeError("ServiceUnavailable", "Many devices fetch a release just now.");
    }
    const slot = this.#byDevice.acquire(request.deviceOf.uuid);
    this.#count++;
    const body = Readable.from(this.#untilStalled(request, reply, bytes));
    body.once("close", () => {
      slot[Symbol.dispose]();
      this.#count--;
    });
    // Closed before the body is sent: nothing would close the body.
    if (reply.raw.destroyed) body.destroy();
    return body;
  }

  async *#untilStalled(
    request: FastifyRequest,
    reply: FastifyReply,
    bytes: AsyncIterable<Uint8Array>,
  ): AsyncGenerator<Uint8Array> {
    const { clock, logger, observer } = this.#context;
    const cutOff = (): void => {
      observer?.bounded("release_transfer_not_read");
      logger.warn({ asset: request.deviceOf.uuid }, "a device does not read what it fetches; its transfer is cut");
      reply.raw.destroy();
    };
    for await (const piece of bytes) {
      // The generator is resumed when the device has read enough for the next piece.
      using _stalled = clock.timer(STALL_TIMEOUT_MS, cutOff);
      yield piece;
    }
  }
}

function describe(reply: FastifyReply, part: Pick<ReleasePart, "digest">, type: string, length: number): void {
  void reply
    .type(type)
    .header("Content-Length", length)
    .header("Docker-Content-Digest", part.digest)
    .header("ETag", tagOf(part));
}

function tagOf({ digest }: Pick<ReleasePart, "digest">): string {
  return `"${digest}"`;
}

function wholeOf({ bytes }: Pick<ReleasePart, "bytes">): ByteRange {
  return { first: 0, last: bytes - 1 };
}

function refuseRange(request: FastifyRequest, reply: FastifyReply, { bytes }: SentBlob): FastifyReply {
  const body = errorBody(request, "RANGE_INVALID", `The part has ${bytes} bytes.`);
  return reply.code(416).header("Content-Range", `bytes */${bytes}`).send(body);
}

/** As OCI's specification has it, except that HEAD has none. */
function errorBody({ method: used }: FastifyRequest, code: string, message: string): object | undefined {
  return used === "HEAD" ? undefined : { errors: [{ code, message }] };
}

function codeOf(code: ErrorCode, { url }: FastifyRequest): string {
  if (code === "Unauthorized") return "UNAUTHORIZED";
  if (code === "TooManyRequests") return "TOOMANYREQUESTS";
  if (code !== "NotFound") return "UNAVAILABLE";
  return url.startsWith(`${BASE}/blobs/`) || url.startsWith(UPLOADS) ? "BLOB_UNKNOWN" : "MANIFEST_UNKNOWN";
}
