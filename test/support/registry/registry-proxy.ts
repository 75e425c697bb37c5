import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";
import type { Certificate } from "../link/certificates.ts";

/** A request received by the proxy. */
export interface SeenRequest {
  readonly method: string;
  /** Path including the query. */
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
}

/** A response instead of the registry's. */
export interface RegistryProxyResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface RegistryProxyOptions {
  /** `127.0.0.1:PORT` of the registry behind the proxy. */
  readonly upstream: string;
  readonly tls?: Certificate;
  /** Requires bearer tokens, which the proxy issues at `/token` to this user, or to anyone. */
  readonly tokens?: {
    readonly user?: { readonly name: string; readonly password: string };
    readonly identityToken?: string;
  };
  /** Called for each request; a returned response replaces the registry's. */
  readonly intercept?: (request: SeenRequest) => RegistryProxyResponse | undefined;
}

/** A proxy in front of a registry with TLS, a token server, redirects and refusals. Records the requests. */
export class RegistryProxy implements AsyncDisposable {
  readonly requests: SeenRequest[] = [];
  readonly #options: RegistryProxyOptions;
  readonly #server: Server;
  readonly #tokens = new Set<string>();

  private constructor(options: RegistryProxyOptions) {
    this.#options = options;
    const handle = (incoming: IncomingMessage, answer: ServerResponse): void => this.#handle(incoming, answer);
    this.#server = options.tls ? createTlsServer({ ...options.tls }, handle) : createServer(handle);
    // A client that gets no time for some seconds finds its connection open: Node.js closes idle ones after five.
    this.#server.keepAliveTimeout = 0;
  }

  static async start(options: RegistryProxyOptions): Promise<RegistryProxy> {
    const front = new RegistryProxy(options);
    await new Promise<void>((resolve) => {
      front.#server.listen(0, "0.0.0.0", resolve);
    });
    return front;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** `127.0.0.1:PORT`. */
  get host(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** `HOST:PORT` of the proxy at an address of this machine that is not loopback, like a remote registry's. */
  get outsideHost(): string {
    return `${outsideAddress()}:${this.port}`;
  }

  /** Revokes every token issued so far. */
  revokeTokens(): void {
    this.#tokens.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => {
      this.#server.close(resolve);
    });
    this.#server.closeAllConnections();
    await closed;
  }

  #handle(incoming: IncomingMessage, answer: ServerResponse): void {
    const { method = "", url: path = "", headers } = incoming;
    const seen = { method, path, headers };
    this.requests.push(seen);
    const own = this.#options.intercept?.(seen) ?? this.#authenticate(seen);
    if (own) {
      incoming.resume();
      answer.writeHead(own.status, own.headers).end(own.body);
      return;
    }
    if (path.startsWith("/token")) void this.#giveToken(incoming, answer);
    else this.#pass(incoming, answer);
  }

  #authenticate({ path, headers }: SeenRequest): RegistryProxyResponse | undefined {
    if (!this.#options.tokens || path.startsWith("/token")) return undefined;
    const token = headers.authorization?.replace(/^Bearer /, "") ?? "";
    if (this.#tokens.has(token)) return undefined;
    const [, repository = ""] = /^\/v2\/(.+)\/(?:manifests|blobs)\//.exec(path) ?? [];
    const realm = `${this.#options.tls ? "https" : "http"}://${headers.host}/token`;
    const scope = repository === "" ? "" : `,scope="repository:${repository}:pull"`;
    const challenge = `Bearer realm="${realm}",service="test registry"${scope},error="invalid_token"`;
    const body = JSON.stringify({ errors: [{ code: "UNAUTHORIZED", message: "authentication required" }] });
    return { status: 401, headers: { "WWW-Authenticate": challenge }, body };
  }

  async #giveToken(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await text(incoming));
    const { user, identityToken } = this.#options.tokens ?? {};
    const basic = user && `Basic ${Buffer.from(`${user.name}:${user.password}`).toString("base64")}`;
    const isKnown =
      incoming.method === "POST"
        ? form.get("refresh_token") === identityToken
        : basic === undefined || incoming.headers.authorization === basic;
    if (!isKnown) {
      answer.writeHead(401).end();
      return;
    }
    const token = randomBytes(24).toString("hex");
    this.#tokens.add(token);
    // Servers send either name of the field.
    const body = incoming.method === "POST" ? { access_token: token } : { token, expires_in: 300 };
    answer.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(body));
  }

  #pass(incoming: IncomingMessage, answer: ServerResponse): void {
    const [host, port] = this.#options.upstream.split(":");
    const headers = { ...incoming.headers };
    if (this.#options.tokens) delete headers.authorization;
    const { method, url: path } = incoming;
    const onward = request({ host, port, method, path, headers, agent: false }, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(answer);
    });
    onward.on("error", () => answer.destroy());
    answer.on("close", () => onward.destroy());
    incoming.pipe(onward);
  }
}

/** An IPv4 address of this machine that is not loopback. */
export function outsideAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const found = addresses.find(({ address, internal }) => isIPv4(address) && !internal);
  if (!found) throw new Error("this machine has no address but loopback");
  return found.address;
}

async function text(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
