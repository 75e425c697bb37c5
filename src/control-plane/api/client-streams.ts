import type { FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { Slots } from "../queries/slots.ts";
import { accountOf, keyOf } from "./auth.ts";

/** How long a client may take nothing of what waits for it before its stream is cut, in milliseconds. */
export const STALL_TIMEOUT_MS = 120_000;

/** Most event streams of one deployment that may be open at once. */
export const MAX_STREAMS_PER_DEPLOYMENT = 50;

export interface ClientStreamsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly maxPerAccount: number;
}

/** The streams that clients have open: bounded in number, and cut where nobody reads. */
export class ClientStreams {
  readonly #options: ClientStreamsOptions;
  readonly #accounts: Slots;
  readonly #deployments: Slots;
  #cut = 0;

  constructor(options: ClientStreamsOptions) {
    this.#options = options;
    this.#accounts = new Slots(options.maxPerAccount, "The account has as many event streams open as it may have.");
    this.#deployments = new Slots(
      MAX_STREAMS_PER_DEPLOYMENT,
      "The deployment has as many event streams open as it may have; it goes on all the same.",
    );
  }

  /** Counts the answer as a stream of its account until it is over. Error: `TooManyRequests`. */
  open(request: FastifyRequest, reply: FastifyReply): void {
    release(reply, this.#accounts.take(accountOf(request)));
  }

  /** Counts the answer as a stream of the deployment until it is over. Error: `TooManyRequests`. */
  join(reply: FastifyReply, deploymentId: string): void {
    release(reply, this.#deployments.take(deploymentId));
  }

  /** Passes the text on as the client takes it; cuts the connection when the client takes nothing for too long. */
  async *guard(request: FastifyRequest, reply: FastifyReply, texts: AsyncIterable<string>): AsyncGenerator<string> {
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
        count: ++this.#cut,
      },
      "a client does not read; its stream is cut",
    );
    reply.raw.destroy();
  }
}

function release(reply: FastifyReply, slot: Disposable): void {
  if (reply.raw.closed) slot[Symbol.dispose]();
  else reply.raw.once("close", () => slot[Symbol.dispose]());
}
