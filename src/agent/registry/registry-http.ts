import type { Clock } from "../../lib/clock.ts";
import { isLoopback, stripBrackets } from "../core/net/hostname.ts";
import { registryHost } from "../../lib/registry/address.ts";
import {
  Authorizer,
  type TokenRequest,
  type TokenServerRules,
  type TokenServers,
} from "../../lib/registry/authorizer.ts";
import { type FollowedResponse, followRedirects } from "../../lib/registry/http.ts";
import type { RegistryAccess } from "../../lib/registry/problem.ts";
import { type ForbiddenAddresses, localAddressKind } from "./local-address.ts";
import { RegistryError } from "./registry-error.ts";
import { registryErrors, speaksNoTls, toProblemError, toRegistryError } from "./to-registry-error.ts";
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

/** A response after redirects. */
export interface AgentRegistryResponse extends RegistryHttpResponse, FollowedResponse {
  /** Addresses that this registry must not lead to. */
  readonly forbiddenAddresses: ForbiddenAddresses;
}

const LOOPBACK: ForbiddenAddresses = new Set(["loopback"]);
const LINK_LOCAL: ForbiddenAddresses = new Set(["link-local"]);
const ALL_LOCAL: ForbiddenAddresses = new Set(["loopback", "link-local"]);

/** HTTP for registries and their token servers: chooses scheme and certificates, and follows redirects. */
export class RegistryHttp implements TokenServers<AgentRegistryResponse> {
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
  ): Promise<AgentRegistryResponse> {
    const host = registryHost(registry);
    const trust = await this.#trustOf(registry, signal);
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

  async rules({ registry }: RegistryAccess, _refusal: unknown, signal: AbortSignal): Promise<TokenServerRules> {
    const { insecure, authHosts } = await this.#trustOf(registry, signal);
    return { mayBePlain: insecure, authHosts };
  }

  async send(
    request: TokenRequest,
    { registry }: RegistryAccess,
    { forbiddenAddresses }: AgentRegistryResponse,
    signal: AbortSignal,
  ): Promise<RegistryHttpResponse> {
    const trust = await this.#trustOf(registry, signal);
    const outgoing = { ...request, trust, forbiddenAddresses };
    return await this.#guard(request.url.host, signal, () => this.#follow(outgoing, signal));
  }

  async #trustOf(registry: string, signal: AbortSignal): Promise<HostTrust> {
    const trust = await this.#trust(registry, signal);
    // As engines do: loopback needs no TLS.
    return isLoopback(registryHost(registry)) ? { ...trust, insecure: true } : trust;
  }

  async #follow(first: RegistryHttpRequest, signal: AbortSignal): Promise<AgentRegistryResponse> {
    let { forbiddenAddresses } = first;
    const send = async (outgoing: RegistryHttpRequest): Promise<RegistryHttpResponse> => {
      const response = await this.#transport.send(
        { ...outgoing, ...(forbiddenAddresses && { forbiddenAddresses }) },
        signal,
      );
      // The first response is the registry's own, so its address tells where the registry is.
      forbiddenAddresses ??= forbiddenRedirectTargets(response);
      return response;
    };
    const options = { errors: { problem: toProblemError }, mayLoseTls: first.trust.insecure };
    const response = await followRedirects(first, send, options);
    return { ...response, forbiddenAddresses: forbiddenAddresses ?? ALL_LOCAL };
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

/** Creates what authenticates the agent's requests. */
export function createAuthorizer(http: RegistryHttp, clock: Clock): Authorizer<AgentRegistryResponse> {
  return new Authorizer<AgentRegistryResponse>({
    clock,
    tokenServers: http,
    errors: registryErrors(clock),
    clientId: "edge-agent",
  });
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

function mayBePlain(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && (speaksNoTls(code) || code === "ECONNREFUSED" || code === "ECONNRESET");
}
