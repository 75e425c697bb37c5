import type { Logger } from "../../lib/logger.ts";
import { truncateMessage } from "../../protocol/deployments/deployment-event.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import type { AgentFrame } from "../../protocol/link/frames.ts";
import type { ResponseSender } from "./response-sender.ts";
import type { QueryHandler } from "./ports.ts";

/** Maximum number of concurrent queries. */
const MAX_QUERIES = 16;

type QueryEnd = Extract<AgentFrame, { type: "query_end" }>;

export interface SessionQueriesOptions {
  readonly handler: QueryHandler;
  readonly responses: ResponseSender;
  readonly logger: Logger;
}

/** Runs the queries of one session; disposing aborts them. Never throws. */
export class LinkQueries implements Disposable {
  readonly #options: SessionQueriesOptions;
  readonly #open = new Map<string, AbortController>();
  readonly #session = new AbortController();

  constructor(options: SessionQueriesOptions) {
    this.#options = options;
  }

  /** Starts a query. Ignores the id of an open query. */
  begin(id: string, what: string, params: unknown): void {
    if (this.#open.has(id)) return;
    if (this.#open.size >= MAX_QUERIES) {
      const message = `The device handles at most ${MAX_QUERIES} queries at a time.`;
      void this.#end(id, { code: "TooManyRequests", message });
      return;
    }
    const controller = new AbortController();
    this.#open.set(id, controller);
    void this.#handle(id, what, params, controller.signal);
  }

  /** Aborts a query. Ignores an unknown id. */
  cancel(id: string): void {
    this.#open.get(id)?.abort(new DOMException("the query was cancelled", "AbortError"));
  }

  [Symbol.dispose](): void {
    const reason = new DOMException("the session is over", "AbortError");
    this.#session.abort(reason);
    for (const controller of this.#open.values()) controller.abort(reason);
  }

  async #handle(id: string, what: string, params: unknown, signal: AbortSignal): Promise<void> {
    const { handler, responses, logger } = this.#options;
    try {
      const send = (body: unknown): Promise<number> => responses.send({ type: "answer", query_id: id, body }, signal);
      const message = await handler.handle({ what, params, send, signal });
      await this.#end(id, message === undefined ? {} : { message });
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof EdgeError))
        logger.error(
          { err: error, what },
          "a query of the control plane failed, and an error was returned. Please report it: edge-agent support-bundle FILE",
        );
      const { code, message } =
        error instanceof EdgeError ? error : new EdgeError("Internal", "The agent failed; its log says how.");
      await this.#end(id, { code, message });
    } finally {
      this.#open.delete(id);
    }
  }

  async #end(id: string, { code, message }: Pick<QueryEnd, "code" | "message">): Promise<void> {
    const text = message === undefined ? {} : { message: truncateMessage(message) };
    const frame: QueryEnd = { type: "query_end", query_id: id, ...(code && { code }), ...text };
    // The session has ended, and the query with it.
    await this.#options.responses.send(frame, this.#session.signal).catch(() => undefined);
  }
}
