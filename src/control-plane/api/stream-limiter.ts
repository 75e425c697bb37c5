import type { FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { ConcurrencyLimiter } from "../../lib/concurrency-limiter.ts";
import type { Observer } from "../metrics/observer.ts";
import type { SharedCounts } from "../instances/shared-counts.ts";
import { principalFields } from "../accounts/principal.ts";
import { accountOf, principalOf } from "./auth.ts";

/** A stream is closed after its client has read nothing for this long while data was pending. */
export const STALL_TIMEOUT_MS = 120_000;

/** Maximum number of concurrent event streams of one deployment. */
export const MAX_STREAMS_PER_DEPLOYMENT = 50;

export interface StreamLimiterOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly maxPerAccount: number;
  readonly observer?: Observer | undefined;
  /** What other instances count; absent if there can be none. */
  readonly counts?: SharedCounts | undefined;
}

/** Limits the number of clients' streams, and closes those that are not read. */
export class StreamLimiter {
  readonly #options: StreamLimiterOptions;
  readonly #accounts: ConcurrencyLimiter;
  readonly #deployments: ConcurrencyLimiter;
  #cutCount = 0;

  constructor(options: StreamLimiterOptions) {
    this.#options = options;
    this.#accounts = new ConcurrencyLimiter(
      options.maxPerAccount,
      "The account has reached its limit of open event streams.",
      options.counts?.of("event-streams"),
      () => options.observer?.bounded("event_streams_per_account"),
    );
    this.#deployments = new ConcurrencyLimiter(
      MAX_STREAMS_PER_DEPLOYMENT,
      "The deployment has reached its limit of open event streams; the deployment itself continues.",
      options.counts?.of("deployment-streams"),
      () => options.observer?.bounded("event_streams_per_deployment"),
    );
  }

  /** Counts the response as a stream of its account until it is closed. Error: `TooManyRequests`. */
  acquireForAccount(request: FastifyRequest, reply: FastifyReply): void {
    releaseOnClose(reply, this.#accounts.acquire(accountOf(request)));
    const { observer } = this.#options;
    if (observer) releaseOnClose(reply, observer.eventStream());
  }

  /** Counts the response as a stream of the deployment until it is closed. Error: `TooManyRequests`. */
  acquireForDeployment(reply: FastifyReply, deploymentId: string): void {
    releaseOnClose(reply, this.#deployments.acquire(deploymentId));
  }

  /** Passes the text on. Destroys the connection when the client reads nothing for `STALL_TIMEOUT_MS`. */
  async *withStallTimeout(
    request: FastifyRequest,
    reply: FastifyReply,
    texts: AsyncIterable<string>,
  ): AsyncGenerator<string> {
    for await (const text of texts) {
      // The generator is resumed when the client has read enough for the buffer to have room.
      using _stalled = this.#options.clock.timer(STALL_TIMEOUT_MS, () => this.#cutOff(request, reply));
      yield text;
    }
  }

  #cutOff(request: FastifyRequest, reply: FastifyReply): void {
    const principal = principalOf(request);
    this.#options.observer?.bounded("event_stream_not_read");
    this.#options.logger.warn(
      {
        request_id: request.id,
        ...principalFields(principal),
        account_id: principal.accountId,
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
