import { EdgeError } from "../../../protocol/errors/errors.ts";
import type { Granularity } from "../../../protocol/assets/usage.ts";
import type { Clock } from "../../../lib/clock.ts";
import { type CountedUsage, daysOf, sumUsage } from "../../core/sims/usage-periods.ts";
import type { TimeRange } from "../../core/usage-period.ts";
import type { UsageTotal } from "../../core/usage-view.ts";
import { utcDay } from "../../core/utc-days.ts";
import { type CheckCall, checkCalls } from "../http/check-calls.ts";
import { OperatorHttp, type OperatorObserver } from "../http/operator-http.ts";
import { parseAnswer } from "../http/answers.ts";
import type { RequestRate } from "../http/request-rates.ts";
import { requestToken } from "../http/request-token.ts";
import { TokenAuthorization } from "../http/token-authorization.ts";
import {
  type CheckLine,
  type ObservedSim,
  type OperatorSim,
  type SimChanges,
  type SimOperator,
  SimOperatorError,
} from "../sim-operator.ts";
import { EmnifySims } from "./emnify-sims.ts";
import {
  ACTIVATED,
  dailyUsageSchema,
  type EmnifySim,
  endpointSchema,
  STATUS_WORDS,
  STATUSES,
  SUSPENDED,
  tokenSchema,
} from "./responses.ts";
import { z } from "zod";
import { parseJson } from "../../../lib/parse-json.ts";

const payloadSchema = z.object({ exp: z.number() });

/**
 * Returns how long a JSON Web Token is valid from now on, in milliseconds; `undefined` where it does not say. Its signature is the
 * operator's own affair. Source: RFC 7519, section 4.1.4.
 */
export function tokenLifetimeMs(token: string, nowMs: number): number | undefined {
  const [, payload] = token.split(".");
  if (payload === undefined) return undefined;
  const parsed = payloadSchema.safeParse(parseJson(Buffer.from(payload, "base64url"), "short"));
  return parsed.success ? Math.max(0, parsed.data.exp * 1000 - nowMs) : undefined;
}

export interface EmnifyOptions {
  readonly applicationToken: string;
  readonly url: string;
  readonly clock: Clock;
  readonly observer?: OperatorObserver | undefined;
}

/**
 * The operator allows 2,000 requests in 5 minutes: 700 and 4 a second are 1,900, so that two changes of hundreds of SIMs may follow
 * each other. Of lists and statistics it allows 10 in a second. Of those, 6 are sent: with the 4 that may be on their way from before,
 * no more than 10 arrive.
 */
const RATES: readonly RequestRate[] = [
  { burst: 700, perSecond: 4 },
  { burst: 1, perSecond: 5, paths: /^\/api\/v1\/(?:sim(?:\?|$)|service_profile|.*\/stats\/)/ },
];
const MEGABYTE = 1_000_000;

const CHECKS: readonly CheckCall[] = [
  { what: "read SIMs", path: "/api/v1/sim?page=1&per_page=1", allows: "register SIMs, and notice what was changed" },
  { what: "read service profiles", path: "/api/v1/service_profile", allows: "show service profiles" },
  { what: "update SIMs", path: undefined, allows: "change the status" },
];

/** PRO SIMs at emnify, by its REST API of version 1. */
export class EmnifyOperator implements SimOperator {
  readonly usagePeriod = "day";
  readonly #http: OperatorHttp;
  readonly #sims: EmnifySims;

  constructor({ applicationToken, url, clock, observer }: EmnifyOptions) {
    const authorization = new TokenAuthorization(clock, async (signal) => {
      const body = JSON.stringify({ application_token: applicationToken });
      const answer = await requestToken(clock, new URL("/api/v1/authenticate", url).href, body, signal);
      const { auth_token: value } = parseAnswer(tokenSchema, answer);
      return { value, lifetimeMs: tokenLifetimeMs(value, clock.timeOfDay()) };
    });
    this.#http = new OperatorHttp({ baseUrl: url, authorization, clock, rates: RATES, type: "prosim", observer });
    this.#sims = new EmnifySims(this.#http, clock);
  }

  async findSim(sim: OperatorSim, signal: AbortSignal): Promise<ObservedSim | undefined> {
    const found = await this.#sims.find(sim.iccid, signal);
    return found && this.#observe(found, await this.#serviceProfile(found, signal));
  }

  async change(sim: OperatorSim, { status, networkGroup }: SimChanges, signal: AbortSignal): Promise<ObservedSim> {
    if (networkGroup !== undefined) throw new Error("a PRO SIM has no network group");
    const found = await this.#need(sim, signal);
    if (status === undefined || STATUSES[found.status.id] === status) return this.#observe(found, undefined);
    const id = status === "active" ? ACTIVATED : SUSPENDED;
    const path = `/api/v1/sim/${found.id}`;
    await this.#http.send({ method: "PATCH", path, json: { status: { id } } }, signal);
    // 204 says that it is done.
    return this.#observe({ ...found, status: { id } }, undefined);
  }

  async readUsage(
    sim: OperatorSim,
    range: TimeRange,
    granularity: Granularity,
    signal: AbortSignal,
  ): Promise<readonly UsageTotal[]> {
    if (granularity === "hour") {
      throw new EdgeError("GranularityNotAvailable", "The SIM operator counts the usage of a PRO SIM by day.", {
        granularity,
        available: ["all", "day", "month"],
      });
    }
    const { start, end } = daysOf(range);
    if (start >= end) return [];
    const found = await this.#need(sim, signal);
    if (!found.endpoint) return [];
    const bucket = (await this.#serviceProfile(found, signal)) ?? "";
    // Whether the last date is meant as included is not said: one more is asked for, and left out.
    const query = new URLSearchParams({ start_date: utcDay(start), end_date: utcDay(end) });
    const path = `/api/v1/endpoint/${found.endpoint.id}/stats/daily?${query.toString()}`;
    const days = parseAnswer(dailyUsageSchema, (await this.#http.send({ method: "GET", path }, signal)).body);
    const byDay = new Map<number, CountedUsage>();
    for (const { date, data } of days) {
      const day = Date.parse(`${date}T00:00:00Z`) / 1000;
      if (day < start || day >= end) continue;
      byDay.set(day, { bucket, start: day, bytes: toBytes(data?.volume ?? 0) });
    }
    return sumUsage(byDay.values(), granularity);
  }

  check(signal: AbortSignal): Promise<readonly CheckLine[]> {
    return checkCalls(this.#http, signal, CHECKS);
  }

  async #need(sim: OperatorSim, signal: AbortSignal): Promise<EmnifySim> {
    const found = await this.#sims.find(sim.iccid, signal);
    if (found) return found;
    throw new SimOperatorError("it does not know the SIM", false, { failure: "not_found" });
  }

  async #serviceProfile({ endpoint }: EmnifySim, signal: AbortSignal): Promise<string | undefined> {
    if (!endpoint) return undefined;
    const { status, body } = await this.#http.send(
      { method: "GET", path: `/api/v1/endpoint/${endpoint.id}` },
      signal,
      true,
    );
    return status === 404 ? undefined : (parseAnswer(endpointSchema, body).service_profile?.name ?? undefined);
  }

  #observe({ iccid, imsi, status }: EmnifySim, serviceProfile: string | undefined): ObservedSim {
    return {
      type: "prosim",
      iccid,
      operatorId: imsi ?? undefined,
      status: STATUSES[status.id],
      operatorStatus: status.description ?? STATUS_WORDS[status.id] ?? `status ${status.id}`,
      networkGroup: undefined,
      serviceProfile,
      isScheduled: false,
      allowanceBytes: undefined,
    };
  }
}

/** A double has less than half a byte of error up to 10^15 bytes. */
function toBytes(megabytes: number): number {
  return Math.min(Math.round(megabytes * MEGABYTE), Number.MAX_SAFE_INTEGER);
}
