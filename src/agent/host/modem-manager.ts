import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { z } from "zod";
import { sanitizedLine } from "../../protocol/values/sanitized-text.ts";
import { parseBoundedJson } from "../../protocol/values/bounded-json.ts";
import type { ModemReading, ModemState } from "../core/host/modem.ts";

const SERVICE = "org.freedesktop.ModemManager1";
const SYSTEM_BUS = "/run/dbus/system_bus_socket";
const TIMEOUT_MS = 7_000;
const MAX_OUTPUT_BYTES = 256 * 1024;
/** Readings that are left out where there is no ModemManager. */
const MAX_LEFT_OUT = 12;

export interface ModemManagerOptions {
  /** Address of the bus; absent: the system's. */
  readonly bus?: string;
}

/**
 * Asks ModemManager, by its D-Bus interface, how the modem is connected. By a run of systemd's `busctl`, which takes 5 ms of
 * processor time: a connection to the bus would wake the daemon for every signal, and take memory all the time.
 */
export class ModemManager {
  readonly #bus: string | undefined;
  #leftOut = 0;
  #leaveOut = 0;

  constructor({ bus }: ModemManagerOptions = {}) {
    this.#bus = bus;
  }

  /**
   * Resolves to the modem that is connected, or the first one; to `undefined` if there is none, or no ModemManager. Where there was
   * none, most calls resolve without asking. Never rejects.
   */
  async read(signal: AbortSignal): Promise<ModemReading | undefined> {
    if (this.#leftOut++ < this.#leaveOut) return undefined;
    const reading = await this.#ask(signal).catch(() => undefined);
    this.#leftOut = 0;
    this.#leaveOut = reading ? 0 : Math.min(MAX_LEFT_OUT, 2 * this.#leaveOut + 1);
    return reading;
  }

  async #ask(signal: AbortSignal): Promise<ModemReading | undefined> {
    if (this.#bus === undefined && !existsSync(SYSTEM_BUS)) return undefined;
    return parseModems(await this.#call(signal));
  }

  #call(signal: AbortSignal): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const address = this.#bus === undefined ? {} : { DBUS_SYSTEM_BUS_ADDRESS: this.#bus };
    execFile(
      "busctl",
      // Does not start a ModemManager that does not run.
      [
        "--system",
        "--json=short",
        "--auto-start=no",
        "--timeout=5",
        "call",
        SERVICE,
        "/org/freedesktop/ModemManager1",
      ].concat("org.freedesktop.DBus.ObjectManager", "GetManagedObjects"),
      {
        signal,
        timeout: TIMEOUT_MS,
        killSignal: "SIGKILL",
        maxBuffer: MAX_OUTPUT_BYTES,
        env: { PATH: process.env["PATH"] ?? "/usr/sbin:/usr/bin:/sbin:/bin", LANG: "C", ...address },
      },
      (error, stdout) => (error ? reject(error) : resolve(stdout)),
    );
    return promise;
  }
}

/** A value as `busctl` prints it, with its type beside it. */
const variant = <T extends z.ZodType>(data: T) => z.object({ data });
/** A property that is missing, or another than expected, counts as absent. */
const property = <T extends z.ZodType>(data: T) => variant(data).optional().catch(undefined);

const decibels = property(z.number().min(-200).max(100));
const signalSchema = property(z.object({ rsrp: decibels, rsrq: decibels, snr: decibels }));

const modemSchema = z.object({
  [`${SERVICE}.Modem`]: z.object({
    State: property(z.int()),
    AccessTechnologies: property(z.int().min(0)),
    SignalQuality: property(z.tuple([z.int().min(0).max(100), z.boolean()])),
    UnlockRequired: property(z.int()),
  }),
  [`${SERVICE}.Modem.Modem3gpp`]: z
    .object({
      OperatorName: property(sanitizedLine(64)),
      OperatorCode: property(sanitizedLine(8)),
      RegistrationState: property(z.int()),
    })
    .optional()
    .catch(undefined),
  [`${SERVICE}.Modem.Signal`]: z.object({ Lte: signalSchema, Nr5g: signalSchema }).optional().catch(undefined),
});
const objectsSchema = z.custom<Readonly<Record<string, unknown>>>(
  (value) => typeof value === "object" && value !== null,
);
const answerSchema = z.object({ data: z.tuple([objectsSchema]) });

/** Bits of `AccessTechnologies` (`MMModemAccessTechnology`), the best one first. */
const TECHNOLOGIES: readonly (readonly [bit: number, name: string, generation: number])[] = [
  [15, "5G", 5],
  [14, "LTE", 4],
  [16, "LTE-M", 4],
  [17, "NB-IoT", 4],
  [9, "HSPA+", 3],
  [8, "HSPA", 3],
  [7, "HSUPA", 3],
  [6, "HSDPA", 3],
  [5, "UMTS", 3],
  [4, "EDGE", 2],
  [3, "GPRS", 2],
  [1, "GSM", 2],
];
/** `MMModemState`. */
const STATES: Readonly<Record<number, ModemState>> = {
  [-1]: "failed",
  2: "locked",
  3: "disabled",
  7: "searching",
  8: "registered",
  10: "registered",
  11: "connected",
};
/** Of `MMModem3gppRegistrationState`. */
const DENIED = 3;
const ROAMING: ReadonlySet<number> = new Set([5, 7, 10]);
const AT_HOME: ReadonlySet<number> = new Set([1, 6, 9]);

/** Reads what `busctl` prints. Throws if it is nothing of ModemManager. */
export function parseModems(json: string): ModemReading | undefined {
  const [objects] = answerSchema.parse(parseBoundedJson(json, "file")).data;
  const modems = Object.values(objects).flatMap((object) => {
    const { data } = modemSchema.safeParse(object);
    return data ? [toReading(data)] : [];
  });
  return modems.find(({ state }) => state === "connected") ?? modems[0];
}

function toReading(interfaces: z.output<typeof modemSchema>): ModemReading {
  const modem = interfaces[`${SERVICE}.Modem`];
  const network = interfaces[`${SERVICE}.Modem.Modem3gpp`];
  const signal = interfaces[`${SERVICE}.Modem.Signal`];
  const bits = modem.AccessTechnologies?.data ?? 0;
  const registration = network?.RegistrationState?.data ?? -1;
  // Empty dictionaries are those of technologies that are not in use.
  const levels = [signal?.Nr5g?.data, signal?.Lte?.data].find((one) => one?.rsrp !== undefined);
  const operator = network?.OperatorName?.data || network?.OperatorCode?.data;
  const [, technology, generation] = TECHNOLOGIES.find(([bit]) => ((bits >>> bit) & 1) === 1) ?? [];
  const isKnown = ROAMING.has(registration) || AT_HOME.has(registration);
  const found: { [Key in keyof ModemReading]: ModemReading[Key] | undefined } = {
    state: registration === DENIED ? "denied" : (STATES[modem.State?.data ?? 0] ?? "starting"),
    technology,
    operator: operator === undefined || operator === "" ? undefined : operator,
    isRoaming: isKnown ? ROAMING.has(registration) : undefined,
    signal_percent: modem.SignalQuality?.data[0],
    rsrp_dbm: levels?.rsrp?.data,
    rsrq_db: levels?.rsrq?.data,
    sinr_db: levels?.snr?.data,
    roaming_percent: isKnown ? (ROAMING.has(registration) ? 100 : 0) : undefined,
    mobile_generation: generation,
  };
  return Object.fromEntries(
    Object.entries(found).filter(([, value]) => value !== undefined),
  ) as unknown as ModemReading;
}
