import type { Clock } from "../../../lib/clock.ts";
import type { OperatorHttp } from "../http/operator-http.ts";
import { parseAnswer } from "../http/answers.ts";
import { fleetSchema } from "./responses.ts";

/** A fleet of the operator: what an asset calls its network group. */
export interface OperatorFleet {
  /** The unique name; the SID where it has none. */
  readonly name: string;
  /** Megabytes a month; `undefined`: not limited. */
  readonly limitMegabytes: number | undefined;
}

const KEPT_MS = 10 * 60_000;
const MAX_KEPT = 1_000;

/** Finds fleets by SID: answers about SIMs have nothing else. An account has few of them, which change seldom. */
export class SuperSimFleets {
  readonly #http: OperatorHttp;
  readonly #clock: Clock;
  readonly #kept = new Map<string, { readonly fleet: OperatorFleet; readonly untilMs: number }>();

  constructor(http: OperatorHttp, clock: Clock) {
    this.#http = http;
    this.#clock = clock;
  }

  /** A fleet that was removed has its SID as name. */
  async find(sid: string, signal: AbortSignal): Promise<OperatorFleet> {
    const kept = this.#kept.get(sid);
    if (kept && this.#clock.monotonic() < kept.untilMs) return kept.fleet;
    const path = `/v1/Fleets/${encodeURIComponent(sid)}`;
    const { status, body } = await this.#http.send({ method: "GET", path }, signal, true);
    const fleet = status === 404 ? { name: sid, limitMegabytes: undefined } : toFleet(body);
    if (this.#kept.size >= MAX_KEPT) this.#kept.clear();
    this.#kept.set(sid, { fleet, untilMs: this.#clock.monotonic() + KEPT_MS });
    return fleet;
  }
}

function toFleet(body: unknown): OperatorFleet {
  const { sid, unique_name: name, data_limit: limit, data_enabled: isEnabled } = parseAnswer(fleetSchema, body);
  return { name: name || sid, limitMegabytes: limit && isEnabled !== false ? limit : undefined };
}
