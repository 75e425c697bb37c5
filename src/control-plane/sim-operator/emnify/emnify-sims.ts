import type { Clock } from "../../../lib/clock.ts";
import { isSameIccid, withoutLuhnDigit } from "../../core/sims/iccid.ts";
import type { OperatorHttp } from "../http/operator-http.ts";
import { parseAnswer } from "../http/answers.ts";
import { SharedCalls } from "../http/shared-calls.ts";
import { SimOperatorError } from "../sim-operator.ts";
import { DELETED, type EmnifySim, simPageSchema, simSchema } from "./responses.ts";

/** More are searched for again. */
const MAX_KNOWN = 50_000;
/** Searches at a time beyond which all SIMs are listed instead: five a second may be sent, and a page has a thousand SIMs. */
const MAX_SEARCHES = 5;
const PAGE_SIZE = 1_000;
/** Larger accounts are searched. */
const MAX_PAGES = 20;
/** What is not in a list is searched for until the next one. */
const LIST_INTERVAL_MS = 60_000;

/**
 * Finds SIMs by ICCID. The operator allows few searches a second, so that a SIM that was found before is read by the operator's
 * own id of it, and many SIMs at a time, such as after a restart, are found in a list of all.
 */
export class EmnifySims {
  readonly #http: OperatorHttp;
  readonly #clock: Pick<Clock, "monotonic">;
  /** By ICCID without its Luhn digit. */
  readonly #ids = new Map<string, number>();
  readonly #lists = new SharedCalls<void>();
  #searches = 0;
  #listedAtMs = -Infinity;

  constructor(http: OperatorHttp, clock: Pick<Clock, "monotonic">) {
    this.#http = http;
    this.#clock = clock;
  }

  /** Returns the SIM; `undefined` if there is none, or it is deleted. */
  async find(iccid: string, signal: AbortSignal): Promise<EmnifySim | undefined> {
    const known = await this.#readKnown(iccid, signal);
    if (known) return known;
    if (this.#mustList()) {
      await this.#lists.run("all", signal, (shared) => this.#list(shared));
      const listed = await this.#readKnown(iccid, signal);
      if (listed) return listed;
    }
    const found = await this.#search(iccid, signal);
    if (found) this.#keep(found);
    return found;
  }

  async #readKnown(iccid: string, signal: AbortSignal): Promise<EmnifySim | undefined> {
    const key = withoutLuhnDigit(iccid);
    const id = this.#ids.get(key);
    if (id === undefined) return undefined;
    const known = await this.#read(id, signal);
    if (known && isSim(known, iccid)) return known;
    if (this.#ids.get(key) === id) this.#ids.delete(key);
    return undefined;
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

  #mustList(): boolean {
    return this.#searches >= MAX_SEARCHES && this.#clock.monotonic() - this.#listedAtMs >= LIST_INTERVAL_MS;
  }

  /** Learns the ids of all SIMs. Where that fails, each is searched for. */
  async #list(signal: AbortSignal): Promise<void> {
    try {
      for (let page = 1; page <= MAX_PAGES; page++) {
        const query = new URLSearchParams({ page: String(page), per_page: String(PAGE_SIZE) });
        const { body } = await this.#http.send({ method: "GET", path: `/api/v1/sim?${query.toString()}` }, signal);
        const sims = parseAnswer(simPageSchema, body);
        for (const sim of sims) if (sim.status.id !== DELETED) this.#keep(sim);
        if (sims.length < PAGE_SIZE) break;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof SimOperatorError)) throw error;
    }
    this.#listedAtMs = this.#clock.monotonic();
  }

  async #search(iccid: string, signal: AbortSignal): Promise<EmnifySim | undefined> {
    this.#searches++;
    try {
      // The operator looks for the number as it keeps it: without the Luhn digit.
      const query = new URLSearchParams({ q: `iccid:${withoutLuhnDigit(iccid)}` });
      const { body } = await this.#http.send({ method: "GET", path: `/api/v1/sim?${query.toString()}` }, signal);
      // It may look for parts of numbers.
      return parseAnswer(simPageSchema, body).find((sim) => isSim(sim, iccid));
    } finally {
      this.#searches--;
    }
  }

  #keep({ id, iccid }: EmnifySim): void {
    if (this.#ids.size >= MAX_KNOWN) this.#ids.clear();
    this.#ids.set(withoutLuhnDigit(iccid), id);
  }
}

function isSim(sim: EmnifySim, iccid: string): boolean {
  return sim.status.id !== DELETED && (isSameIccid(sim.iccid, iccid) || sim.iccid_with_luhn === iccid);
}
