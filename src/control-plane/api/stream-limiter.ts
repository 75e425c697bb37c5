import type { FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { ConcurrencyLimiter } from "../../lib/concurrency-limiter.ts";
import { accountOf, keyOf } from "./auth.ts";

/** How long a client may take nothing of what waits for it before its stream is cut, in milliseconds. */
export const STALL_TIMEOUT_MS = 120_000;

/** Most event streams of one deployment that may be open at once. */
export const MAX_STREAMS_PER_DEPLOYMENT = 50;

export interface StreamLimiterOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly maxPerAccount: number;
}

/** The streams that clients have open: bounded in number, and cut where nobody reads. */
export class StreamLimiter {
  readonly #options: StreamLimiterOptions;
  readonly #accounts: ConcurrencyLimiter;
  readonly #deployments: ConcurrencyLimiter;
  #cutCount = 0;

  constructor(options: StreamLimiterOptions) {
    this.#options = options;
    this.#accounts = new ConcurrencyLimiter(
      options.maxPerAccount,
      "The account has as many event streams open as it may have.",
    );
    this.#deployments = new ConcurrencyLimiter(
      MAX_STREAMS_PER_DEPLOYMENT,
      "The deployment has as many event streams open as it may have; it goes on all the same.",
    );
  }

  /** Counts the answer as a stream of its account until it is over. Error: `TooManyRequests`. */
  acquireForAccount(request: FastifyRequest, reply: FastifyReply): void {
    releaseOnClose(reply, this.#accounts.acquire(accountOf(request)));
  }

  /** Counts the answer as a stream of the deployment until it is over. Error: `TooManyRequests`. */
  acquireForDeployment(reply: FastifyReply, deploymentId: string): void {
    releaseOnClose(reply, this.#deployments.acquire(deploymentId));
  }

  /** Passes the text on as the client takes it; cuts the connection when the client takes nothing for too long. */
  async *withStallTimeout(
    request: FastifyRequest,
    reply: FastifyReply,
    texts: AsyncIterable<string>,
  ): AsyncGenerator<string> {
    for await (const text of texts) {
      // The generator is resumed as soon as there is room for more.
      using _stalled = this.#options.clock.timer(STALL_TIMEOUT_MS, () => this.#cutOff(request, reply));
      yield text;
    }
  }

  #cutOff(request: FastifyRequest, reply: FastifyReply): void {
    const { id, accountId } = keyOf(request);
    this.#options.logger.warn(
      {
        request_id: request.id,
        key_id: id,
        account_id: accountId,
        route: request.routeOptions.url,
        count: ++this.#cutCount,
      },
      "a client does not read; its stream is cut",
    );
    reply.raw.destroy();
  }
}

function releaseOnClose(reply: FastifyReply, slot: Disposable): void {
  if (reply.raw.closed) slot[Symbol.dispose]();
  else reply.raw.once("close", () => slot[Symbol.dispose]());
}
