/** A network interface that could lead out of the device and has no address to use. */
export interface IdleInterface {
  readonly name: string;
  /** Whether it is turned on. */
  readonly isUp: boolean;
  /** Whether there is a cable, or a radio network that it has joined. */
  readonly hasCarrier: boolean;
  readonly isWireless: boolean;
}

export interface NetworkFault {
  /** A sentence. */
  readonly text: string;
  readonly next: string;
}

/** Describes why no interface leads out of the device. */
export function describeInterfaces(idle: readonly IdleInterface[]): NetworkFault {
  const [first, ...more] = idle.toSorted((a, b) => progress(b) - progress(a));
  const none = "No network interface can be used.";
  if (!first) return { text: none, next: "Check SIM, antenna and APN: ip address, and mmcli -m any for a modem." };
  const { what, next } = describe(first);
  const others = more.map((one) => ` ${one.name} ${describe(one).what}.`).join("");
  return { text: `${none} ${first.name} ${what}.${others}`, next };
}

/** What is nearest to working is what is meant to. */
function progress({ isUp, hasCarrier }: IdleInterface): number {
  return hasCarrier ? 2 : Number(isUp);
}

function describe({ name, isUp, hasCarrier, isWireless }: IdleInterface): { what: string; next: string } {
  if (!isUp)
    return {
      what: "is turned off",
      next: `sudo ip link set ${name} up; if it has no address then, have it get one: networkctl, nmcli or /etc/network/interfaces`,
    };
  if (hasCarrier)
    return {
      what: "is connected and has no address",
      next: `The network gives it none (DHCP), or it is not set up: sudo networkctl renew ${name}, or sudo nmcli device reapply ${name}; see: ip address`,
    };
  if (isWireless)
    return {
      what: "has joined no radio network",
      next: "Check the name and password of the network: nmcli device wifi",
    };
  return {
    what: "has no cable, or nothing is switched on at its other end",
    next: `Plug in the cable of ${name} at both ends, and see whether its light is on: ip link show ${name}`,
  };
}
