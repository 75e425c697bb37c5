import { type ImageAddress as RegistryAddress, parseImageAddress } from "../../lib/registry/address.ts";
import { EXIT, Failure, usageFailure } from "../failure.ts";
import { Readable } from "node:stream";
import { type FollowedResponse, followRedirects, type RegistryRequest } from "../../lib/registry/http.ts";
import type { Io } from "../io.ts";
import { noResponse, refusal, registryErrors, wrongContent } from "./failures.ts";
import { Authorizer } from "../../lib/registry/authorizer.ts";
import type { RegistryLogin } from "../../lib/registry/login.ts";
import type { RegistryAccess } from "../../lib/registry/problem.ts";
import { MAX_DOCUMENT_BYTES, readDocument } from "../../lib/registry/read-document.ts";
import { join } from "node:path";
import { createHelperClient } from "../../lib/registry/credential-helper.ts";
import { findDockerLogin } from "../../lib/registry/docker-logins.ts";
import { readRegistryAuth } from "../deploy/execution-options.ts";

interface ImageAddress extends RegistryAddress {
  /** As the user wrote it. */
  readonly reference: string;
  /** A digest, or a tag. */
  readonly name: string;
}

/** Parses an image reference. Errors: exit code 2. */
function parseAddress(reference: string): ImageAddress {
  const address = parseImageAddress(reference);
  if (address) return { ...address, reference, name: address.digest ?? address.tag ?? "latest" };
  throw usageFailure(
    `Not an image reference: ${reference}`,
    "Write it as for docker pull: registry.example.com/team/app:1.2",
  );
}

interface EdgectlRequest extends RegistryRequest {
  /** Can be sent again, since a first request may be refused for want of a token. */
  readonly body?: Blob | Uint8Array<ArrayBuffer> | string;
}

/** Sends requests with `fetch`. Follows redirects without the credentials for another origin, and never out of TLS. */
export class FetchTransport {
  readonly #fetch: typeof globalThis.fetch;
  readonly #signal: AbortSignal;

  constructor({ fetch, interrupted }: Pick<Io, "fetch" | "interrupted">) {
    this.#fetch = fetch;
    this.#signal = interrupted;
  }

  /** Errors: exit code 5 if there is no response, 1 for a redirect that is not accepted. */
  async send(request: EdgectlRequest): Promise<FollowedResponse> {
    const options = { errors: registryErrors, mayLoseTls: false };
    if (request.body === undefined && request.method !== "POST")
      return await followRedirects(request, (one) => this.#request(one, "manual"), options);
    // Redirects of uploads keep their method and body, as fetch does it.
    const response = await this.#request(request, "follow");
    if (request.url.protocol === "https:" && response.url.protocol === "http:") {
      response.body.destroy();
      throw wrongContent(request.url.host, "a redirect to an address without TLS");
    }
    return response;
  }

  /** Sends a request that must not be redirected, since its body may contain credentials. */
  async sendDirectly(request: EdgectlRequest): Promise<FollowedResponse> {
    return await this.#request(request, "error");
  }

  async #request(
    { url, method, headers, body }: EdgectlRequest,
    redirect: "manual" | "follow" | "error",
  ): Promise<FollowedResponse> {
    const response = await this.#fetch(url, {
      method,
      // Blobs are checked by their length and digest as they are.
      headers: { "Accept-Encoding": "identity", ...headers },
      ...(body !== undefined && { body }),
      redirect,
      signal: this.#signal,
    }).catch((error: unknown) => {
      this.#signal.throwIfAborted();
      throw noResponse(url.host, error);
    });
    const stream = response.body ? Readable.fromWeb(response.body) : Readable.from([]);
    // A reader gets the error too; without one, it must not end the process.
    stream.on("error", () => undefined);
    const origin = URL.parse(response.url) ?? url;
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: stream,
      url: origin,
      isCrossOrigin: origin.origin !== url.origin,
    };
  }
}

type SessionRequest = Partial<Pick<EdgectlRequest, "method" | "headers" | "body">>;

interface SessionOptions {
  readonly address: ImageAddress;
  readonly login: RegistryLogin | undefined;
  /** HTTP without TLS. A registry on this machine is also tried without. */
  readonly isPlain: boolean;
  readonly io: Pick<Io, "fetch" | "interrupted" | "clock">;
}

/** Maximum time without data of a registry, in milliseconds. */
const STALL_MS = 60_000;

/** Requests to one repository of a registry, with its scheme and tokens. */
export class RegistrySession {
  readonly address: ImageAddress;
  readonly #io: SessionOptions["io"];
  readonly #transport: FetchTransport;
  readonly #authorizer: Authorizer<FollowedResponse>;
  readonly #login: RegistryLogin | undefined;
  readonly #isPlain: boolean;
  #origin: Promise<string> | undefined;

  constructor({ address, login, isPlain, io }: SessionOptions) {
    this.address = address;
    this.#io = io;
    this.#transport = new FetchTransport(io);
    this.#login = login;
    this.#isPlain = isPlain;
    this.#authorizer = new Authorizer({
      clock: io.clock,
      clientId: "edgectl",
      errors: registryErrors,
      tokenServers: {
        // The registry itself responds over HTTP, so its token server may too.
        rules: (_access, refused) => ({ mayBePlain: refused.url.protocol === "http:" }),
        send: (request) => this.#transport.sendDirectly(request),
      },
    });
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
  async send(target: string | URL, request: SessionRequest = {}): Promise<FollowedResponse> {
    const url = typeof target === "string" ? await this.url(target) : target;
    const { method = "GET", headers = {} } = request;
    const send = (authorization: string | undefined): Promise<FollowedResponse> => {
      const all = { ...headers, ...(authorization !== undefined && { Authorization: authorization }) };
      return this.#transport.send({ ...request, method, url, headers: all });
    };
    // The registry may name other hosts for uploads: they get no credentials.
    if (url.origin !== new URL(await this.#ownOrigin()).origin) return await send(undefined);
    const action = method === "POST" || method === "PUT" ? "push" : "pull";
    return await this.#authorizer.send(this.#access(action), send, this.#io.interrupted);
  }

  /**
   * Reads a response to its end. Errors: exit code 1 if it has more than `maxBytes`, or is a page of something between this
   * machine and the registry.
   */
  async readDocument(response: FollowedResponse, maxBytes: number = MAX_DOCUMENT_BYTES): Promise<Uint8Array> {
    const options = { clock: this.#io.clock, stallMs: STALL_MS, maxBytes, errors: registryErrors };
    return await readDocument(response, options, this.#io.interrupted);
  }

  /** Reads a response as it comes. Errors: exit code 5 if the connection breaks. */
  async *read({ body }: FollowedResponse): AsyncGenerator<Uint8Array> {
    try {
      yield* body as AsyncIterable<Uint8Array>;
    } catch (error) {
      this.#io.interrupted.throwIfAborted();
      throw registryErrors.transfer(error, this.address.host);
    }
  }

  /** Turns a response that is not a success into a failure. Reads the start of its body for the reason. */
  async refusal(what: string, response: FollowedResponse): Promise<Error> {
    return await refusal(this.address.host, what, response, this.#login !== undefined);
  }

  #access(action: "pull" | "push"): RegistryAccess {
    const { registry, repository } = this.address;
    return { registry, repository, login: this.#login, action };
  }

  #ownOrigin(): Promise<string> {
    this.#origin ??= this.#findOrigin();
    return this.#origin;
  }

  async #findOrigin(): Promise<string> {
    const { host } = this.address;
    if (this.#isPlain) return `http://${host}`;
    if (!isLoopback(host)) return `https://${host}`;
    const { fetch, interrupted } = this.#io;
    // As engines do: loopback needs no TLS, but may have it.
    const isTls = await fetch(`https://${host}/v2/`, { signal: interrupted, redirect: "manual" }).then(
      async (response) => {
        // Not read: its error is of no interest.
        await response.body?.cancel().catch(() => undefined);
        return true;
      },
      (error: unknown) => {
        interrupted.throwIfAborted();
        return isCertificateError(error);
      },
    );
    return `${isTls ? "https" : "http"}://${host}`;
  }
}

/** Whether a host is this machine, where engines need no TLS. */
function isLoopback(host: string): boolean {
  const { hostname } = new URL(`http://${host}`);
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname);
}

/** The registry speaks TLS, and is not trusted: then nothing is sent without TLS. */
function isCertificateError(error: unknown): boolean {
  const code: unknown =
    error instanceof Error && error.cause instanceof Error && "code" in error.cause && error.cause.code;
  return typeof code === "string" && /CERT|SELF_SIGNED|UNABLE_TO_|ALTNAME/.test(code);
}

/** The options for a registry, as commander passes them. */
export interface RegistryOptions {
  readonly registryUser?: string;
  readonly registryPasswordFile?: string;
  readonly registryTokenFile?: string;
  readonly plainHttp?: boolean;
}

/** Opens sessions with the credentials of the options, or else those that Docker has for the registry. */
export async function openSessions(
  references: readonly string[],
  options: RegistryOptions,
  io: Io,
): Promise<readonly RegistrySession[]> {
  const addresses = references.map(parseAddress);
  const given = await readRegistryAuth(options, io);
  const own: RegistryLogin | undefined =
    given && ("token" in given ? { kind: "token", token: given.token } : { kind: "basic", ...given });
  const sessions: RegistrySession[] = [];
  for (const address of addresses) {
    // Given credentials are for one registry: that of the first image.
    const isFirst = address.registry === addresses[0]?.registry;
    const login = (isFirst ? own : undefined) ?? (await dockerLogin(address.registry, io));
    sessions.push(new RegistrySession({ address, login, isPlain: options.plainHttp ?? false, io }));
  }
  return sessions;
}

/** Returns Docker's login for a registry, from `DOCKER_CONFIG` or `~/.docker`. Errors: exit code 3. */
async function dockerLogin(registry: string, io: Io): Promise<RegistryLogin | undefined> {
  const { env, clock, homeDirectory, interrupted } = io;
  const path = join(env["DOCKER_CONFIG"] || join(homeDirectory, ".docker"), "config.json");
  // Without a timeout: the helper may ask for a passphrase.
  const runHelper = createHelperClient({ clock, env, toError });
  return await findDockerLogin(path, registry, { runHelper, toError }, interrupted);
}

function toError(message: string): Failure {
  return new Failure(`The ${message}.`, { exitCode: EXIT.unauthorized });
}
