/** A network interface of a modem, as the kernel reports it. */
export interface ModemInterface {
  readonly name: string;
  /** `up`, `down`, `unknown` (point-to-point links that work) … */
  readonly state: string;
  readonly addresses: readonly string[];
}

export interface ModemState {
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
export function findModem({ controls, interfaces, hasOtherRoute }: ModemState): ModemFinding {
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
