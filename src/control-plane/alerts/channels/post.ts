import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { SecretMasker } from "../../../lib/redact.ts";
import { VERSION } from "../../../lib/version.ts";
import type { DeliveryAnswer } from "../../core/alerts/delivery.ts";
import { PrivateHosts } from "../../images/private-hosts.ts";
import { type IsPublic, isPublicAddress, type LookupAll, publicLookup } from "../../images/public-address.ts";
import { ResolutionFailure } from "../../images/resolution-failure.ts";
import { cleanText } from "../message.ts";
import type { HttpMessage } from "./formats.ts";

/** As much of an answer is read and kept. */
const MAX_ANSWER_BYTES = 2048;
const MAX_ANSWER_LENGTH = 300;

export interface PosterOptions {
  /** Hosts, with a port or for all ports, that may have private addresses and need no TLS. */
  readonly allowPrivate: readonly string[];
  /** Default: `lookup` of `node:dns`. */
  readonly lookup?: LookupAll | undefined;
  /** Default: `isPublicAddress`. */
  readonly isPublic?: IsPublic | undefined;
  /** PEM of the trusted authorities. Default: those of Node.js. */
  readonly ca?: string | undefined;
}

/**
 * Posts messages to servers that customers choose: only to public addresses and with TLS, except for allowed hosts. Follows no
 * redirects, and ignores proxies of the environment, which would look up names themselves.
 */
export class Poster {
  readonly #options: PosterOptions;
  readonly #privateHosts: PrivateHosts;

  constructor(options: PosterOptions) {
    this.#options = options;
    this.#privateHosts = new PrivateHosts(options.allowPrivate);
  }

  /** Returns why nothing is sent to the address, for people; `undefined` if it may be. Looks up no name. */
  explainRefusal(url: URL): string | undefined {
    if (this.#privateHosts.has(url)) return undefined;
    if (url.protocol !== "https:") return `${url.host} would be reached without TLS`;
    const address = url.hostname.replace(/^\[(.*)\]$/, "$1");
    const { isPublic = isPublicAddress } = this.#options;
    return isIP(address) !== 0 && !isPublic(address) ? `${url.host} is not a public address` : undefined;
  }

  /** Never rejects: every failure is an answer. */
  async post({ url, headers, body, secrets }: HttpMessage, signal: AbortSignal): Promise<DeliveryAnswer> {
    const refusal = this.explainRefusal(url);
    if (refusal !== undefined) return failed(refusal);
    try {
      const response = await this.#send(url, headers, body, signal);
      return await toAnswer(response, secrets);
    } catch (error) {
      if (error instanceof ResolutionFailure) return failed(`${url.host} has no public address`);
      if (signal.aborted) return failed("no answer in time");
      return failed(error instanceof Error ? error.message : String(error));
    }
  }

  async #send(url: URL, headers: HttpMessage["headers"], body: string, signal: AbortSignal): Promise<IncomingMessage> {
    const isTls = url.protocol === "https:";
    const { isPublic, lookup, ca } = this.#options;
    const options = {
      method: "POST",
      signal,
      agent: false,
      headers: {
        "User-Agent": `edge-control/${VERSION}`,
        ...headers,
        "Content-Length": String(Buffer.byteLength(body)),
      },
      ...(!this.#privateHosts.has(url) && { lookup: publicLookup(isPublic, lookup) }),
      ...(isTls && ca !== undefined && { ca }),
    } as const;
    return await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = isTls ? httpsRequest(url, options) : httpRequest(url, options);
      outgoing.on("response", resolve);
      outgoing.on("error", reject);
      // Comes alone where the server switches protocols.
      outgoing.on("close", () => reject(new Error(`${url.host} does not respond with HTTP`)));
      outgoing.end(body);
    });
  }
}

/** Reads some of the answer; the rest, however long, is left. */
async function toAnswer(response: IncomingMessage, secrets: readonly string[]): Promise<DeliveryAnswer> {
  const status = response.statusCode ?? 0;
  let text = "";
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      text += chunk.subarray(0, MAX_ANSWER_BYTES - bytes).toString("utf8");
      bytes += chunk.byteLength;
      if (bytes >= MAX_ANSWER_BYTES) break;
    }
  } catch (error) {
    // The status says whether it was taken.
    if (status < 200 || status >= 300) throw error;
  } finally {
    response.destroy();
  }
  // Before it is cut for people.
  const masked = new SecretMasker(secrets).mask(text, { atEnd: bytes >= MAX_ANSWER_BYTES });
  const answer = cleanText(`${status} ${masked}`.trim(), MAX_ANSWER_LENGTH);
  if (status >= 200 && status < 300) return { kind: "delivered", answer };
  if (status === 410) return { kind: "gone", answer };
  if (status >= 300 && status < 400) return failed(`${status}: redirects are not followed`);
  return { kind: "failed", answer, retryAfterMs: retryAfterMs(response.headers["retry-after"]) };
}

function retryAfterMs(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,6}$/.test(header) ? Number(header) * 1000 : undefined;
}

function failed(answer: string): DeliveryAnswer {
  return { kind: "failed", answer: cleanText(answer, MAX_ANSWER_LENGTH) };
}
