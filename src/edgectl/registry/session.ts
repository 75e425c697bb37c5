import { Authorizer } from "../../lib/registry/authorizer.ts";
import type { FollowedResponse } from "../../lib/registry/http.ts";
import type { RegistryLogin } from "../../lib/registry/login.ts";
import type { RegistryAccess } from "../../lib/registry/problem.ts";
import { MAX_DOCUMENT_BYTES, readDocument } from "../../lib/registry/read-document.ts";
import type { Io } from "../io.ts";
import type { ImageAddress } from "./address.ts";
import { registryErrors, refusal } from "./failures.ts";
import { type EdgectlRequest, Transport } from "./transport.ts";

export type SessionRequest = Partial<Pick<EdgectlRequest, "method" | "headers" | "body">>;

export interface SessionOptions {
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
  readonly #transport: Transport;
  readonly #authorizer: Authorizer<FollowedResponse>;
  readonly #login: RegistryLogin | undefined;
  readonly #isPlain: boolean;
  #origin: Promise<string> | undefined;

  constructor({ address, login, isPlain, io }: SessionOptions) {
    this.address = address;
    this.#io = io;
    this.#transport = new Transport(io);
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
