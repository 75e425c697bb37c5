import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Clock } from "../../lib/clock.ts";
import type { ResolvedImage } from "../registry/registry.ts";
import type { Part } from "./part.ts";
import { type LoopbackAddress, deleteAddress, loadAddress, saveAddress } from "./loopback-address.ts";
import { parseRange } from "./range.ts";
import { sendPart } from "./send-part.ts";

const SECRET_BYTES = 16;
/** Longest name engines take, with host and port. */
const MAX_NAME_LENGTH = 255;
/** How long after it took bytes an engine counts as busy with them. */
const ACTIVE_MS = 60_000;

/** Names an endpoint of this kind gave to images, whenever that was. */
export const LOOPBACK_NAME = /^127\.0\.0\.1:\d+\/[0-9a-f]{32}[/@]/;

export interface LoopbackOptions {
  readonly clock: Clock;
  readonly image: ResolvedImage;
  /** Asked for once the engine wants a layer: what there is of it, and what is to come. */
  readonly part: (digest: string) => Promise<Part>;
  readonly signal: AbortSignal;
  /** Where the address is remembered while the pull lasts. */
  readonly directory: string;
}

/**
 * A registry on loopback with one image in it, for the engine of this machine, as long as a pull lasts. Its repository
 * has an unguessable name: whoever else is on this machine has to know it. Layers are handed on while they arrive.
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
      this.#answer(request, response).catch(() => response.destroy());
    });
    // An engine tries TLS first. containerd does without only where it is answered in HTTP.
    this.#server.on("clientError", (_error, socket) => {
      if (socket.writable) socket.end(NO_TLS);
      else socket.destroy();
    });
  }

  static async open(options: LoopbackOptions): Promise<LoopbackRegistry> {
    const registry = new LoopbackRegistry(options);
    const { directory, image } = options;
    const former = loadAddress(directory, image.digest);
    if (!former || !(await registry.#reopen(former))) await registry.#listen(0);
    saveAddress(directory, image.digest, { port: registry.#port, secret: registry.#secret });
    return registry;
  }

  /** What the engine has to pull. */
  get reference(): string {
    return `${this.#name}@${this.#options.image.digest}`;
  }

  /** Whether the engine found its way here. */
  get wasReached(): boolean {
    return this.#requests > 0;
  }

  /** Whether the engine waits for bytes that are not here yet, or has taken some a short while ago. */
  get isActive(): boolean {
    return this.#waiting > 0 || this.#options.clock.monotonic() - this.#sentAt < ACTIVE_MS;
  }

  /** The text of an engine with what the image is really called in place of its name here. */
  withImageName(text: string): string {
    const { registry, repository } = this.#options.image;
    return text.replaceAll(this.#name, `${registry}/${repository}`).replaceAll(this.#secret, "…");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    deleteAddress(this.#options.directory, this.#options.image.digest);
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Opens where a pull of this image was going on when the agent was killed. Not where something else is there now. */
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

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader("Docker-Distribution-Api-Version", "registry/2.0");
    const { method = "", url = "" } = request;
    if (method !== "GET" && method !== "HEAD") return refuse(response, 405, "UNSUPPORTED");
    // containerd does not ask whether this is a registry, but for the image at once.
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
    // The engine sees at once that the layer is there; its bytes come when they come.
    response.flushHeaders();
    const part = await this.#options.part(digest);
    await sendPart(part, { start, end }, response, {
      onWait: (change) => (this.#waiting += change),
      onSent: () => (this.#sentAt = this.#options.clock.monotonic()),
      signal: this.#options.signal,
    });
  }
}

const BINARY = "application/octet-stream";
const NO_TLS = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";

function send(response: ServerResponse, type: string, bytes: Uint8Array): void {
  response.writeHead(200, { "Content-Type": type, "Content-Length": bytes.length });
  // Node leaves the body out where the request was HEAD.
  response.end(bytes);
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(JSON.stringify({ errors: [{ code, message: code }] }));
}
