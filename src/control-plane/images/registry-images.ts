import { deadline } from "../../lib/clock.ts";
import { type ImageAddress, parseImageAddress } from "../../lib/registry/address.ts";
import { Authorizer } from "../../lib/registry/authorizer.ts";
import {
  ACCEPT,
  digestOf,
  digestSchema,
  isIndexType,
  isManifestType,
  mediaTypeOf,
} from "../../lib/registry/documents.ts";
import { discard, type FollowedResponse } from "../../lib/registry/http.ts";
import type { RegistryLogin } from "../../lib/registry/login.ts";
import type { RegistryAccess } from "../../lib/registry/problem.ts";
import { readDocument } from "../../lib/registry/read-document.ts";
import type { RegistryAuth } from "../../protocol/apps/deploy-request.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { parseImageReference } from "../../protocol/apps/image-reference.ts";
import { GuardedHttp, type GuardedHttpOptions } from "./guarded-http.ts";
import type { ImageResolver } from "./image-resolver.ts";
import { ResolutionFailure, denied, maySpeakNoTls, registryErrors, toFailure } from "./resolution-failure.ts";

const TIMEOUT_MS = 10_000;
/** Maximum time without data of a token server. */
const TOKEN_STALL_MS = 5_000;

/** One image to ask a registry for. */
interface Query {
  readonly address: ImageAddress;
  readonly tag: string;
  readonly registry: URL;
  readonly access: RegistryAccess;
  /** Aborts after `TIMEOUT_MS`. */
  readonly signal: AbortSignal;
}

/** Asks registries for the digests of tags. Sends requests to public addresses and allowed hosts only. */
export class RegistryImages implements ImageResolver {
  readonly #options: GuardedHttpOptions;
  readonly #http: GuardedHttp;

  constructor(options: GuardedHttpOptions) {
    this.#options = options;
    this.#http = new GuardedHttp(options);
  }

  async resolve(reference: string, auth: RegistryAuth | undefined, signal: AbortSignal): Promise<string> {
    if (parseImageReference(reference)?.digest !== undefined) return reference;
    using limit = deadline(this.#options.clock, TIMEOUT_MS, signal);
    try {
      return `${reference}@${await this.#digest(reference, auth, limit.signal)}`;
    } catch (error) {
      signal.throwIfAborted();
      const { reason, message } = toFailure(limit.signal.aborted ? limit.signal.reason : error, reference);
      const text = `The digest of ${reference} could not be found out: ${message}.`;
      throw new EdgeError("ImageNotResolved", text, { image: reference, reason });
    }
  }

  async #digest(reference: string, auth: RegistryAuth | undefined, signal: AbortSignal): Promise<string> {
    const address = parseImageAddress(reference);
    const registry = address && URL.parse(`https://${address.host}`);
    if (!registry) throw new ResolutionFailure("not_found", `${reference} is not an image reference`);
    const access = { registry: address.registry, repository: address.repository, login: auth && toLogin(auth) };
    const query = { address, tag: address.tag ?? "latest", access, signal };
    try {
      return await this.#ask({ ...query, registry });
    } catch (error) {
      if (!this.#http.mayBePrivate(registry) || !maySpeakNoTls(error)) throw error;
      return await this.#ask({ ...query, registry: new URL(`http://${address.host}`) });
    }
  }

  async #ask(query: Query): Promise<string> {
    const { registry, signal } = query;
    const authorizer = this.#authorizer(registry);
    const head = await this.#send("HEAD", query, authorizer);
    discard(head);
    // Some registries do not know HEAD of manifests.
    if (head.status !== 405 && head.status !== 501) requireFound(head, query);
    const told = digestSchema.safeParse(head.headers["docker-content-digest"]);
    if (head.status === 200 && told.success) return told.data;
    const response = await this.#send("GET", query, authorizer);
    requireFound(response, query);
    const type = mediaTypeOf(response.headers["content-type"]);
    // The hash of some other page would be a digest that no device can pull.
    if (!isIndexType(type) && !isManifestType(type)) {
      response.body.destroy();
      throw invalidResponse(query, "does not respond with a manifest");
    }
    const { clock } = this.#options;
    return digestOf(await readDocument(response, { clock, stallMs: TIMEOUT_MS, errors: registryErrors }, signal));
  }

  /** For one query: no token serves the requests of another customer. */
  #authorizer(registry: URL): Authorizer<FollowedResponse> {
    return new Authorizer<FollowedResponse>({
      clock: this.#options.clock,
      clientId: "edge-control",
      stallMs: TOKEN_STALL_MS,
      errors: registryErrors,
      tokenServers: {
        // Where there are no credentials, the rules for every request suffice.
        rules: ({ login }) => ({ mayBePlain: !login || registry.protocol === "http:" }),
        send: ({ method, url, headers }, _access, _refusal, signal) =>
          this.#http.send({ registry, method, url, headers }, signal),
      },
    });
  }

  async #send(
    method: "HEAD" | "GET",
    { registry, address, tag, access, signal }: Query,
    authorizer: Authorizer<FollowedResponse>,
  ): Promise<FollowedResponse> {
    const url = new URL(`/v2/${address.repository}/manifests/${tag}`, registry);
    const send = (authorization: string | undefined): Promise<FollowedResponse> => {
      const headers = { Accept: ACCEPT, ...(authorization !== undefined && { Authorization: authorization }) };
      return this.#http.send({ registry, method, url, headers }, signal);
    };
    return await authorizer.send(access, send, signal);
  }
}

function toLogin(auth: RegistryAuth): RegistryLogin {
  return "token" in auth ? { kind: "token", token: auth.token } : { kind: "basic", ...auth };
}

/** Throws `ResolutionFailure` unless the status is 200. */
function requireFound({ status, body }: FollowedResponse, query: Query): void {
  if (status === 200) return;
  body.destroy();
  const { address, tag, access } = query;
  const { host, repository } = address;
  if (status === 401 || status === 403) throw denied(access);
  if (status === 404)
    throw new ResolutionFailure("not_found", `${host} has no tag ${tag} of ${repository}; check the name and the tag`);
  if (status === 429)
    throw new ResolutionFailure("rate_limited", `${host} allows no more requests now; try again later`);
  if (status >= 500)
    throw new ResolutionFailure("unreachable", `${host} responds with HTTP ${status}; try again later`);
  throw invalidResponse(query, `responds with HTTP ${status}`);
}

function invalidResponse({ address }: Query, what: string): ResolutionFailure {
  return new ResolutionFailure(
    "invalid_response",
    `${address.host} ${what}; check the name, or write the image with its digest`,
  );
}
