import { randomBytes } from "node:crypto";
import { type Clock, systemClock } from "../../../src/lib/clock.ts";
import { luhnDigit } from "../../../src/control-plane/core/sims/iccid.ts";
import { Extract, type ReceivedRequest } from "./extract.ts";
import { IssuedTokens } from "./issued-tokens.ts";
import { type OperatorCall, OperatorServer, type Reply } from "./operator-server.ts";
import type { RequestLimit } from "./request-limits.ts";

export interface SimulatedEmnifySim {
  readonly id: number;
  /** 19 digits, without the Luhn digit. */
  readonly iccid: string;
  readonly imsi: string;
  statusId: number;
  serviceProfile: string;
  /** Whether it has an endpoint: one that was never used has none. */
  hasEndpoint: boolean;
  /** Megabytes by day, such as `2026-11-01`. */
  readonly usage: Map<string, number>;
}

const STATUSES = ["Issued", "Activated", "Suspended", "Deleted", "Factory test"];

const MINUTE_MS = 60_000;
/** As the operator publishes them. */
const LIMITS: readonly RequestLimit[] = [
  { pattern: /authenticate/, requests: 100, perMs: 5 * MINUTE_MS },
  { pattern: /./, requests: 2_000, perMs: 5 * MINUTE_MS },
  { pattern: /GET \/api\/v1\/(?:sim(?:\?|$)|service_profile|.*\/stats)/, requests: 10, perMs: 1_000 },
];

const SCHEMAS = "/components/schemas/";
/** What is known of the operator beside its document. */
export const EMNIFY_KNOWN: Readonly<Record<string, unknown>> = {
  // The number is there in both forms.
  ...Object.fromEntries(
    ["ApiV1SimGetResponsesContentApplicationJsonSchemaItems", "SIM_SimByIdGet_Response_200"].map((schema) => [
      `${SCHEMAS}${schema}/properties/iccid_with_luhn`,
      { type: "string" },
    ]),
  ),
  // The document asks for the organisations, too. The operator takes a status alone.
  "/paths/~1api~1v1~1sim~1{sim_id}/patch/requestBody/content/application~1json/schema/required": ["status"],
};

/** The API of emnify as far as the service uses it. */
export class EmnifySimulator extends OperatorServer {
  readonly applicationToken = `app-${randomBytes(8).toString("hex")}`;
  readonly sims = new Map<number, SimulatedEmnifySim>();
  isRevoked = false;
  /** Whether it gives tokens that it does not accept. */
  givesDeadTokens = false;
  tokenLifetimeS = 3600;
  readonly #tokens = new IssuedTokens(this.clock);

  static async start(clock: Clock = systemClock): Promise<EmnifySimulator> {
    const extract = await Extract.load("emnify.openapi.json", EMNIFY_KNOWN);
    const simulator = new EmnifySimulator({ extract, limits: LIMITS, clock });
    await simulator.listen();
    return simulator;
  }

  addSim(fields: Partial<SimulatedEmnifySim> & { readonly iccid: string; readonly imsi: string }): SimulatedEmnifySim {
    const id = this.sims.size + 101;
    const sim = { id, statusId: 1, serviceProfile: "iot-eu-standard", hasEndpoint: true, usage: new Map(), ...fields };
    this.sims.set(sim.id, sim);
    return sim;
  }

  forgetTokens(): void {
    this.#tokens.forget();
  }

  protected special({ url, body }: ReceivedRequest): Reply | undefined {
    if (url.pathname !== "/api/v1/authenticate") return undefined;
    const { application_token: token } = JSON.parse(body) as { application_token?: string };
    if (token !== this.applicationToken || this.isRevoked)
      return { status: 401, body: { error_code: 1, error_token: "Unauthorized", message: "Unauthorized" } };
    const payload = {
      exp: Math.floor(this.clock.now() / 1000 + this.tokenLifetimeS),
      nonce: randomBytes(8).toString("hex"),
    };
    const value = ["{}", JSON.stringify(payload), "x"].map((part) => Buffer.from(part).toString("base64url")).join(".");
    if (!this.givesDeadTokens) this.#tokens.add(value, this.tokenLifetimeS);
    return { status: 200, body: { auth_token: value } };
  }

  protected refusal(authorization: string | undefined): Reply | undefined {
    return this.#tokens.accepts(authorization) && !this.isRevoked
      ? undefined
      : { status: 401, body: { message: "Unauthorized" } };
  }

  protected reply({ method, template, url, json, last }: OperatorCall): Reply {
    const sims = [...this.sims.values()];
    switch (`${method} ${template}`) {
      case "GET /api/v1/sim":
        return { status: 200, body: this.#list(url.searchParams) };
      case "GET /api/v1/sim/{sim_id}": {
        const sim = this.sims.get(Number(last));
        return sim ? { status: 200, body: show(sim) } : { status: 404, body: { message: "Not found" } };
      }
      case "PATCH /api/v1/sim/{sim_id}": {
        const sim = this.sims.get(Number(last));
        const { id } = json["status"] as { id: number };
        if (!sim || ![1, 2].includes(id))
          return { status: 400, body: { error_code: 1, error_token: "Bad", message: "Bad" } };
        sim.statusId = id;
        return { status: 204 };
      }
      case "GET /api/v1/endpoint/{endpoint_id}": {
        const sim = sims.find(({ id, hasEndpoint }) => hasEndpoint && id + 5000 === Number(last));
        if (!sim) return { status: 404, body: { message: "Not found" } };
        return {
          status: 200,
          body: {
            id: Number(last),
            status: { id: 0 },
            tariff_profile: { id: 1 },
            service_profile: { id: 7, name: sim.serviceProfile },
          },
        };
      }
      case "GET /api/v1/endpoint/{endpoint_id}/stats/daily": {
        const sim = sims.find(({ id }) => id + 5000 === Number(url.pathname.split("/").at(-3)));
        const [from, to] = [url.searchParams.get("start_date") ?? "", url.searchParams.get("end_date") ?? ""];
        const days = [...(sim?.usage ?? [])].filter(([date]) => date >= from && date <= to);
        return { status: 200, body: days.map(([date, volume]) => ({ date, data: { volume } })) };
      }
      case "GET /api/v1/service_profile":
        return { status: 200, body: [{ id: 7, name: "iot-eu-standard" }] };
      default:
        return { status: 404, body: { message: "Not found" } };
    }
  }

  #list(query: URLSearchParams): readonly unknown[] {
    const wanted = query.get("q")?.replace("iccid:", "");
    const found = [...this.sims.values()].filter(({ iccid }) => wanted === undefined || iccid.startsWith(wanted));
    const size = Number(query.get("per_page") ?? 2000);
    const first = (Number(query.get("page") ?? 1) - 1) * size;
    return found.slice(first, first + size).map(show);
  }
}

function show({ id, iccid, imsi, statusId, hasEndpoint }: SimulatedEmnifySim) {
  return {
    id,
    iccid,
    iccid_with_luhn: iccid + luhnDigit(iccid),
    imsi,
    status: { id: statusId, ...(STATUSES[statusId] !== undefined && { description: STATUSES[statusId] }) },
    ...(hasEndpoint && { endpoint: { id: id + 5000 } }),
  };
}
