/** A network interface of a modem, as the kernel reports it. */
export interface ModemInterface {
  readonly name: string;
  /** `up`, `down`, `unknown` (point-to-point links that work) … */
  readonly state: string;
  readonly addresses: readonly string[];
}

export interface ModemFacts {
  /** Control devices of modems, such as `cdc-wdm0`. */
  readonly controls: readonly string[];
  readonly interfaces: readonly ModemInterface[];
  /** Whether the device has a default route through another interface. */
  readonly hasOtherRoute: boolean;
}

export type ModemFinding =
  | { readonly kind: "none" }
  | { readonly kind: "up"; readonly text: string }
  | { readonly kind: "down"; readonly text: string; readonly matters: boolean };

/** Names the kernel gives the interfaces of modems. */
const INTERFACE = /^(wwan|wwp|ppp|rmnet|qmimux)/;
/** Names of modems' control devices: QMI, MBIM, and the kernel's WWAN framework. */
const CONTROL = /^(cdc-wdm\d+|wwan\d+(qmi|mbim|at)\d+)$/;

export function isModemInterface(name: string): boolean {
  return INTERFACE.test(name);
}

export function isModemControl(name: string): boolean {
  return CONTROL.test(name);
}

/** Reports whether there is a modem and whether it is connected. */
export function findModem({ controls, interfaces, hasOtherRoute }: ModemFacts): ModemFinding {
  const connected = interfaces.filter(({ state, addresses }) => state !== "down" && addresses.length > 0);
  if (connected.length > 0) {
    const text = connected.map(({ name, addresses }) => `${name} is up with ${addresses.join(", ")}`).join("; ");
    return { kind: "up", text: `${text}.` };
  }
  const [first] = interfaces;
  if (first) {
    const why = first.state === "down" ? "is down" : "is up, and has no address";
    return { kind: "down", text: `${first.name} ${why}: the modem is not connected.`, matters: !hasOtherRoute };
  }
  const [control] = controls;
  if (control === undefined) return { kind: "none" };
  return { kind: "down", text: `There is a modem (${control}) without a network interface.`, matters: !hasOtherRoute };
}

/** What a modem is doing, as ModemManager says. */
export type ModemState =
  | "starting"
  | "failed"
  | "locked"
  | "disabled"
  | "searching"
  | "denied"
  | "registered"
  | "connected";

/** How a modem is connected. What is not known is absent. */
export interface ModemReading {
  readonly state: ModemState;
  /** Such as `LTE`. */
  readonly technology?: string;
  readonly operator?: string;
  readonly isRoaming?: boolean;
  /** ModemManager's own estimate. */
  readonly signal_percent?: number;
  readonly rsrp_dbm?: number;
  readonly rsrq_db?: number;
  readonly sinr_db?: number;
  /** 100 or 0, where the network says whether the modem roams. */
  readonly roaming_percent?: number;
  /** Of its access technology, from 2 on. */
  readonly mobile_generation?: number;
}

/** Below these levels a link of LTE or 5G is slow, and drops. */
const WEAK_RSRP_DBM = -115;
const WEAK_SINR_DB = 0;

export function isWeak({ rsrp_dbm: rsrp = 0, sinr_db: sinr = WEAK_SINR_DB }: ModemReading): boolean {
  return rsrp < WEAK_RSRP_DBM || sinr < WEAK_SINR_DB;
}

/** Describes the network and the signal, without a full stop. */
export function modemText(reading: ModemReading): string {
  const { technology, operator, isRoaming } = reading;
  const network = [technology, operator && `of ${operator}`, isRoaming && "(roaming)"].filter(Boolean).join(" ");
  const levels: readonly (readonly [name: string, value: number | undefined, unit: string])[] = [
    ["signal", reading.signal_percent, "%"],
    ["RSRP", reading.rsrp_dbm, "dBm"],
    ["RSRQ", reading.rsrq_db, "dB"],
    ["SINR", reading.sinr_db, "dB"],
  ];
  const signal = levels.flatMap(([name, value, unit]) => (value === undefined ? [] : [`${name} ${value} ${unit}`]));
  return [...(network === "" ? [] : [network]), ...signal].join(", ");
}

/** What keeps a modem from being connected, with what to do; `undefined` if it is, or if nothing says what. */
export function modemObstacle({ state }: ModemReading): { readonly text: string; readonly next: string } | undefined {
  switch (state) {
    case "locked":
      return { text: "The SIM is locked.", next: "sudo mmcli -i any --pin=PIN" };
    case "denied":
      return {
        text: "The network refuses the SIM.",
        next: "Ask the SIM's operator: it may be inactive, or not allowed in this network or country.",
      };
    case "failed":
      return { text: "The modem reports a failure, or has no SIM.", next: "mmcli -m any says why; check the SIM." };
    case "disabled":
      return { text: "The modem is disabled.", next: "sudo mmcli -m any --enable" };
    case "searching":
      return { text: "The modem finds no network.", next: "Check the antenna and where it stands." };
    case "starting":
    case "registered":
    case "connected":
      return undefined;
  }
}
