import type { QueryAnswer, QueryKind, QueryParams, QUERIES } from "../../protocol/link/device-query.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import type { DeviceQuery, QueryHandler } from "../link/ports.ts";

/** A query of one kind, with validated parameters. */
export interface TypedQuery<K extends QueryKind> {
  readonly params: QueryParams<K>;
  /** Sends one response. Resolves when it was handed to the connection. */
  readonly send: (response: QueryAnswer<K>) => Promise<unknown>;
  readonly signal: AbortSignal;
}

/** One handler for each kind of query. It may resolve with a message for the end of the query. */
export type QueryHandlers = {
  readonly [K in QueryKind]: (query: TypedQuery<K>) => Promise<string | undefined>;
};

/** Called with the size of each response sent. */
export type CountResponseTraffic = (purpose: "telemetry" | "logs", bytes: number, app: string | undefined) => void;

/** Handles the control plane's queries. Their schemas are loaded with the first one. */
export class QueryAnswers implements QueryHandler {
  readonly #handlers: QueryHandlers;
  readonly #countTraffic: CountResponseTraffic;

  constructor(handlers: QueryHandlers, countTraffic: CountResponseTraffic) {
    this.#handlers = handlers;
    this.#countTraffic = countTraffic;
  }

  async handle(query: DeviceQuery): Promise<string | undefined> {
    const { what } = query;
    const { QUERIES, isQueryKind } = await import("../../protocol/link/device-query.ts");
    if (!isQueryKind(what)) throw new EdgeError("InvalidRequest", "The device does not know this kind of query.");
    return await handleQuery(what, QUERIES[what].params, this.#handlers, query, this.#countTraffic);
  }
}

function handleQuery<K extends QueryKind>(
  what: K,
  schema: (typeof QUERIES)[K]["params"],
  handlers: Pick<QueryHandlers, K>,
  { params, send, signal }: DeviceQuery,
  countTraffic: CountResponseTraffic,
): Promise<string | undefined> {
  const parsed = schema.safeParse(params ?? {});
  if (!parsed.success) throw new EdgeError("InvalidRequest", "The parameters of the query are not valid.");
  const checked = parsed.data as QueryParams<K>;
  const app = "app" in checked && typeof checked.app === "string" ? checked.app : undefined;
  const counted = async (body: QueryAnswer<K>): Promise<void> => {
    countTraffic(what === "logs" ? "logs" : "telemetry", await send(body), app);
  };
  return handlers[what]({ params: checked, send: counted, signal });
}
