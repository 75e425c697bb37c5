import { isSameIccid, withoutLuhnDigit } from "../../core/sims/iccid.ts";
import type { OperatorHttp } from "../http/operator-http.ts";
import { parseAnswer } from "../http/parse-answer.ts";
import { SimOperatorError } from "../sim-operator.ts";
import { type EmnifySim, simPageSchema, simSchema } from "./responses.ts";
import { DELETED } from "./statuses.ts";

/** More are searched for again. */
const MAX_KNOWN = 50_000;

/**
 * Finds SIMs by ICCID. The operator allows few searches a second, so that a SIM that was found before is read by the operator's
 * own id of it.
 */
export class EmnifySims {
  readonly #http: OperatorHttp;
  readonly #ids = new Map<string, number>();

  constructor(http: OperatorHttp) {
    this.#http = http;
  }

  /** Returns the SIM; `undefined` if there is none, or it is deleted. */
  async find(iccid: string, signal: AbortSignal): Promise<EmnifySim | undefined> {
    const id = this.#ids.get(iccid);
    const known = id === undefined ? undefined : await this.#read(id, signal);
    if (known && isSim(known, iccid)) return known;
    this.#ids.delete(iccid);
    const found = await this.#search(iccid, signal);
    if (!found) return undefined;
    if (this.#ids.size >= MAX_KNOWN) this.#ids.clear();
    this.#ids.set(iccid, found.id);
    return found;
  }

  async #read(id: number, signal: AbortSignal): Promise<EmnifySim | undefined> {
    try {
      const { body } = await this.#http.send({ method: "GET", path: `/api/v1/sim/${id}` }, signal);
      return parseAnswer(simSchema, body);
    } catch (error) {
      // A SIM that went to another account: what the operator says of it is not known. The search says what there is.
      const isGone =
        error instanceof SimOperatorError && ["not_found", "refused", "credentials"].includes(error.failure);
      if (isGone) return undefined;
      throw error;
    }
  }

  async #search(iccid: string, signal: AbortSignal): Promise<EmnifySim | undefined> {
    // The operator looks for the number as it keeps it: without the Luhn digit.
    const query = new URLSearchParams({ q: `iccid:${withoutLuhnDigit(iccid)}` });
    const { body } = await this.#http.send({ method: "GET", path: `/api/v1/sim?${query.toString()}` }, signal);
    // It may look for parts of numbers.
    return parseAnswer(simPageSchema, body).find((sim) => isSim(sim, iccid));
  }
}

function isSim(sim: EmnifySim, iccid: string): boolean {
  return sim.status.id !== DELETED && (isSameIccid(sim.iccid, iccid) || sim.iccid_with_luhn === iccid);
}
