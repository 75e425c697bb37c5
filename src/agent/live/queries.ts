import {
  QUERIES,
  type QueryAnswer,
  type QueryKind,
  type QueryParams,
  isQueryKind,
} from "../../protocol/device-query.ts";
import { EdgeError } from "../../protocol/errors.ts";
import type { DeviceQuery, QueryHandler } from "../link/ports.ts";

/** One question of a kind, with its parameters checked. */
export interface TypedQuery<K extends QueryKind> {
  readonly params: QueryParams<K>;
  /** Sends one answer; resolves when it has left. */
  readonly send: (answer: QueryAnswer<K>) => Promise<unknown>;
  readonly signal: AbortSignal;
}

/** What answers each kind: one that is missing does not compile. Resolves with a remark where there is one. */
export type QueryHandlers = {
  readonly [K in QueryKind]: (question: TypedQuery<K>) => Promise<string | undefined>;
};

/** Bytes of answers sent, by what they were for. */
export type CountResponseTraffic = (purpose: "telemetry" | "logs", bytes: number, app: string | undefined) => void;

/** Answers the control plane's questions. */
export class DeviceQueries implements QueryHandler {
  readonly #answerers: QueryHandlers;
  readonly #traffic: CountResponseTraffic;

  /** @param traffic told of each answer that was sent */
  constructor(answerers: QueryHandlers, traffic: CountResponseTraffic) {
    this.#answerers = answerers;
    this.#traffic = traffic;
  }

  async handle(question: DeviceQuery): Promise<string | undefined> {
    const { what } = question;
    if (!isQueryKind(what)) throw new EdgeError("InvalidRequest", "The device does not know this kind of question.");
    return await handleQuery(what, this.#answerers, question, this.#traffic);
  }
}

function handleQuery<K extends QueryKind>(
  what: K,
  answerers: Pick<QueryHandlers, K>,
  { params, send, signal }: DeviceQuery,
  traffic: CountResponseTraffic,
): Promise<string | undefined> {
  const parsed = QUERIES[what].params.safeParse(params ?? {});
  if (!parsed.success) throw new EdgeError("InvalidRequest", "The question's parameters are not as they should be.");
  const checked = parsed.data as QueryParams<K>;
  const app = "app" in checked && typeof checked.app === "string" ? checked.app : undefined;
  const counted = async (body: QueryAnswer<K>): Promise<void> => {
    traffic(what === "logs" ? "logs" : "telemetry", await send(body), app);
  };
  return answerers[what]({ params: checked, send: counted, signal });
}
