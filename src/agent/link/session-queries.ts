import type { Logger } from "../../lib/logger.ts";
import { truncateMessage } from "../../protocol/deployment-event.ts";
import { EdgeError } from "../../protocol/errors.ts";
import type { AgentFrame } from "../../protocol/frames.ts";
import type { ResponseSender } from "./response-sender.ts";
import type { QueryHandler } from "./ports.ts";

/** Most queries answered at once. */
const MAX_QUERIES = 16;

type QueryEnd = Extract<AgentFrame, { type: "query_end" }>;

export interface SessionQueriesOptions {
  readonly handler: QueryHandler;
  readonly answers: ResponseSender;
  readonly logger: Logger;
}

/** The queries of one session. Disposed with it, whatever is being answered ends. Throws for nothing it is asked. */
export class SessionQueries implements Disposable {
  readonly #options: SessionQueriesOptions;
  readonly #open = new Map<string, AbortController>();
  readonly #session = new AbortController();

  constructor(options: SessionQueriesOptions) {
    this.#options = options;
  }

  /** Begins to answer. A query that is being answered already is no error. */
  begin(id: string, what: string, params: unknown): void {
    if (this.#open.has(id)) return;
    if (this.#open.size >= MAX_QUERIES) {
      const message = `The device answers ${MAX_QUERIES} questions at once at most.`;
      void this.#end(id, { code: "TooManyRequests", message });
      return;
    }
    const controller = new AbortController();
    this.#open.set(id, controller);
    void this.#handle(id, what, params, controller.signal);
  }

  /** Nobody waits for answers any more. One that is over is no error. */
  cancel(id: string): void {
    this.#open.get(id)?.abort(new DOMException("nobody waits for the answer any more", "AbortError"));
  }

  [Symbol.dispose](): void {
    const reason = new DOMException("the session is over", "AbortError");
    this.#session.abort(reason);
    for (const controller of this.#open.values()) controller.abort(reason);
  }

  async #handle(id: string, what: string, params: unknown, signal: AbortSignal): Promise<void> {
    const { handler, answers, logger } = this.#options;
    try {
      const send = (body: unknown): Promise<number> => answers.send({ type: "answer", query_id: id, body }, signal);
      const message = await handler.handle({ what, params, send, signal });
      await this.#end(id, message === undefined ? {} : { message });
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof EdgeError))
        logger.error(
          { err: error, what },
          "a query of the control plane failed; it was told so. Please report it: edge-agent support-bundle FILE",
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
    await this.#options.answers.send(frame, this.#session.signal).catch(() => undefined);
  }
}
