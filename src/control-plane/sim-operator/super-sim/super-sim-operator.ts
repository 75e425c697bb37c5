import type { Clock } from "../../../lib/clock.ts";
import type { Granularity } from "../../../protocol/assets/usage.ts";
import type { AssetStatus } from "../../../protocol/assets/asset.ts";
import { type CountedUsage, hoursOf, partsOf, type RangePart, sumUsage } from "../../core/sims/usage-periods.ts";
import type { TimeRange } from "../../core/usage-period.ts";
import type { UsageTotal } from "../../core/usage-view.ts";
import { type CheckCall, checkCalls } from "../http/check-calls.ts";
import { followPages, parseAnswer } from "../http/answers.ts";
import { OperatorHttp, type OperatorObserver } from "../http/operator-http.ts";
import {
  type CheckLine,
  type ObservedSim,
  type OperatorSim,
  type SimChanges,
  type SimOperator,
  SimOperatorError,
} from "../sim-operator.ts";
import { SuperSimFleets } from "./fleets.ts";
import { SIM_SID, type SuperSimAnswer, superSimSchema, usagePageSchema } from "./responses.ts";
import { superSimAuthorization, type SuperSimCredentials } from "./super-sim-authorization.ts";

export interface SuperSimOptions {
  readonly credentials: SuperSimCredentials;
  readonly url: string;
  readonly clock: Clock;
  readonly observer?: OperatorObserver | undefined;
}

/** The operator does not publish a limit; it answers 429 above its own. */
const RATES = [{ burst: 20, perSecond: 20 }];
const MEGABYTE = 1_000_000;

/** What the operator's words mean. `ready` connects as well: it becomes `active` by itself. */
const STATUSES: Readonly<Record<string, AssetStatus>> = {
  new: "inactive",
  ready: "active",
  active: "active",
  inactive: "inactive",
};

const CHECKS: readonly CheckCall[] = [
  { what: "read SIMs", path: "/v1/Sims?PageSize=1", allows: "register SIMs, and notice what was changed" },
  {
    what: "read fleets",
    path: "/v1/Fleets?PageSize=1",
    allows: "show network groups and the allowances of their SIMs",
  },
  { what: "read usage", path: "/v1/UsageRecords?PageSize=1", allows: "show usage" },
  { what: "update SIMs", path: undefined, allows: "change status and network group" },
];

/** Super SIMs at KORE Wireless, by its API of version 1. The same API serves older accounts at Twilio. */
export class SuperSimOperator implements SimOperator {
  readonly usagePeriod = "hour";
  readonly #http: OperatorHttp;
  readonly #fleets: SuperSimFleets;

  constructor({ credentials, url, clock, observer }: SuperSimOptions) {
    const authorization = superSimAuthorization(credentials, clock);
    this.#http = new OperatorHttp({ baseUrl: url, authorization, clock, rates: RATES, type: "supersim", observer });
    this.#fleets = new SuperSimFleets(this.#http, clock);
  }

  async findSim(sim: OperatorSim, signal: AbortSignal): Promise<ObservedSim | undefined> {
    const found = await this.#read(sim, signal);
    return found && this.#observe(found, signal);
  }

  async change(sim: OperatorSim, { status, networkGroup }: SimChanges, signal: AbortSignal): Promise<ObservedSim> {
    const sid = requireSid(sim);
    const form = new URLSearchParams({
      ...(status !== undefined && { Status: await this.#statusToSend(sim, status, signal) }),
      ...(networkGroup !== undefined && { Fleet: networkGroup }),
    });
    const request = { method: "POST", path: `/v1/Sims/${sid}`, form } as const;
    const { status: code, body } = await this.#http.send(request, signal);
    return this.#observe(parseAnswer(superSimSchema, body), signal, code === 202);
  }

  async readUsage(
    sim: OperatorSim,
    range: TimeRange,
    granularity: Granularity,
    signal: AbortSignal,
  ): Promise<readonly UsageTotal[]> {
    const parts: readonly RangePart[] =
      granularity === "hour" ? [{ ...hoursOf(range), period: "hour" }] : partsOf(range);
    const counted: CountedUsage[] = [];
    for (const part of parts) counted.push(...(await this.#readPart(sim, part, signal)));
    return sumUsage(counted, granularity);
  }

  check(signal: AbortSignal): Promise<readonly CheckLine[]> {
    return checkCalls(this.#http, signal, CHECKS);
  }

  /** A SIM that connects already is not activated: while it is `ready`, it is not billed. */
  async #statusToSend(sim: OperatorSim, wanted: AssetStatus, signal: AbortSignal): Promise<string> {
    if (wanted === "inactive") return "inactive";
    const found = await this.#read(sim, signal);
    return found?.status === "ready" ? "ready" : "active";
  }

  async #read({ operatorId }: OperatorSim, signal: AbortSignal): Promise<SuperSimAnswer | undefined> {
    if (!SIM_SID.test(operatorId)) return undefined;
    const { status, body } = await this.#http.send({ method: "GET", path: `/v1/Sims/${operatorId}` }, signal, true);
    return status === 404 ? undefined : parseAnswer(superSimSchema, body);
  }

  async #observe(
    { sid, iccid, status, fleet_sid: fleetSid }: SuperSimAnswer,
    signal: AbortSignal,
    isTaken = false,
  ): Promise<ObservedSim> {
    // A change may be done while an earlier one of something else is still queued.
    const isScheduled = isTaken || status === "scheduled";
    const fleet = fleetSid ? await this.#fleets.find(fleetSid, signal) : undefined;
    return {
      type: "supersim",
      iccid,
      operatorId: sid,
      status: isScheduled ? undefined : STATUSES[status],
      operatorStatus: status,
      networkGroup: fleet?.name,
      serviceProfile: undefined,
      isScheduled,
      allowanceBytes: fleet?.limitMegabytes === undefined ? undefined : fleet.limitMegabytes * MEGABYTE,
    };
  }

  async #readPart(
    sim: OperatorSim,
    { start, end, period }: RangePart,
    signal: AbortSignal,
  ): Promise<Iterable<CountedUsage>> {
    const query = new URLSearchParams({
      Sim: requireSid(sim),
      Group: "fleet",
      Granularity: period,
      StartTime: new Date(start * 1000).toISOString(),
      EndTime: new Date(end * 1000).toISOString(),
      PageSize: "1000",
    });
    // Pages may overlap where records are added meanwhile: each period of a fleet counts once.
    const byPeriod = new Map<string, CountedUsage>();
    const pages = followPages(`/v1/UsageRecords?${query.toString()}`, async (path) => {
      const page = parseAnswer(usagePageSchema, (await this.#http.send({ method: "GET", path }, signal)).body);
      return { page, next: page.meta.next_page_url ?? undefined };
    });
    for await (const { usage_records: records } of pages) {
      for (const { fleet_sid: sid, period: counted, data_total: bytes } of records) {
        const begin = Date.parse(counted.start_time) / 1000;
        // What begins outside was not asked for.
        if (begin < start || begin >= end) continue;
        const bucket = sid ? (await this.#fleets.find(sid, signal)).name : "";
        byPeriod.set(`${begin} ${sid}`, { bucket, start: begin, bytes: bytes ?? 0 });
      }
    }
    return byPeriod.values();
  }
}

/** The operator would take another text for the unique name of a SIM: that of another account, if the caller knows it. */
function requireSid({ operatorId }: OperatorSim): string {
  if (SIM_SID.test(operatorId)) return operatorId;
  throw new SimOperatorError("the SIM has no SID of a Super SIM", false, { failure: "not_found" });
}
