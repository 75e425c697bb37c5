import type { IncomingMessage, ServerResponse } from "node:http";
import { sha256 } from "../images/image.ts";
import type { Certificate } from "../link/certificates.ts";
import { ScriptedRegistry } from "./scripted-registry.ts";

export interface MemoryRegistryOptions {
  /** Lists what refers to a manifest by itself (OCI distribution specification 1.1). */
  readonly hasReferrers?: boolean;
  /** For https; default: plain HTTP. */
  readonly certificate?: Certificate | undefined;
  /** Called before the registry responds; `true` if it has responded itself. */
  readonly intercept?: (request: IncomingMessage, response: ServerResponse) => boolean;
}

interface StoredManifest {
  readonly type: string;
  readonly bytes: Buffer;
}

/** A registry in memory, that supports the referrers API if asked to, and can be made to lie. */
export class MemoryRegistry implements AsyncDisposable {
  readonly blobs = new Map<string, Buffer>();
  /** By tag and by digest. */
  readonly manifests = new Map<string, StoredManifest>();
  readonly #options: MemoryRegistryOptions;
  #server: ScriptedRegistry | undefined;

  private constructor(options: MemoryRegistryOptions) {
    this.#options = options;
  }

  static async start(options: MemoryRegistryOptions = {}): Promise<MemoryRegistry> {
    const registry = new MemoryRegistry(options);
    registry.#server = await ScriptedRegistry.start((request, response) => {
      if (options.intercept?.(request, response) !== true) void registry.#respond(request, response);
    }, options.certificate);
    return registry;
  }

  get server(): ScriptedRegistry {
    if (!this.#server) throw new Error("the registry has not been started");
    return this.#server;
  }

  /** `127.0.0.1:PORT`. */
  get host(): string {
    return this.server.host;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const url = new URL(request.url ?? "", `http://${this.host}`);
    const [, kind = "", name = ""] = /\/(manifests|blobs|referrers)\/(.+)$/.exec(url.pathname) ?? [];
    const { method = "" } = request;
    if (kind === "blobs" && method === "POST") {
      response.writeHead(202, { Location: `${url.pathname}upload` }).end();
    } else if (kind === "blobs" && method === "PUT") {
      const digest = url.searchParams.get("digest") ?? "";
      const isRight = sha256(body) === digest;
      if (isRight) this.blobs.set(digest, body);
      response.writeHead(isRight ? 201 : 400).end();
    } else if (kind === "blobs") this.#send(response, method, this.blobs.get(name), "application/octet-stream");
    else if (kind === "manifests" && method === "PUT") this.#put(request, response, name, body);
    else if (kind === "manifests") {
      const found = this.manifests.get(name);
      this.#send(response, method, found?.bytes, found?.type ?? "");
    } else if (kind === "referrers" && this.#options.hasReferrers) {
      this.#send(response, method, this.#referrersOf(name), "application/vnd.oci.image.index.v1+json");
    } else response.writeHead(404).end();
  }

  #put(request: IncomingMessage, response: ServerResponse, name: string, bytes: Buffer): void {
    const stored = { type: request.headers["content-type"] ?? "", bytes };
    this.manifests.set(name, stored).set(sha256(bytes), stored);
    const { subject } = JSON.parse(bytes.toString()) as { subject?: { digest: string } };
    const isListed = subject !== undefined && this.#options.hasReferrers;
    response.writeHead(201, isListed ? { "OCI-Subject": subject.digest } : {}).end();
  }

  #referrersOf(digest: string): Buffer {
    const manifests = [...this.manifests].flatMap(([name, { type, bytes }]) => {
      const manifest = JSON.parse(bytes.toString()) as { subject?: { digest: string } } & Record<string, unknown>;
      if (!name.startsWith("sha256:") || manifest.subject?.digest !== digest) return [];
      const { artifactType, annotations } = manifest;
      return [{ mediaType: type, digest: name, size: bytes.length, artifactType, annotations }];
    });
    return Buffer.from(JSON.stringify({ schemaVersion: 2, manifests }));
  }

  #send(response: ServerResponse, method: string, bytes: Buffer | undefined, type: string): void {
    if (!bytes) response.writeHead(404).end();
    else {
      response.writeHead(200, { "Content-Type": type, "Content-Length": bytes.length });
      response.end(method === "HEAD" ? undefined : bytes);
    }
  }
}
