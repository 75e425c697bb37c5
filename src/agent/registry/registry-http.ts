import type { Clock } from "../../lib/clock.ts";
import { isLoopback, stripBrackets } from "../core/net/hostname.ts";
import { registryHost } from "./address.ts";
import { type ForbiddenAddresses, localAddressKind } from "./local-address.ts";
import { RegistryError } from "./registry-error.ts";
import { speaksNoTls, toRegistryError } from "./to-registry-error.ts";
import type { HostTrust, RegistryHttpResponse, RegistryHttpRequest, Transport } from "./transport.ts";

/** Returns the trust settings of a registry. */
export type TrustSource = (registry: string, signal: AbortSignal) => Promise<HostTrust>;

export interface RegistryRequest {
  /** The name used in references. */
  readonly registry: string;
  /** Default `GET`. */
  readonly method?: "GET" | "HEAD";
  /** Begins with `/v2/`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A response, after redirects. */
export interface RegistryResponse extends RegistryHttpResponse {
  /** The response is from another origin (scheme, host, port) than the registry. */
  readonly isCrossOrigin: boolean;
  /** Addresses that this registry must not lead to. */
  readonly forbiddenAddresses: ForbiddenAddresses;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const MAX_REDIRECTS = 5;
const LOOPBACK: ForbiddenAddresses = new Set(["loopback"]);
const LINK_LOCAL: ForbiddenAddresses = new Set(["link-local"]);
const ALL_LOCAL: ForbiddenAddresses = new Set(["loopback", "link-local"]);

/** HTTP for registries: chooses scheme and certificates, and follows redirects. */
export class RegistryHttp {
  readonly #transport: Transport;
  readonly #trust: TrustSource;
  readonly #clock: Clock;
  /** Hosts that have responded over plain HTTP. */
  readonly #plain = new Set<string>();

  constructor(transport: Transport, trust: TrustSource, clock: Clock) {
    this.#transport = transport;
    this.#trust = trust;
    this.#clock = clock;
  }

  /** Sends a request to a registry. Rejects with a `RegistryError` if there is no response, or with the signal's reason. */
  async get(
    { registry, method = "GET", path, headers }: RegistryRequest,
    signal: AbortSignal,
  ): Promise<RegistryResponse> {
    const host = registryHost(registry);
    const trust = await this.trustOf(registry, signal);
    return await this.#guard(host, signal, async () => {
      const request = (scheme: string): RegistryHttpRequest => {
        return { method, url: new URL(`${scheme}//${host}${path}`), headers, trust };
      };
      if (!trust.insecure) return await this.#follow(request("https:"), signal);
      if (this.#plain.has(host)) return await this.#follow(request("http:"), signal);
      try {
        return await this.#follow(request("https:"), signal);
      } catch (error) {
        if (error instanceof RegistryError || !mayBePlain(error)) throw error;
        const response = await this.#follow(request("http:"), signal);
        this.#plain.add(host);
        return response;
      }
    });
  }

  /** Sends a request to a token server, or another server that the registry named. */
  async send(
    outgoing: RegistryHttpRequest & Required<Pick<RegistryHttpRequest, "forbiddenAddresses">>,
    signal: AbortSignal,
  ): Promise<RegistryHttpResponse> {
    return await this.#guard(outgoing.url.host, signal, () => this.#follow(outgoing, signal));
  }

  async trustOf(registry: string, signal: AbortSignal): Promise<HostTrust> {
    const trust = await this.#trust(registry, signal);
    // As engines do: loopback needs no TLS.
    return isLoopback(registryHost(registry)) ? { ...trust, insecure: true } : trust;
  }

  async #follow(first: RegistryHttpRequest, signal: AbortSignal): Promise<RegistryResponse> {
    let outgoing = first;
    let { forbiddenAddresses } = first;
    for (let redirects = 0; ; redirects++) {
      const response = await this.#transport.send(outgoing, signal);
      const { location } = response.headers;
      // The first response is the registry's own, so its address tells where the registry is.
      forbiddenAddresses ??= forbiddenRedirectTargets(response);
      if (!REDIRECTS.has(response.status) || location === undefined) {
        return {
          ...response,
          isCrossOrigin: response.url.origin !== first.url.origin,
          forbiddenAddresses,
        };
      }
      response.body.destroy();
      if (redirects === MAX_REDIRECTS)
        throw new RegistryError("unsupported", `${first.url.host} redirects more than ${MAX_REDIRECTS} times`);
      outgoing = { ...redirected(outgoing, location), forbiddenAddresses };
    }
  }

  async #guard<T>(host: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      throw toRegistryError(error, host, this.#clock);
    }
  }
}

/**
 * A registry on this machine may lead to others on this machine, and one on the device's own link to others there. Through
 * a proxy, only a registry given as an IP address is known to be local.
 */
function forbiddenRedirectTargets({ url, remoteAddress }: RegistryHttpResponse): ForbiddenAddresses {
  const own = localAddressKind(remoteAddress ?? stripBrackets(url.hostname));
  if (own === undefined) return ALL_LOCAL;
  return own === "loopback" ? LINK_LOCAL : LOOPBACK;
}

/** Returns the redirected request, without credentials if the origin changes: storage hosts use signed URLs. */
function redirected(from: RegistryHttpRequest, location: string): RegistryHttpRequest {
  const url = URL.parse(location, from.url);
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new RegistryError("unsupported", `${from.url.host} redirects to an address that is not HTTP`);
  }
  const isDowngrade = from.url.protocol === "https:" && url.protocol === "http:";
  if (isDowngrade && !from.trust.insecure) {
    throw new RegistryError("refused_target", `${from.url.host} redirects to ${url.host} without TLS`);
  }
  const { body: _body, ...rest } = from;
  const headers = Object.entries(from.headers).filter(([name]) => {
    return url.origin === from.url.origin || name.toLowerCase() !== "authorization";
  });
  return { ...rest, method: from.method === "HEAD" ? "HEAD" : "GET", url, headers: Object.fromEntries(headers) };
}

function mayBePlain(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && (speaksNoTls(code) || code === "ECONNREFUSED" || code === "ECONNRESET");
}
