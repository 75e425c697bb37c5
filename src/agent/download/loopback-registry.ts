import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Clock } from "../../lib/clock.ts";
import type { ResolvedImage } from "../registry/registry.ts";
import type { LoopbackAddress } from "./pull-records.ts";
import { parseRange } from "./range.ts";
import type { ServedLayer } from "./send-part.ts";

const SECRET_BYTES = 16;
/** Longest image name engines accept, with host and port. */
const MAX_NAME_LENGTH = 255;
/** Time after its last received byte for which the engine counts as active. */
const ACTIVE_MS = 60_000;

/** Matches image names given by a loopback registry, including those of earlier pulls. */
export const LOOPBACK_NAME = /^127\.0\.0\.1:\d+\/[0-9a-f]{32}[/@]/;

export interface LoopbackOptions {
  readonly clock: Clock;
  readonly image: ResolvedImage;
  /** Returns a layer, possibly still arriving. Called when the engine requests it. */
  readonly layer: (digest: string) => Promise<ServedLayer>;
  readonly signal: AbortSignal;
  /** The address of an interrupted pull of the image, which is used if it is free. */
  readonly address: LoopbackAddress | undefined;
}

/**
 * A registry on loopback that serves one image to the engine of this machine for the duration of a pull. The name of
 * its repository is secret, which keeps other users of this machine out. Layers are passed on while they arrive.
 */
export class LoopbackRegistry implements AsyncDisposable {
  readonly #options: LoopbackOptions;
  readonly #server: Server;
  #secret = randomBytes(SECRET_BYTES).toString("hex");
  #requests = 0;
  #waiting = 0;
  #sentAt = Number.NEGATIVE_INFINITY;

  private constructor(options: LoopbackOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      // The engine sees that it broke off; the reason is with the download.
      this.#handle(request, response).catch(() => response.destroy());
    });
    // An engine tries TLS first. containerd falls back to HTTP only when it gets an HTTP response.
    this.#server.on("clientError", (_error, socket) => {
      if (socket.writable) socket.end(BAD_REQUEST);
      else socket.destroy();
    });
  }

  static async open(options: LoopbackOptions): Promise<LoopbackRegistry> {
    const registry = new LoopbackRegistry(options);
    if (!options.address || !(await registry.#reopen(options.address))) await registry.#listen(0);
    return registry;
  }

  /** The reference for the engine to pull. */
  get reference(): string {
    return `${this.#name}@${this.#options.image.digest}`;
  }

  get address(): LoopbackAddress {
    return { port: this.#port, secret: this.#secret };
  }

  /** Whether any request has arrived. */
  get wasReached(): boolean {
    return this.#requests > 0;
  }

  /** Whether the engine is waiting for bytes not downloaded yet, or has received some recently. */
  get isActive(): boolean {
    return this.#waiting > 0 || this.#options.clock.monotonic() - this.#sentAt < ACTIVE_MS;
  }

  /** Replaces the loopback name in a text of the engine with the real name of the image. */
  withImageName(text: string): string {
    const { registry, repository } = this.#options.image;
    return text.replaceAll(this.#name, `${registry}/${repository}`).replaceAll(this.#secret, "…");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Listens at the address of an interrupted pull of this image. Resolves to `false` when the port is taken. */
  async #reopen({ port, secret }: LoopbackAddress): Promise<boolean> {
    try {
      await this.#listen(port);
    } catch {
      return false;
    }
    this.#secret = secret;
    return true;
  }

  #listen(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, "127.0.0.1", () => {
        this.#server.off("error", reject);
        resolve();
      });
    });
  }

  get #name(): string {
    const base = `127.0.0.1:${this.#port}/${this.#secret}`;
    const full = `${base}/${this.#options.image.repository}`;
    return full.length > MAX_NAME_LENGTH ? base : full;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader("Docker-Distribution-Api-Version", "registry/2.0");
    const { method = "", url = "" } = request;
    if (method !== "GET" && method !== "HEAD") return refuse(response, 405, "UNSUPPORTED");
    // Counts every path: containerd requests the image without asking for /v2/ first.
    this.#requests++;
    if (/^\/v2\/?$/.test(url)) return send(response, "application/json", Buffer.from("{}"));
    const path = url.startsWith(`/v2/${this.#secret}/`) ? url : "";
    const [, kind, digest = ""] = /\/(manifests|blobs)\/(sha256:[0-9a-f]{64})$/.exec(path) ?? [];
    const { image } = this.#options;
    if (kind === "manifests" && digest === image.digest) {
      response.setHeader("Docker-Content-Digest", digest);
      return send(response, image.mediaType, image.manifest);
    }
    if (kind === "blobs" && digest === image.config.digest) return send(response, BINARY, image.configBytes);
    const layer = image.layers.find((candidate) => candidate.digest === digest);
    if (kind === "blobs" && layer) return this.#sendLayer(request, response, layer);
    return refuse(response, 404, kind === "manifests" ? "MANIFEST_UNKNOWN" : "BLOB_UNKNOWN");
  }

  async #sendLayer(
    { method, headers }: IncomingMessage,
    response: ServerResponse,
    { digest, size }: { readonly digest: string; readonly size: number },
  ): Promise<void> {
    const range = parseRange(headers.range, size);
    if (range === "unsatisfiable") {
      response.setHeader("Content-Range", `bytes */${size}`);
      return refuse(response, 416, "RANGE_INVALID");
    }
    const { start, end } = range ?? { start: 0, end: size };
    response.writeHead(range ? 206 : 200, {
      "Content-Type": BINARY,
      "Content-Length": end - start,
      "Accept-Ranges": "bytes",
      "Docker-Content-Digest": digest,
      ...(range && { "Content-Range": `bytes ${start}-${end - 1}/${size}` }),
    });
    if (method === "HEAD") return void response.end();
    // The engine learns at once that the layer exists; its bytes follow as they arrive.
    response.flushHeaders();
    const layer = await this.#options.layer(digest);
    await layer.send({ start, end }, response, {
      onWait: (change) => (this.#waiting += change),
      onSent: () => (this.#sentAt = this.#options.clock.monotonic()),
      signal: this.#options.signal,
    });
  }
}

const BINARY = "application/octet-stream";
const BAD_REQUEST = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";

function send(response: ServerResponse, type: string, bytes: Uint8Array): void {
  response.writeHead(200, { "Content-Type": type, "Content-Length": bytes.length });
  // Node omits the body for HEAD requests.
  response.end(bytes);
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(JSON.stringify({ errors: [{ code, message: code }] }));
}
