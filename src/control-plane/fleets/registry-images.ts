import { createHash } from "node:crypto";
import { deadline } from "../../lib/clock.ts";
import { readBody } from "../../lib/registry/read-body.ts";
import type { RegistryAuth } from "../../protocol/deploy-request.ts";
import { EdgeError } from "../../protocol/errors.ts";
import { parseImageReference } from "../../protocol/image-reference.ts";
import type { ImageResolver } from "./image-resolver.ts";
import { GuardedHttp, type GuardedHttpOptions, type GuardedResponse } from "./images/guarded-http.ts";
import { type ManifestAddress, manifestAddress } from "./images/image-host.ts";
import { ResolutionFailure } from "./images/resolution-failure.ts";
import { toFailure, maySpeakNoTls } from "./images/to-failure.ts";
import { authorize, denied } from "./images/token.ts";

/** Of indexes first: the digest of an image for several platforms is that of its index. */
const MANIFEST_TYPES = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
];
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const MAX_MANIFEST_BYTES = 4 * 1024 * 1024;
const TIMEOUT_MS = 10_000;

/** One image to ask a registry for. */
interface Query extends ManifestAddress {
  readonly registry: URL;
  readonly auth: RegistryAuth | undefined;
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
    const address = manifestAddress(reference);
    const registry = address && URL.parse(`https://${address.host}`);
    if (!registry) throw new ResolutionFailure("not_found", `${reference} is not an image reference`);
    const query = { ...address, auth, signal };
    try {
      return await this.#ask({ ...query, registry });
    } catch (error) {
      if (!this.#http.mayBePrivate(registry) || !maySpeakNoTls(error)) throw error;
      return await this.#ask({ ...query, registry: new URL(`http://${address.host}`) });
    }
  }

  async #ask(query: Query): Promise<string> {
    const { auth, registry } = query;
    let authorization = auth && "token" in auth ? `Bearer ${auth.token}` : undefined;
    let head = await this.#send("HEAD", query, authorization);
    if (head.status === 401 && !head.isCrossOrigin) {
      const options = { http: this.#http, clock: this.#options.clock };
      authorization = await authorize(head.headers["www-authenticate"], query, options, query.signal);
      head = await this.#send("HEAD", query, authorization);
    }
    // Some registries do not know HEAD of manifests.
    if (head.status !== 405 && head.status !== 501) requireFound(head, query);
    const told = head.headers["docker-content-digest"];
    if (head.status === 200 && typeof told === "string" && DIGEST.test(told)) return told;
    const response = await this.#send("GET", query, authorization);
    const { headers, body } = response;
    requireFound(response, query);
    const [type = ""] = (headers["content-type"] ?? "").split(";");
    // The hash of some other page would be a digest that no device can pull.
    if (!MANIFEST_TYPES.includes(type.trim().toLowerCase())) {
      body.destroy();
      throw invalidResponse(registry, "does not respond with a manifest");
    }
    const { clock } = this.#options;
    const manifest = await readBody(body, { clock, maxBytes: MAX_MANIFEST_BYTES, stallMs: TIMEOUT_MS });
    return `sha256:${createHash("sha256").update(manifest).digest("hex")}`;
  }

  async #send(method: "HEAD" | "GET", query: Query, authorization: string | undefined): Promise<GuardedResponse> {
    const { registry, repository, tag, signal } = query;
    const headers = {
      Accept: MANIFEST_TYPES.join(", "),
      ...(authorization !== undefined && { Authorization: authorization }),
    };
    const url = new URL(`/v2/${repository}/manifests/${tag}`, registry);
    const response = await this.#http.send({ registry, method, url, headers }, signal);
    if (method === "HEAD") response.body.destroy();
    return response;
  }
}

/** Throws `ResolutionFailure` unless the status is 200. */
function requireFound({ status, body }: GuardedResponse, { registry, repository, tag, auth }: Query): void {
  if (status === 200) return;
  body.destroy();
  const { host } = registry;
  if (status === 401 || status === 403) throw denied(registry, auth);
  if (status === 404)
    throw new ResolutionFailure("not_found", `${host} has no tag ${tag} of ${repository}; check the name and the tag`);
  if (status === 429)
    throw new ResolutionFailure("rate_limited", `${host} allows no more requests now; try again later`);
  if (status >= 500)
    throw new ResolutionFailure("unreachable", `${host} responds with HTTP ${status}; try again later`);
  throw invalidResponse(registry, `responds with HTTP ${status}`);
}

function invalidResponse({ host }: URL, what: string): ResolutionFailure {
  return new ResolutionFailure(
    "invalid_response",
    `${host} ${what}; check the name, or write the image with its digest`,
  );
}
