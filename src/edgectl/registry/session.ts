import { parseChallenges } from "../../lib/registry/challenge.ts";
import type { Io } from "../io.ts";
import { type ImageAddress, isLoopback } from "./address.ts";
import { denied, noResponse, wrongContent } from "./failures.ts";
import { basicHeader, type RegistryLogin } from "./login.ts";
import { fetchToken } from "./token.ts";

export interface RegistryRequest {
  readonly method?: "GET" | "HEAD" | "POST" | "PUT";
  readonly headers?: Readonly<Record<string, string>>;
  /** Can be sent again, since a first request may be refused for want of a token. */
  readonly body?: Blob | Uint8Array<ArrayBuffer>;
}

export interface SessionOptions {
  readonly address: ImageAddress;
  readonly login: RegistryLogin | undefined;
  /** HTTP without TLS. A registry on this machine is also tried without. */
  readonly isPlain: boolean;
  readonly io: Pick<Io, "fetch" | "interrupted">;
}

type Action = "pull" | "push";

/** Requests to one repository of a registry, with its scheme and tokens. */
export class RegistrySession {
  readonly address: ImageAddress;
  readonly signal: AbortSignal;
  readonly #fetch: typeof globalThis.fetch;
  readonly #login: RegistryLogin | undefined;
  readonly #isPlain: boolean;
  readonly #headers = new Map<Action, string>();
  #origin: Promise<string> | undefined;

  constructor({ address, login, isPlain, io }: SessionOptions) {
    this.address = address;
    this.signal = io.interrupted;
    this.#fetch = io.fetch;
    this.#login = login;
    this.#isPlain = isPlain;
  }

  get hasLogin(): boolean {
    return this.#login !== undefined;
  }

  /** @param path below the repository, such as `manifests/1.2` */
  async url(path: string): Promise<URL> {
    return new URL(`${await this.#ownOrigin()}/v2/${this.address.repository}/${path}`);
  }

  /**
   * Sends a request, with a token if the registry asks for one. Resolves to its response, whatever the status.
   * Errors: exit codes 3 and 5.
   *
   * @param target a path below the repository, or a URL that the registry gave
   */
  async send(target: string | URL, request: RegistryRequest = {}): Promise<Response> {
    const url = typeof target === "string" ? await this.url(target) : target;
    const action: Action = request.method === "POST" || request.method === "PUT" ? "push" : "pull";
    // The registry may name other hosts for uploads: they get no credentials.
    const isOwn = url.origin === new URL(await this.#ownOrigin()).origin;
    const response = await this.#request(url, request, isOwn ? this.#headerFor(action) : undefined);
    if (response.status !== 401 || !isOwn || new URL(response.url || url).origin !== url.origin) return response;
    await response.body?.cancel().catch(() => undefined);
    const header = await this.#authenticate(response, action, url.protocol === "http:");
    this.#headers.set(action, header);
    return await this.#request(url, request, header);
  }

  #headerFor(action: Action): string | undefined {
    return this.#login?.kind === "token" ? `Bearer ${this.#login.token}` : this.#headers.get(action);
  }

  async #request(url: URL, request: RegistryRequest, authorization: string | undefined): Promise<Response> {
    const { method = "GET", headers = {}, body } = request;
    const response = await this.#fetch(url, {
      method,
      headers: { ...headers, ...(authorization !== undefined && { Authorization: authorization }) },
      ...(body !== undefined && { body }),
      signal: this.signal,
    }).catch((error: unknown) => {
      this.signal.throwIfAborted();
      throw noResponse(url.host, error);
    });
    // A redirect to storage gets no credentials (fetch removes them), but it must not give up TLS either.
    if (url.protocol === "https:" && response.url.startsWith("http:")) {
      await response.body?.cancel().catch(() => undefined);
      throw wrongContent(url.host, "a redirect to an address without TLS");
    }
    return response;
  }

  async #authenticate(response: Response, action: Action, isPlain: boolean): Promise<string> {
    const { host, repository } = this.address;
    const challenges = parseChallenges(response.headers.get("www-authenticate") ?? undefined);
    const bearer = challenges.find(({ scheme, parameters }) => scheme === "bearer" && parameters["realm"]);
    const login = this.#login;
    if (login?.kind === "token") throw denied(host, true);
    if (bearer) {
      const defaultScope = `repository:${repository}:${action === "push" ? "pull,push" : "pull"}`;
      const { signal } = this;
      const question = { host, challenge: bearer, defaultScope, login, isPlain, fetch: this.#fetch, signal };
      return `Bearer ${await fetchToken(question)}`;
    }
    if (login?.kind !== "basic" || !challenges.some(({ scheme }) => scheme === "basic")) {
      throw denied(host, login !== undefined);
    }
    return basicHeader(login.username, login.password);
  }

  #ownOrigin(): Promise<string> {
    this.#origin ??= this.#findOrigin();
    return this.#origin;
  }

  async #findOrigin(): Promise<string> {
    const { host } = this.address;
    if (this.#isPlain) return `http://${host}`;
    if (!isLoopback(host)) return `https://${host}`;
    // As engines do: loopback needs no TLS, but may have it.
    const isTls = await this.#fetch(`https://${host}/v2/`, { signal: this.signal }).then(
      async (response) => {
        await response.body?.cancel().catch(() => undefined);
        return true;
      },
      (error: unknown) => {
        this.signal.throwIfAborted();
        return isCertificateError(error);
      },
    );
    return `${isTls ? "https" : "http"}://${host}`;
  }
}

/** The registry speaks TLS, and is not trusted: then nothing is sent without TLS. */
function isCertificateError(error: unknown): boolean {
  const code: unknown =
    error instanceof Error && error.cause instanceof Error && "code" in error.cause && error.cause.code;
  return typeof code === "string" && /CERT|SELF_SIGNED|UNABLE_TO_|ALTNAME/.test(code);
}
