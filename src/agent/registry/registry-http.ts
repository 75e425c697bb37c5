import type { Clock } from "../../lib/clock.ts";
import { isLoopback, stripBrackets } from "../core/net/hostname.ts";
import { registryHost } from "./address.ts";
import { type ForbiddenAddresses, localAddressKind } from "./local-address.ts";
import { RegistryError } from "./registry-error.ts";
import { speaksNoTls, toRegistryError } from "./to-registry-error.ts";
import type { HostTrust, RegistryHttpResponse, RegistryHttpRequest, Transport } from "./transport.ts";

/** What a registry may be trusted with. */
export type TrustSource = (registry: string, signal: AbortSignal) => Promise<HostTrust>;

export interface RegistryRequest {
  /** As references name it. */
  readonly registry: string;
  /** Begins with `/v2/`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** An answer to a request that was made to a registry. */
export interface RegistryResponse extends RegistryHttpResponse {
  /** Another host than the registry gave it, or the same one at another port or by another scheme. */
  readonly isCrossOrigin: boolean;
  /** Where a registry at this place may not lead to. */
  readonly forbiddenAddresses: ForbiddenAddresses;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const MAX_REDIRECTS = 5;
const LOOPBACK: ForbiddenAddresses = new Set(["loopback"]);
const LINK_LOCAL: ForbiddenAddresses = new Set(["link-local"]);
const ALL_LOCAL: ForbiddenAddresses = new Set(["loopback", "link-local"]);

/** HTTP as registries need it: which scheme, which certificates, redirects to where the bytes really are. */
export class RegistryHttp {
  readonly #transport: Transport;
  readonly #trust: TrustSource;
  readonly #clock: Clock;
  /** Registries without TLS that answered so before. */
  readonly #plain = new Set<string>();

  constructor(transport: Transport, trust: TrustSource, clock: Clock) {
    this.#transport = transport;
    this.#trust = trust;
    this.#clock = clock;
  }

  /** GET at a registry. Rejects with a `RegistryError` where there is no answer, or with the signal's reason. */
  async get({ registry, path, headers }: RegistryRequest, signal: AbortSignal): Promise<RegistryResponse> {
    const host = registryHost(registry);
    const trust = await this.trustOf(registry, signal);
    return await this.#guard(host, signal, async () => {
      const request = (scheme: string): RegistryHttpRequest => {
        return { method: "GET", url: new URL(`${scheme}//${host}${path}`), headers, trust };
      };
      if (!trust.insecure) return await this.#follow(request("https:"), signal);
      if (this.#plain.has(host)) return await this.#follow(request("http:"), signal);
      try {
        return await this.#follow(request("https:"), signal);
      } catch (error) {
        if (error instanceof RegistryError || !mayBePlain(error)) throw error;
        const answer = await this.#follow(request("http:"), signal);
        this.#plain.add(host);
        return answer;
      }
    });
  }

  /** One request to a token server, or wherever else a registry sends its clients. */
  async send(
    outgoing: RegistryHttpRequest & Required<Pick<RegistryHttpRequest, "forbiddenAddresses">>,
    signal: AbortSignal,
  ): Promise<RegistryHttpResponse> {
    return await this.#guard(outgoing.url.host, signal, () => this.#follow(outgoing, signal));
  }

  async trustOf(registry: string, signal: AbortSignal): Promise<HostTrust> {
    const trust = await this.#trust(registry, signal);
    // As engines do: nobody is between this machine and itself.
    return isLoopback(registryHost(registry)) ? { ...trust, insecure: true } : trust;
  }

  async #follow(first: RegistryHttpRequest, signal: AbortSignal): Promise<RegistryResponse> {
    let outgoing = first;
    let { forbiddenAddresses } = first;
    for (let redirects = 0; ; redirects++) {
      const answer = await this.#transport.send(outgoing, signal);
      const { location } = answer.headers;
      // Where the registry is shows at its own answer, by the address that was connected to.
      forbiddenAddresses ??= forbiddenRedirectTargets(answer);
      if (!REDIRECTS.has(answer.status) || location === undefined) {
        return {
          ...answer,
          isCrossOrigin: answer.url.origin !== first.url.origin,
          forbiddenAddresses: forbiddenAddresses,
        };
      }
      answer.body.destroy();
      if (redirects === MAX_REDIRECTS) throw new RegistryError("unsupported", `${first.url.host} redirects in circles`);
      outgoing = { ...redirected(outgoing, location), forbiddenAddresses: forbiddenAddresses };
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
 * A registry on this machine may lead to others on this machine, and one on the device's own link to others there. Behind
 * a proxy, only a registry that is written as an address is known to be here.
 */
function forbiddenRedirectTargets({ url, remoteAddress }: RegistryHttpResponse): ForbiddenAddresses {
  const own = localAddressKind(remoteAddress ?? stripBrackets(url.hostname));
  if (own === undefined) return ALL_LOCAL;
  return own === "loopback" ? LINK_LOCAL : LOOPBACK;
}

/** Credentials stay with the host they are for: storage hosts authorize by what is in the address. */
function redirected(from: RegistryHttpRequest, location: string): RegistryHttpRequest {
  const url = URL.parse(location, from.url);
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new RegistryError("unsupported", `${from.url.host} redirects to something that is no web address`);
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
