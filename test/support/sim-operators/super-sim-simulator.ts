import { createHash, randomBytes } from "node:crypto";
import { type Clock, systemClock } from "../../../src/lib/clock.ts";
import { Extract, type ReceivedRequest } from "./extract.ts";
import { IssuedTokens } from "./issued-tokens.ts";
import { type OperatorCall, OperatorServer, type Reply } from "./operator-server.ts";

export interface SimulatedSuperSim {
  readonly sid: string;
  readonly iccid: string;
  status: string;
  fleet: string;
  /** Change that is queued at the network. */
  scheduled?: { readonly status?: string; readonly fleet?: string } | undefined;
  /** Bytes by the hour's start in Unix seconds, and by the unique name of the fleet at that time. */
  readonly usage: Map<number, Map<string, number>>;
}

const HOUR = 3600;
const DAY = 24 * HOUR;

/** The API of KORE Super SIM as far as the service uses it. */
export class SuperSimSimulator extends OperatorServer {
  readonly clientId = "client";
  readonly clientSecret = `secret-${randomBytes(8).toString("hex")}`;
  readonly accountSid = `AC${randomBytes(16).toString("hex")}`;
  readonly authToken = `token-${randomBytes(8).toString("hex")}`;
  readonly sims = new Map<string, SimulatedSuperSim>();
  /** Unique names, with the monthly limit in megabytes. */
  readonly fleets = new Map<string, number>();
  /** Whether updates are queued instead of done. */
  schedules = false;
  /** Whether the credentials are revoked. */
  isRevoked = false;
  /** Records in a page; the same record may come on two pages where `overlaps` is set. */
  pageSize = 1000;
  overlaps = false;
  tokenLifetimeS = 3600;
  readonly #tokens = new IssuedTokens(this.clock);

  static async start(clock: Clock = systemClock): Promise<SuperSimSimulator> {
    const simulator = new SuperSimSimulator({ extract: await Extract.load("super-sim.openapi.json"), clock });
    await simulator.listen();
    return simulator;
  }

  get tokenUrl(): string {
    return `${this.url}/api-services/v1/auth/token`;
  }

  addFleet(name: string, limitMegabytes = 0): void {
    this.fleets.set(name, limitMegabytes);
  }

  addSim(fields: Partial<SimulatedSuperSim> & { readonly sid: string; readonly iccid: string }): SimulatedSuperSim {
    const sim: SimulatedSuperSim = { status: "active", fleet: "default_1gb", usage: new Map(), ...fields };
    this.sims.set(sim.sid, sim);
    return sim;
  }

  /** Sets what the SIM used in the hour, in the fleet. */
  use(sid: string, time: number, bytes: number, fleet = this.sims.get(sid)?.fleet ?? ""): void {
    const hour = time - (time % HOUR);
    const usage = this.sims.get(sid)?.usage;
    const byFleet = usage?.get(hour) ?? new Map<string, number>();
    byFleet.set(fleet, bytes);
    usage?.set(hour, byFleet);
  }

  /** What is queued is done. */
  settle(): void {
    for (const sim of this.sims.values()) {
      sim.status = sim.scheduled?.status ?? sim.status;
      sim.fleet = sim.scheduled?.fleet ?? sim.fleet;
      sim.scheduled = undefined;
    }
  }

  /** No token is known any more. */
  forgetTokens(): void {
    this.#tokens.forget();
  }

  protected special({ method, url, body }: ReceivedRequest): Reply | undefined {
    if (method !== "POST" || url.pathname !== "/api-services/v1/auth/token") return undefined;
    const form = new URLSearchParams(body);
    const isKnown = form.get("client_id") === this.clientId && form.get("client_secret") === this.clientSecret;
    if (!isKnown || form.get("grant_type") !== "client_credentials" || this.isRevoked)
      return { status: 401, body: { error: "unauthorized_client" } };
    const token = randomBytes(16).toString("hex");
    this.#tokens.add(token, this.tokenLifetimeS);
    return { status: 200, body: { access_token: token, expires_in: this.tokenLifetimeS, token_type: "Bearer" } };
  }

  protected refusal(authorization: string | undefined): Reply | undefined {
    const basic = `Basic ${Buffer.from(`${this.accountSid}:${this.authToken}`).toString("base64")}`;
    const isKnown = authorization === basic || this.#tokens.accepts(authorization);
    return isKnown && !this.isRevoked ? undefined : { status: 401, body: { code: 20003, message: "Authenticate" } };
  }

  protected reply(call: OperatorCall): Reply {
    switch (`${call.method} ${call.template}`) {
      case "GET /v1/Sims/{Sid}":
        return this.#withSim(call, (sim) => ({ status: 200, body: this.#show(sim) }));
      case "POST /v1/Sims/{Sid}":
        return this.#withSim(call, (sim) => this.#update(sim, call.form));
      case "GET /v1/Sims":
        return { status: 200, body: this.#list(call.url.searchParams) };
      case "GET /v1/Fleets":
        return {
          status: 200,
          body: { fleets: [...this.fleets.keys()].map((name) => this.#showFleet(name)), meta: META },
        };
      case "GET /v1/Fleets/{Sid}":
        return this.#fleet(call.last);
      case "GET /v1/UsageRecords":
        return this.#usage(call.url);
      default:
        return { status: 404, body: { message: "Not found" } };
    }
  }

  #list(query: URLSearchParams) {
    const [iccid, status, size] = [query.get("Iccid"), query.get("Status"), Number(query.get("PageSize") ?? 50)];
    const shown = [...this.sims.values()].map((sim) => this.#show(sim));
    const fitting = shown.filter((sim) => iccid === null || sim.iccid === iccid);
    return { sims: fitting.filter((sim) => status === null || sim.status === status).slice(0, size), meta: META };
  }

  #withSim({ last }: OperatorCall, answer: (sim: SimulatedSuperSim) => Reply): Reply {
    const sim = this.sims.get(last);
    return sim ? answer(sim) : { status: 404, body: { code: 20404, message: "The requested resource was not found" } };
  }

  #update(sim: SimulatedSuperSim, form: URLSearchParams): Reply {
    const [status, fleet] = [form.get("Status") ?? undefined, form.get("Fleet") ?? undefined];
    if (fleet !== undefined && !this.fleets.has(fleet)) return { status: 400, body: { message: "Invalid Fleet" } };
    if (status === "ready" && sim.status !== "new" && sim.status !== "ready")
      return { status: 400, body: { message: "Invalid Status" } };
    if (this.schedules) {
      sim.scheduled = { ...(status !== undefined && { status }), ...(fleet !== undefined && { fleet }) };
      return { status: 202, body: this.#show(sim) };
    }
    sim.scheduled = undefined;
    sim.status = status ?? sim.status;
    sim.fleet = fleet ?? sim.fleet;
    return { status: 200, body: this.#show(sim) };
  }

  #fleet(sid: string): Reply {
    const name = [...this.fleets.keys()].find((each) => sidOf(each) === sid);
    return name === undefined
      ? { status: 404, body: { message: "Not found" } }
      : { status: 200, body: this.#showFleet(name) };
  }

  #showFleet(name: string) {
    return { sid: sidOf(name), unique_name: name, data_enabled: true, data_limit: this.fleets.get(name) ?? 0 };
  }

  #show({ sid, iccid, status, fleet, scheduled }: SimulatedSuperSim) {
    return {
      sid,
      iccid,
      unique_name: null,
      status: scheduled ? "scheduled" : status,
      fleet_sid: sidOf(fleet),
    };
  }

  #usage(url: URL): Reply {
    const query = url.searchParams;
    const sim = this.sims.get(query.get("Sim") ?? "");
    const [from, to] = [secondsOf(query.get("StartTime")), secondsOf(query.get("EndTime"))];
    const step = query.get("Granularity") === "hour" ? HOUR : DAY;
    const sums = new Map<string, { begin: number; fleet: string; bytes: number }>();
    for (const [hour, byFleet] of sim?.usage ?? []) {
      if (hour < from || hour >= to) continue;
      const begin = hour - (hour % step);
      for (const [fleet, bytes] of byFleet) {
        const sum = sums.get(`${begin} ${fleet}`) ?? { begin, fleet, bytes: 0 };
        sums.set(`${begin} ${fleet}`, { ...sum, bytes: sum.bytes + bytes });
      }
    }
    const records = [...sums.values()].toSorted((one, other) => one.begin - other.begin);
    const page = Number(query.get("Page") ?? 0);
    const size = Math.min(Number(query.get("PageSize") ?? 50), this.pageSize);
    const first = Math.max(0, page * size - (this.overlaps ? 1 : 0));
    const next = new URL(url);
    next.searchParams.set("Page", String(page + 1));
    return {
      status: 200,
      body: {
        usage_records: records.slice(first, page * size + size).map(({ begin, fleet, bytes }) => ({
          sim_sid: null,
          fleet_sid: sidOf(fleet),
          period: { start_time: isoOf(begin), end_time: isoOf(begin + step) },
          data_upload: bytes - Math.floor(bytes / 3),
          data_download: Math.floor(bytes / 3),
          data_total: bytes,
        })),
        meta: { ...META, next_page_url: page * size + size < records.length ? next.href : null },
      },
    };
  }
}

const META = { page: 0, page_size: 50, next_page_url: null };

function sidOf(fleet: string): string {
  return `HF${createHash("md5").update(fleet).digest("hex")}`;
}

function secondsOf(text: string | null): number {
  return Date.parse(text ?? "") / 1000;
}

function isoOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(".000", "");
}
