import { randomUUID } from "node:crypto";
import { QUERIES, type QueryKind } from "../../../protocol/link/device-query.ts";
import { EdgeError, type ErrorCode } from "../../../protocol/errors/errors.ts";
import type { ControlFrame } from "../../../protocol/link/frames.ts";
import type { QuerySink } from "../session.ts";

interface OpenQuery {
  readonly what: QueryKind;
  readonly sink: QuerySink;
}

/** The open queries of a session. */
export class SessionQueries {
  readonly #send: (frame: ControlFrame) => void;
  readonly #open = new Map<string, OpenQuery>();

  constructor(send: (frame: ControlFrame) => void) {
    this.#send = send;
  }

  open(what: QueryKind, params: unknown, sink: QuerySink): Disposable {
    const id = randomUUID();
    this.#open.set(id, { what, sink });
    this.#send({ type: "query", query_id: id, what, params });
    return {
      [Symbol.dispose]: () => {
        if (this.#open.delete(id)) this.#send({ type: "query_cancel", query_id: id });
      },
    };
  }

  /** Returns the receiver of an answer. One to a cancelled query has none. */
  receiverOf(id: string): QuerySink | undefined {
    const query = this.#open.get(id);
    // The only answer is the last one: there is nothing left to cancel.
    if (query && QUERIES[query.what].answers === "one") this.#open.delete(id);
    return query?.sink;
  }

  end(id: string, code: ErrorCode | undefined, message: string | undefined): void {
    const query = this.#open.get(id);
    this.#open.delete(id);
    query?.sink.end(code && new EdgeError(code, message));
  }

  /** Ends all open queries: the connection is closed. */
  close(): void {
    const queries = [...this.#open.values()];
    this.#open.clear();
    for (const { sink } of queries) sink.end(new EdgeError("DeviceNotReachable"));
  }
}
